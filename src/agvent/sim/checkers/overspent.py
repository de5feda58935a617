"""Agvents that find their own way keep to their budgets, and use them: what leaves a stop has together no more than
there was, a leg is stopped for its hops only when it has used them, and its publisher is told once."""

from __future__ import annotations

from collections import Counter

from agvent.agents.travel.manager_agent import SPENT
from agvent.broker.events.stops import bounded
from agvent.broker.records import Accepted, InstanceKey, Reported, Visited
from agvent.broker.tables.journeys import instance_in, instance_of
from agvent.event import Budget
from agvent.sim.ledger import Ledger
from agvent.sim.world import World
from agvent.wire.client_messages import Stopped
from agvent.wire.codec import decode_event


def overspent(world: World, ledger: Ledger) -> list[str]:
    budgets: dict[InstanceKey, Budget] = {}  # of each instance as it was executed
    legs: dict[InstanceKey, Budget] = {}  # and as it left
    found: list[str] = []
    for broker, record in ledger.stops:
        path = record.journey.path if isinstance(record, Visited) else ()
        instance = instance_of(record.entered, record.publication, path)
        budget = budgets[instance] = _budget(record)
        assert record.outcome is not None
        theirs = [leg.budget for leg in record.outcome.legs]
        legs |= {instance_of(record.entered, record.publication, leg.path): leg.budget for leg in record.outcome.legs}
        if sum(one.bytes for one in theirs) > budget.bytes or sum(one.clones for one in theirs) > budget.clones:
            found.append(f"{_shown(instance)} had {budget} at {broker}, and what left has {theirs}")
    return found + _stopped_early(world, budgets, legs) + _told_twice(world)


def _budget(record: Accepted | Visited) -> Budget:
    if isinstance(record, Visited):
        return record.journey.budget
    cargo = decode_event(record.publication.event).cargo
    assert cargo is not None
    return bounded(cargo.budget or Budget())


def _stopped_early(world: World, budgets: dict[InstanceKey, Budget], legs: dict[InstanceKey, Budget]) -> list[str]:
    """Those that were stopped for hops that they had."""
    found = []
    for on_disk in world.history.on_disk:
        record = on_disk.record
        if isinstance(record, Reported) and SPENT["hops"] in record.report.reasons:
            instance = instance_in(record.report)
            left = budgets[instance].hops if instance in budgets else None
            if left is None and instance in legs:
                left = legs[instance].hops - world.resends.links.get(instance, 0)
            if left is not None and left > 0:
                found.append(f"{_shown(instance)} was stopped for its hops at {record.report.broker} and had {left}")
    return found


def _told_twice(world: World) -> list[str]:
    """A broker that crashed may have said what it had not on its disk, and say it again."""
    told = Counter((one.process, one.message) for one in world.history.told if isinstance(one.message, Stopped))
    return [
        f"{process} was told {times} times that {message.sequence} stopped at {message.broker}: {message.reason}"
        for (process, message), times in told.items()
        if times > 1 and not any(world.brokers[home].crashes for home in world.clients[process].homes)
    ]


def _shown(instance: InstanceKey) -> str:
    return f"{instance.publisher}:{instance.sequence} {instance.path}"
