"""Bounds: who is slow or away costs memory up to a bound, then gets a gap notice, and stops nobody else."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.checkers.lost import lost
from agvent.sim.ledger import Ledger
from agvent.sim.network import Conditions
from agvent.wire.client_messages import Deliver, Gap
from tests.sim.watched import Watched


def two_homes() -> Watched:
    """A publisher at B1 and subscribers to everything at B2 and B3, in a line with B1 in the middle."""
    world = Watched([("B1", "B2"), ("B1", "B3")])
    for client, home in (("p", "B1"), ("near", "B2"), ("far", "B3")):
        world.attach(client, home)
    world.wait(1)
    for client in ("near", "far"):
        world.ask(client, "subscribe", Subscription(id="all"))
    world.wait(1)
    return world


def gaps(world: Watched, client: str) -> list[tuple[str, int, int, str, tuple[str, ...]]]:
    told = [one.message for one in world.history.told if one.client == client]
    return [(m.publisher, m.first, m.last, m.reason, m.subscriptions) for m in told if isinstance(m, Gap)]


def test_a_client_that_is_away_gets_a_gap_notice_for_what_was_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond its quota a client's oldest deliveries become one notice; what is left comes after it, and none is
    lost."""
    monkeypatch.setattr(limits, "CLIENT_DELIVERIES_MAX", 10)
    world = two_homes()
    world.clients["far"].leave()
    for _ in range(14):
        world.ask("p", "publish", Event())
        world.wait(0.1)
    world.wait(5)
    world.clients["far"].back()
    world.wait(5)
    assert gaps(world, "far") == [("p", 1, 6, "quota", ("all",))]
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(7, 15))
    assert [sequence for sequence, _ in world.delivered("near")] == list(range(1, 15))
    assert lost(world, Ledger(world.history)) == []


def test_a_home_that_is_away_does_not_fill_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for an unreachable home is bounded: the oldest become one gap notice, and others get everything."""
    monkeypatch.setattr(limits, "HOME_COPIES_MAX", 10)
    world = two_homes()
    world.cut("B1", "B3")
    for _ in range(30):
        world.ask("p", "publish", Event())
        world.wait(0.5)
    held = world.brokers["B1"].broker.tables.custody.held
    assert len(held) <= limits.HOME_COPIES_MAX + 2
    world.mend("B1", "B3")
    world.wait(30)
    [(publisher, first, last, reason, subscriptions)] = gaps(world, "far")
    assert (publisher, first, reason, subscriptions) == ("p", 1, "retention", ("all",))
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(last + 1, 31))
    assert [sequence for sequence, _ in world.delivered("near")] == list(range(1, 31))
    assert lost(world, Ledger(world.history)) == []
    assert held == {}


def test_batches_for_a_home_that_is_away_are_counted_by_their_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home's share of custody is one of events, as custody itself: batches for a home that is away leave room for
    others, and what is left of one that was let go is one link."""
    monkeypatch.setattr(limits, "COPIES_MAX", 64)
    monkeypatch.setattr(limits, "HOME_COPIES_MAX", 16)
    world = two_homes()
    world.attach("q", "B1")
    world.wait(1)
    world.cut("B1", "B3")
    for _ in range(11):
        world.ask("p", "publish_batch", [Event() for _ in range(8)])
        world.wait(1)
    assert world.brokers["B1"].broker.tables.custody.event_count <= limits.HOME_COPIES_MAX + 1
    world.ask("q", "publish", Event())
    world.wait(1)
    assert world.clients["q"].session.unacknowledged == {}
    world.mend("B1", "B3")
    world.wait(30)
    assert gaps(world, "far") == [("p", 1, 80, "retention", ("all",))]
    assert sorted(sequence for sequence, _ in world.delivered("far")) == [1, *range(81, 89)]
    assert len(world.delivered("near")) == 89
    assert lost(world, Ledger(world.history)) == []


def test_what_waits_for_a_home_is_bounded_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large events for a home that is away: as many of the oldest as must go become a gap notice, and no more."""
    monkeypatch.setattr(limits, "HOME_COPIES_BYTES_MAX", 100_000)
    world = two_homes()
    world.cut("B1", "B3")
    for _ in range(12):
        world.ask("p", "publish", Event(attributes={"x": "x" * 9_000}))
        world.wait(1)
    assert world.brokers["B1"].broker.tables.custody.event_bytes <= limits.HOME_COPIES_BYTES_MAX
    world.mend("B1", "B3")
    world.wait(30)
    [(publisher, first, last, reason, _)] = gaps(world, "far")
    assert (publisher, first, last, reason) == ("p", 1, 7, "retention")
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(8, 13))
    assert [sequence for sequence, _ in world.delivered("near")] == list(range(1, 13))


def test_what_is_on_the_way_through_a_hub_costs_its_own_publishers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of others fill a home's share in bytes; the hub's own few are not let go for them."""
    monkeypatch.setattr(limits, "HOME_COPIES_BYTES_MAX", 100_000)
    world = Watched([("B1", "B2"), ("B2", "B3")])
    for client, home in (("local", "B2"), ("far", "B1"), ("s", "B3")):
        world.attach(client, home)
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.cut("B2", "B3")
    for client, size, count in (("local", 10, 10), ("far", 9_500, 10), ("local", 6_000, 2)):
        for _ in range(count):
            world.ask(client, "publish", Event(attributes={"x": "x" * size}))
            world.wait(0.3)
    world.wait(3)
    world.mend("B2", "B3")
    world.wait(30)
    assert gaps(world, "s") == []
    assert len(world.delivered("s")) == 22


def test_a_client_that_is_away_has_a_quota_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it is left when it was exceeded, whether many events were small or few were large."""
    monkeypatch.setattr(limits, "CLIENT_QUEUE_BYTES_MAX", 100_000)
    world = two_homes()
    world.clients["far"].leave()
    for size in (40_000, 1_000, 1_000, 40_000, 30_000):
        world.ask("p", "publish", Event(attributes={"x": "x" * size}))
        world.wait(1)
    world.clients["far"].back()
    world.wait(5)
    assert gaps(world, "far") == [("p", 1, 4, "quota", ("all",))]
    assert [sequence for sequence, _ in world.delivered("far")] == [5]


def test_custody_that_is_full_in_bytes_makes_publishers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with too many events: nothing is refused, and all go through when there is room."""
    monkeypatch.setattr(limits, "COPIES_BYTES_MAX", 50_000)
    world = two_homes()
    world.cut("B1", "B3")
    for _ in range(9):
        world.ask("p", "publish", Event(attributes={"x": "x" * 9_000}))
    world.wait(3)
    assert world.brokers["B1"].broker.tables.custody.event_bytes < limits.COPIES_BYTES_MAX + 9_100
    world.mend("B1", "B3")
    world.wait(30)
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(1, 10))


def test_fast_events_for_a_client_that_is_away_have_its_quota_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their queue is in memory: beyond the quota the oldest become a gap notice, and are counted."""
    monkeypatch.setattr(limits, "CLIENT_DELIVERIES_MAX", 10)
    world = two_homes()
    world.clients["far"].leave()
    for _ in range(14):
        world.ask("p", "publish", Event(), fast=True)
        world.wait(0.1)
    tables = world.brokers["B3"].broker.tables
    assert len(tables.deliveries.clients["far"].fast.waiting) <= limits.CLIENT_DELIVERIES_MAX
    world.wait(5)
    world.clients["far"].back()
    world.wait(5)
    assert gaps(world, "far") == [("p", 1, 6, "quota", ("all",))]
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(7, 15))
    assert tables.fast_lost == {"quota": 6}


def test_fast_events_for_a_home_that_is_away_do_not_fill_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the home's share of custody with the durable ones: the oldest become a gap notice, and are counted."""
    monkeypatch.setattr(limits, "COPIES_MAX", 40)
    monkeypatch.setattr(limits, "HOME_COPIES_MAX", 10)
    world = two_homes()
    world.attach("q", "B1")
    world.wait(1)
    world.cut("B1", "B3")
    for _ in range(60):
        world.ask("p", "publish", Event(), fast=True)
        world.wait(0.5)
    world.ask("q", "publish", Event())
    world.wait(1)
    assert world.clients["q"].session.unacknowledged == {}
    world.mend("B1", "B3")
    world.wait(30)
    [(publisher, first, last, reason, _)] = gaps(world, "far")
    assert (publisher, first, reason) == ("p", 1, "retention")
    assert world.brokers["B1"].broker.tables.fast_lost == {"retention": last}
    assert sorted(sequence for sequence, _ in world.delivered("far")) == [1, *range(last + 1, 61)]
    assert len(world.delivered("near")) == 61
    assert world.brokers["B1"].broker.tables.custody.held == {}


def test_a_fast_event_whose_time_is_over_is_let_go() -> None:
    """Its content is not kept for a home that is away; what comes after it does, and nothing counts as lost."""
    world = two_homes()
    world.cut("B1", "B3")
    world.ask("p", "publish", Event(), fast=True, expires=world.now + 1_000_000)
    world.ask("p", "publish", Event(), fast=True)
    world.wait(3)
    [first, _] = world.brokers["B1"].broker.tables.custody.held.values()
    assert first.publication.event == b""
    world.mend("B1", "B3")
    world.wait(10)
    assert [sequence for sequence, _ in world.delivered("far")] == [2]
    assert (gaps(world, "far"), world.brokers["B1"].broker.tables.fast_lost) == ([], {})


def test_a_full_entry_makes_publishers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where three quarters of custody are full, publications wait in credit and nothing is refused; all go through when
    there is room."""
    monkeypatch.setattr(limits, "COPIES_MAX", 8)
    world = two_homes()
    world.cut("B1", "B3")
    for _ in range(20):
        world.ask("p", "publish", Event())
    world.wait(3)
    assert len(world.brokers["B1"].broker.tables.custody.held) == 6
    assert len(world.clients["p"].session.unacknowledged) == 14
    world.mend("B1", "B3")
    world.wait(60)
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(1, 21))
    assert world.clients["p"].session.unacknowledged == {}


def test_a_slow_consumer_holds_no_more_than_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client on a slow link has at most a window of deliveries under way, and others are not slower for it."""
    monkeypatch.setattr(limits, "DELIVERY_WINDOW", 4)
    world = two_homes()
    for path in (("B3", "far"), ("far", "B3")):
        world.network.paths[path].conditions = Conditions(delay_us=200_000)
    for _ in range(20):
        world.ask("p", "publish", Event())
    world.wait(1)
    queue = world.brokers["B3"].broker.tables.deliveries.clients["far"].durable
    assert queue.sent - queue.received <= 4
    assert len(world.delivered("near")) == 20
    world.wait(10)
    assert [sequence for sequence, _ in world.delivered("far")] == list(range(1, 21))


def test_a_large_event_delays_only_its_own_publisher() -> None:
    """10 MB go in chunks: another publisher's small events overtake them, its own publisher's next one does not."""
    world = Watched([("B1", "B2")])
    for path in world.network.paths.values():
        path.conditions = Conditions(bytes_per_s=4_000_000)
    for client, home in (("big", "B1"), ("small", "B1"), ("s", "B2")):
        world.attach(client, home)
    world.wait(1)
    world.ask("s", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.ask("big", "publish", Event(attributes={"data": bytes(10_000_000)}))
    world.ask("big", "publish", Event())
    world.wait(0.5)
    for _ in range(5):
        world.ask("small", "publish", Event())
    world.wait(30)
    arrived = [
        (told.message.publisher, told.message.sequence)
        for told in world.history.told
        if told.client == "s" and isinstance(told.message, Deliver)
    ]
    assert arrived == [*(("small", number) for number in range(1, 6)), ("big", 1), ("big", 2)]
