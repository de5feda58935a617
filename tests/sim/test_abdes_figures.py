"""The worked examples of ABDES §6, figs. 5–7, on its twelve servers, step by step."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.broker_messages import Answer, Copies, Delta, Seek
from agvent.wire.client_messages import Subscribed
from tests.sim.watched import Watched

BOOK = AgventType(name="Book")
LONG_WAY = ["AS10", "AS7", "AS6", "AS5", "AS4", "AS1"]


def with_publisher() -> Watched:
    """A publisher at AS1 has advertised, and everybody has answered."""
    world = Watched()
    world.attach("P", "AS1")
    world.wait(1)
    world.ask("P", "advertise", BOOK)
    world.wait(1)
    return world


def test_figure_5_a_subscription_takes_the_alternative_of_the_routing_table() -> None:
    """AS8–AS9 is down; AS9 has a route to AS1 over AS10 in its table, so S's subscription takes it."""
    world = with_publisher()
    # A message of AS1 comes the long way once, so that AS9 has it in its alternative routing table.
    world.cut("AS8", "AS9")
    world.ask("P", "advertise", AgventType(name="Tape"))
    world.wait(2)
    world.mend("AS8", "AS9")
    world.ask("P", "advertise", AgventType(name="Film"))
    world.wait(2)
    ways = world.brokers["AS9"].broker.router.routes.known("AS1")
    assert {"AS8", "AS10"} <= ways.keys()
    assert ways["AS8"] < ways["AS10"]

    world.cut("AS8", "AS9")
    world.attach("S", "AS12")
    world.wait(1)
    world.forget_words()
    world.ask("S", "subscribe", Subscription(id="s", type="Book", filter="pages > 200"))
    world.wait(1)
    way = ["AS12", "AS9", *LONG_WAY]
    assert world.watch.hops(Delta, routed=True)[: len(way) - 1] == list(pairwise(way))
    assert world.watch.broadcasts(Delta) == []
    assert [t.message.pending for t in world.history.told if isinstance(t.message, Subscribed)] == [()]
    # Other servers use these messages for updating their tables: AS4 now knows AS12 behind AS5.
    assert "AS5" in world.brokers["AS4"].broker.router.routes.known("AS12")


def test_figure_5_a_subscription_without_a_route_is_broadcast_to_its_target() -> None:
    """AS8–AS9 is down and AS9 knows no other way to AS1: it broadcasts the subscription, and only AS1 evaluates it."""
    world = with_publisher()
    world.cut("AS8", "AS9")
    world.attach("S", "AS12")
    world.wait(1)
    world.brokers["AS9"].broker.router.routes.forget("AS1")
    world.forget_words()
    world.ask("S", "subscribe", Subscription(id="s", type="Book"))
    world.wait(1)
    assert world.watch.hops(Delta, routed=True) == [("AS12", "AS9")]
    broadcast = world.watch.broadcasts(Delta)
    assert sorted(broadcast[:2]) == [("AS9", "AS10"), ("AS9", "AS12")]
    assert ("AS4", "AS1") in broadcast
    holders = [name for name, node in world.brokers.items() if "AS12" in node.broker.tables.interests.homes]
    assert [n for n in holders if world.brokers[n].broker.tables.interests.homes["AS12"].roots] == ["AS1"]


def with_subscribers() -> Watched:
    """S1 at AS3 and S2 at AS12 have subscribed. AS2–AS3 is slow, so AS3's messages come over AS8, as in the figure."""
    world = Watched(slow=[("AS2", "AS3")])
    for client, home in (("P", "AS1"), ("S1", "AS3"), ("S2", "AS12")):
        world.attach(client, home)
    world.wait(1)
    world.ask("P", "advertise", BOOK)
    world.wait(1)
    world.ask("S1", "subscribe", Subscription(id="s1", type="Book"))
    world.ask("S2", "subscribe", Subscription(id="s2", type="Book"))
    world.wait(1)
    return world


def test_figure_6_without_a_fault_the_agvent_is_cloned_where_the_paths_part() -> None:
    """One agvent goes AS1, AS2, AS8; there a clone goes to AS3 and another over AS9 to AS12."""
    world = with_subscribers()
    world.forget_words()
    world.ask("P", "publish", Event(type="Book"))
    world.wait(1)
    hops = world.watch.hops(Copies)
    assert hops[:2] == [("AS1", "AS2"), ("AS2", "AS8")]
    assert sorted(hops[2:]) == [("AS8", "AS3"), ("AS8", "AS9"), ("AS9", "AS12")]
    assert (world.delivered("S1"), world.delivered("S2")) == ([(1, ("s1",))], [(1, ("s2",))])


def test_figure_6_a_clone_takes_the_alternative_of_the_routing_table() -> None:
    """AS8–AS9 is down; AS8 has another route to AS12 in its table and sends the clone there, the other one to AS3."""
    world = with_subscribers()
    # AS12 is heard the long way once, so that AS8 has it behind AS2 in its table, and then over AS9 again.
    world.cut("AS8", "AS9")
    world.ask("S2", "advertise", AgventType(name="Tape"))
    world.wait(2)
    world.mend("AS8", "AS9")
    world.ask("S2", "advertise", AgventType(name="Film"))
    world.wait(2)
    ways = world.brokers["AS8"].broker.router.routes.known("AS12")
    assert min(ways, key=lambda neighbour: ways[neighbour]) == "AS9"
    assert "AS2" in ways
    # The link breaks, and those before AS8 still believe in the way over it.
    world.cut("AS8", "AS9")
    world.forget_words()
    world.ask("P", "publish", Event(type="Book"))
    world.wait(1)
    hops = world.watch.hops(Copies)
    assert hops[:2] == [("AS1", "AS2"), ("AS2", "AS8")]
    assert sorted(hops[2:4]) == [("AS8", "AS2"), ("AS8", "AS3")]
    assert world.watch.broadcasts(Seek) == []
    assert (world.delivered("S1"), world.delivered("S2")) == ([(1, ("s1",))], [(1, ("s2",))])


def test_figure_7_a_clone_without_a_route_waits_for_a_targeted_advertisement() -> None:
    """AS8 has no route to AS12: it keeps the agvent and broadcasts for AS12, whose answer makes the route."""
    world = with_subscribers()
    world.ask("P", "publish", Event(type="Book"))
    world.wait(1)
    # The link breaks while everybody before AS8 believes in the way over it.
    world.network.paths["AS8", "AS9"].cut = world.network.paths["AS9", "AS8"].cut = True
    world.wait(5)
    world.brokers["AS8"].broker.router.routes.forget("AS12")
    world.forget_words()
    world.ask("P", "publish", Event(type="Book"))
    world.wait(3)
    hops = world.watch.hops(Copies)
    assert hops[:2] == [("AS1", "AS2"), ("AS2", "AS8")]
    # AS8 asks everybody; AS12 alone answers, over live links.
    seeks = world.watch.broadcasts(Seek)
    assert sorted(seeks[:2]) == [("AS8", "AS2"), ("AS8", "AS3")]
    answers = world.watch.hops(Answer, routed=True)
    assert answers[0][0] == "AS12"
    assert answers[-1][1] == "AS8"
    assert ("AS9", "AS8") not in answers
    # The waiting agvent goes the way the answer came.
    back = [(b, a) for a, b in reversed(answers)]
    assert hops[-len(back) :] == back
    assert world.delivered("S2") == [(1, ("s2",)), (2, ("s2",))]
    assert world.delivered("S1") == [(1, ("s1",)), (2, ("s1",))]


@pytest.mark.parametrize("broken", [("AS1", "AS2"), ("AS9", "AS12"), ("AS4", "AS5")])
def test_any_link_of_the_twelve_may_break(broken: tuple[str, str]) -> None:
    """Whichever link is down, both subscribers receive what is published, once."""
    world = with_subscribers()
    world.cut(*broken)
    world.ask("P", "publish", Event(type="Book"))
    world.wait(10)
    assert (world.delivered("S1"), world.delivered("S2")) == ([(1, ("s1",))], [(1, ("s2",))])
