"""A journal beside the network gives back what was written to it, whatever its disk does (sim/journals.py)."""

from __future__ import annotations

from random import Random

from agvent.sim.journals import trial
from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def unfaithful(world: World, ledger: Ledger) -> list[str]:
    return trial(Random(f"journal {world.seed}"))
