"""What the rows of later records need of those before: it can be written down, and taking goes on after any record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from agvent.broker.records import Arrived
from agvent.broker.tables.move_state import NO_LIFE, QueuedEvent, event_of, merged
from agvent.types import AgventType
from agvent.wire.batches import taken_apart, without
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.lines import places_in

Versions = tuple[tuple[str, int], ...]
"""Subscriptions as (key, version)."""


class Delivered(NamedTuple):
    """An arrival without its event, and the subscriptions of one client that it is for."""

    arrived: Arrived
    versions: Versions


def each_delivery(record: Arrived) -> Iterator[tuple[str, Delivered]]:
    """What an arrival brings to each client, event by event in the order of their numbers."""
    bare = replace(record, publication=replace(record.publication, event=b""), deliveries=(), places=())
    if not record.places:
        yield from ((client, Delivered(bare, versions)) for client, versions in record.deliveries)
        return
    singles = [replace(bare, publication=one) for one in taken_apart(bare.publication)]
    for (client, versions), picks in zip(record.deliveries, record.places, strict=True):
        theirs: list[list[tuple[str, int]]] = [[] for _ in singles]
        for version, pick in zip(versions, picks, strict=True):
            for place in places_in(pick, len(singles)):
                theirs[place].append(version)
        brought = zip(singles, theirs, strict=True)
        yield from ((client, Delivered(one, tuple(found))) for one, found in brought if found)


class Waiting(msgspec.Struct):
    """A client's durable queue: deliveries that were not acknowledged, by number. While it is `moving`, what its old
    home hands over and what arrives here are beside each other."""

    number: int = 0
    arrived: dict[int, Delivered] = {}
    moving: bool = False
    handed: list[Deliver | Gap] = []
    waiting: list[Delivered] = []

    def add(self, delivered: Delivered) -> None:
        if self.moving:
            self.waiting.append(delivered)
        else:
            self.number += 1
            self.arrived[self.number] = delivered

    def curtail(self, count: int, reason: str) -> None:
        """The oldest that wait become one for each publisher, as at the home: it is lost."""
        gone: dict[str, Delivered] = {}
        for arrived, versions in self.waiting[:count]:
            after = arrived.after if arrived.lost else arrived.publication.sequence - 1
            before = gone.pop(arrived.publication.publisher, None)
            after, had = (min(after, before.arrived.after), before.versions) if before is not None else (after, ())
            one = replace(arrived, after=after, lost=reason)
            gone[arrived.publication.publisher] = Delivered(one, tuple(dict.fromkeys((*had, *versions))))
        self.waiting = [*gone.values(), *self.waiting[count:]]

    def void(self, key: str) -> None:
        """Nothing is owed to a subscription that ended."""
        for number, (arrived, versions) in list(self.arrived.items()):
            left = _without(versions, key)
            if left:
                self.arrived[number] = Delivered(arrived, left)
            else:
                del self.arrived[number]
        self.handed = [without(one, key.partition("/")[2]) for one in self.handed]
        self.waiting = [Delivered(arrived, _without(versions, key)) for arrived, versions in self.waiting]

    def catch_up(self) -> None:
        """Both in one order, as the home does it. The old home's log has what it handed over: here that only takes a
        number, unless it waited for other subscriptions too."""
        self.moving = False
        had: dict[QueuedEvent, set[str]] = {}
        for one in self.handed:
            if isinstance(one, Deliver):
                had.setdefault(event_of(one), set()).update(one.subscriptions)
        keys = [_event_in(arrived) for arrived, _ in self.waiting]
        both: dict[QueuedEvent, Delivered] = {}
        for (arrived, versions), key in zip(self.waiting, keys, strict=True):
            already = had.get(key) if not arrived.lost else None
            if already is None:
                continue
            left = tuple((key, number) for key, number in versions if key.partition("/")[2] not in already)
            both[key] = Delivered(arrived, left)
        for is_handed, place in merged([event_of(one) for one in self.handed], keys):
            if is_handed:
                self._hand(self.handed[place], both)
            if is_handed:
                self.number += 1
                continue
            arrived, versions = self.waiting[place]
            if arrived.lost or (versions and keys[place] not in both):
                self.add(self.waiting[place])
        self.handed, self.waiting = [], []

    def _hand(self, one: Deliver | Gap, both: dict[QueuedEvent, Delivered]) -> None:
        """The next number is a delivery that was handed over: what waited of the same event is under it too."""
        if isinstance(one, Deliver):
            found = both.get(event_of(one))
            if found is not None and found.versions:
                self.arrived[self.number + 1] = found


def _event_in(arrived: Arrived) -> QueuedEvent:
    """What the home takes it for in a queue: what is lost is a notice there."""
    publication = arrived.publication
    return QueuedEvent(publication.publisher, NO_LIFE if arrived.lost else publication.life, publication.sequence)


def _without(versions: Versions, key: str) -> Versions:
    return tuple((other, number) for other, number in versions if other != key)


class Carried(msgspec.Struct):
    """What the rows of later records need of those before."""

    known: dict[str, int]  # owner -> its incarnation
    types: dict[tuple[str, str], AgventType]  # publisher, type -> as advertised here
    open: dict[str, tuple[str, int]]  # subscription -> client, version
    clients: dict[str, Waiting]
    delivered: dict[str, int]  # subscription's key -> the position of its last delivery
    epoch: int = 0


def without_event(delivery: Deliver | Gap) -> Deliver | Gap:
    """Without the event, which is in the log of the home that handed it over."""
    return replace(delivery, event=b"") if isinstance(delivery, Deliver) else delivery
