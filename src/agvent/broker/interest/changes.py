"""Changes of this home's stream: a version of a subscription opens, a version closes, a place is marked."""

from __future__ import annotations

from agvent.broker.interest.streams import Streams
from agvent.broker.outbox import Outbox
from agvent.broker.records import Closed, Marked, Opened
from agvent.broker.tables.tables import Tables
from agvent.wire.broker_messages import Interest


class Changes:
    """Each is a record, and concerns the entries only when that is on disk."""

    def __init__(self, tables: Tables, streams: Streams, out: Outbox) -> None:
        self.tables, self.streams, self.out = tables, streams, out

    def open(self, client: str, interest: Interest) -> None:
        homes = self.tables.local
        self.out.record(Opened(homes.position + 1, client, interest, self.tables.interests.epoch + 1))
        self.streams.opened(interest.subscription.id, number=self.out.number)

    def mark(self) -> int:
        """A position of its own, which every entry is told."""
        homes = self.tables.local
        self.out.record(Marked(homes.position + 1, self.tables.interests.epoch + 1))
        self.streams.hold_until(self.out.number)
        return homes.position

    def close(self, key: str, *, replaced: bool) -> None:
        """`replaced`: what entered before is still owed."""
        homes = self.tables.local
        type = homes.current[key].subscription.type
        self.out.record(Closed(homes.position + 1, key, replaced, self.tables.interests.epoch + 1))
        self.streams.closed(key, type, number=self.out.number)
