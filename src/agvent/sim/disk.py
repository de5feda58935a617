"""A broker's disk: the journal of store/ in a folder of its own, on a machine that may fail at any moment.

The broker's node writes in groups, as the driver on sockets does: `append` takes records, `begin` starts to write those
that gathered, `sync` ends it. A crash in between leaves any whole records of the group, in order, perhaps a part of the
one after them, or a hole where a page was not written. A crash while a snapshot is written leaves a part of it, or the
snapshot together with everything that it stands for. What reads all this is the code that reads a real disk.
"""

from __future__ import annotations

import errno
import os
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Final

from agvent.broker.records import Record, Timed, decode_record, encode_record
from agvent.errors import JournalFull
from agvent.store.journal import JournalWriter
from agvent.store.journal_file import SNAPSHOT_MAGIC, header, sealed
from agvent.store.journal_recovery import examine

MEMORY: Final = Path("/dev/shm")
"""Journals of simulated disks are in memory: what a sync costs is the world's to say."""


class FallibleJournal(JournalWriter):
    """A journal whose disk may be full, and whose process may end without a word."""

    is_full = False

    @property
    def has_no_room(self) -> bool:
        """`compact` has the room of its reserve."""
        return self.is_full and self._reserve.exists()

    def _write_all(self, group: bytes) -> None:
        if self.has_no_room:
            os.pwrite(self._file, group[: len(group) // 2], self._offset)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super()._write_all(group)

    def roll(self) -> None:
        if self.has_no_room:
            raise JournalFull(f"{self.folder}: no room for another segment")
        super().roll()

    def snapshot(self, sequence: int, contents: Sequence[bytes]) -> None:
        if self.has_no_room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().snapshot(sequence, contents)

    def leave(self, tail: bytes = b"") -> None:
        """The process is gone; this is what it had written of its last group."""
        os.pwrite(self._file, tail, self._offset)
        os.close(self._file)
        self._file = -1
        os.close(self._lock)

    def __del__(self) -> None:
        if self._file >= 0:
            self.leave()


class Disk:
    """What survives is what `read` gives. `unsynced` are the records that are not certain to."""

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="agvent-sim-", dir=MEMORY if MEMORY.is_dir() else None))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.unsynced: list[bytes] = []
        self.begun = 0  # how many of these are being written
        self.snapshot: list[bytes] | None = None  # what is being saved, of everything before `snapshot_from`
        self.snapshot_from = 0
        self.is_full = False
        self._journal: FallibleJournal | None = None

    @property
    def journal(self) -> FallibleJournal:
        """The journal, open: a start opens it, a crash closes it."""
        if self._journal is None:
            self._journal = FallibleJournal(self.folder)
        self._journal.is_full = self.is_full
        return self._journal

    def append(self, records: Sequence[Record]) -> None:
        self.unsynced += map(encode_record, records)

    def begin(self) -> int:
        """Everything that gathered is being written from now on; gives how many records that are."""
        self.begun = len(self.unsynced)
        return self.begun

    def sync(self, count: int, at: int = 0) -> None:
        """The first `count` unsynced records are safe; JournalFull if they find no room."""
        self.journal.write([encode_record(Timed(at)), *self.unsynced[:count]])
        del self.unsynced[:count]
        self.begun = 0

    def compact(self, count: int, at: int, image: Sequence[Record]) -> None:
        """The same on a full disk, with a snapshot in place of everything; JournalFull if that gives no room."""
        self.journal.compact([encode_record(Timed(at)), *self.unsynced[:count]], [*map(encode_record, image)])
        del self.unsynced[:count]
        self.begun = 0

    def save(self, image: Sequence[Record]) -> None:
        """Begins to write a snapshot of everything up to now."""
        self.snapshot, self.snapshot_from = [*map(encode_record, image)], self.journal.sequence + 1

    def saved(self) -> None:
        """The snapshot is written."""
        assert self.snapshot is not None
        contents, self.snapshot = self.snapshot, None
        self.journal.snapshot(self.snapshot_from, contents)

    def crash(self, random: Random) -> list[Record]:
        """The process ends. Gives the records of the group under way that are whole on the disk."""
        journal = self.journal
        before = journal.sequence
        journal.leave(self._tail(random, before))
        self._journal = None
        if self.snapshot is not None:
            self._leave_snapshot(random)
        self.unsynced.clear()
        self.begun, self.snapshot = 0, None
        return self._after(before)

    def _tail(self, random: Random, before: int) -> bytes:
        """What is on the disk of the group that was being written."""
        group = [encode_record(Timed(0)), *self.unsynced[: self.begun]] if self.begun else []
        if not group:
            return b""
        kept = random.randint(0, len(group))
        parts = [sealed(before + at, before, content) for at, content in enumerate(group, 1)]
        torn = parts[kept][: random.randrange(len(parts[kept]))] if kept < len(parts) and random.random() < 0.5 else b""
        tail = bytearray(b"".join(parts[:kept]) + torn)
        if len(tail) > 2 and random.random() < 0.1:  # a page that was not written before later ones were
            hole = random.randrange(len(tail) - 1)
            end = random.randint(hole + 1, len(tail))
            tail[hole:end] = bytes(end - hole)
        return bytes(tail)

    def _leave_snapshot(self, random: Random) -> None:
        assert self.snapshot is not None
        contents = header(SNAPSHOT_MAGIC, self.snapshot_from, len(self.snapshot)) + b"".join(
            sealed(at, 0, content) for at, content in enumerate(self.snapshot, 1)
        )
        path = self.folder / f"{self.snapshot_from:020}.snapshot"
        if random.random() < 0.5:
            path.with_suffix(".partial").write_bytes(contents[: random.randrange(len(contents))])
        else:
            path.write_bytes(contents)

    def _after(self, sequence: int) -> list[Record]:
        """The records on the disk after a sequence, without those that only tell the time."""
        recovery = examine(self.folder)
        readings = [reading for reading in recovery.readings if reading.path.suffix == ".segment"]
        found: list[Record] = []
        for reading in readings:
            data = reading.path.read_bytes()
            late = [place for place in reading.places if place.sequence > sequence]
            found += [decode_record(data[place.start : place.end]) for place in late if place.start < place.end]
        return [record for record in found if not isinstance(record, Timed)]

    def read(self) -> list[Record]:
        """The records that a start finds, a snapshot's first; a torn tail is left out."""
        return [decode_record(content) for content in examine(self.folder).contents()]

    def start(self) -> list[Record]:
        """Opens the journal, which cuts a torn tail off, and gives its records."""
        return [decode_record(content) for content in self.journal.recovery.contents()]
