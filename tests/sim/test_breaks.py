"""Particular breaks that seeds found, as small worlds of their own."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from agvent.broker.interface import MessageCame
from agvent.broker.records import Kept
from agvent.broker.tables.custody import Custody, Standing
from agvent.errors import WireError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.sim.checkers.lost import lost
from agvent.sim.ledger import Ledger
from agvent.sim.network import Conditions
from agvent.types import AgventType
from agvent.wire.broker_messages import Answer, Copies, Delta, Routed, Seek
from agvent.wire.client_messages import Gap, Stopped
from agvent.wire.link import Change
from agvent.wire.parts import Entered, Publication, Series, Target
from tests.sim import undone
from tests.sim.watched import SECOND, Watched


def test_acknowledgements_from_before_a_break_do_not_follow_it() -> None:
    """A broker that stood still while its client came back acknowledges once more what comes over the new link."""
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
    assert world.brokers["B1"].broker.tables.custody.accepted == {Series("p", fast=False): 6}


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
    assert [key.sequence for key in held] == [2]
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
    assert torn == 3
    node.disk.sync(1)
    node.disk.unsynced.clear()
    node.crash(with_disk=True)
    node.start()
    world.wait(10)
    assert world.delivered("p") == [(1, ("all",))]


def test_a_subscription_calls_behaviours_once_at_the_entry() -> None:
    """The entry asks an event's behaviours, and the home judges by the answers that came with it; a fault is unknown,
    and the publisher is told."""
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
    said = [one.message for one in world.history.told if isinstance(one.message, Stopped)]
    assert said == [
        Stopped(sequence=sequence, broker="B1", reason="fails failed: ValueError", declined=())
        for sequence in (1, 2, 3)
    ]


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


def test_fast_deliveries_have_other_numbers_after_a_restart() -> None:
    """What comes after a restart is not taken for a repeat of what came before it."""
    world = two()
    for _ in range(3):
        world.ask("p", "publish", Event(), fast=True)
    world.wait(1)
    world.brokers["B2"].crash(with_disk=True)
    world.brokers["B2"].start()
    world.wait(10)
    world.ask("p", "publish", Event(), fast=True)
    world.wait(5)
    assert [sequence for sequence, _ in world.delivered("s")] == [1, 2, 3, 4]


def test_a_gap_notice_of_a_fast_event_is_acknowledged_as_one() -> None:
    """It has a number of the fast queue, and the durable ones go on from where they were."""
    world = two()
    world.ask("p", "publish", Event())
    world.wait(1)
    world.clients["s"].leave()
    world.wait(5)
    world.ask("p", "publish", Event(), fast=True, expires=world.now + SECOND)
    world.wait(2)
    world.clients["s"].back()
    world.wait(1)
    queues = world.brokers["B2"].broker.tables.deliveries.clients["s"]
    assert queues.fast.waiting == {}
    assert [inbox.received for inbox in world.clients["s"].session.inboxes] == [1, queues.fast.number]


def two() -> Watched:
    """A publisher at B1 and a subscriber at B2."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    return world


def test_an_expired_event_may_be_early_at_its_home() -> None:
    """It overtakes a large one on a narrow link, and when its turn has come it is a link of the chain and no event."""
    world = two()
    world.cut("B1", "B2")
    world.ask("p", "publish", Event(attributes={"text": "x" * 100_000}))
    world.ask("p", "publish", Event(), expires=world.now + SECOND)
    world.wait(3)
    world.mend("B1", "B2")
    world.network.paths["B1", "B2"].conditions = Conditions(bytes_per_s=50_000)
    world.wait(10)
    assert world.delivered("s") == [(1, ("all",))]
    assert not [told for told in world.history.told if isinstance(told.message, Gap)]
    assert world.brokers["B2"].broker.tables.chains.early == {}


def test_an_early_copy_is_let_go_when_its_entry_lost_its_disk() -> None:
    """The one before it will never come: nobody has it."""
    world = Watched([("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B1")])
    world.attach("p", "B1")
    world.attach("s", "B3")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    routes = world.brokers["B1"].broker.router.routes
    way = routes.choose("B3")
    assert way is not None
    world.network.paths[way, "B3"].conditions = Conditions(delay_us=10 * SECOND)
    world.ask("p", "publish", Event())
    world.wait(0.05)
    routes.measure(way, 100 * SECOND, 0)
    world.ask("p", "publish", Event())
    world.wait(0.2)
    early = world.brokers["B3"].broker.tables.chains.early
    assert [sequence for waiting in early.values() for sequence in waiting] == [2]
    world.brokers["B1"].crash(with_disk=False)
    world.brokers[way].crash(with_disk=False)
    world.brokers["B1"].start()
    world.wait(20)
    assert early == {}


def test_a_delta_to_what_a_broker_was_before_it_lost_its_disk_says_nothing() -> None:
    """What it answered were other advertisements: taken for an answer to these, it would leave out a home that wants an
    event."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.attach("s", "B1")
    world.attach("p", "B3")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="news", type="News"))
    for _ in range(3):
        world.ask("p", "advertise", AgventType(name="Book"))
        world.wait(1)
        world.ask("p", "unadvertise", "Book")
        world.wait(1)
    world.forget_words()
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].start()
    world.wait(5)
    [late] = [m for a, b, m in world.watch.sent if (a, b) == ("B2", "B3") and isinstance(getattr(m, "body", 0), Delta)]
    world.cut("B1", "B2")
    world.brokers["B3"].crash(with_disk=False)
    world.brokers["B3"].start()
    world.wait(10)
    world.brokers["B3"].do([MessageCame("B2", late)])
    world.ask("p", "advertise", AgventType(name="News"))
    world.ask("p", "publish", Event(type="News"))
    world.wait(1)
    world.mend("B1", "B2")
    world.wait(10)
    assert lost(world, Ledger(world.history)) == []


def test_a_copy_that_joins_one_that_was_let_go_brings_the_event() -> None:
    """What is on its way for one home without the event goes on with it for another."""
    custody = Custody("B2", 1)
    entered, publication = Entered("B1", 1, 1), Publication("p", 1, b"{}")
    gone = msgspec.structs.replace(publication, event=b"")
    custody.keep(
        Kept(
            Copies(
                entered=entered,
                publication=gone,
                targets=(Target("B3", 1, 1, 0),),
                trace=(("B1", 128),),
                attempt=0,
                lost="expired",
            )
        )
    )
    custody.keep(
        Kept(
            Copies(
                entered=entered,
                publication=publication,
                targets=(Target("B4", 1, 1, 0),),
                trace=(("B1", 128),),
                attempt=0,
            )
        )
    )
    custody.check()
    [held] = custody.held.values()
    onward = [custody.copies_message(held, [copy], ()) for copy in held.copies.values()]
    assert [(copies.targets[0].home, copies.publication.event) for copies in onward] == [("B3", b""), ("B4", b"{}")]


def test_a_copy_that_came_back_does_not_go_the_same_way_again() -> None:
    """Both ways to its home are cut, and it was tried once by each; when one is mended it arrives."""
    world = Watched([("B1", "B2"), ("B2", "B4"), ("B1", "B3"), ("B3", "B4")])
    world.attach("p", "B1")
    world.attach("s", "B4")
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.ask("p", "publish", Event())
    world.wait(1)
    world.brokers["B1"].broker.router.routes.measure("B3", SECOND // 5, 0)
    world.cut("B3", "B4")
    for ends in (("B2", "B4"), ("B4", "B2")):
        world.network.paths[ends].cut = True
    world.forget_words()
    world.ask("p", "publish", Event())
    world.wait(3)
    assert world.watch.hops(Copies) == [("B1", "B2"), ("B2", "B4"), ("B2", "B1"), ("B1", "B3")]
    world.mend("B2", "B4")
    assert world.delivered("s") == [(1, ("all",)), (2, ("all",))]


def test_an_answer_that_comes_back_to_its_sender_proves_nothing() -> None:
    """The next broker has no way on and tells everybody, its sender too; that learns no way to itself."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.cut("B2", "B3")
    world.brokers["B1"].do(
        [MessageCame("B2", Routed(targets=("B1",), trace=(("B3", 2_048), ("B2", 2_048)), body=Seek("B3")))]
    )
    world.wait(1)
    assert world.watch.broadcasts(Answer) == [("B2", "B1")]
    assert world.brokers["B1"].broker.router.routes.known("B1") == {}


UNDONE: list[tuple[Callable[[], None], undone.Undo]] = [
    (test_a_delivery_is_sent_when_its_own_record_is_on_disk, undone.delivers_before_its_record),
    (test_an_arrival_is_confirmed_when_its_own_record_is_on_disk, undone.confirms_before_its_record),
    (test_an_event_accepted_before_a_crash_arrives_after_it, undone.leaves_torn_what_was_torn),
    (test_fast_deliveries_have_other_numbers_after_a_restart, undone.numbers_fast_deliveries_from_one),
    (test_a_gap_notice_of_a_fast_event_is_acknowledged_as_one, undone.takes_fast_gaps_for_durable),
    (test_an_expired_event_may_be_early_at_its_home, undone.forgets_that_an_early_one_expired),
    (test_an_early_copy_is_let_go_when_its_entry_lost_its_disk, undone.keeps_what_a_lost_disk_sent),
    (test_a_delta_to_what_a_broker_was_before_it_lost_its_disk_says_nothing, undone.takes_a_delta_for_what_it_was),
    (test_a_copy_that_joins_one_that_was_let_go_brings_the_event, undone.keeps_the_event_that_was_let_go),
    (test_a_copy_that_came_back_does_not_go_the_same_way_again, undone.tries_the_same_way_again),
    (test_an_answer_that_comes_back_to_its_sender_proves_nothing, undone.believes_every_answer),
]


@pytest.mark.parametrize(("world", "undo"), UNDONE)
def test_a_world_finds_its_bug_again(
    world: Callable[[], None], undo: undone.Undo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the fix that a world is about is undone, it fails."""
    undo(monkeypatch)
    with pytest.raises((AssertionError, WireError)):
        world()
