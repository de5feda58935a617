"""The event log of a network, from the brokers' journals: a moment's picture, made beside the brokers.

The journals are read and not changed, so the brokers may run on; a record that is being written is in the next picture.
What the log calls an incarnation counts from 1: the first that a broker is known to have had.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from agvent.broker.records import Arrived, Heard, Owned, Record, Timed, decode_record
from agvent.chronicle.chronicle import Chronicle
from agvent.chronicle.rows import Rows, empty_rows
from agvent.net.config import ARCHIVE, JOURNAL, Identity, identity_of
from agvent.store.journal_recovery import history
from agvent.store.log import create_log
from agvent.store.log_writer import LogWriter


class Ordinals:
    """For each broker its incarnations in order: 1, 2, 3."""

    def __init__(self, identities: Iterable[Identity]) -> None:
        self._seen: dict[str, set[int]] = {}
        for one in identities:
            self.see(one.broker, one.incarnation)

    def see(self, broker: str, incarnation: int) -> None:
        self._seen.setdefault(broker, set()).add(incarnation)

    def see_record(self, record: Record) -> None:
        if isinstance(record, Owned):
            self.see(record.owner, record.incarnation)
        elif isinstance(record, Heard):
            self.see(record.home, record.incarnation)
        elif isinstance(record, Arrived):
            self.see(record.entered.entry, record.entered.incarnation)

    def of(self, broker: str, incarnation: int) -> int:
        return sorted(self._seen[broker]).index(incarnation) + 1

    def put(self, record: Record) -> Record:
        """The record with ordinals in place of incarnations."""
        if isinstance(record, Owned):
            return msgspec.structs.replace(record, incarnation=self.of(record.owner, record.incarnation))
        if isinstance(record, Heard):
            return msgspec.structs.replace(record, incarnation=self.of(record.home, record.incarnation))
        if isinstance(record, Arrived):
            entered = record.entered
            ordinal = self.of(entered.entry, entered.incarnation)
            return msgspec.structs.replace(record, entered=msgspec.structs.replace(entered, incarnation=ordinal))
        return record


def collect(disks: list[Path], out: str | os.PathLike[str]) -> Rows:
    """Writes a new log from the journals of these brokers' disks, and gives its rows."""
    identities = [identity_of(disk) for disk in disks]
    ordinals = Ordinals(identities)
    for disk in disks:
        for record in _records(disk):
            ordinals.see_record(record)
    rows = empty_rows()
    for disk, known in zip(disks, identities, strict=True):
        chronicle = Chronicle(known.broker, ordinals.of(known.broker, known.incarnation))
        at = 0
        for record in _records(disk):
            at = record.at if isinstance(record, Timed) else at
            chronicle.take(ordinals.put(record), at)
        rows.extend(chronicle.drain())
    create_log(out)
    with LogWriter(out) as log:
        rows.write(log)
        log.snapshot()
    return rows


def _records(disk: Path) -> Iterator[Record]:
    return (decode_record(content) for content in history(disk / JOURNAL, disk / ARCHIVE))
