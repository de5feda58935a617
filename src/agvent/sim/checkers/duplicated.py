"""No process receives an event twice for a subscription.

Fast events are in memory only. A broker that crashed has forgotten which of them entered there or were delivered, and a
client that moved has nobody who remembers: either may get one again."""

from __future__ import annotations

from collections import Counter

from agvent.sim.ledger import Ledger
from agvent.sim.promises import OwedDelivery, Promises
from agvent.sim.world import World


def duplicated(world: World, ledger: Ledger) -> list[str]:
    lost = {name for name, _ in world.history.lost_disks}
    crashed = any(node.crashes for node in world.brokers.values())
    counts = Counter((receipt.owed, receipt.fast) for receipt in Promises.of(world.history).receipts)
    return [
        f"{owed.process} received {owed.event.publisher}:{owed.event.sequence} for {owed.subscription} {times} times"
        for (owed, fast), times in sorted(counts.items())
        if times > 1
        and not (crashed or _has_moved(world, owed) if fast else lost & {*world.clients[owed.process].homes})
    ]


def _has_moved(world: World, owed: OwedDelivery) -> bool:
    """Was the publisher or the subscriber at several brokers?"""
    concerned = [
        node for node in world.clients.values() if node.name == owed.process or node.client == owed.event.publisher
    ]
    return any(len(node.homes) > 1 for node in concerned)
