"""One run: a seed, a topology and a mix of faults to a verdict. First chaos, then everything is mended and must come
right."""

from __future__ import annotations

import msgspec

from agvent.broker.broker import Broker
from agvent.sim.checkers import CHECKERS
from agvent.sim.faults import Faults
from agvent.sim.ledger import Ledger
from agvent.sim.plan import Plan
from agvent.sim.topology import TOPOLOGIES
from agvent.sim.trace import Trace
from agvent.sim.workload import Actors
from agvent.sim.world import History, World

LIVENESS_US = 180_000_000
"""Virtual time in which everything must have come right after chaos: eleven of the longest waits for an answer."""

NOTHING = Ledger(History([], [], [], [], {}))
"""The checkers of the end look at the world only."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went. Two runs of one plan have one digest."""

    plan: Plan
    violations: tuple[str, ...]
    digest: str
    steps: int
    frames: int
    events: int
    deliveries: int
    faults: dict[str, int]
    virtual_s: float


def run(plan: Plan, *, trace: Trace | None = None, make: type[Broker] = Broker) -> Verdict:
    """Runs a plan and judges it."""
    return judged(plan, simulated(plan, trace=trace, make=make))


def simulated(plan: Plan, *, trace: Trace | None = None, make: type[Broker] = Broker) -> World:
    """The world at the end of a run."""
    world = World(plan.seed, [], trace=trace)
    world.build(TOPOLOGIES[plan.topology](plan.brokers, world.random))
    world.start(make)
    world.run(world.now + 3_000_000)
    actors, faults = Actors(world, plan.workload), Faults(world, plan.faults)
    actors.attach()
    world.run(world.now + 2_000_000)
    actors.schedule()
    faults.schedule(plan.fault_count, plan.workload.duration_us)
    world.run(world.now + plan.workload.duration_us)
    faults.mend_all()
    for name in actors.names:
        actors.back(name)
    begun = world.now
    world.run(begun + LIVENESS_US, done=lambda: is_quiet(world))
    return world


def is_quiet(world: World) -> bool:
    """Has everything come right, as far as the checkers of the end can tell?"""
    if any(client.session.requests or client.session.unacknowledged for client in world.clients.values()):
        return False
    ends = (CHECKERS["custody"], CHECKERS["convergence"])
    return not any(check(world, NOTHING) for check in ends)


def judged(plan: Plan, world: World) -> Verdict:
    """The verdict on a world that has come to its end."""
    ledger = Ledger(world.history)
    violations = [f"{name}: {one}" for name, check in CHECKERS.items() for one in check(world, ledger)]
    return Verdict(
        plan=plan,
        violations=tuple(violations),
        digest=world.digest.hexdigest(),
        steps=world.steps,
        frames=world.network.frames,
        events=len(ledger.events),
        deliveries=len(ledger.received),
        faults=world.history.faults,
        virtual_s=(world.now - world.began) / 1e6,
    )
