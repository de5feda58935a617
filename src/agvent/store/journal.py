"""The custody journal's one writer: groups of records, each group on disk before anybody is told of it.

A journal is a folder of segments, files of numbered records, and at most one snapshot that stands for all records
before its number. A record is *written*, then *safe* after the fdatasync of its group. Only then does `write` return,
and the broker tell others about it. Invariants:

- Between two calls every record up to `sequence` is safe. A call that raises JournalFull has left nothing of its group.
- Each record carries the last sequence that was safe when it was written. So a reader can tell a *torn tail* (a crash
  in the middle of a group; nobody was told) from *damage* to records that were safe.
- At every moment the folder holds all safe records: a snapshot is written under another name, synced and renamed, and
  segments go only after that. A crash between leaves both, and the next start removes the segments.

To cut a journal at its first bad record is the obvious alternative, and wrong: one flipped bit would silently take away
every later record, though others were told of them. So `recover` cuts a torn tail, and refuses damage by name. A clean
stop writes an empty last record: it says that everything before it was safe.

A sync for each record would be simple and slow; a group has all records that came while the last sync was under way.
An fdatasync that fails is raised, not tried again: the kernel may have dropped the pages that it could not write.

A full disk must not stop a broker from giving room back. `reserve` is a file that holds room for one group and one
snapshot: `compact` gives it up, writes both, and takes it again.

`write`, `roll` and `compact` belong to one thread; `snapshot` may run in another while that one writes and rolls: it
touches no file that they do.

Cost: a group of 4,096 records and its fdatasync take about a millisecond (benchmarks/journal.py).
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from agvent import limits
from agvent.errors import JournalError, JournalFull
from agvent.store.journal_file import HEADER, RECORD_OVERHEAD_BYTES, SEGMENT_MAGIC, SNAPSHOT_MAGIC, header, sealed
from agvent.store.journal_recovery import Recovery, put_aside, recover, retire, segment_paths, snapshot_paths
from agvent.store.sync_folder import sync_folder

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE)
"""What is waited for: room on the disk, or a descriptor for another segment."""

CLOSED: Final = b""
"""The content of the record that a clean stop writes: after it, whatever is damaged was safe."""


class JournalWriter:
    """An open journal. `sequence` is that of the last record; everything up to it is on disk between two calls.

    With an `archive` the segments that a snapshot stands for are kept there."""

    def __init__(self, folder: Path, *, archive: Path | None = None) -> None:
        for made in (folder, *([archive] if archive is not None else [])):
            made.mkdir(parents=True, exist_ok=True)
        self.folder, self.archive = folder, archive
        self._file = -1
        self._offset = 0
        self._snapshot_from = 0  # bytes of segments from which on a snapshot is tried again
        self._lock = locked(folder)
        try:
            self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self) -> None:
        self.recovery: Recovery = recover(self.folder, archive=self.archive)
        if self.archive is not None and self.recovery.next == 1:
            put_aside(self.archive)
        self.sequence = self.recovery.next - 1
        self.snapshot_bytes = sum(path.stat().st_size for path in snapshot_paths(self.folder))
        self.segment_bytes = sum(path.stat().st_size for path in segment_paths(self.folder))
        try:
            self.roll()
        except JournalFull:
            self._go_on()
        self._keep_reserve()

    def _go_on(self) -> None:
        """Without room for another segment, the last one grows."""
        segments = segment_paths(self.folder)
        if not segments:
            raise JournalFull(f"{self.folder}: no room for a segment")
        self._file, self._offset = os.open(segments[-1], os.O_RDWR), segments[-1].stat().st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, contents: Sequence[bytes]) -> int:
        """Writes a group and syncs it; gives the sequence of its last record. JournalFull leaves nothing of it."""
        synced = self.sequence
        group = b"".join(sealed(synced + at, synced, content) for at, content in enumerate(contents, 1))
        try:
            _write_all(self._file, group, self._offset)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            os.ftruncate(self._file, self._offset)
            raise JournalFull(f"{self.folder}: no room for {len(group)} bytes: {error.strerror}") from None
        os.fdatasync(self._file)
        self._offset += len(group)
        self.segment_bytes += len(group)
        self.sequence = synced + len(contents)
        if self._offset > limits.JOURNAL_SEGMENT_BYTES_MAX:
            with suppress(JournalFull):  # the group is safe; the segment grows until there is room for another
                self.roll()
        return self.sequence

    def roll(self) -> None:
        """Begins a new segment, after everything in the one before is on disk."""
        if self._offset == HEADER.size:
            return  # nothing is in it yet
        path = self.folder / f"{self.sequence + 1:020}.segment"
        try:
            made = _new_segment(path, self.sequence + 1)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            path.unlink(missing_ok=True)
            raise JournalFull(f"{self.folder}: no room for another segment: {error.strerror}") from None
        if self._file >= 0:
            os.close(self._file)
        self._file, self._offset = made, HEADER.size

    def wants_snapshot(self) -> bool:
        """Has so much been written since the last snapshot that another one is worth its cost?"""
        grown = self.segment_bytes > max(limits.JOURNAL_GROWTH_MAX * self.snapshot_bytes, self._snapshot_from)
        return grown and self.segment_bytes > limits.JOURNAL_SEGMENT_BYTES_MAX

    def snapshot(self, sequence: int, contents: Sequence[bytes]) -> None:
        """Puts a snapshot in place of every record before a sequence. Those must be on disk, and the sequence begin a
        segment: call `roll` first. One that fails leaves nothing, and is wanted again when the journal has grown."""
        path = self.folder / f"{sequence:020}.snapshot"
        partial = path.with_suffix(".partial")
        try:
            _write_snapshot(partial, sequence, contents)
        except OSError:
            partial.unlink(missing_ok=True)
            self._snapshot_from = self.segment_bytes + limits.JOURNAL_SEGMENT_BYTES_MAX
            raise
        os.replace(partial, path)
        sync_folder(self.folder)
        retire(self.folder, sequence, self.archive)
        self.snapshot_bytes = path.stat().st_size
        self.segment_bytes = sum(one.stat().st_size for one in segment_paths(self.folder))
        self._snapshot_from = 0
        self._keep_reserve()

    def compact(self, contents: Sequence[bytes], snapshot: Sequence[bytes]) -> int:
        """On a full disk: writes a group in the reserve's room, and puts a snapshot in place of everything. JournalFull
        if both do not fit into that, or it would give no room."""
        size = sum(RECORD_OVERHEAD_BYTES + len(one) for one in (*contents, *snapshot))
        if not self._reserve.exists() or size > limits.JOURNAL_RESERVE_BYTES:
            raise JournalFull(f"{self.folder}: no room for {size} bytes, records and a snapshot")
        if self.archive is not None or size >= self.snapshot_bytes + self.segment_bytes:
            raise JournalFull(f"{self.folder}: no room, and a snapshot would give none")
        self._reserve.unlink()
        try:
            self.write(contents)
            with suppress(JournalFull, OSError):  # the group is safe
                self.roll()
                self.snapshot(self.sequence + 1, snapshot)
        finally:
            self._keep_reserve()
        return self.sequence

    @property
    def _reserve(self) -> Path:
        return self.folder / "reserve"

    def _keep_reserve(self) -> None:
        """Takes the room that `compact` needs, if it is to be had."""
        if self._reserve.exists():
            return
        try:
            made = os.open(self._reserve, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return  # not even for its name
        try:
            os.posix_fallocate(made, 0, limits.JOURNAL_RESERVE_BYTES)
        except OSError:
            self._reserve.unlink()
        finally:
            os.close(made)

    def close(self) -> None:
        """Ends the journal cleanly."""
        if self._file >= 0:
            with suppress(JournalFull):  # without the mark the next start sees a crash, and loses nothing by it
                self.write([CLOSED])
            os.close(self._file)
            self._file = -1
            os.close(self._lock)


def _write_all(file: int, data: bytes, at: int) -> None:
    """A disk that has room for a part of it writes that part, and says so at the next."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, at)
        view, at = view[written:], at + written


def _write_snapshot(path: Path, sequence: int, contents: Sequence[bytes]) -> None:
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(made, "wb") as out:
        out.write(header(SNAPSHOT_MAGIC, sequence, len(contents)))
        for at, content in enumerate(contents, 1):
            out.write(sealed(at, 0, content))
        out.flush()
        os.fsync(out.fileno())


def _new_segment(path: Path, sequence: int) -> int:
    made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        _write_all(made, header(SEGMENT_MAGIC, sequence), 0)
        os.fsync(made)
        sync_folder(path.parent)
    except OSError:
        os.close(made)
        raise
    return made


def locked(folder: Path) -> int:
    """The lock of who may write a journal, as a descriptor: closing it, or the end of the process, gives it back."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise JournalError(f"{folder}: another process has this journal open") from None
    return lock
