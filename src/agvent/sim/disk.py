"""A broker's disk: the journal of store/ in a folder of its own, on a machine that may fail at any moment.

The broker's node writes in groups, as the driver on sockets does: `append` takes records, `begin` starts to write those
that gathered, `sync` ends it. A crash in between is made by the journal itself: it writes the group, or the snapshot
under way, until the power fails at one of its calls (platter.py). What reads the rest is the code that reads a real
disk.

`damage` judges that reading by what was given to the journal: every record that was safe is there, at its sequence and
as it was written, or a snapshot that stands for it; and nothing else is.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Final

from agvent.broker.records import Record, Timed, decode_record, encode_record
from agvent.errors import JournalFull
from agvent.sim.platter import Platter, PowerFailure
from agvent.store.journal import JournalWriter
from agvent.store.journal_recovery import Recovery, examine

MEMORY: Final = Path("/dev/shm")
"""Journals of simulated disks are in memory: what a sync costs is the world's to say."""

KILLED: Final = 0.3
"""How likely a crash ends the process alone, and what it wrote stays in the page cache."""


class AbandonedJournal(JournalWriter):
    """A journal whose process may end without a word."""

    def __init__(self, folder: Path, *, archive: Path | None = None) -> None:
        try:
            super().__init__(folder, archive=archive)
        except BaseException:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            raise

    def leave(self) -> None:
        """The process is gone."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            os.close(self._lock)

    def __del__(self) -> None:
        self.leave()


class Disk:
    """What survives is what `read` gives. `unsynced` are the records that are not certain to."""

    def __init__(self, random: Random | None = None, *, keeps_history: bool = False) -> None:
        self.folder = self._new_folder()
        self.archive = self._new_folder() if keeps_history else None
        self.owner: tuple[str, int] | None = None  # the broker that was started with it, and its incarnation
        self.random = random or Random(0)
        self.platter = Platter(self.folder, self.random)
        self.unsynced: list[bytes] = []
        self.begun = 0  # how many of these are being written
        self.snapshot: list[bytes] | None = None  # what is being saved, of everything before `snapshot_from`
        self.snapshot_from = 0
        self.is_full = False
        self.damage: list[str] = []
        self._written: dict[int, bytes] = {}  # by sequence, everything that was ever written
        self._images: dict[int, list[bytes]] = {}  # by the sequence after it, each snapshot
        self._journal: AbandonedJournal | None = None

    def _new_folder(self) -> Path:
        made = Path(mkdtemp(prefix="agvent-sim-", dir=MEMORY if MEMORY.is_dir() else None))
        weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        return made

    @property
    def journal(self) -> AbandonedJournal:
        """The journal, open: a start opens it, a crash closes it."""
        if self._journal is None:
            with self.platter.under():
                self._journal = AbandonedJournal(self.folder, archive=self.archive)
        if self.is_full != self.platter.is_full:
            if self.is_full:
                self.platter.fill()
            self.platter.is_full = self.is_full
        return self._journal

    def append(self, records: Sequence[Record]) -> None:
        self.unsynced += map(encode_record, records)

    def begin(self) -> int:
        """Everything that gathered is being written from now on; gives how many records that are."""
        self.begun = len(self.unsynced)
        return self.begun

    def sync(self, count: int, at: int = 0) -> None:
        """The first `count` unsynced records are safe; JournalFull if they find no room."""
        self._write(self._group(count, at))
        self._synced(count)

    def _group(self, count: int, at: int) -> list[bytes]:
        return [encode_record(Timed(at)), *self.unsynced[:count]]

    def _synced(self, count: int) -> None:
        del self.unsynced[:count]
        self.begun = 0

    def _write(self, group: list[bytes]) -> None:
        self._note(group)
        with self.platter.under():
            self.journal.write(group)

    def _note(self, group: list[bytes]) -> None:
        first = self.journal.sequence + 1
        self._written |= {first + at: content for at, content in enumerate(group)}

    def compact(self, count: int, at: int, image: Sequence[Record]) -> None:
        """The same on a full disk, with a snapshot in place of everything; JournalFull if that gives no room."""
        group, contents = self._group(count, at), [*map(encode_record, image)]
        self._note(group)
        self._images[self.journal.sequence + len(group) + 1] = contents
        with self.platter.under():
            self.journal.compact(group, contents)
        self._synced(count)

    def roll(self) -> None:
        """Begins another segment; JournalFull if there is no room."""
        with self.platter.under():
            self.journal.roll()

    def save(self, image: Sequence[Record]) -> None:
        """Begins to write a snapshot of everything up to now."""
        self.snapshot, self.snapshot_from = [*map(encode_record, image)], self.journal.sequence + 1

    def saved(self) -> None:
        """The snapshot is written."""
        assert self.snapshot is not None
        contents, self.snapshot = self.snapshot, None
        self._images[self.snapshot_from] = contents
        with self.platter.under():
            self.journal.snapshot(self.snapshot_from, contents)

    def crash(self, at: int = 0) -> list[Record]:
        """The process ends. Gives the records of the group under way that are whole on the disk."""
        journal = self.journal
        before = journal.sequence
        under_way: list[Callable[[], None]] = []
        if self.begun:
            under_way.append(lambda: self._write(self._group(self.begun, at)))
        if self.snapshot is not None:
            under_way.append(self.saved)
        for write in self.random.sample(under_way, len(under_way)):
            self.platter.fail_somewhere()
            with suppress(PowerFailure, OSError, JournalFull):
                write()
        self.platter.fails_at = None
        journal.leave()
        self._journal = None
        if self.random.random() >= KILLED:
            self.platter.fail()
        last = before + self.begun + 1 if self.begun else before
        self.unsynced.clear()
        self.begun, self.snapshot = 0, None
        recovery = examine(self.folder)
        self._judge(recovery, before, last)
        return self._after(recovery, before)

    def _judge(self, recovery: Recovery, safe: int, last: int) -> None:
        """Is what a start would read exactly what was written, with everything that was safe?"""
        if recovery.damage is not None:
            self.damage.append(f"a crash left what no start accepts: {recovery.damage}")
            return
        if not safe <= recovery.next - 1 <= last:
            self.damage.append(f"{safe} records were safe and {last} written, {recovery.next - 1} are there")
        for reading in recovery.readings:
            contents = [*reading.contents()]
            if reading.path.suffix == ".snapshot":
                wanted = self._images.get(int(reading.path.stem))
            else:
                wanted = [self._written.get(place.sequence, b"") for place in reading.places]
            if contents != wanted:
                self.damage.append(f"{reading.path.name} has other records than were written")

    def _after(self, recovery: Recovery, sequence: int) -> list[Record]:
        """The records on the disk after a sequence, without those that only tell the time."""
        readings = [reading for reading in recovery.readings if reading.path.suffix == ".segment"]
        sequences = [place.sequence for reading in readings for place in reading.places if place.sequence > sequence]
        found = [decode_record(self._written[one]) for one in sequences if self._written.get(one)]
        return [record for record in found if not isinstance(record, Timed)]

    def read(self) -> list[Record]:
        """The records that a start finds, a snapshot's first; a torn tail is left out."""
        return [decode_record(content) for content in examine(self.folder).contents()]

    def start(self) -> list[Record]:
        """Opens the journal, which cuts a torn tail off, and gives its records."""
        return [decode_record(content) for content in self.journal.recovery.contents()]
