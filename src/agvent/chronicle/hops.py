"""The ways of events, hop by hop, from what several brokers' journals say together.

The receiver's journal has whom a copy came from and when it was on disk there; the sender's, since when it could be
sent. A hop whose sender's journal was not read so far waits for it.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from agvent.broker.records import Accepted, Arrived, Kept, Record, Visited
from agvent.chronicle.log_names import DURABLE, logged_name, moment
from agvent.chronicle.log_rows import Row
from agvent.event import EventId
from agvent.wire.parts import Publication, Trace

EVENTS_KEPT_MAX: Final = 16_384
HOPS_WAITING_MAX: Final = 16_384
"""Events whose times are kept, and hops that wait for one: what a busy network has on its way within seconds. A copy
that waits for longer than that has no row for the hop it then goes."""


class Hop(msgspec.Struct, frozen=True):
    """A copy for some homes that came over a link; a batch has its last event's key."""

    event: EventId
    bytes: int
    number: int
    sender: str
    receiver: str
    homes: tuple[str, ...]
    at: int
    events: int = 1


class Ways(msgspec.Struct):
    """`on_disk`: for each of the last events, since when each broker had it on disk; oldest event first."""

    on_disk: dict[EventId, dict[str, int]] = {}
    hops: list[Hop] = []

    def take(self, broker: str, name: str, record: Record, at: int) -> None:
        """A record of a broker, whom the log calls `name`, that came to be on its disk at a time."""
        if isinstance(record, Accepted):
            if any(target.home != broker for target in record.targets):
                self._had(record.publication, broker, at)
        elif isinstance(record, Kept):
            copies = record.copies
            homes = tuple(logged_name(one.home, one.incarnation) for one in copies.targets if one.home != broker)
            if homes:
                self._had(copies.publication, broker, at)
                self._came(copies.publication, copies.trace, broker, homes, at)
        elif isinstance(record, Visited):
            self._stopped(record, broker, at)
        elif isinstance(record, Arrived):
            self._came(record.publication, record.trace, broker, (name,), at)

    def _stopped(self, record: Visited, broker: str, at: int) -> None:
        """A leg of an agvent that finds its own way is one hop, from stop to stop."""
        journey, publication = record.journey, record.publication
        homes = tuple(logged_name(one.home, one.incarnation) for one in journey.targets)
        event, size = EventId(publication.publisher, publication.sequence), len(publication.event)
        self.hops.append(
            Hop(
                event=event,
                bytes=size,
                number=len(journey.passed),
                sender=journey.origin,
                receiver=broker,
                homes=homes,
                at=at,
            )
        )
        if record.outcome.legs:
            self._had(publication, broker, at)

    def _had(self, publication: Publication, broker: str, at: int) -> None:
        event = EventId(publication.publisher, publication.sequence)
        self.on_disk.setdefault(event, {}).setdefault(broker, at)

    def _came(self, publication: Publication, trace: Trace, broker: str, homes: tuple[str, ...], at: int) -> None:
        if trace:
            event = EventId(publication.publisher, publication.sequence)
            sender, _ = trace[-1]
            size = len(publication.event) // publication.count
            self.hops.append(
                Hop(
                    event=event,
                    bytes=size,
                    number=len(trace),
                    sender=sender,
                    receiver=broker,
                    homes=homes,
                    at=at,
                    events=publication.count,
                )
            )

    def drain(self) -> list[Row]:
        """The hops of which both ends are known."""
        rows: list[Row] = []
        waiting: list[Hop] = []
        for hop in self.hops:
            sent = self.on_disk.get(hop.event, {}).get(hop.sender)
            if sent is None:
                waiting.append(hop)
            else:
                rows += _rows(hop, sent)
        self.hops = waiting[-HOPS_WAITING_MAX:]
        for event in list(islice(self.on_disk, max(0, len(self.on_disk) - EVENTS_KEPT_MAX))):
            del self.on_disk[event]
        return rows


def _rows(hop: Hop, sent: int) -> list[Row]:
    publisher, last = hop.event
    sequences = range(last - hop.events + 1, last + 1)
    return [_row(hop, EventId(publisher, sequence), home, sent) for sequence in sequences for home in hop.homes]


def _row(hop: Hop, event: EventId, home: str, sent: int) -> Row:
    """A copy goes on before it is on its sender's disk: it was sent when it was, or received if that was earlier."""
    return {
        "publisher": event.publisher,
        "sequence": event.sequence,
        "quality": DURABLE,
        "destination": home,
        "hop": hop.number,
        "from_broker": hop.sender,
        "to_broker": hop.receiver,
        "sent_at": moment(min(sent, hop.at)),
        "received_at": moment(hop.at),
        "queue": None,
        "bytes": hop.bytes,
    }
