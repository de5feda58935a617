"""Nothing acknowledged is lost: it is on a disk, and every version in force for it received it.

A version may be in force at its home and not for its client. A process that changes a subscription before it was told
anything of it, and is refused the change, has no subscription: the version before stands at the home, and its events
come from there. A client that moves does not take it along. If its new home gives the old one up, the gap notice names
what the client has, and not this.
"""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.promises import NEVER, Promises, PublishedId
from agvent.sim.world import World
from agvent.wire.client_messages import Subscribed


def lost(world: World, ledger: Ledger) -> list[str]:
    living = {node.client for node in world.living()}
    missed = sorted(one for one in ledger.due - set(ledger.received) if one.client in living)
    nobodys = {
        (client, id)
        for client, id in {(one.client, one.subscription) for one in missed}
        if any(to == client and gap.reason == "moved" for to, gap in ledger.gaps) and _was_refused(world, client, id)
    }
    missed = [one for one in missed if (one.client, one.subscription) not in nobodys]
    found = [f"{c} did not receive {p}:{s} for {id}" for c, id, p, s in missed]
    return found + _vanished(world, ledger)


def _was_refused(world: World, client: str, id: str) -> bool:
    """Was a client refused a subscription, and never told that any version of it stands?"""
    calls = (one for one in world.history.asked if one.client == client and one.method == "subscribe")
    requests = {(call.process, call.result) for call in calls if call.args[0].id == id}
    is_confirmed = any(
        isinstance(one.message, Subscribed) and (one.process, one.message.request) in requests
        for one in world.history.told
    )
    return (client, id) in Promises.of(world.history).refused and not is_confirmed


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
