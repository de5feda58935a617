"""Each subscription of a process receives each publisher's events in the order they were published, as far as they
entered at one broker; those that were sent to two have no one place."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.promises import Promises, PublishedId
from agvent.sim.world import World


def out_of_order(world: World, ledger: Ledger) -> list[str]:
    found: list[str] = []
    last: dict[tuple[str, str, str, int, str], int] = {}
    entries: dict[PublishedId, set[str]] = {}
    for accepted in ledger.events:
        publication, entered = accepted.record.publication, accepted.record.entered
        event = PublishedId(publication.publisher, publication.life, publication.sequence)
        entries.setdefault(event, set()).add(entered.entry)
    for receipt in Promises.of(world.history).receipts:
        owed, event = receipt.owed, receipt.owed.event
        entered_at = entries.get(event, set())
        if len(entered_at) == 1 and not receipt.fast:
            key = (owed.process, owed.subscription, event.publisher, event.life, min(entered_at))
            before = last.get(key, 0)
            if event.sequence < before:
                shown = f"{event.publisher}:{event.sequence} after {event.publisher}:{before}"
                found.append(f"{owed.process} received {shown} for {owed.subscription}")
            last[key] = event.sequence
    return found
