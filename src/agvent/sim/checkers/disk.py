"""What was safe on a disk is there after every crash, as it was written, and nothing else is (sim/disk.py)."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def damaged(world: World, ledger: Ledger) -> list[str]:
    found = [(node, (*node.damage, *node.disk.damage)) for node in world.brokers.values()]
    return [f"{node.name}: {damage[0]}" for node, damage in found if damage]
