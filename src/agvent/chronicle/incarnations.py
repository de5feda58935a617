"""What the log calls the incarnations of a broker: 1, 2, 3, in place of the seconds in which they began."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from agvent.broker.records import Accepted, Arrived, Heard, Kept, Owned, Record, Visited
from agvent.wire.parts import Target


class Incarnations(msgspec.Struct):
    """For each broker its incarnations, in the order in which they began. A number once given stays."""

    known: dict[str, list[int]] = {}

    def see(self, seen: set[tuple[str, int]]) -> None:
        """Numbers those that are new, together, so that the one that began first comes first."""
        for broker, incarnation in sorted(seen):
            numbered = self.known.setdefault(broker, [])
            if incarnation not in numbered:
                numbered.append(incarnation)

    def of(self, broker: str, incarnation: int) -> int:
        return self.known[broker].index(incarnation) + 1

    def put(self, record: Record) -> Record:
        """The record with these numbers."""
        if isinstance(record, Owned):
            return replace(record, incarnation=self.of(record.owner, record.incarnation))
        if isinstance(record, Heard):
            return replace(record, incarnation=self.of(record.home, record.incarnation))
        if isinstance(record, (Accepted, Arrived, Visited)):
            entered = record.entered
            record = replace(record, entered=replace(entered, incarnation=self.of(entered.entry, entered.incarnation)))
        if isinstance(record, Visited):
            return replace(record, journey=replace(record.journey, targets=self._put(record.journey.targets)))
        if isinstance(record, Kept):
            return replace(record, copies=replace(record.copies, targets=self._put(record.copies.targets)))
        return record

    def _put(self, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        return tuple(replace(one, incarnation=self.of(one.home, one.incarnation)) for one in targets)


def incarnations_in(record: Record) -> list[tuple[str, int]]:
    """The brokers that a record names, with their incarnations."""
    if isinstance(record, Owned):
        return [(record.owner, record.incarnation)]
    if isinstance(record, Heard):
        return [(record.home, record.incarnation)]
    if isinstance(record, (Accepted, Arrived)):
        return [(record.entered.entry, record.entered.incarnation)]
    if isinstance(record, Visited):
        homes = [(one.home, one.incarnation) for one in record.journey.targets]
        return [(record.entered.entry, record.entered.incarnation), *homes]
    if isinstance(record, Kept):
        return [(one.home, one.incarnation) for one in record.copies.targets]
    return []
