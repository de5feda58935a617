"""Clients that nobody of their name follows: what is here for one that went goes, too.

One that took its leave has nothing here, and is forgotten. One that broke off may come back for a while; then its
subscriptions end, and what it advertised.
"""

from __future__ import annotations

from agvent import limits
from agvent.broker.clients.attachments import Attachments
from agvent.broker.clients.moves import Moves
from agvent.broker.interest.changes import Changes
from agvent.broker.interest.gossip import Gossip
from agvent.broker.outbox import Outbox
from agvent.broker.records import Ended, Left
from agvent.broker.tables.advertisements import tombstone
from agvent.broker.tables.deliveries import HomeClient
from agvent.broker.tables.tables import Tables
from agvent.wire.names import name_of


class Guests:
    """Those that are at home here."""

    def __init__(self, tables: Tables, changes: Changes, gossip: Gossip, moves: Moves, out: Outbox) -> None:
        self.tables, self.changes, self.gossip, self.moves, self.out = tables, changes, gossip, moves, out
        self._gone_since: dict[str, int] = {}

    def tick(self, now: int, attached: Attachments) -> None:
        """Ends those that were gone for too long. One that is attached and not yet welcome is not gone."""
        coming = {one.client for one in attached.values()}
        gone = [name for name in self.tables.deliveries.gone_guests if name not in coming]
        self._gone_since = {name: self._gone_since.get(name, now) for name in gone}
        for name, since in self._gone_since.items():
            client = self.tables.deliveries.clients[name]
            if client.claimed:
                continue  # it leaves when its next home has everything
            if now - since > limits.GUEST_WAIT_US:
                self._end(client)
            if since < now and self._has_nothing(client):
                self.out.record(Left(client.name))

    def _end(self, client: HomeClient) -> None:
        for one in [one for one in self.tables.local.current.values() if one.client == client.name]:
            self.changes.close(one.subscription.id, replaced=False)
        # A crash may have kept the end of a version and not the one in its place: what waits is for neither.
        left = {id: None for one in client.durable.waiting.values() for id in one.subscriptions}
        for id in left:
            self.out.record(Ended(f"{client.name}/{id}"))
        table, name = self.tables.advertisements, self.tables.name
        for type in table.types_of(name, name_of(client.name)):
            self.gossip.change(tombstone(table.version(name) + 1, name_of(client.name), type.name))

    def _has_nothing(self, client: HomeClient) -> bool:
        advertised = self.tables.advertisements.types_of(self.tables.name, name_of(client.name))
        return not advertised and self.moves.is_drained(client)
