"""Agvents that find their own way, step by step in small worlds."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.agents.authoring.agvent_types import type_of
from agvent.broker.records import Visited
from agvent.chronicle.lifecycle import stages_of
from agvent.event import Budget, Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.sim.couriers import COURIERS
from agvent.sim.run import run
from agvent.sim.scenario import Scenario, scenario_of
from agvent.sim.sweep import run_twice
from agvent.wire.broker_messages import Copies, Travel
from agvent.wire.client_messages import Refused, Stopped
from tests.sim.watched import Watched

LINE = [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
STAR = [("B1", "B2"), ("B1", "B3"), ("B1", "B4")]


def world_of(edges: list[tuple[str, str]], *subscribers: tuple[str, str, dict[str, Any]]) -> Watched:
    """A publisher `p` at B1 that advertised every courier, and subscribers with a home and a context."""
    world = Watched(edges)
    world.attach("p", "B1")
    world.wait(1)
    for cls in COURIERS:
        world.ask("p", "advertise", type_of(cls))
    for name, home, context in subscribers:
        world.attach(name, home)
        world.wait(0.5)
        world.ask(name, "subscribe", Subscription(id="all", context=context))
    world.wait(2)
    world.forget_words()
    return world


def publish(world: Watched, type: str, price: int = 6, *, budget: Budget | None = None, size: int = 0) -> None:
    attributes = {"price": price, "data": b"x" * size}
    world.ask("p", "publish", agvent(Event(type=type, attributes=attributes), budget=budget))


def received(world: Watched, *clients: str) -> list[list[int]]:
    return [[sequence for sequence, _ in world.delivered(client)] for client in clients]


def told(world: Watched) -> list[Stopped]:
    """What the publisher was told of its agvents."""
    return [one.message for one in world.history.told if isinstance(one.message, Stopped)]


def executed(world: Watched) -> list[tuple[str, int, tuple[int, ...]]]:
    """Where each agvent stopped after its entry: broker, sequence, path."""
    records = [(one.broker, one.record) for one in world.history.on_disk]
    return [(at, r.publication.sequence, r.journey.path) for at, r in records if isinstance(r, Visited)]


def is_settled(world: Watched) -> bool:
    """Does nobody answer for anything any more?"""
    tables = [node.broker.tables for node in world.brokers.values()]
    return not any(one.custody.held or one.journeys.errands for one in tables)


def test_a_sweep_goes_from_home_to_home() -> None:
    """One instance, from the nearest home to the farthest, in the middle of its program; no plain copy is sent."""
    world = world_of(LINE, ("s2", "B2", {}), ("s4", "B4", {}))
    publish(world, "Sweep")
    world.wait(2)
    assert received(world, "s2", "s4") == [[1], [1]]
    assert executed(world) == [("B2", 1, (0,)), ("B4", 1, (0, 0))]
    assert world.watch.hops(Travel) == [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
    assert world.watch.hops(Copies) == []
    assert is_settled(world)


def test_a_life_has_the_stages_of_figure_4() -> None:
    """Created, admitted, executed, delivered, cloned, migrated, disposed: each where it happened."""
    world = world_of(LINE, ("s1", "B1", {"floor": 0}), ("s2", "B2", {"floor": 0}), ("s3", "B3", {"floor": 1}))
    publish(world, "Sweep")
    world.wait(2)
    publish(world, "Picky", price=3)
    world.wait(2)
    stages = [(one.broker, stage) for one in world.history.on_disk for stage in stages_of(one.record)]
    assert [(at, stage.what, stage.to or stage.clients or stage.homes) for at, stage in stages] == [
        ("B1", "created", ()), ("B1", "admitted", ()), ("B1", "executed", ()), ("B1", "delivered", ("s1",)),
        ("B1", "migrated", "B2"),
        ("B2", "admitted", ()), ("B2", "executed", ()), ("B2", "delivered", ("s2",)), ("B2", "migrated", "B3"),
        ("B3", "admitted", ()), ("B3", "executed", ()), ("B3", "delivered", ("s3",)), ("B3", "disposed", ()),
        ("B1", "created", ()), ("B1", "admitted", ()), ("B1", "executed", ()), ("B1", "delivered", ("s1",)),
        ("B1", "cloned", "B2"), ("B1", "disposed", ()),
        ("B2", "admitted", ()), ("B2", "executed", ()), ("B2", "delivered", ("s2",)), ("B2", "cloned", "B3"),
        ("B2", "disposed", ()),
        ("B3", "admitted", ()), ("B3", "executed", ()), ("B3", "disposed", ()),
    ]  # fmt: skip


def test_two_algorithms_run_on_one_server() -> None:
    """Of agvents for the same subscribers one delivers to its floor, one to the first home, one to all."""
    world = world_of(STAR, ("s2", "B2", {"floor": 0}), ("s3", "B3", {"floor": 1}), ("s4", "B4", {"floor": 0}))
    for type in ("Picky", "Frugal", "Sweep"):
        publish(world, type, price=3)
    world.wait(3)
    assert received(world, "s2", "s3", "s4") == [[1, 2, 3], [3], [1, 3]]
    assert is_settled(world)


def test_the_default_route_in_code_does_what_brokers_do() -> None:
    """An agvent with the default route in code, a plain one, and subscribers that cannot tell which is which."""
    world = world_of(LINE, ("s1", "B1", {}), ("s3", "B3", {}), ("s4", "B4", {}))
    publish(world, "Clumsy", price=2)
    world.ask("p", "publish", Event(attributes={"price": 2}))
    world.wait(3)
    assert received(world, "s1", "s3", "s4") == [[1, 2], [1, 2], [1, 2]]
    assert executed(world) == [("B2", 1, (0,)), ("B3", 1, (0, 0)), ("B4", 1, (0, 0, 0))]


def test_a_route_that_fails_leaves_all_to_the_default_route() -> None:
    """Everybody who matches gets it, once, and the publisher is told."""
    world = world_of(LINE, ("s1", "B1", {}), ("s3", "B3", {}), ("s4", "B4", {}))
    publish(world, "Clumsy", price=3)
    world.wait(3)
    assert received(world, "s1", "s3", "s4") == [[1], [1], [1]]
    assert told(world) == [Stopped(sequence=1, broker="B1", reason="its route failed: ValueError", declined=())]
    assert is_settled(world)


def test_an_agvent_without_fsync_is_refused() -> None:
    """One that finds its own way is durable."""
    world = world_of(LINE, ("s2", "B2", {}))
    world.ask("p", "publish", agvent(Event(type="Sweep", attributes={"price": 1})), fast=True)
    world.wait(1)
    refused = [one.message.reason for one in world.history.told if isinstance(one.message, Refused)]
    assert refused == ["a self-routing agvent cannot be fast"]


# Budgets


def test_a_clone_storm_stops_at_its_budget() -> None:
    """Of three clones it may make two: the third home is declined, its later events come, the publisher is told."""
    world = world_of(STAR, ("s2", "B2", {"floor": 0}), ("s3", "B3", {"floor": 0}), ("s4", "B4", {"floor": 0}))
    publish(world, "Picky", price=3, budget=Budget(clones=2))
    publish(world, "Sweep", price=3)
    world.wait(3)
    assert received(world, "s2", "s3", "s4") == [[1, 2], [1, 2], [2]]
    assert told(world) == [Stopped(sequence=1, broker="B1", reason="its budget of clones is spent", declined=("B4",))]
    assert is_settled(world)


@pytest.mark.parametrize(
    ("budget", "stopped"),
    [
        (Budget(hops=2), Stopped(sequence=1, broker="B3", reason="its budget of hops is spent", declined=("B4",))),
        (
            Budget(bytes=2_500),
            Stopped(sequence=1, broker="B3", reason="its budget of bytes is spent", declined=("B4",)),
        ),
        (
            Budget(time_us=3_000),
            Stopped(sequence=1, broker="B4", reason="its budget of time is spent", declined=("B4",)),
        ),
    ],
)
def test_every_broker_takes_from_the_budget(budget: Budget, stopped: Stopped) -> None:
    """An agvent of 1 KB to a home three hops away ends where its hops, bytes or time do; the next one arrives."""
    world = world_of(LINE, ("s4", "B4", {}))
    publish(world, "Sweep", budget=budget, size=1_000)
    publish(world, "Sweep")
    world.wait(5)
    assert received(world, "s4") == [[2]]
    assert told(world) == [stopped]
    assert is_settled(world)


def test_a_leg_that_is_halted_between_two_stops_is_reported_once() -> None:
    """An agvent spends its hops on its second leg, on the way from B3 to B5. B3 reports that, and is answered: the
    publisher is told where it ended, and nobody answers for it any more."""
    world = world_of([*LINE, ("B4", "B5")], ("s3", "B3", {}), ("s5", "B5", {}))
    publish(world, "Sweep", budget=Budget(hops=3))
    world.wait(5)
    assert received(world, "s3", "s5") == [[1], []]
    assert told(world) == [Stopped(sequence=1, broker="B4", reason="its budget of hops is spent", declined=("B5",))]
    assert is_settled(world)


def test_a_leg_that_finds_no_way_ends_with_its_time() -> None:
    """The only way is cut for longer than the agvent has: the home is declined, and has the next one when it is
    mended."""
    world = world_of(LINE, ("s4", "B4", {}))
    world.cut("B2", "B3")
    publish(world, "Sweep", budget=Budget(time_us=20_000_000))
    publish(world, "Sweep")
    world.wait(30)
    assert told(world) == [Stopped(sequence=1, broker="B1", reason="its budget of time is spent", declined=("B4",))]
    world.mend("B2", "B3")
    world.wait(30)
    assert received(world, "s4") == [[2]]
    assert is_settled(world)


# Faults


def test_a_crash_during_a_move_neither_loses_nor_repeats() -> None:
    """Each broker of the way is killed at ten moments of a journey: each home has each agvent once, each
    stop was made once."""
    world = world_of(LINE, ("s2", "B2", {}), ("s3", "B3", {}), ("s4", "B4", {}))
    count = 0
    for name in ("B1", "B2", "B3", "B4"):
        for moment in range(0, 30_000, 3_000):
            publish(world, "Sweep")
            count += 1
            world.run(world.now + moment + 500 * (count % 6))
            world.brokers[name].crash(with_disk=True)
            world.brokers[name].start()
            world.wait(8)
    world.wait(60)
    whole = list(range(1, count + 1))
    assert received(world, "s2", "s3", "s4") == [whole, whole, whole]
    stops = [("B2", (0,)), ("B3", (0, 0)), ("B4", (0, 0, 0))]
    assert sorted(executed(world)) == sorted((at, sequence, path) for sequence in whole for at, path in stops)
    assert is_settled(world)


@pytest.mark.parametrize("size", [4 << 10, 10 << 20])
def test_large_agvents_over_several_hops_under_faults(size: int) -> None:
    """4 KB and 10 MB of data go over three hops, with a link cut on the way and a broker killed."""
    world = world_of([*LINE, ("B1", "B3")], ("s2", "B2", {}), ("s4", "B4", {}))
    world.check_every = 1_000
    publish(world, "Sweep", size=size)
    world.wait(0.05)
    world.network.paths["B2", "B3"].cut = world.network.paths["B3", "B2"].cut = True
    world.brokers["B3"].crash(with_disk=True)
    world.wait(1)
    world.brokers["B3"].start()
    world.wait(60)
    assert received(world, "s2", "s4") == [[1], [1]]
    assert is_settled(world)


FOUND = {
    "the confirmation of an agvent's arrival was lost": scenario_of(14, couriers=True),
    "agvents bounced between two brokers that knew no way": scenario_of(28, couriers=True),
    "an agvent waited for its turn after its entry had lost its disk": scenario_of(1_070, couriers=True),
}


@pytest.mark.parametrize("scenario", FOUND.values(), ids=FOUND.keys())
def test_what_a_seed_once_found_stays_mended(scenario: Scenario) -> None:
    """A seed that found a bug runs without a violation."""
    assert run(scenario).violations == ()


@pytest.mark.parametrize("first", range(20_000, 20_016, 8))
def test_seeds_with_couriers_have_no_violation(first: int) -> None:
    """Worlds whose clients publish agvents that find their own way, under every mix of faults, twice the same way."""
    verdicts = [run_twice(scenario_of(seed, couriers=True)) for seed in range(first, first + 8)]
    assert [(v.scenario.command(), v.violations) for v in verdicts if v.violations] == []
