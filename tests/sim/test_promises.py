"""What clients were told decides what they are owed, and brokers keep it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agvent.broker.records import Kept
from agvent.broker.tables.chains import Chains
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.checkers.promised import broken
from agvent.sim.checkers.unasked import unasked
from agvent.sim.ledger import Ledger
from agvent.sim.promises import Promises
from agvent.types import AgventType
from agvent.wire.broker_messages import Copies
from agvent.wire.parts import Entered, Publication, Target
from tests.sim.watched import Watched

BOOK = AgventType(name="Book")


def network() -> Watched:
    """A publisher at B1; a subscriber at B3, which is beyond B2."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.attach("p", "B1")
    world.attach("s", "B3")
    world.wait(1)
    return world


def verdicts(world: Watched) -> list[str]:
    ledger = Ledger(world.history)
    return [*broken(world, ledger), *unasked(world, ledger)]


@pytest.mark.parametrize("type", ["Book", None])
def test_a_confirmed_subscription_is_in_force_for_what_is_new_while_its_home_is_away(type: str | None) -> None:
    """Its home is down when the type is first advertised, or the first event without one is published: all events that
    were acknowledged meanwhile come to it."""
    world = network()
    world.ask("s", "subscribe", Subscription(id="all", type=type))
    world.wait(1)
    world.brokers["B3"].crash(with_disk=True)
    world.wait(5)
    if type is not None:
        world.ask("p", "advertise", BOOK)
    for _ in range(10):
        world.ask("p", "publish", Event(type=type))
    world.wait(5)
    assert world.clients["p"].session.unacknowledged == {}
    world.brokers["B3"].restart()
    world.wait(30)
    assert world.delivered("s") == [(sequence, ("all",)) for sequence in range(1, 11)]
    assert verdicts(world) == []


def test_a_late_copy_goes_to_nobody_who_did_not_ask() -> None:
    """A home that has not answered yet gets copies, and drops those that nothing there matches."""
    world = network()
    world.ask("s", "subscribe", Subscription(id="dear", filter="price > 5"))
    world.wait(1)
    for price in (1, 9):
        world.ask("p", "publish", Event(attributes={"price": price}))
    world.wait(5)
    assert world.delivered("s") == [(2, ("dear",))]
    assert verdicts(world) == []


def test_a_broken_promise_is_found() -> None:
    """A delivery that the client was not given is missed, by what it was told alone."""
    world = network()
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.ask("p", "publish", Event())
    world.wait(5)
    world.history.told = [one for one in world.history.told if one.client != "s" or "Deliver" not in str(one.message)]
    assert verdicts(world) == ["s was promised p:1 for all and got none"]
    assert len(Promises(world.history).receipts) == 0


def test_nothing_is_promised_of_a_broker_that_has_not_heard_of_the_home() -> None:
    """A new broker takes an event before its only neighbour answers: it is for nobody. The next is for those it knows
    then, and is missed if it does not come."""
    world = network()
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.brokers["B2"].crash(with_disk=True)
    world.join("J", ["B2"])
    world.attach("guest", "J")
    world.wait(1)
    world.ask("guest", "publish", Event())
    world.wait(1)
    assert world.clients["guest"].session.unacknowledged == {}
    world.brokers["B2"].restart()
    world.wait(30)
    world.ask("guest", "publish", Event())
    world.wait(5)
    assert world.delivered("s") == [(2, ("all",))]
    assert verdicts(world) == []
    world.history.told = [one for one in world.history.told if one.client != "s" or "Deliver" not in str(one.message)]
    assert verdicts(world) == ["s was promised guest:2 for all and got none"]


def test_an_event_that_was_rejected_stays_rejected() -> None:
    """Its publisher did not hear of it before its link broke: it is not told that the event was accepted."""
    world = network()
    for ends in (("p", "B1"), ("B1", "p")):
        world.network.paths[ends].cut = ends == ("B1", "p")
    world.ask("p", "publish", Event(type="Book"))
    world.ask("p", "publish", Event())
    world.wait(10)
    for ends in (("p", "B1"), ("B1", "p")):
        world.network.paths[ends].cut = False
    world.wait(10)
    events = Promises(world.history).events
    assert [(id.sequence, made.is_refused) for (id, _), made in events.items()] == [(1, True), (2, False)]
    assert world.clients["p"].session.unacknowledged == {}


def test_an_early_copy_gives_way_to_a_lost_one() -> None:
    """Its entry lets it go with those before it, for which it waits at its home: the lost one is no repeat."""
    chains = Chains("B3", 1)
    early = Copies(
        entered=Entered("B1", 1, 1),
        publication=Publication(publisher="p", sequence=7, event=b"{}"),
        targets=(Target(home="B3", incarnation=1, position=1, predecessor=6),),
        trace=(),
        attempt=0,
    )
    chains.keep(Kept(early))
    target = Target(home="B3", incarnation=1, position=1, predecessor=4)
    lost = replace(early, targets=(target,), lost="retention")
    assert [chains.is_repeat(copies) for copies in (early, lost)] == [True, False]
    chains.keep(Kept(lost))
    assert chains.is_repeat(lost)
