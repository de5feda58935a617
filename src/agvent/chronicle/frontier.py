"""How far the journals were read, where one speaks of another.

An entry's epoch speaks of its home's changes, an arrival of an event that entered elsewhere. Journals are read one
after the other while brokers write them, so a record may come before the one it speaks of: then it waits, and the log
at any moment has the cause of everything in it.
"""

from __future__ import annotations

from collections.abc import Container

import msgspec

from agvent.broker.records import Accepted, Arrived, Closed, Heard, Marked, Opened, Record, Visited
from agvent.chronicle.log_names import logged_name


class Frontier(msgspec.Struct):
    """Of each broker, as the log calls it, the last position of its stream, and of each publisher the last event that
    entered there."""

    positions: dict[str, int] = {}
    entered: dict[str, dict[str, int]] = {}

    def note(self, name: str, record: Record) -> None:
        """A record of this broker was read."""
        if isinstance(record, (Opened, Closed, Marked)):
            self.positions[name] = max(record.position, self.positions.get(name, 0))
        elif isinstance(record, Accepted):
            publisher, sequence = record.publication.publisher, record.publication.sequence
            ours = self.entered.setdefault(name, {})
            ours[publisher] = max(sequence, ours.get(publisher, 0))

    def reaches(self, record: Record, readable: Container[str]) -> bool:
        """Was what the record speaks of read? A broker that is not `readable` will say no more. An arrival without a
        publisher speaks of an entry that is no more, and of no event."""
        if isinstance(record, Heard):
            home = logged_name(record.home, record.incarnation)
            return home not in readable or self.positions.get(home, 0) >= record.position
        if isinstance(record, (Arrived, Visited)) and record.publication.publisher:
            entry = logged_name(record.entered.entry, record.entered.incarnation)
            known = self.entered.get(entry, {}).get(record.publication.publisher, 0)
            return entry not in readable or known >= record.publication.sequence
        return True
