"""What a broker refuses, when it says so, and what it must not refuse."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.interface import Forget
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.sim.checkers.lost import lost
from agvent.sim.ledger import Ledger
from agvent.wire.client_messages import Published, Refused
from tests.sim.watched import Watched


def test_an_id_of_any_length_leaves_other_brokers_alone() -> None:
    """The longest id that a home takes is filed everywhere under its names; a longer one is refused at home."""
    home, client = "B2" + "h" * 62, "s" * limits.CLIENT_NAME_CHARS_MAX
    world = Watched([("B1", home)])
    world.attach("p", "B1")
    world.attach(client, home)
    world.wait(1)
    longest = "i" * limits.SUBSCRIBED_ID_CHARS_MAX
    for id in (longest, longest + "i"):
        world.ask(client, "subscribe", Subscription(id=id))
    world.wait(5)
    reasons = [told.message.reason for told in world.history.told if isinstance(told.message, Refused)]
    assert reasons == ["the id has 769 characters, at most 768 are allowed at a broker"]
    world.ask("p", "publish", Event())
    world.wait(1)
    assert world.delivered(client) == [(1, (longest,))]


def test_a_refusal_acknowledges_nothing_that_is_not_on_disk() -> None:
    """A publication that is refused while the one before it waits for its behaviours is settled after that: a crash
    between leaves both to their publisher, who sends them again."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="dear", filter="is_dear(5)"))
    world.wait(1)
    world.ask("p", "publish", agvent(Event(attributes={"price": 7})))
    world.ask("p", "publish", Event(type="Unheard"))
    world.wait(0.0045)
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].start()
    world.wait(20)
    assert world.clients["p"].session.unacknowledged == {}
    assert world.delivered("s") == [(1, ("dear",))]
    assert lost(world, Ledger(world.history)) == []


def changing(world: Watched, changes: int) -> list[str]:
    """Subscriber s at B2 changes its context again and again; why it was refused to."""
    for number in range(1, changes + 1):
        world.ask("s", "subscribe", Subscription(id="all", context={"n": number}))
        world.wait(3)
    told = [one.message for one in world.history.told if one.client == "s"]
    return [message.reason for message in told if isinstance(message, Refused)]


def three() -> Watched:
    """Publishers p at B1 and q at B3, and s between them at B2 with a context."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    for client, home in (("p", "B1"), ("q", "B3"), ("s", "B2")):
        world.attach(client, home)
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all", context={"n": 0}))
    world.wait(1)
    return world


def test_a_broker_that_is_away_does_not_stop_changes_of_context() -> None:
    """It can have events for the versions it was told of only: the others are let go without it."""
    world = three()
    world.brokers["B3"].crash(with_disk=True)
    world.wait(5)
    assert changing(world, 20) == []
    assert len(world.brokers["B2"].broker.tables.local.replaced) <= 2


def test_what_entered_at_an_unreachable_broker_is_for_the_versions_it_knew() -> None:
    """Twenty versions later the first one's events come, and no later one's: its entry had not heard of those."""
    world = three()
    world.cut("B2", "B3")
    world.ask("q", "publish", Event(), to="n = 0")
    world.ask("q", "publish", Event(), to="n = 7")
    assert changing(world, 20) == []
    world.ask("q", "publish", Event(), to="n = 0")
    world.mend("B2", "B3")
    world.wait(20)
    world.ask("q", "publish", Event(), to="n = 20")
    world.wait(1)
    assert [sequence for sequence, _ in world.delivered("s")] == [1, 3, 4]
    assert lost(world, Ledger(world.history)) == []
    assert world.brokers["B2"].broker.tables.local.replaced == []


def test_who_changes_too_fast_is_told_which_broker_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what an operator may do if it never returns."""
    monkeypatch.setattr(limits, "REPLACED_VERSIONS_MAX", 1)
    world = three()
    world.brokers["B3"].crash(with_disk=True)
    world.wait(5)
    [reason] = changing(world, 2)
    assert "B3 may have events from before" in reason
    assert "agvent broker forget NAME" in reason
    world.brokers["B1"].do([Forget("B3")])
    world.wait(5)
    assert changing(world, 3) == [reason]


def test_a_refusal_comes_before_what_says_that_later_events_were_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers to a large event and a small one are lost. Sent again, the large one comes last: its publisher hears
    that it was refused before it hears that the small one was taken, which says the same of all before it."""
    monkeypatch.setattr(limits, "CHUNK_BYTES_MAX", 600)
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.wait(1)
    world.network.paths["B1", "p"].cut = True
    world.ask("p", "publish", Event(type="Book", attributes={"note": "x" * 3_000}))
    world.ask("p", "publish", Event(), to="a = 1")
    world.wait(10)
    world.network.paths["B1", "p"].cut = False
    world.wait(10)
    words = [told.message for told in world.history.told if isinstance(told.message, (Refused, Published))]
    assert [(type(word), word.sequence) for word in words] == [(Refused, 1), (Published, 2)]


@pytest.mark.parametrize("is_away", [False, True])
def test_a_client_that_moves_does_not_take_along_what_it_was_never_told_that_it_has(
    monkeypatch: pytest.MonkeyPatch, *, is_away: bool
) -> None:
    """It changes a subscription before it was told anything of it, and is refused the change. The version before
    stands at the old home, and its events come if that home hands over. If it is given up, the gap notice is for what
    the client has at the new one: they are nobody's."""
    monkeypatch.setattr(limits, "REPLACED_VERSIONS_MAX", 1)
    monkeypatch.setattr(limits, "MOVE_WAIT_US", 2_000_000)
    world = Watched([("B1", "B2"), ("B2", "B3")])
    for client, home in (("p", "B1"), ("q", "B3"), ("s", "B2")):
        world.attach(client, home)
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="other", type="Book"))
    world.wait(1)
    world.brokers["B3"].crash(with_disk=True)
    world.wait(5)
    for number in range(3):
        world.ask("s", "subscribe", Subscription(id="all", context={"n": number}))
        world.wait(0.01)
    world.wait(1)
    world.clients["s"].leave()
    world.wait(1)
    world.ask("p", "publish", Event())
    world.wait(1)
    if is_away:
        world.brokers["B2"].crash(with_disk=True)
    world.move("s", "B1")
    world.wait(10)
    for away in ("B2", "B3"):
        if not world.brokers[away].alive:
            world.brokers[away].restart()
    world.wait(120)
    ledger = Ledger(world.history)
    assert (len(ledger.due), lost(world, ledger)) == (1, [])
    assert [sequence for sequence, _ in world.delivered("s")] == ([] if is_away else [1])
