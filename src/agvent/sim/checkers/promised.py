"""Every event that a process was promised it received: what clients were told decides.

One thing of a broker counts. A broker that has just joined takes events before its neighbours have told it who is
there, and others take them before they have heard of it. An entry sends copies to the brokers that it has heard of, and
no client is told who those are: where the entry had never heard of the subscriber's home, nothing is promised. As soon
as its disk has one word of that home, all is.
"""

from __future__ import annotations

from agvent.broker.records import Accepted, Opened, Owned
from agvent.broker.tables.covering import calls_behaviours
from agvent.sim.ledger import Ledger
from agvent.sim.promises import NEVER, AskedVersion, MadeEvent, Promises
from agvent.sim.world import World
from agvent.wire.names import name_of


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
    if subscriber.is_over or lost & {*subscriber.homes, *publisher.homes} or _were_strangers(world, made, wish):
        return True
    is_settled = made.is_settled and len(publisher.homes) == 1
    calls = any(calls_behaviours(clause.condition) for clause in wish.clauses)
    return not is_settled and (wish.changed < NEVER or calls)


def _were_strangers(world: World, made: MadeEvent, wish: AskedVersion) -> bool:
    """Had no broker where the event entered ever heard of the one where the subscription then was?"""
    heard: dict[str, set[str]] = {}  # broker -> itself, and those that its disk has a word of
    home, strangers = "", []
    for on_disk in world.history.on_disk:
        record, broker = on_disk.record, on_disk.broker
        if isinstance(record, Owned):
            heard.setdefault(broker, {broker}).add(record.owner)
        elif isinstance(record, Opened) and name_of(record.client) == wish.client:
            home = broker if record.interest.subscription.id.partition("/")[2] == wish.id else home
        elif isinstance(record, Accepted) and _brings(record, made):
            strangers.append(home not in heard.get(broker, {broker}))
    return bool(strangers) and all(strangers)


def _brings(record: Accepted, made: MadeEvent) -> bool:
    """Is it how this event entered?"""
    publication = record.publication
    is_among = publication.first <= made.id.sequence <= publication.sequence
    return is_among and (publication.publisher, publication.life) == made.id[:2]
