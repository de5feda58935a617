"""No process receives an event twice for a subscription. A broker that crashed has forgotten which fast events entered
there or were delivered, and may take them again."""

from __future__ import annotations

from collections import Counter

from agvent.sim.ledger import Ledger
from agvent.sim.promises import Promises
from agvent.sim.world import World


def duplicated(world: World, ledger: Ledger) -> list[str]:
    lost = {name for name, _ in world.history.lost_disks}
    crashed = any(node.crashes for node in world.brokers.values())
    counts = Counter((receipt.owed, receipt.fast) for receipt in Promises.of(world.history).receipts)
    return [
        f"{owed.process} received {owed.event.publisher}:{owed.event.sequence} for {owed.subscription} {times} times"
        for (owed, fast), times in sorted(counts.items())
        if times > 1 and not (crashed if fast else lost & {*world.clients[owed.process].homes})
    ]
