"""No broker said that something is safe before it was on its disk (sim/write_ahead.py)."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World

MOST: int | None = 1
"""How many are shown: the others follow from the same mistake."""


def ahead_of_disk(world: World, ledger: Ledger) -> list[str]:
    return world.write_ahead.found[:MOST]
