"""Each subscription receives each publisher's events in the order they were published, as far as they entered at one
broker; those that were sent to two have no one place."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def out_of_order(world: World, ledger: Ledger) -> list[str]:
    found: list[str] = []
    last: dict[tuple[str, str, str, str], int] = {}
    entries: dict[tuple[str, int], set[str]] = {}
    for accepted in ledger.events:
        publication, entered = accepted.record.publication, accepted.record.entered
        entries.setdefault((publication.publisher, publication.sequence), set()).add(entered.entry)
    for client, id, publisher, sequence in ledger.received:
        entered_at = entries.get((publisher, sequence), set())
        if len(entered_at) == 1:
            key = (client, id, publisher, min(entered_at))
            before = last.get(key, 0)
            if sequence < before:
                found.append(f"{client} received {publisher}:{sequence} after {publisher}:{before} for {id}")
            last[key] = sequence
    return found
