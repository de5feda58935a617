"""What `subscribe` says is so: each broker it names had applied the subscription at the epoch it names, on disk.

And in the end every request is answered, with nobody pending.
"""

from __future__ import annotations

from agvent.sim.ledger import Heads, Ledger
from agvent.sim.world import World
from agvent.wire.messages import Subscribe, Subscribed


def unconfirmed(world: World, ledger: Ledger) -> list[str]:
    asked = {(one.client, one.result): one.args[0].id for one in world.history.asked if one.method == "subscribe"}
    found: list[str] = []
    for told in world.history.told:
        if isinstance(told.message, Subscribed) and (told.client, told.message.request) in asked:
            id = asked[told.client, told.message.request]
            found += _untrue(world, ledger, told.client, id, told.message)
    return found + _unanswered(world)


def _untrue(world: World, ledger: Ledger, client: str, id: str, message: Subscribed) -> list[str]:
    home = world.clients[client].home
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
        f"{name} still waits for the answer to {type(request).__name__}"
        + (f" of {request.subscription.id}" if isinstance(request, Subscribe) else "")
        for name, client in world.clients.items()
        for request in client.session.requests.values()
    ]
