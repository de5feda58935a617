"""Each checker fails for a broker with the mistake it is there for, and only broken brokers make it fail."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from agvent import limits
from agvent.broker.broker import Broker
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.sim.checkers import CHECKERS
from agvent.sim.checkers.ended import misended
from agvent.sim.checkers.lost import lost
from agvent.sim.checkers.memory import unbounded
from agvent.sim.checkers.order import out_of_order
from agvent.sim.ledger import Ledger
from agvent.sim.network import Conditions
from agvent.sim.run import judged, run
from agvent.sim.scenario import SWARM, Scenario, Workload, swarm_of
from agvent.sim.topology import Edge
from agvent.sim.world import World
from agvent.types import AgventType
from agvent.wire.client_messages import Deliver, Publish
from agvent.wire.codec import encode_event
from agvent.wire.parts import Publication
from tests.sim import (
    broken,
    broken_clients,
    test_content,
    test_disks,
    test_log_judge,
    test_restarts,
    test_watched_link,
    test_write_ahead,
)

SEEDS = range(40)
SECOND = 1_000_000


MISTAKES = [
    ("promised", broken.DropsCustodyOnLinkLoss, "line", "partitions"),
    ("unasked", broken.DeliversToEverybody, "star", "none"),
    ("lost", broken.DropsCustodyOnLinkLoss, "line", "partitions"),
    ("duplicated", broken.DoesNotDeduplicate, "ring", "none"),
    ("unexpected", broken.DeliversToEverybody, "star", "none"),
    ("unconfirmed", broken.ConfirmsTooEarly, "line", "none"),
    ("convergence", broken.ResurrectsAdvertisements, "tree", "none"),
    ("interest", broken.SendsWhatIsCovered, "star", "none"),
    ("interest", broken.ForgetsWhatWasCovered, "star", "none"),
    ("interest", broken.ConfirmsTooEarly, "line", "none"),
    ("custody", broken.NeverConfirms, "line", "none"),
    ("custody", broken.KeepsStaleRoutes, "ring", "members"),
    ("unconfirmed", broken.KeepsStaleRoutes, "ring", "members"),
    ("traffic", broken.SendsTwice, "line", "none"),
    ("traffic", broken.SendsToEveryHome, "star", "none"),
    ("traffic", broken.TellsTheNeighbours, "star", "none"),
    ("calm", broken.SendsToEveryHome, "star", "none"),
    ("calm", broken.TellsTheNeighbours, "star", "none"),
    ("calm", broken.SendsAtTicksOnly, "line", "none"),
    ("restless", broken.NeverRests, "line", "none"),
    ("resent", broken.SendsAgainAtEachTick, "line", "links"),
    ("released", broken.LetsGoOfWhatItSent, "line", "none"),
    ("conversation", broken_clients.AnswersTwice, "star", "none"),
    ("answers", broken_clients.DeniesWhatWasHad, "star", "none"),
    ("refused", broken_clients.RefusesAType, "star", "none"),
    ("notices", broken_clients.ExpiresEarly, "star", "none"),
    ("ended", broken_clients.TellsTypesGone, "star", "swarm"),
    ("ended", broken_clients.PushesOutForAWhile, "star", "swarm"),
]


COURIER_MISTAKES = [
    ("promised", broken.DropsCustodyOnLinkLoss, "line", "partitions"),
    ("unasked", broken.DeliversToEverybody, "star", "none"),
    ("routes", broken.ForgetsStops, "line", "none"),
    ("routes", broken.DeliversAgainstTheRoute, "line", "none"),
    ("lost", broken.LetsLegsGo, "line", "partitions"),
    ("custody", broken.KeepsDeclinesToItself, "line", "none"),
    ("overspent", broken.SpendsTwice, "line", "none"),
]
"""Mistakes with agvents that find their own way."""


def is_found(checker: str, make: type[Broker], *, topology: str, faults: str, couriers: bool = False) -> bool:
    """Does a checker fail in one of a few runs?"""
    for seed in SEEDS:
        scenario = Scenario(seed=seed, topology=topology, faults=faults, workload=Workload(couriers=couriers))
        if faults == SWARM:
            scenario = swarm_of(seed, topology=topology)
        verdict = run(scenario, make=make)
        if checker in {violation.partition(":")[0] for violation in verdict.violations}:
            return True
    return False


@pytest.mark.parametrize(("checker", "make", "topology", "faults"), MISTAKES)
def test_a_checker_finds_the_mistake_it_is_for(checker: str, make: type[Broker], topology: str, faults: str) -> None:
    """A broker with a deliberate mistake makes its checker fail."""
    assert is_found(checker, make, topology=topology, faults=faults)


@pytest.mark.parametrize(("checker", "make", "topology", "faults"), COURIER_MISTAKES)
def test_a_checker_finds_a_mistake_with_agvents(checker: str, make: type[Broker], topology: str, faults: str) -> None:
    """So does one with a deliberate mistake in what it does with agvents that find their own way."""
    assert is_found(checker, make, topology=topology, faults=faults, couriers=True)


@pytest.mark.parametrize(
    ("make", "sentences"),
    [
        (Broker, []),
        (broken.SendsToEveryHome, ["traffic: p:1 reached B3, where nobody wants it"]),
        (broken.TellsTheNeighbours, ["traffic: p:1 reached B3, where nobody wants it"]),
    ],
)
def test_an_event_goes_where_somebody_wants_it(make: type[Broker], sentences: list[str]) -> None:
    """Of two neighbours one has a subscription that matches; who sends the event to the other one as well is found."""
    world = world_of(make, [("B1", "B2"), ("B1", "B3")], {"p": "B1", "s": "B2", "t": "B3"})
    world.ask("s", "subscribe", Subscription(id="all"))
    world.ask("t", "subscribe", Subscription(id="dear", filter="price > 10"))
    world.run(world.now + SECOND)
    world.ask("p", "publish", Event(attributes={"price": 5}))
    world.run(world.now + SECOND)
    found = judged(Scenario(seed=1), world).violations
    assert [one for one in found if one.startswith("traffic")] == sentences


@pytest.mark.parametrize(
    ("make", "sentences"),
    [
        (Broker, []),
        (broken_clients.KeepsTypesToItself, ["s was not told that Trade is gone, which nobody publishes"]),
    ],
)
def test_a_subscriber_is_told_that_a_type_is_gone(make: type[Broker], sentences: list[str]) -> None:
    """Its only publisher withdraws it while the subscriber is there; a home that keeps that to itself is found."""
    world = world_of(make, [("B1", "B2")], {"p": "B1", "s": "B2"})
    world.ask("p", "advertise", AgventType(name="Trade"))
    world.run(world.now + SECOND)
    world.ask("s", "subscribe", Subscription(id="trades", type="Trade"))
    world.run(world.now + SECOND)
    world.ask("p", "unadvertise", "Trade")
    world.run(world.now + SECOND)
    assert misended(world, Ledger(world.history)) == sentences


def world_of(make: type[Broker], edges: list[Edge], clients: dict[str, str]) -> World:
    """Brokers and clients, up and attached."""
    world = World(1, edges)
    world.start(make)
    world.run(world.now + 3 * SECOND)
    for client, home in clients.items():
        world.attach(client, home)
    world.run(world.now + SECOND)
    return world


@pytest.mark.parametrize(("make", "vanished"), [(Broker, 0), (broken.AcknowledgesBeforeFsync, 1)])
def test_what_is_acknowledged_before_fsync_is_found_lost(make: type[Broker], vanished: int) -> None:
    """A crash between acknowledgement and fsync loses an event, and the checker says so; ours acknowledges after."""
    world = world_of(make, [("B1", "B2")], {"p": "B1"})
    node = world.brokers["B1"]
    node.fsync_us = SECOND
    world.ask("p", "publish", Event())
    world.run(world.now + SECOND // 2)
    node.disk.unsynced.clear()
    node.crash(with_disk=True)
    assert len(lost(world, Ledger(world.history))) == vanished


@pytest.mark.parametrize(("make", "disordered"), [(Broker, 0), (broken.DoesNotHoldBack, 1)])
def test_what_overtakes_its_predecessor_is_found_out_of_order(make: type[Broker], disordered: int) -> None:
    """The first event is on a slow link when the second goes the other way round: a hasty home delivers that first."""
    world = world_of(make, [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B1")], {"p": "B1", "s": "B3"})
    world.ask("s", "subscribe", Subscription(id="all"))
    world.run(world.now + SECOND)
    routes = world.brokers["B1"].broker.router.routes
    way = routes.choose("B3")
    assert way is not None
    world.network.paths[way, "B3"].conditions = Conditions(delay_us=SECOND)
    world.ask("p", "publish", Event())
    world.run(world.now + SECOND // 20)
    routes.measure(way, 100 * SECOND, 0)
    world.ask("p", "publish", Event())
    world.run(world.now + 10 * SECOND)
    assert len(out_of_order(world, Ledger(world.history))) == disordered
    assert len([told for told in world.history.told if isinstance(told.message, Deliver)]) == 2


@pytest.mark.parametrize(("make", "sentences"), [(Broker, 0), (broken.IgnoresTheWindow, 1)])
def test_memory_is_bounded_by_the_window(make: type[Broker], sentences: int) -> None:
    """Of 400 events for one neighbour at most a window is on its way untaken; a broker without a window is found."""
    world = world_of(make, [("B1", "B2")], {"p": "B1", "s": "B2"})
    world.check_every = 1
    world.ask("s", "subscribe", Subscription(id="all"))
    world.run(world.now + SECOND)
    for _ in range(400):
        world.ask("p", "publish", Event())
    world.run(world.now + 2 * SECOND)
    assert len(unbounded(world, Ledger(world.history))) == sentences


SMALL = {
    "COPIES_MAX": 20,
    "COPIES_BYTES_MAX": 20_000,
    "HOME_COPIES_MAX": 10,
    "HOME_COPIES_BYTES_MAX": 10_000,
    "CLIENT_DELIVERIES_MAX": 20,
    "CLIENT_QUEUE_BYTES_MAX": 20_000,
    "PUBLISH_CREDIT": 10,
    "PUBLISH_BYTES_MAX": 10_000,
    "PUBLISH_EVENTS_MAX": 10,
    "PUBLISH_UNDER_WAY_MAX": 12,
    "CHUNK_BYTES_MAX": 4_000,
    "EVENT_BYTES_MAX": 2_000,
}
"""Bounds that eighty events of a thousand bytes are beyond."""


def publish_eighty(world: World, **options: bool) -> None:
    for _ in range(80):
        world.ask("p", "publish", Event(attributes={"x": "x" * 1_000}), **options)
        world.run(world.now + SECOND // 10)


def copies_for_who_is_away(world: World) -> None:
    world.network.paths["B1", "B2"].cut = world.network.paths["B2", "B1"].cut = True
    publish_eighty(world)


def deliveries_for_who_is_away(world: World) -> None:
    world.clients["s"].leave()
    publish_eighty(world)


def fast_deliveries_for_who_is_away(world: World) -> None:
    world.clients["s"].leave()
    publish_eighty(world, fast=True)


def a_move_from_who_is_away(world: World) -> None:
    world.brokers["B2"].crash(with_disk=True)
    world.move("s", "B1")
    world.run(world.now + 5 * SECOND)
    publish_eighty(world)


def a_move(world: World) -> None:
    world.move("s", "B1")
    publish_eighty(world)


def questions(world: World) -> None:
    """From a client that heeds no credit."""
    world.ask("s", "subscribe", Subscription(id="dear", filter="is_dear(5)"))
    world.run(world.now + SECOND)
    content = encode_event(agvent(Event(attributes={"price": 7})))
    for sequence in range(1, 81):
        world.clients["p"].send("B1", Publish(Publication("p", sequence, content)))
    world.clients["p"].pump()
    world.run(world.now + SECOND)


@pytest.mark.parametrize(
    ("story", "make", "named"),
    [
        (copies_for_who_is_away, broken.KeepsAllCopies, ["copies", "bytes of copies"]),
        (publish_eighty, broken.HoldsAllBack, ["early copies", "copies", "bytes of copies"]),
        (
            deliveries_for_who_is_away,
            broken.KeepsAllDeliveries,
            ["deliveries", "events in a queue", "bytes of deliveries"],
        ),
        (fast_deliveries_for_who_is_away, broken.KeepsAllDeliveries, ["fast deliveries", "bytes of fast deliveries"]),
        (
            a_move_from_who_is_away,
            broken.KeepsAllBesideAMove,
            ["deliveries beside a move", "bytes of deliveries beside a move"],
        ),
        (a_move, broken.TakesAllThatIsHandedOver, ["bytes handed over"]),
        (questions, broken.AsksForAll, ["copies", "events that wait for answers"]),
    ],
)
def test_every_bound_of_memory_is_seen_to_fail(
    monkeypatch: pytest.MonkeyPatch, story: Callable[[World], None], make: type[Broker], named: list[str]
) -> None:
    """A broker that does not hold one is found by that very bound; ours stays within all of them."""
    for limit, most in SMALL.items():
        monkeypatch.setattr(limits, limit, most)
    for one, expected in ((Broker, []), (make, named)):
        world = world_of(one, [("B1", "B2")], {"p": "B1", "s": "B2"})
        world.check_every = 1
        world.ask("s", "subscribe", Subscription(id="all"))
        world.run(world.now + SECOND)
        story(world)
        sentences = unbounded(world, Ledger(world.history))
        found = [re.split(r" had \d+ |, at most", sentence)[1] for sentence in sentences]
        assert sorted(found) == sorted(expected)


ELSEWHERE: dict[str, Callable[..., None]] = {
    "order": test_what_overtakes_its_predecessor_is_found_out_of_order,
    "memory": test_every_bound_of_memory_is_seen_to_fail,
    "disk": test_disks.test_a_disk_that_syncs_nothing_is_found,
    "journal": test_disks.test_a_journal_that_writes_in_part_is_found,
    "links": test_watched_link.test_an_end_that_breaks_the_contract_is_found,
    "content": test_content.test_a_changed_value_is_found,
    "ahead": test_write_ahead.test_work_that_does_not_wait_is_seen,
    "restarted": test_restarts.test_a_snapshot_without_a_kind_of_record_is_seen,
    "log": test_log_judge.test_a_log_that_is_not_so_is_seen,
}
"""The tests that show each of the other checkers fail."""


def test_every_checker_has_a_test() -> None:
    """The checkers are those that are named above."""
    named = (checker for checker, *_ in (*MISTAKES, *COURIER_MISTAKES))
    assert {*named, *ELSEWHERE} == CHECKERS.keys()
