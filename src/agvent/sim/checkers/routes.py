"""Agvents that find their own way do what their programs say, once at each stop.

What the couriers of sim/couriers.py may decline, and to whom they may deliver, is known from their events alone.
"""

from __future__ import annotations

from collections import Counter

from agvent.agents.travel.manager_agent import SPENT
from agvent.broker.records import Accepted, InstanceKey, Visited
from agvent.broker.tables.journeys import instance_of
from agvent.sim.agvents import program_name
from agvent.sim.ledger import Ledger
from agvent.sim.world import World
from agvent.wire.codec import decode_event


def misrouted(world: World, ledger: Ledger) -> list[str]:
    found = [] if ledger.is_reclaimed else _repeated(ledger)
    contexts = {
        (home, known.subscription.id, known.version): known.subscription.context or {}
        for (home, _), versions in ledger.versions.items()
        for known in versions
    }
    delivered: dict[InstanceKey, set[str]] = {}
    for broker, record in ledger.stops:
        event, outcome = decode_event(record.publication.event), record.outcome
        assert outcome is not None
        agvent, name = instance_of(record.entered, record.publication, ()), program_name(event)
        if outcome.fault:
            continue  # it decided nothing, and takes the default route
        keys = [version for _, versions in outcome.deliveries for version in versions]
        if keys and name == "Frugal":
            delivered.setdefault(agvent, set()).add(broker)
        is_spent = any(reason in SPENT.values() for reason in outcome.reasons)
        if name in ("Sweep", "Clumsy") and outcome.declined and not is_spent:
            found.append(f"{_shown(record)} is a {name} and declined {outcome.declined} at {broker}")
        elif name == "Picky":
            wrong = [key for key in keys if contexts[broker, *key].get("floor") != event.attributes["price"] % 3]
            found += [f"{_shown(record)} is picky and was delivered to {key} at {broker}" for key, _ in wrong]
    return found + [
        f"{agvent.publisher}:{agvent.sequence} is frugal and was delivered at {sorted(homes)}"
        for agvent, homes in delivered.items()
        if len(homes) > 1
    ]


def _repeated(ledger: Ledger) -> list[str]:
    """Stops that an instance made twice, and legs that two stops began."""
    stops = Counter(instance_of(one.entered, one.publication, _path(one)) for _, one in ledger.stops)
    return [
        f"{one.publisher}:{one.sequence} was executed {times} times as {one.path}"
        for one, times in stops.items()
        if times > 1
    ]


def _path(record: Accepted | Visited) -> tuple[int, ...]:
    return record.journey.path if isinstance(record, Visited) else ()


def _shown(record: Accepted | Visited) -> str:
    return f"{record.publication.publisher}:{record.publication.sequence}"
