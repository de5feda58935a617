"""Nothing acknowledged is lost: it is on a disk, and every version in force for it received it."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.promises import NEVER, Promises, PublishedId
from agvent.sim.world import World


def lost(world: World, ledger: Ledger) -> list[str]:
    living = {node.client for node in world.living()}
    missed = sorted(one for one in ledger.due - set(ledger.received) if one.client in living)
    found = [f"{c} did not receive {p}:{s} for {id}" for c, id, p, s in missed]
    return found + _vanished(world, ledger)


def _vanished(world: World, ledger: Ledger) -> list[str]:
    """Events that a publisher was told are safe, and that are on no disk."""
    lost_disks = {broker for broker, _ in world.history.lost_disks}
    publications = [accepted.record.publication for accepted in ledger.events]
    accepted = {PublishedId(one.publisher, one.life, one.sequence) for one in publications}
    return [
        f"{made.process}:{id.sequence} was acknowledged and is on no disk"
        for (id, fast), made in Promises.of(world.history).events.items()
        if not fast and made.accepted < NEVER and id not in accepted
        if not lost_disks & {*world.clients[made.process].homes}
    ]
