"""What brokers know of interests: at the end, on the way there, and as they say it to clients.

- At the end an entry knows of each home what that home's clients ask for now, as far as types advertised at the entry
  concern it: every subscription itself or one that covers it, and none that another one covers. What clients asked
  decides, and `covers` of the filters.
- Within an incarnation a broker's epochs count up by one. What it applied of a home grows: incarnations, the numbers
  and positions within one. Nothing old changes anything.
- A home that `advertise` names had answered the advertisement; a broker that `subscribe` names had the version that was
  asked for, and not one before it. checkers/unconfirmed.py judges what follows from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from agvent.broker.records import Closed, Heard, Marked, Opened, Owned
from agvent.broker.tables.covering import CANDIDATES_MAX, calls_behaviours
from agvent.filters.relations import Extent
from agvent.filters.subscription import Subscription
from agvent.sim.ledger import Heads, Ledger
from agvent.sim.nodes import BrokerNode, ClientNode
from agvent.sim.promises import Promises
from agvent.sim.world import ClientTold, World
from agvent.wire.client_messages import Advertised, Subscribed
from agvent.wire.names import client_key

MARGIN_US: Final = 10_000_000
"""An answer counts when it is in memory, and is on disk some syncs later; where a crash loses it, events go to that
home as to one that has not answered."""


def misknown(world: World, ledger: Ledger) -> list[str]:
    return [*_at_the_end(world), *_on_the_way(world), *_to_clients(world, ledger)]


# At the end


class _Asked(msgspec.Struct):
    """A subscription that a client has now."""

    subscription: Subscription
    extent: Extent
    is_calling: bool


def _at_the_end(world: World) -> Iterator[str]:
    live = [node for node in world.brokers.values() if node.alive]
    refused = {client for client, _ in Promises.of(world.history).refused}
    clients = world.living()
    for home in live:
        theirs = [client for client in clients if client.home == home.name]
        if not refused.isdisjoint(client.client for client in theirs):
            continue  # which of its versions stands there, only the broker knows
        asked = {key: made for client in theirs for key, made in _asked(client)}
        for entry in live:
            if entry is not home:
                yield from _known(entry, home.name, asked, _reach(entry.name, clients))


def _asked(client: ClientNode) -> Iterator[tuple[str, _Asked]]:
    key = client_key(client.client, client.session.moves)
    for id, subscribe in client.session.subscriptions.items():
        condition = subscribe.subscription.condition()
        yield f"{key}/{id}", _Asked(subscribe.subscription, Extent(condition), calls_behaviours(condition))


def _reach(entry: str, clients: list[ClientNode]) -> set[str]:
    """The types that clients of a broker publish, and their ancestors."""
    types = [said.type for client in clients if client.home == entry for said in client.session.types.values()]
    return {name for type in types for name in (type.name, *type.ancestors)}


def _known(entry: BrokerNode, home: str, asked: dict[str, _Asked], reach: set[str]) -> Iterator[str]:
    """What is wrong with what an entry knows of a home."""
    wanted = {key: one for key, one in asked.items() if one.subscription.type is None or one.subscription.type in reach}
    known = [one for one in entry.broker.tables.interests.snapshot() if one.home == home]
    told = {interest.subscription.id: interest.subscription for one in known for interest in one.roots}
    for key, subscription in told.items():
        if key not in wanted:
            yield f"{entry.name} knows {key} of {home}, which nobody asks for there, or not of what it publishes"
        elif subscription.condition() != wanted[key].extent.condition:
            yield f"{entry.name} knows {key} of {home} as {subscription.filter!r}, which is not what was asked for"
    roots = {key: wanted[key] for key in told if key in wanted}
    for key, one in wanted.items():
        coverer = next((root for root, other in roots.items() if root != key and _covers(other, one)), None)
        if key not in roots and coverer is None:
            yield f"{entry.name} does not know {key} of {home}, and nothing that covers it"
        if key in roots and coverer is not None and len(wanted) <= CANDIDATES_MAX:
            yield f"{entry.name} knows {key} of {home}, which {coverer} covers"


def _covers(one: _Asked, other: _Asked) -> bool:
    if one.is_calling or other.is_calling or one.subscription.type != other.subscription.type:
        return False
    return one.extent.covers(other.extent)


# On the way there


def _on_the_way(world: World) -> Iterator[str]:
    epochs: dict[tuple[str, int], int] = {}
    heard: dict[tuple[str, int, str], tuple[int, int, int]] = {}
    for one in world.history.on_disk:
        record, broker = one.record, (one.broker, one.incarnation)
        if isinstance(record, (Opened, Closed, Marked, Heard)):
            before = epochs.get(broker, 0)
            if record.epoch != before + 1:
                yield f"{one.broker} has epoch {record.epoch} after {before}"
            epochs[broker] = record.epoch
        if isinstance(record, Heard):
            place = (*broker, record.home)
            was, now = heard.get(place, (0, 0, 0)), (record.incarnation, record.number, record.position)
            is_older = now[:2] <= was[:2] or (now[0] == was[0] and now[2] < was[2])
            if is_older:
                yield f"{one.broker} applied {now} of {record.home} after {was}"
            heard[place] = now


# To clients


def _to_clients(world: World, ledger: Ledger) -> Iterator[str]:
    lost = {name for name, _ in world.history.lost_disks}
    asked = {(one.process, one.result): one for one in world.history.asked if one.method in ("subscribe", "advertise")}
    for told in world.history.told:
        call = asked.get((told.process, getattr(told.message, "request", 0)))
        if call is None or told.home in lost:
            continue
        if isinstance(told.message, Subscribed):
            yield from _subscribed(ledger, told, told.message, call.args[0], lost)
        elif isinstance(told.message, Advertised) and not world.brokers[told.home].crashes:
            yield from _advertised(world, told, told.message, call.args[0].name, lost)


def _subscribed(
    ledger: Ledger, told: ClientTold, message: Subscribed, subscription: Subscription, lost: set[str]
) -> Iterator[str]:
    for entry, epoch in message.confirmed.items():
        applied = _applied(ledger, entry, epoch).get(told.home)
        if entry in lost or applied is None:
            continue
        opened = [
            known.opened
            for known in ledger.versions.get((told.home, applied.incarnation), [])
            if (known.client, known.id) == (told.client, subscription.id)
            and known.subscription == msgspec.structs.replace(subscription, id=known.subscription.id)
        ]
        if opened and applied.position < min(opened):
            yield f"{told.client} was told that {entry} has {subscription.id} as it asked, and that had one before it"


def _applied(ledger: Ledger, entry: str, epoch: int) -> dict[str, Heads]:
    """What an entry had applied at an epoch: the last change up to it."""
    found: dict[str, Heads] = {}
    for (name, _), epochs in ledger.positions.items():
        if name == entry and (reached := [at for at in epochs if at <= epoch]):
            found = epochs[max(reached)]
    return found


def _advertised(world: World, told: ClientTold, message: Advertised, type: str, lost: set[str]) -> Iterator[str]:
    """The homes that had not answered the advertisement which stands since then."""
    version = 0
    considered: dict[str, int] = {}
    for one in world.history.on_disk:
        if one.broker != told.home or one.at > told.at + MARGIN_US:
            continue
        record = one.record
        if isinstance(record, Owned) and record.owner == told.home and one.at <= told.at:
            for said in record.entries:
                if (said.publisher, said.type.name) == (told.client, type):
                    version = 0 if not said.live else version or said.version
        elif isinstance(record, Heard):
            considered[record.home] = max(considered.get(record.home, 0), record.considered)
    for home in message.confirmed:
        node = world.brokers.get(home)
        if node is not None and node.alive and home not in lost and considered.get(home, 0) < version:
            yield f"{told.client} was told that {home} has answered {type} at {told.home}, and it had not"
