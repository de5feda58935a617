"""What a broker keeps stays within its bounds, whatever happens."""

from __future__ import annotations

from agvent import limits
from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def unbounded(world: World, ledger: Ledger) -> list[str]:
    bounds = {
        "copies": limits.COPIES_MAX + limits.PUBLISH_CREDIT,
        "untaken": limits.UNTAKEN_COPIES_MAX,
        "deliveries": limits.CLIENT_DELIVERIES_MAX + limits.PUBLISH_CREDIT,
    }
    return [
        f"{name} had {most[what]} {what}, at most {bound} are allowed"
        for name, most in world.most.items()
        for what, bound in bounds.items()
        if most[what] > bound
    ]
