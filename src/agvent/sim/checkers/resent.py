"""Nothing is sent again without a reason: sim/resends.py watched."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def resent(world: World, ledger: Ledger) -> list[str]:
    return world.resends.needless
