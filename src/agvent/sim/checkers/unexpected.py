"""Nobody receives an event for a subscription that it does not match, or that was not in force when it entered."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def unexpected(world: World, ledger: Ledger) -> list[str]:
    return [
        f"{c} received {p}:{s} for {id}, which was not in force for it or does not match"
        for c, id, p, s in sorted(set(ledger.received) - ledger.allowed)
    ]
