"""No subscription receives an event twice."""

from __future__ import annotations

from collections import Counter

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def duplicated(world: World, ledger: Ledger) -> list[str]:
    spared = {client.name for client in world.clients.values() if _lost_disk(world, client.homes)}
    counts = Counter(ledger.received)
    return [
        f"{c} received {p}:{s} for {id} {times} times"
        for (c, id, p, s), times in sorted(counts.items())
        if times > 1 and c not in spared
    ]


def _lost_disk(world: World, brokers: list[str]) -> bool:
    return any(name in brokers for name, _ in world.history.lost_disks)
