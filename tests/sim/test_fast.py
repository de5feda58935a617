"""Fast events: in memory only, so lost with a crash; still each once, in order, and counted when lost."""

from __future__ import annotations

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.sim.network import Conditions
from agvent.sim.topology import Edge
from agvent.wire.client_messages import Gap
from tests.sim.watched import Watched


def listening(*edges: Edge) -> Watched:
    """A publisher at B1, and a subscriber to everything at B2."""
    world = Watched(edges or [("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    return world


def publish(world: Watched, count: int) -> None:
    for _ in range(count):
        world.ask("p", "publish", Event(), fast=True)
    world.wait(1)


def restart(world: Watched, broker: str) -> None:
    world.brokers[broker].crash(with_disk=True)
    world.brokers[broker].start()
    world.wait(6)


def sequences(world: Watched) -> list[int]:
    return [sequence for sequence, _ in world.delivered("s")]


def counted(world: Watched) -> dict[str, int]:
    return dict(world.brokers["B2"].broker.tables.fast_lost)


def test_a_machine_with_entry_and_publisher_that_starts_again_is_heard() -> None:
    """Both have forgotten how far its fast sequence was: what begins at 1 again is no repeat."""
    world = listening()
    publish(world, 5)
    world.clients["p"].leave()
    world.clients["p"].session = Session("p", life=2)
    restart(world, "B1")
    world.clients["p"].back()
    world.wait(3)
    publish(world, 7)
    assert sequences(world) == [*range(1, 6), *range(1, 8)]
    assert counted(world) == {}


def test_what_an_entrys_crash_lost_is_counted_at_the_home() -> None:
    """The publisher goes on after what it was told is accepted, so the home sees how many it lacks."""
    world = listening()
    publish(world, 1)
    world.network.paths["B1", "B2"].cut = world.network.paths["B2", "B1"].cut = True
    publish(world, 3)
    world.brokers["B1"].crash(with_disk=True)
    world.mend("B1", "B2")
    world.brokers["B1"].start()
    world.wait(6)
    publish(world, 2)
    assert sequences(world) == [1, 5, 6]
    assert counted(world) == {"crash": 3}


def test_a_crash_that_lost_nothing_counts_nothing() -> None:
    """The first that enters after the crash follows on the last that came before."""
    world = listening()
    publish(world, 3)
    restart(world, "B1")
    publish(world, 2)
    assert sequences(world) == [1, 2, 3, 4, 5]
    assert counted(world) == {}


def test_what_came_by_another_entry_is_not_missed() -> None:
    """A publisher that was elsewhere while its first entry crashed lost nothing."""
    world = listening(("B1", "B2"), ("B2", "B3"))
    publish(world, 2)
    world.move("p", "B3")
    world.wait(3)
    publish(world, 3)
    restart(world, "B1")
    world.move("p", "B1")
    world.wait(3)
    publish(world, 1)
    assert sequences(world) == [1, 2, 3, 4, 5, 6]
    assert counted(world) == {}


def test_what_waits_for_an_event_that_a_crash_lost_goes_on_after_a_notice() -> None:
    """The second of three is large and lost with its entry; the third, which came before it, is delivered when the
    entry is heard of again."""
    world = listening()
    for path in (("B1", "B2"), ("B2", "B1")):
        world.network.paths[path].conditions = Conditions(bytes_per_s=1_000_000)
    publish(world, 1)
    world.ask("p", "publish", Event(attributes={"x": bytes(10_000_000)}), fast=True)
    publish(world, 1)
    assert len(world.brokers["B2"].broker.tables.chains.early) == 1
    restart(world, "B1")
    publish(world, 1)
    world.wait(9)
    told = [one.message for one in world.history.told if one.client == "s" and isinstance(one.message, Gap)]
    assert [(gap.first, gap.last, gap.fast, gap.reason) for gap in told] == [(2, 2, True, "crash")]
    assert sequences(world) == [1, 3, 4]
    assert counted(world) == {"crash": 1}


def test_a_large_event_that_begins_a_chain_is_not_taken_for_a_repeat() -> None:
    """A small one that overtakes it on the way waits for it."""
    world = listening()
    for path in (("B1", "B2"), ("B2", "B1")):
        world.network.paths[path].conditions = Conditions(bytes_per_s=4_000_000)
    world.ask("p", "publish", Event(attributes={"x": bytes(3_000_000)}), fast=True)
    publish(world, 1)
    world.wait(9)
    assert sequences(world) == [1, 2]


def test_a_home_that_forgot_a_chain_goes_on_with_what_comes() -> None:
    """After a crash of the home what it had before does not come again: it waits for that no longer than for an
    answer."""
    world = listening()
    publish(world, 3)
    restart(world, "B2")
    publish(world, 2)
    world.wait(3)
    assert sequences(world) == [1, 2, 3, 4, 5]
    assert counted(world) == {}


def test_a_publishers_fast_and_durable_chains_are_apart() -> None:
    """The beginning of one says nothing of the other."""
    world = listening()
    world.ask("p", "publish", Event())
    world.wait(1)
    publish(world, 1)
    world.ask("p", "publish", Event())
    world.wait(1)
    assert sequences(world) == [1, 1, 2]
