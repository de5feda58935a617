"""Particular breaks that seeds found, as small worlds of their own."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.custody import Standing
from agvent.broker.interface import Forget
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.behaviours import agvent
from agvent.sim.checkers.lost import lost
from agvent.sim.ledger import Ledger
from agvent.sim.network import Conditions
from agvent.wire.broker_messages import Copies
from agvent.wire.client_messages import Refused
from agvent.wire.link import Change
from tests.sim.watched import SECOND, Watched


def test_acknowledgements_from_before_a_break_do_not_follow_it() -> None:
    """A broker that stood still while its client came back acknowledges to the new link only what comes over it."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.wait(1)
    world.brokers["B1"].fsync_us = SECOND // 2
    for _ in range(3):
        world.ask("p", "publish", Event())
    world.wait(0.01)
    world.clients["p"].leave()
    world.clients["p"].back()
    for _ in range(3):
        world.ask("p", "publish", Event())
    world.wait(10)
    assert world.clients["p"].session.unacknowledged == {}
    assert world.brokers["B1"].broker.tables.custody.accepted == {("p", False): 6}


def test_a_delivery_is_sent_when_its_own_record_is_on_disk() -> None:
    """The sync of one event's record does not send the next one, whose number a crash could give to another event."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.wait(1)
    world.ask("p", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.brokers["B1"].fsync_us = SECOND // 2
    world.ask("p", "publish", Event())
    world.wait(0.3)
    world.ask("p", "publish", Event())
    world.wait(0.3)
    assert world.delivered("p") == [(1, ("all",))]
    world.wait(1)
    assert world.delivered("p") == [(1, ("all",)), (2, ("all",))]


def test_an_arrival_is_confirmed_when_its_own_record_is_on_disk() -> None:
    """The sync of one arrival's record does not confirm the next one, which the entry would then forget."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.brokers["B2"].fsync_us = SECOND // 2
    world.ask("p", "publish", Event())
    world.wait(0.3)
    world.ask("p", "publish", Event())
    world.wait(0.3)
    held = world.brokers["B1"].broker.tables.custody.held
    assert [key[3] for key in held] == [2]
    world.wait(1)
    assert held == {}


def test_an_event_accepted_before_a_crash_arrives_after_it() -> None:
    """A crash may tear an event's acceptance from its arrival at the same broker; the restart brings it home."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.wait(1)
    world.ask("p", "subscribe", Subscription(id="all"))
    world.wait(1)
    node = world.brokers["B1"]
    node.fsync_us = SECOND
    world.ask("p", "publish", Event())
    world.wait(0.1)
    torn = len(node.disk.unsynced)
    assert torn == 2
    node.disk.sync(1)
    node.disk.unsynced.clear()
    node.crash(with_disk=True)
    node.start()
    world.wait(10)
    assert world.delivered("p") == [(1, ("all",))]


def test_a_subscription_calls_behaviours_once_at_the_entry() -> None:
    """The entry asks an event's behaviours, and the home judges by the answers that came with it; a fault is
    unknown."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="dear", filter="is_dear(5)"))
    world.ask("s", "subscribe", Subscription(id="nested", filter="twice(twice(price)) = 28"))
    world.ask("s", "subscribe", Subscription(id="broken", filter="fails() OR price = 1"))
    world.wait(1)
    for price in (7, 1, 3):
        world.ask("p", "publish", agvent(Event(attributes={"price": price})))
    world.wait(1)
    assert world.delivered("s") == [(1, ("dear", "nested")), (2, ("broken",))]


@pytest.mark.parametrize("killed", ["B2", "B3"])
@pytest.mark.parametrize("fast", [False, True])
def test_what_a_dead_broker_had_taken_over_is_sent_again_at_once(killed: str, *, fast: bool) -> None:
    """Events that were on a transit broker's disk when it died arrive a few round trips later, and not when it is back:
    from their entry if it was the next one, else by word of the broker that had passed them on to it."""
    world = Watched([("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B1", "B5"), ("B5", "B6"), ("B6", "B4"), ("B2", "B6")])
    world.attach("p", "B1")
    world.attach("s", "B4")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.brokers["B1"].broker.router.routes.measure("B5", SECOND, 0)
    world.brokers["B2"].broker.router.routes.measure("B6", SECOND, 0)
    after = {"B2": "B3", "B3": "B4"}[killed]
    world.network.paths[killed, after].conditions = Conditions(delay_us=SECOND)
    for _ in range(5):
        world.ask("p", "publish", Event(), fast=fast)
    world.wait(0.3)
    assert world.delivered("s") == []
    held = world.brokers["B1"].broker.tables.custody.held.values()
    assert {copy.standing for event in held for copy in event.copies.values()} == {Standing.HANDED}
    world.brokers[killed].crash(with_disk=True)
    for before in ("B1", "B2", "B3", "B4"):
        if killed in world.brokers[before].ends:
            world.brokers[before].happened(killed, [Change.DOWN])
            world.brokers[before].ends[killed].close(world.now)
    world.wait(0.5)
    assert [sequence for sequence, _ in world.delivered("s")] == [1, 2, 3, 4, 5]


def test_a_link_that_flaps_does_not_fill_a_slow_one_behind_it() -> None:
    """Each time what was on the way is sent again; what still waits for the slow link does not wait there twice."""
    edges = [
        ("B1", "B2"),
        ("B2", "B3"),
        ("B3", "B4"),
        ("B1", "B5"),
        ("B5", "B6"),
        ("B6", "B4"),
        ("B2", "B6"),
        ("B3", "B7"),
    ]
    world = Watched(edges)
    for ends in (("B3", "B7"), ("B7", "B3")):
        world.network.paths[ends].conditions = Conditions(delay_us=5_000, bytes_per_s=5_000)
    for client, home in (("p", "B1"), ("s", "B4"), ("t", "B7")):
        world.attach(client, home)
    world.wait(2)
    for client in ("s", "t"):
        world.ask(client, "subscribe", Subscription(id="all"))
    world.wait(2)
    world.watch.sent.clear()
    for _ in range(20):
        for _ in range(15):
            world.ask("p", "publish", Event())
        world.wait(0.5)
        for here, there in (("B3", "B4"), ("B4", "B3")):
            node = world.brokers[here]
            if node.ends[there].up:
                node.happened(there, [Change.DOWN])
                node.ends[there].close(world.now)
                node.touched[there] = None
                node.pump()
    world.wait(10)
    assert (len(world.delivered("s")), len(world.delivered("t"))) == (300, 300)
    assert world.brokers["B1"].broker.tables.custody.held == {}
    assert world.watch.hops(Copies).count(("B3", "B7")) <= 2 * 300


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
    assert len(world.brokers["B2"].broker.tables.homes.replaced) <= 2


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
    assert world.brokers["B2"].broker.tables.homes.replaced == []


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
