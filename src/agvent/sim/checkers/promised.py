"""Every event that a process was promised it received: what clients were told decides, and nothing of a broker."""

from __future__ import annotations

from agvent.broker.tables.covering import calls_behaviours
from agvent.sim.ledger import Ledger
from agvent.sim.promises import NEVER, AskedVersion, MadeEvent, Promises
from agvent.sim.world import World


def broken(world: World, ledger: Ledger) -> list[str]:
    promises = Promises.of(world.history)
    received = {receipt.owed for receipt in promises.receipts}
    return [
        f"{owed.process} was promised {owed.event.publisher}:{owed.event.sequence} for {owed.subscription} and got none"
        for owed, made, wish in promises.owed()
        if owed not in received and not _is_spared(world, made, wish) and not promises.is_in_gap(owed)
    ]


def _is_spared(world: World, made: MadeEvent, wish: AskedVersion) -> bool:
    """A process that ended got what it could; a lost disk is outside the promise, and so is what promises.py says of
    types that are new."""
    subscriber, publisher = world.clients[wish.process], world.clients[made.process]
    lost = {name for name, _ in world.history.lost_disks}
    if subscriber.is_over or lost & {*subscriber.homes, *publisher.homes}:
        return True
    is_settled = made.is_settled and len(publisher.homes) == 1
    calls = any(calls_behaviours(clause.condition) for clause in wish.clauses)
    return not is_settled and (wish.changed < NEVER or calls)
