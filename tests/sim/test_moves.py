"""Clients that go to another broker: what waits for them comes after them, what they said twice arrives once."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.notices import QueuesChanged
from agvent.broker.records import Arrived, CaughtUp
from agvent.broker.tables.deliveries import HomeClient
from agvent.broker.tables.move_state import MoveState
from agvent.broker.tables.repeats import Repeats
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.sim.checkers.lost import lost
from agvent.sim.ledger import Ledger
from agvent.sim.network import Conditions
from agvent.sim.run import run
from agvent.sim.scenario import scenario_of
from agvent.types import AgventType
from agvent.wire.client_messages import Gap, Source
from agvent.wire.parts import Publication, Series
from tests.sim.broken import Broken
from tests.sim.watched import Watched

BOOK = AgventType(name="Book")


def line() -> Watched:
    """A publisher at B1; ada is at home at B3, and B2 lies between."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.attach("p", "B1")
    world.attach("ada", "B3")
    world.wait(1)
    world.ask("ada", "subscribe", Subscription(id="all"))
    world.wait(1)
    return world


def publish(world: Watched, count: int) -> None:
    for n in range(count):
        world.ask("p", "publish", Event(attributes={"n": n}))
    world.wait(1)


def numbers(world: Watched, client: str = "ada") -> list[int]:
    return [sequence for sequence, _ in world.delivered(client)]


def leftovers(world: Watched) -> list[str]:
    """What brokers still know of ada, other than at her home."""
    return [
        f"{node.name} {key}"
        for node in world.brokers.values()
        for key in node.broker.tables.deliveries.clients
        if key.startswith("ada") and node.name != world.clients["ada"].home
    ]


def test_what_waited_at_the_old_home_comes_to_the_new_one() -> None:
    """Events from before, during and after the move: each once, in order; the old home forgets her."""
    world = line()
    publish(world, 2)
    world.clients["ada"].leave()
    publish(world, 3)
    world.move("ada", "B1")
    publish(world, 2)
    world.wait(10)
    publish(world, 2)
    assert numbers(world) == list(range(1, 10))
    assert leftovers(world) == []
    assert list(world.brokers["B3"].broker.tables.local.current) == []


def test_what_was_there_first_waits_for_the_old_home() -> None:
    """While the old home is away nothing is given, and when it is back everything is, in order."""
    world = line()
    world.clients["ada"].leave()
    publish(world, 3)
    world.brokers["B3"].crash(with_disk=True)
    world.move("ada", "B2")
    world.wait(5)
    publish(world, 2)
    assert numbers(world) == []
    world.brokers["B3"].restart()
    world.wait(20)
    assert numbers(world) == [1, 2, 3, 4, 5]
    assert leftovers(world) == []


def mover(size: int, *, large_first: bool = True) -> Watched:
    """A publisher at B1; ada is at home at B2, with a subscription of some size, and moves to B3 over a slow link."""
    world = Watched([("B1", "B2"), ("B1", "B3")])
    world.attach("p", "B1")
    world.attach("ada", "B2")
    world.wait(1)
    subscriptions = [Subscription(id="large", context={"c": "c" * size}), Subscription(id="small")]
    for subscription in subscriptions if large_first else reversed(subscriptions):
        world.ask("ada", "subscribe", subscription)
    world.wait(2)
    world.move("ada", "B3")
    world.network.paths["ada", "B3"].conditions = Conditions(delay_us=5_000, bytes_per_s=100_000)
    return world


def test_subscriptions_may_take_long_to_come_to_the_new_home() -> None:
    """They are several frames, and events come between them: each arrives once for both, in order."""
    world = mover(200_000)
    for _ in range(50):
        world.ask("p", "publish", Event())
        world.wait(0.05)
    world.wait(10)
    got = world.delivered("ada")
    assert [sequence for sequence, _ in got] == list(range(1, 51))
    assert {id for _, ids in got for id in ids} == {"large", "small"}
    assert leftovers(world) == []


def test_a_client_may_go_on_before_it_has_said_where_it_was() -> None:
    """The home in between is asked by the next one, and asks the first one itself."""
    world = mover(200_000)
    world.clients["ada"].leave()
    world.wait(1)
    world.move("ada", "B3")
    world.wait(1)
    publish(world, 3)
    assert world.brokers["B3"].broker.tables.deliveries.clients["ada~1"].is_expected
    world.move("ada", "B1")
    world.wait(1)
    publish(world, 2)
    world.wait(30)
    assert numbers(world) == [1, 2, 3, 4, 5]
    assert leftovers(world) == []


def test_another_process_is_given_what_waits_for_one_that_never_said_where_it_was() -> None:
    """The small subscription is in force at the new home when the process ends, the Move has not come."""
    world = mover(200_000, large_first=False)
    world.wait(1)
    publish(world, 2)
    assert list(world.brokers["B3"].broker.tables.local.current) == ["ada~1/small"]
    world.clients["ada"].leave()
    world.mend("ada", "B3")
    world.clients["ada"].session = Session("ada")
    world.clients["ada"].back()
    world.wait(10)
    publish(world, 1)
    assert numbers(world) == [1, 2, 3]


def test_a_client_may_go_on_before_it_has_all() -> None:
    """From B3 to B2 to B1 and back to B3, without a rest, with events in between: the homes ask each other in turn."""
    world = line()
    world.clients["ada"].leave()
    for home in ("B2", "B1", "B3"):
        publish(world, 2)
        world.move("ada", home)
        world.wait(0.3)
    publish(world, 2)
    world.wait(30)
    assert numbers(world) == list(range(1, 9))
    assert leftovers(world) == []
    assert [key for key in world.brokers["B3"].broker.tables.deliveries.clients if key.startswith("ada")] == ["ada~3"]


def test_an_old_home_that_lost_its_disk_is_a_gap() -> None:
    """She is told of what waited for her there, and of what was published there, and gets what came to the new home."""
    world = line()
    world.brokers["B3"].crash(with_disk=False)
    world.move("ada", "B2")
    world.wait(1)
    world.brokers["B3"].restart()
    world.wait(10)
    publish(world, 2)
    gaps = [one.message for one in world.history.told if one.client == "ada" and isinstance(one.message, Gap)]
    assert [(gap.reason, gap.subscriptions) for gap in gaps] == [("lost_disk", ("all",))] * 2
    assert numbers(world) == [1, 2]


def test_an_old_home_that_was_given_up_closes_its_part_when_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the new home was started again meanwhile. Nothing goes to it any more, and nothing waits there."""
    monkeypatch.setattr(limits, "MOVE_WAIT_US", 10_000_000)
    world = line()
    world.brokers["B3"].crash(with_disk=True)
    world.move("ada", "B2")
    world.wait(30)
    world.brokers["B2"].crash(with_disk=True)
    world.brokers["B2"].restart()
    world.brokers["B3"].restart()
    world.wait(90)
    publish(world, 3)
    assert numbers(world) == [1, 2, 3]
    assert leftovers(world) == []
    assert not world.brokers["B3"].broker.tables.local.current
    assert not world.brokers["B2"].broker.tables.deliveries.given_up


def test_a_filter_that_changes_on_the_way_is_said_before_the_move() -> None:
    """The old home closes when the new one has her subscription: nothing is lost between."""
    world = mover(0)
    ada = world.clients["ada"]
    while "ada~1" not in world.brokers["B3"].broker.tables.deliveries.clients:
        world.wait(0.0002)
    world.network.paths["ada", "B3"].cut = True
    while ada.session.broker != "B3":
        world.wait(0.0005)
    ada.leave()
    world.wait(0.2)
    world.network.paths["ada", "B3"].cut = False
    world.network.paths["ada", "B3"].conditions = Conditions(delay_us=5_000, bytes_per_s=100_000)
    for id in ("large", "small"):
        world.ask("ada", "subscribe", Subscription(id=id, filter="n >= 0", context={"c": "c" * 200_000}))
    ada.back()
    for n in range(60):
        world.ask("p", "publish", Event(attributes={"n": n}))
        world.wait(0.1)
    world.wait(20)
    assert numbers(world) == list(range(1, 61))


def test_a_new_home_that_loses_its_disk_asks_the_old_one_again() -> None:
    """Before it has answered the Move, and after: the old home gives what it has, and forgets her."""
    for seconds in (0.0, 2.0):
        world = line()
        world.clients["ada"].leave()
        publish(world, 3)
        world.cut("B2", "B3")
        world.move("ada", "B2")
        while world.clients["ada"].session.broker != "B2":
            world.wait(0.0005)
        world.wait(seconds)
        world.brokers["B2"].crash(with_disk=False)
        world.wait(1)
        world.brokers["B2"].restart()
        world.mend("B2", "B3")
        world.wait(20)
        publish(world, 2)
        assert numbers(world) == [1, 2, 3, 4, 5]
        assert leftovers(world) == []


def test_a_claim_under_way_revives_nobody() -> None:
    """The home in between has let her go when a claim comes that was sent before its last word."""
    world = line()
    for ends in (("B1", "B2"), ("B2", "B1"), ("B2", "B3"), ("B3", "B2")):
        world.network.paths[ends].conditions = Conditions(delay_us=400_000)
    world.wait(3)
    world.move("ada", "B2")
    while world.clients["ada"].session.broker != "B2":
        world.wait(0.0005)
    world.move("ada", "B1")
    world.wait(60)
    publish(world, 3)
    assert numbers(world) == [1, 2, 3]
    assert leftovers(world) == []


def test_an_old_home_that_stays_away_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while she is given what there is, behind a notice."""
    monkeypatch.setattr(limits, "MOVE_WAIT_US", 10_000_000)
    world = line()
    world.brokers["B3"].crash(with_disk=True)
    world.move("ada", "B2")
    world.wait(3)
    publish(world, 2)
    assert numbers(world) == []
    world.wait(20)
    gaps = [one.message for one in world.history.told if one.client == "ada" and isinstance(one.message, Gap)]
    assert [gap.reason for gap in gaps] == ["moved"]
    assert numbers(world) == [1, 2]


@pytest.mark.parametrize(("limit", "most"), [("CLIENT_QUEUE_BYTES_MAX", 100_000), ("CLIENT_DELIVERIES_MAX", 11)])
def test_what_waits_for_an_old_home_has_a_quota(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    """In bytes and in number: beyond it the oldest become a gap notice, and what is left comes after it."""
    monkeypatch.setattr(limits, limit, most)
    monkeypatch.setattr(limits, "MOVE_WAIT_US", 20_000_000)
    world = line()
    world.brokers["B3"].crash(with_disk=True)
    world.move("ada", "B2")
    world.wait(3)
    for _ in range(20):
        world.ask("p", "publish", Event(attributes={"x": "x" * 9_000}))
        world.wait(0.5)
    [client] = [one for one in world.brokers["B2"].broker.tables.deliveries.clients.values() if one.moving is not None]
    assert client.moving is not None
    assert client.moving.waiting_bytes <= 100_000
    assert len(client.moving.waiting) <= 11
    world.wait(60)
    told = [one.message for one in world.history.told if one.client == "ada" and isinstance(one.message, Gap)]
    [(moved, _, _), (quota, first, last)] = [(gap.reason, gap.first, gap.last) for gap in told]
    assert (moved, quota, first) == ("moved", "quota", 1)
    assert numbers(world) == [*range(last + 1, 21)]
    assert lost(world, Ledger(world.history)) == []


def test_a_subscription_ended_on_the_way_gets_nothing() -> None:
    """What waits for it at the old home is handed over for the others only; what is published later is not for it."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="dear", filter="n > 0"))
    world.wait(1)
    world.clients["ada"].leave()
    publish(world, 2)
    world.ask("ada", "unsubscribe", "all")
    world.move("ada", "B1")
    world.wait(10)
    publish(world, 2)
    assert world.delivered("ada") == [(2, ("dear",)), (4, ("dear",))]


def test_a_subscription_ended_at_the_new_home_is_handed_nothing() -> None:
    """Not what the old home had, which was away meanwhile; one of the same name that was opened since gets its own."""
    world = line()
    world.clients["ada"].leave()
    publish(world, 2)
    world.brokers["B3"].crash(with_disk=True)
    world.move("ada", "B1")
    world.wait(1)
    publish(world, 1)
    world.ask("ada", "unsubscribe", "all")
    world.wait(1)
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].restart()
    world.ask("ada", "subscribe", Subscription(id="all"))
    world.wait(5)
    publish(world, 1)
    world.brokers["B3"].restart()
    world.wait(20)
    assert world.delivered("ada") == [(4, ("all",))]
    assert world.brokers["B1"].broker.tables.deliveries.clients["ada~1"].durable.waiting == {}


def test_types_move_with_their_publisher() -> None:
    """Nobody has the old home's advertisement any more, and the type never was gone for long."""
    world = line()
    world.ask("p", "advertise", BOOK)
    world.wait(1)
    world.move("p", "B2")
    world.wait(10)
    assert {node.broker.tables.advertisements.found("") for node in world.brokers.values()} == {(("B2", "p", BOOK),)}


def test_an_event_that_two_brokers_accepted_arrives_once() -> None:
    """B1 accepts it and cannot say so; its publisher sends it to B2; ada has it once, whichever copy is first."""
    for b1_first in (True, False):
        world = line()
        if not b1_first:
            world.network.paths["B1", "B2"].cut = True
        world.network.paths["B1", "p"].cut = True
        publish(world, 2)
        world.move("p", "B2")
        publish(world, 2)
        world.network.paths["B1", "B2"].cut = world.network.paths["B1", "p"].cut = False
        world.wait(20)
        accepted = [node.broker.tables.custody.accepted.get(Series("p", fast=False)) for node in world.brokers.values()]
        assert accepted == [2, 4, None]
        assert sorted(numbers(world)) == [1, 2, 3, 4]


def test_only_the_client_itself_moves_what_is_its() -> None:
    """A client that names another one's queue is refused, and nothing happens."""
    world = line()
    world.clients["p"].session.sources = (Source("B3", 1, "ada", 0),)
    world.move("p", "B2")
    world.wait(5)
    gaps = [one.message.reason for one in world.history.told if one.client == "p" and isinstance(one.message, Gap)]
    assert gaps == []  # it has no subscription that could miss something
    publish(world, 1)
    assert numbers(world) == [1]


def test_a_client_that_says_it_has_more_than_there_is_harms_itself_only() -> None:
    """A number beyond the old home's last one ends what waits there, and nothing else."""
    world = line()
    world.attach("ben", "B3")
    world.ask("ben", "subscribe", Subscription(id="all"))
    world.wait(1)
    world.clients["ada"].leave()
    publish(world, 2)
    world.clients["ada"].session.inboxes[False].received = 1 << 62
    world.move("ada", "B2")
    world.wait(20)
    for node in world.brokers.values():
        node.broker.check()
    publish(world, 1)
    assert numbers(world, "ben") == [1, 2, 3]
    assert leftovers(world) == []


def test_a_process_that_has_the_name_of_another_is_not_it() -> None:
    """Sequences begin anew with a new life: what it publishes is no repeat."""
    repeats = Repeats()
    repeats.add(Publication("p", 7, b"", life=1, retried=((7, 7),)))
    assert repeats.had(Publication("p", 7, b"", life=1)) == {0}
    assert repeats.had(Publication("p", 7, b"", life=2)) == set()


def test_a_retried_range_is_remembered_for_long() -> None:
    """What was sent to two entries is known when the second copy comes after thousands of others."""
    repeats = Repeats()
    for sequence in (1, 2):
        repeats.add(Publication("p", sequence, b"", retried=((1, 3),)))
    for sequence in range(4, 50_000, 2):
        repeats.add(Publication("p", sequence, b""))
    assert [repeats.had(Publication("p", sequence, b"")) for sequence in (1, 2, 3)] == [{0}, {0}, set()]


def test_of_a_batch_that_two_entries_took_in_different_parts_each_event_is_known() -> None:
    """One entry took it as one, another its events one by one, or with others: each is taken once."""
    repeats = Repeats()
    repeats.add(Publication("p", 4, b"", count=3))
    again = Publication("p", 6, b"", retried=((2, 6),), count=4)
    assert repeats.had(again) == {0, 1}
    repeats.add(again)
    assert repeats.had(Publication("p", 7, b"", count=4)) == {0, 1, 2}


# Every mistake is found


class ClosesTooEarly(Broken):
    """The old home ends its part before the new one's is in force."""

    def spoil(self) -> None:
        self.moves._is_in_force = lambda client: True  # type: ignore[method-assign]


class ForgetsWhatWasHanded(Broken):
    """What both homes were sent is given twice; the client drops the second, which may be for more subscriptions."""

    def spoil(self) -> None:
        self.tables._apply[CaughtUp] = lambda record: caught_up(self, record, without_repeats=False)


class DoesNotSort(Broken):
    """What was handed over goes first, though some of what waited is older."""

    def spoil(self) -> None:
        self.tables._apply[CaughtUp] = lambda record: caught_up(self, record, without_repeats=True)


def caught_up(broker: Broker, record: CaughtUp, *, without_repeats: bool) -> QueuesChanged:
    """One list behind the other."""
    client = broker.tables.deliveries.clients[record.client]
    moving = client.moving
    assert moving is not None
    had = {(one.delivery.publisher, getattr(one.delivery, "sequence", 0)) for one in moving.handed}
    for passed in (*moving.handed, *moving.waiting):
        is_repeat = (
            passed in moving.waiting and (passed.delivery.publisher, getattr(passed.delivery, "sequence", 0)) in had
        )
        if not (without_repeats and is_repeat):
            client.durable.add(passed.delivery, passed.expires)
    moving.handed, moving.waiting, moving.is_done = [], [], True
    del broker.tables.deliveries.moving[record.client]
    return QueuesChanged((record.client,))


class TakesRepeats(Broken):
    """An event that two entries accepted is delivered twice."""

    def spoil(self) -> None:
        self.tables.chains.repeats.had = lambda publication: set()  # type: ignore[method-assign]


class DoesNotWait(Broken):
    """What arrives at the new home does not wait for the old one."""

    def spoil(self) -> None:
        deliveries = self.tables.deliveries

        def arrive(record: Arrived) -> QueuesChanged:
            ways: list[tuple[HomeClient, MoveState | None]] = [(one, one.moving) for one in deliveries.clients.values()]
            for client, _ in ways:
                client.moving = None
            changed = type(deliveries).arrive(deliveries, record)
            for client, moving in ways:
                client.moving = moving
            return changed

        deliveries.arrive = arrive  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("make", "checker", "first_seed"),
    [
        (ClosesTooEarly, "unconfirmed", 130),
        (ForgetsWhatWasHanded, "lost", 12),
        (TakesRepeats, "duplicated", 740),
        (DoesNotWait, "order", 32),
        (DoesNotSort, "order", 195),
    ],
)
def test_the_checkers_find_a_move_gone_wrong(make: type[Broker], checker: str, first_seed: int) -> None:
    """Among a few seeds of the mix with moves, a broker with the mistake is found by the checker that is for it."""
    found: set[str] = set()
    for seed in range(first_seed, first_seed + 60):
        found |= {one.partition(":")[0] for one in run(scenario_of(seed, faults="moves"), make=make).violations}
        if checker in found:
            return
    pytest.fail(f"{make.__name__} was not found by {checker!r}, only by {sorted(found)}")
