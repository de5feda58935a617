"""On every link, clients and brokers said what may be said, in its order, and within the windows: conversation.py."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def misspoken(world: World, ledger: Ledger) -> list[str]:
    return [f"{name} {fault}" for name, node in world.clients.items() for fault in node.talk.faults]
