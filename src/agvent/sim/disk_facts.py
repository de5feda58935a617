"""What the records on a broker's disk say, as the rules of write_ahead.py ask for it.

It is built from the records as they come to the disk, by nothing of the broker's tables: a table may be ahead of the
disk, and that is the mistake that is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agvent.broker.records import (
    Accepted,
    Arrived,
    Closed,
    Handed,
    HandedOver,
    Heard,
    InstanceKey,
    Joined,
    Kept,
    Left,
    LegEnded,
    Marked,
    Moved,
    Opened,
    Owned,
    Record,
    RejectedHere,
    Reported,
    Visited,
)
from agvent.broker.tables.chains import ChainSource
from agvent.broker.tables.custody import EventKey, key_of
from agvent.broker.tables.journeys import instance_in, instance_of
from agvent.event import EventId
from agvent.wire.names import name_of
from agvent.wire.parts import Publication


class DiskFacts:
    """Of one incarnation of a broker. Clients are told apart by their names, their subscriptions by name and id."""

    def __init__(self, broker: str, incarnation: int) -> None:
        self.broker, self.incarnation = broker, incarnation
        self.accepted: dict[str, int] = {}  # publisher -> the last sequence that entered
        self.rejected: dict[str, int] = {}  # publisher -> the last sequence that was rejected
        self.entered: set[EventId] = set()  # of a batch the last one
        self.kept: set[tuple[EventKey, str]] = set()  # with the home
        self.arrived: dict[ChainSource, int] = {}
        self.came: set[EventId] = set()  # every event that arrived or was handed over
        self.heard: dict[str, int] = {}  # home -> the highest number of its stream
        self.position = self.epoch = 0
        self.opened: dict[tuple[str, str], int] = {}  # client, id -> version
        self.closed: dict[tuple[str, str], int] = {}  # client, id -> how often it ended
        self.roots: dict[str, int] = {}  # key -> version, also of those that ended
        self.owned: dict[str, tuple[int, int]] = {}  # owner -> incarnation, version
        self.types: dict[tuple[str, str], bool] = {}  # client, type -> is it advertised here?
        self.has_gone = False  # has a broker left for good?
        self.keys: set[str] = set()  # of clients that are here
        self.left: set[str] = set()  # keys of those that had nothing here any more; one may have come again
        self.moved: set[str] = set()  # keys of those that said where they were
        self.sources: dict[str, tuple[str, ...]] = {}  # key -> the homes that are still to hand over
        self.handed: dict[tuple[str, str], int] = {}  # key, home -> how far that has handed over
        self.stopped: set[InstanceKey] = set()  # instances of agvents that were executed, ended or reported here
        self._take: dict[type[Record], Callable[[Any], None]] = {
            Accepted: self._accepted,
            RejectedHere: self._rejected,
            Kept: self._kept,
            Arrived: self._arrived,
            Visited: self._visited,
            LegEnded: self._leg_ended,
            Reported: self._reported,
            Heard: self._heard,
            Opened: self._opened,
            Closed: self._closed,
            Marked: self._marked,
            Owned: self._owned,
            Joined: self._joined,
            Left: self._left,
            Moved: self._moved,
            Handed: self._handed,
            HandedOver: self._handed_over,
        }

    def add(self, record: Record) -> None:
        """A record is on the disk."""
        take = self._take.get(type(record))
        if take is not None:
            take(record)

    def _accepted(self, record: Accepted) -> None:
        publication = record.publication
        self.accepted[publication.publisher] = publication.sequence
        self.entered.add(EventId(publication.publisher, publication.sequence))
        if record.outcome is not None:
            self._came(publication)

    def _rejected(self, record: RejectedHere) -> None:
        if record.reason:
            self.rejected[record.publisher] = max(record.sequence, self.rejected.get(record.publisher, 0))

    def _kept(self, record: Kept) -> None:
        key = key_of(record.copies.entered, record.copies.publication)
        self.kept |= {(key, target.home) for target in record.copies.targets}

    def _came(self, publication: Publication) -> None:
        sequences = range(publication.first, publication.sequence + 1)
        self.came |= {EventId(publication.publisher, sequence) for sequence in sequences}

    def _arrived(self, record: Arrived) -> None:
        self._reached(record)
        self._came(record.publication)

    def _reached(self, record: Arrived | Visited) -> None:
        entered, publication = record.entered, record.publication
        chain = ChainSource(entered.entry, entered.incarnation, publication.publisher)
        self.arrived[chain] = max(publication.sequence, self.arrived.get(chain, 0))

    def _visited(self, record: Visited) -> None:
        self.stopped.add(instance_of(record.entered, record.publication, record.journey.path))
        if record.arrives:
            self._reached(record)
            self._came(record.publication)

    def _leg_ended(self, record: LegEnded) -> None:
        self.stopped.add(instance_in(record))

    def _reported(self, record: Reported) -> None:
        self.stopped.add(instance_in(record.report))

    def _heard(self, record: Heard) -> None:
        self.heard[record.home] = max(record.number, self.heard.get(record.home, 0))
        self.epoch = record.epoch

    def _opened(self, record: Opened) -> None:
        subscription = record.interest.subscription
        self.position, self.epoch = record.position, record.epoch
        self.roots[subscription.id] = record.interest.version
        self.opened[_asked_as(subscription.id)] = record.interest.version

    def _closed(self, record: Closed) -> None:
        self.position, self.epoch = record.position, record.epoch
        asked = _asked_as(record.key)
        if not record.replaced:
            self.closed[asked] = self.closed.get(asked, 0) + 1

    def _marked(self, record: Marked) -> None:
        self.position, self.epoch = record.position, record.epoch

    def _owned(self, record: Owned) -> None:
        self.owned[record.owner] = (record.incarnation, record.version)
        self.has_gone = self.has_gone or record.gone
        if record.owner == self.broker:
            self.types |= {(entry.publisher, entry.type.name): entry.live for entry in record.entries}

    def _joined(self, record: Joined) -> None:
        self.keys.add(record.client)

    def _left(self, record: Left) -> None:
        self.keys.discard(record.client)
        self.left.add(record.client)

    def _moved(self, record: Moved) -> None:
        self.moved.add(record.client)
        self.sources[record.client] = tuple(source.broker for source in record.sources)

    def _handed(self, record: Handed) -> None:
        if home := self.sources.get(record.client):
            self.handed[record.client, home[0]] = record.number
        delivery = record.passed.delivery
        sequences = range(delivery.first, delivery.last + 1)
        self.came |= {EventId(delivery.publisher, sequence) for sequence in sequences}

    def _handed_over(self, record: HandedOver) -> None:
        sources = self.sources.get(record.client, ())
        self.sources[record.client] = sources[1:] if record.reason else ()


def _asked_as(key: str) -> tuple[str, str]:
    """The client and the id of a subscription's key."""
    client, _, id = key.partition("/")
    return name_of(client), id
