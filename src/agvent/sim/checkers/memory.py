"""What a broker keeps stays within its bounds, whatever happens."""

from __future__ import annotations

from agvent import limits
from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def unbounded(world: World, ledger: Ledger) -> list[str]:
    bounds = _bounds(len(world.brokers), len(world.clients))
    return [
        f"{name} had {most[what]} {what}, at most {bound} are allowed"
        for name, most in world.most.items()
        for what, bound in bounds.items()
        if most[what] > bound
    ]


def _bounds(brokers: int, publishers: int) -> dict[str, int]:
    """What each of sim/memory_use.py may be at most. Beyond its limit is what was under way when that was reached; a
    queue has also a notice for each publisher, and an event a copy for each home."""
    copies = limits.COPIES_MAX + limits.PUBLISH_UNDER_WAY_MAX
    deliveries = limits.CLIENT_DELIVERIES_MAX + publishers * limits.PUBLISH_UNDER_WAY_MAX
    queue_bytes = limits.CLIENT_QUEUE_BYTES_MAX + limits.EVENT_BYTES_MAX
    return {
        "copies": copies,
        "bytes of copies": limits.COPIES_BYTES_MAX + limits.PUBLISH_BYTES_MAX + limits.EVENT_BYTES_MAX,
        "untaken": limits.UNTAKEN_COPIES_MAX + brokers,
        "deliveries": deliveries,
        "events in a queue": limits.CLIENT_DELIVERIES_MAX,
        "bytes of deliveries": queue_bytes,
        "fast deliveries": deliveries,
        "bytes of fast deliveries": queue_bytes,
        "deliveries beside a move": deliveries,
        "bytes of deliveries beside a move": queue_bytes,
        "bytes handed over": queue_bytes + limits.CHUNK_BYTES_MAX,
        "early copies": copies,
        "events that wait for answers": limits.PUBLISH_UNDER_WAY_MAX,
    }
