"""A broker that an operator told the network to forget, and that returns."""

from __future__ import annotations

import pytest

from agvent.broker.broker import Broker
from agvent.broker.interface import Forget
from agvent.errors import ForgottenError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.disk import Disk
from tests.sim.watched import Watched


def forgotten() -> Watched:
    """Of three brokers in a line the last one was away when it was forgotten; q and s are at home there."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    for client, home in (("p", "B1"), ("q", "B3"), ("s", "B3")):
        world.attach(client, home)
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.brokers["B3"].crash(with_disk=True)
    world.wait(5)
    world.brokers["B1"].do([Forget("B3")])
    world.wait(1)
    return world


def test_it_stops_when_it_hears_so() -> None:
    """It acknowledges nothing from then on, and does not start again with the disk that it has."""
    world = forgotten()
    node = world.brokers["B3"]
    node.start()
    world.wait(5)
    world.ask("q", "publish", Event())
    world.wait(5)
    assert not node.alive
    assert list(world.clients["q"].session.unacknowledged) == [(False, 1)]
    with pytest.raises(ForgottenError, match="'B3' was forgotten, and the network goes on without it"):
        Broker("B3", node.incarnation, node.disk.read())


def test_it_joins_as_a_new_broker() -> None:
    """With an empty disk and a later incarnation it takes part again, and its clients are told what may be missing."""
    world = forgotten()
    node = world.brokers["B3"]
    node.disk, node.incarnation = Disk(), node.incarnation + 2
    node.start()
    world.wait(10)
    world.ask("p", "publish", Event())
    world.ask("q", "publish", Event())
    world.wait(5)
    assert world.delivered("s") == [(1, ("all",)), (1, ("all",))]


def test_one_that_is_forgotten_by_mistake_stops_too() -> None:
    """A broker that runs hears it like one that returns; the others go on."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.brokers["B1"].do([Forget("B2")])
    world.wait(5)
    assert [node.alive for node in world.brokers.values()] == [True, False, True]
