"""No process is given an event that it did not ask for: what it asked decides, and when it was told that this ended."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.promises import Promises
from agvent.sim.world import World


def unasked(world: World, ledger: Ledger) -> list[str]:
    promises = Promises.of(world.history)
    moved = {node.client for node in world.clients.values() if len(node.homes) > 1}
    return [
        f"{owed.process} received {owed.event.publisher}:{owed.event.sequence} for {owed.subscription}, "
        "which does not match or was not asked for"
        for receipt in promises.receipts
        if not promises.allows(receipt, moved)
        for owed in [receipt.owed]
    ]
