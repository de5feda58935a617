"""What a client is given is what was published, to the kind of each value."""

from __future__ import annotations

import msgspec
import pytest

from agvent.event import Event, Int32
from agvent.filters.subscription import Subscription
from agvent.sim.checkers.content import changed
from agvent.sim.ledger import Ledger
from agvent.sim.odd_values import ODD
from agvent.sim.world import World
from agvent.wire.client_messages import Deliver
from agvent.wire.codec import encode_event

SECOND = 1_000_000


def world_of(values: tuple[object, ...]) -> World:
    """A world in which one client published events with these values to another."""
    world = World(1, [("B1", "B2")])
    world.start()
    world.run(world.now + 3 * SECOND)
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.ask("s", "subscribe", Subscription(id="all", channel=1))
    world.run(world.now + 3 * SECOND)
    for value in values:
        world.ask("p", "publish", Event(channel=1, attributes={"odd": value}))
        world.run(world.now + SECOND // 10)
    world.run(world.now + 3 * SECOND)
    return world


def test_every_value_comes_as_it_was() -> None:
    """All of them come, and none is changed."""
    world = world_of(ODD)
    assert sum(told.message.count for told in world.history.told if isinstance(told.message, Deliver)) == len(ODD)
    assert changed(world, Ledger(world.history)) == []


@pytest.mark.parametrize("value", [1, 1.0, True, -1, None])
def test_a_changed_value_is_found(value: object) -> None:
    """Also where only the kind is another."""
    world = world_of((Int32(1),))
    content = encode_event(Event(channel=1, attributes={"odd": value}))
    history = world.history
    history.told = [
        msgspec.structs.replace(told, message=msgspec.structs.replace(told.message, event=content))
        if isinstance(told.message, Deliver)
        else told
        for told in history.told
    ]
    assert len(changed(world, Ledger(history))) == 1
