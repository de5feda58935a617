"""One run: from a scenario to its verdict.

First comes the chaos phase. Then every fault is mended, and the network must converge within LIVENESS_US.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from agvent.broker.broker import Broker
from agvent.sim.bounds import bounded
from agvent.sim.calm import calm
from agvent.sim.checkers import CHECKERS
from agvent.sim.chronicler import Chronicler, is_logged
from agvent.sim.endings import succeed_all
from agvent.sim.faults import Faults
from agvent.sim.ledger import Ledger
from agvent.sim.met import Met
from agvent.sim.moments import Moments
from agvent.sim.plan import Plan
from agvent.sim.replay import plan_of, schedule
from agvent.sim.scenario import ATTACH_US, CHAOS_US, MIXES, Scenario
from agvent.sim.topology import TOPOLOGIES
from agvent.sim.trace import Trace
from agvent.sim.workload import Actors
from agvent.sim.world import RunHistory, World

LIVENESS_US = 180_000_000
"""Virtual time in which everything must have come right after chaos: eleven of the longest waits for an answer."""

NOTHING = Ledger(RunHistory([], [], [], [], {}))
"""The checkers of the end look at the world only."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went. Two runs of one scenario have the same digest."""

    scenario: Scenario
    violations: tuple[str, ...]
    digest: str
    steps: int
    frames: int
    events: int
    deliveries: int
    faults: dict[str, int]
    virtual_s: float


def run(scenario: Scenario, *, trace: Trace | None = None, make: type[Broker] = Broker) -> Verdict:
    """Runs a scenario and judges it."""
    return judged(scenario, simulated(scenario, trace=trace, make=make))


def simulated(
    scenario: Scenario, *, trace: Trace | None = None, make: type[Broker] = Broker, met: Met | None = None
) -> World:
    """The world at the end of a run. What it meets is counted in `met`."""
    with bounded(scenario.limits):
        world = _begun(scenario, trace, make)
        world.met = met
        _finish(world, world.began + scenario.mended_at)
    return world


def _begun(scenario: Scenario, trace: Trace | None, make: type[Broker]) -> World:
    """A world in which everything of a scenario is going to happen."""
    world = World(scenario.seed, [], trace=trace, machine=scenario.machine)
    world.small_limits = scenario.limits
    world.build(TOPOLOGIES[scenario.topology](scenario.brokers, world.random))
    _start(world, make)
    actors = Actors(world, scenario.workload)
    faults = Faults(world, scenario.kinds if scenario.is_swarm else MIXES[scenario.faults])

    def begin() -> None:
        moments = Moments(world, scenario.workload)
        actors.schedule(moments)
        faults.schedule(scenario.fault_count, moments)

    def end() -> None:
        world.doings.mend("*")
        actors.all_back()

    world.doing(world.began + ATTACH_US, actors.attach)
    world.doing(world.began + CHAOS_US, begin)
    world.doing(world.began + scenario.mended_at, end)
    return world


def planned(scenario: Scenario, *, make: type[Broker] = Broker) -> Plan:
    """The plan of a scenario: what is done in its run, as far as that comes."""
    with bounded(scenario.limits):
        world = _begun(scenario, None, make)
        with suppress(Exception):
            _finish(world, world.began + scenario.mended_at)
    return plan_of(world, scenario)


def replayed(plan: Plan, *, trace: Trace | None = None, make: type[Broker] = Broker) -> World:
    """The world at the end of a plan's run."""
    with bounded(plan.limits):
        world = World(plan.seed, [], trace=trace, machine=plan.machine)
        world.small_limits = plan.limits
        world.build(list(plan.edges))
        _start(world, make)
        world.doings.counts_faults = True
        schedule(plan, world)
        _finish(world, world.began + plan.mended_at, has_calm=plan.has_calm)
    return world


def _start(world: World, make: type[Broker]) -> None:
    """Switches the brokers on, and perhaps a process that writes their log."""
    if is_logged(world.seed):
        world.chronicler = Chronicler(world)
    world.start(make)


def _finish(world: World, mended: int, *, has_calm: bool = True) -> None:
    """Lets the chaos phase go by, and what comes after it."""
    world.run(mended)
    succeed_all(world)
    if world.run(mended + LIVENESS_US, done=lambda: is_quiet(world)) and has_calm:
        calm(world, lambda: is_quiet(world))
    if world.chronicler is not None:
        world.chronicler.finish()


def is_quiet(world: World) -> bool:
    """Has everything come right, as far as the checkers of the end can tell?"""
    if any(client.session.requests or client.session.unacknowledged for client in world.living()):
        return False
    if any(node.broker.tables.deliveries.given_up for node in world.brokers.values() if node.alive):
        return False  # a home that was given up is asked again, at long intervals
    ends = (CHECKERS["custody"], CHECKERS["convergence"])
    return not any(check(world, NOTHING) for check in ends)


def violations_in(world: World, limits: Mapping[str, int]) -> tuple[str, ...]:
    """What is wrong with a world that has come to its end: each sentence begins with the name of its checker."""
    with bounded(limits):
        return _violations(world, Ledger(world.history))


def crash_of(error: Exception) -> str:
    """The violation of a run that came to no end: what was raised, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"crash: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"


def _violations(world: World, ledger: Ledger) -> tuple[str, ...]:
    return tuple(f"{name}: {one}" for name, check in CHECKERS.items() for one in check(world, ledger))


def judged(scenario: Scenario, world: World) -> Verdict:
    """The verdict on a world that has come to its end."""
    with bounded(scenario.limits):
        ledger = Ledger(world.history)
        violations = _violations(world, ledger)
    return Verdict(
        scenario=scenario,
        violations=violations,
        digest=world.digest.hexdigest(),
        steps=world.steps,
        frames=world.network.frames,
        events=len(ledger.events),
        deliveries=len(ledger.received),
        faults=world.history.faults,
        virtual_s=(world.now - world.began) / 1e6,
    )
