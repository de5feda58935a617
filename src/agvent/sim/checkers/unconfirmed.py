"""What `subscribe` says is so: each broker it names had applied the subscription at the epoch it names, on disk.

From then on it stays so, wherever the client goes: every event that enters there later is in force for it. And in the
end every request is answered, with nobody pending.
"""

from __future__ import annotations

import msgspec

from agvent.sim.ledger import DueDelivery, Heads, Ledger, is_for
from agvent.sim.world import ClientTold, World
from agvent.wire.client_messages import Subscribe, Subscribed


def unconfirmed(world: World, ledger: Ledger) -> list[str]:
    asked = {(one.process, one.result): one.args[0].id for one in world.history.asked if one.method == "subscribe"}
    found: list[str] = []
    for told in world.history.told:
        if isinstance(told.message, Subscribed) and (told.process, told.message.request) in asked:
            id = asked[told.process, told.message.request]
            found += _untrue(world, ledger, told, id, told.message)
            found += _interrupted(world, ledger, told, id, told.message)
    return found + _unanswered(world)


def _interrupted(world: World, ledger: Ledger, told: ClientTold, id: str, message: Subscribed) -> list[str]:
    """Events that entered at a confirmed broker and were in force from none of the client's homes."""
    client = told.client
    versions = [one for all in ledger.versions.values() for one in all if (one.client, one.id) == (client, id)]
    wanted = {msgspec.json.encode(msgspec.structs.replace(one.subscription, id=id)) for one in versions}
    # A crash may keep the end of a version and not the one that was asked for in its place.
    wanted |= {
        msgspec.json.encode(one.args[0])
        for one in world.history.asked
        if one.method == "subscribe" and one.client == client and one.args[0].id == id
    }
    is_changed = len(wanted) > 1 or any(one.ended for one in versions)
    concerned = {*world.clients[told.process].homes, *message.confirmed}
    if is_changed or not versions or concerned & {name for name, _ in world.history.lost_disks}:
        return []
    return [
        f"{client} was told that {entry} has {id}, and then {publication.publisher}:{publication.sequence} missed it"
        for accepted in ledger.events
        for entry, publication in [(accepted.record.entered.entry, accepted.record.publication)]
        if message.confirmed.get(entry, accepted.record.entered.epoch + 1) <= accepted.record.entered.epoch
        and is_for(accepted, versions[0])
        and DueDelivery(client, id, publication.publisher, publication.sequence) not in ledger.in_force
    ]


def _untrue(world: World, ledger: Ledger, told: ClientTold, id: str, message: Subscribed) -> list[str]:
    client, home = told.client, told.home
    found = []
    lost = {name for name, _ in world.history.lost_disks}
    for entry, epoch in message.confirmed.items():
        if {home, entry} & lost:
            continue
        applied = _applied(ledger, entry, epoch).get(home)
        opened = [
            known.opened
            for known in ledger.versions.get((home, applied.incarnation if applied else 0), [])
            if (known.client, known.id) == (client, id)
        ]
        if applied is None or not opened or applied.position < min(opened):
            found.append(f"{client} was told that {entry} has {id} since epoch {epoch}, and it had not")
    return found


def _applied(ledger: Ledger, entry: str, epoch: int) -> dict[str, Heads]:
    """What an entry had applied at an epoch: the last change up to it."""
    found: dict[str, Heads] = {}
    for (name, _), epochs in ledger.positions.items():
        if name == entry:
            reached = [at for at in epochs if at <= epoch]
            if reached:
                found = epochs[max(reached)]
    return found


def _unanswered(world: World) -> list[str]:
    return [
        f"{client.name} still waits for the answer to {type(request).__name__}"
        + (f" of {request.subscription.id}" if isinstance(request, Subscribe) else "")
        for client in world.living()
        for request in client.session.requests.values()
    ]
