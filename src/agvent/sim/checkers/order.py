"""Each subscription receives each publisher's events in the order they were published."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def out_of_order(world: World, ledger: Ledger) -> list[str]:
    found: list[str] = []
    last: dict[tuple[str, str, str], int] = {}
    for client, id, publisher, sequence in ledger.received:
        before = last.get((client, id, publisher), 0)
        if sequence < before:
            found.append(f"{client} received {publisher}:{sequence} after {publisher}:{before} for {id}")
        last[client, id, publisher] = sequence
    return found
