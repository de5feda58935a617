"""One run: from a scenario to its verdict.

First comes the chaos phase. Then every fault is mended, and the network must converge within LIVENESS_US.
"""

from __future__ import annotations

import msgspec

from agvent.broker.broker import Broker
from agvent.sim.bounds import bounded
from agvent.sim.calm import calm
from agvent.sim.checkers import CHECKERS
from agvent.sim.faults import Faults
from agvent.sim.ledger import Ledger
from agvent.sim.moments import Moments
from agvent.sim.scenario import MIXES, Scenario
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


def simulated(scenario: Scenario, *, trace: Trace | None = None, make: type[Broker] = Broker) -> World:
    """The world at the end of a run."""
    with bounded(scenario.limits):
        return _simulated(scenario, trace, make)


def _simulated(scenario: Scenario, trace: Trace | None, make: type[Broker]) -> World:
    world = World(scenario.seed, [], trace=trace, machine=scenario.machine)
    world.is_ordinary = not scenario.limits
    world.build(TOPOLOGIES[scenario.topology](scenario.brokers, world.random))
    world.start(make)
    world.run(world.now + 3_000_000)
    actors = Actors(world, scenario.workload)
    faults = Faults(world, scenario.kinds or MIXES[scenario.faults])
    actors.attach()
    world.run(world.now + 2_000_000)
    moments = Moments(world, scenario.workload)
    actors.schedule(moments)
    faults.schedule(scenario.fault_count, moments)
    world.run(world.now + scenario.workload.duration_us)
    faults.mend_all()
    actors.all_back()
    begun = world.now
    if world.run(begun + LIVENESS_US, done=lambda: is_quiet(world)):
        calm(world, actors, scenario.limits, lambda: is_quiet(world))
    return world


def is_quiet(world: World) -> bool:
    """Has everything come right, as far as the checkers of the end can tell?"""
    if any(client.session.requests or client.session.unacknowledged for client in world.living()):
        return False
    ends = (CHECKERS["custody"], CHECKERS["convergence"])
    return not any(check(world, NOTHING) for check in ends)


def judged(scenario: Scenario, world: World) -> Verdict:
    """The verdict on a world that has come to its end."""
    with bounded(scenario.limits):
        ledger = Ledger(world.history)
        violations = [f"{name}: {one}" for name, check in CHECKERS.items() for one in check(world, ledger)]
    return Verdict(
        scenario=scenario,
        violations=tuple(violations),
        digest=world.digest.hexdigest(),
        steps=world.steps,
        frames=world.network.frames,
        events=len(ledger.events),
        deliveries=len(ledger.received),
        faults=world.history.faults,
        virtual_s=(world.now - world.began) / 1e6,
    )
