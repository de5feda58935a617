"""Nothing acknowledged is lost: it is on a disk, and every version in force for it received it."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World
from agvent.wire.client_messages import Published, Refused


def lost(world: World, ledger: Ledger) -> list[str]:
    found = [f"{c} did not receive {p}:{s} for {id}" for c, id, p, s in sorted(ledger.due - set(ledger.received))]
    return found + _vanished(world, ledger)


def _vanished(world: World, ledger: Ledger) -> list[str]:
    """Events that a publisher was told are safe, and that are on no disk."""
    lost_disks = {broker for broker, _ in world.history.lost_disks}
    without = {name for name, client in world.clients.items() if lost_disks & {*client.homes}}
    accepted = {(e.record.publication.publisher, e.record.publication.sequence) for e in ledger.events}
    told: dict[str, int] = {}
    refused: set[tuple[str, int]] = set()
    for one in world.history.told:
        if isinstance(one.message, Published) and not one.message.fast and one.client not in without:
            told[one.client] = max(told.get(one.client, 0), one.message.sequence)
        elif isinstance(one.message, Refused):
            refused.add((one.client, one.message.sequence))
    return [
        f"{client}:{sequence} was acknowledged and is on no disk"
        for client, last in sorted(told.items())
        for sequence in range(1, last + 1)
        if (client, sequence) not in accepted and (client, sequence) not in refused
    ]
