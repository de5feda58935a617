"""A journal read beside its writer: each record once, in order, when it is certain to stay.

A record stays if a later one says that it was on disk, or if this reader synced it and it was still there after that: a
group that found no room is cut off again at once. Segments may move into the archive while they are read.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import JournalError
from agvent.store.journal_file import HEADER, RECORD_OVERHEAD_BYTES, SEGMENT_MAGIC, header, place_at
from agvent.store.journal_recovery import segment_paths

READ_BYTES: Final = 4 << 20
"""What is read of a segment at once; of one whose next record is larger, twice as much until that is whole."""


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """A record's sequence and content; that of a clean stop has none."""

    sequence: int
    content: bytes


class JournalTail:
    """The records of a journal after a sequence. `sequence` is that of the last one given."""

    def __init__(self, journal: Path, archive: Path, *, after: int = 0) -> None:
        self.journal, self.archive = journal, archive
        self.sequence = after
        self._first = 0  # the first sequence of the segment that is read; 0: none yet
        self._offset = 0  # where the next record begins there
        self._next = 0  # its sequence

    def read(self, bytes_max: int) -> list[Sealed]:
        """The next records that are certain, of about so many bytes; none if there are none yet."""
        found: list[Sealed] = []
        size = 0
        while size < bytes_max:
            part = self._read_some()
            if not part:
                break
            size += sum(len(one.content) for one in part)
            found += (one for one in part if one.sequence > self.sequence)
            self.sequence = max(self.sequence, part[-1].sequence)
        return found

    def finished(self, sequence: int) -> list[Path]:
        """Archived segments that have no record after a sequence."""
        firsts = sorted(_segments(self.journal, self.archive))
        ends = {first: following - 1 for first, following in pairwise(firsts)}
        return [path for path in segment_paths(self.archive) if ends.get(int(path.stem), sequence + 1) <= sequence]

    def _read_some(self) -> list[Sealed]:
        """Some records of one segment, from the offset on."""
        while True:
            segments = _segments(self.journal, self.archive)
            if not self._choose(segments):
                return []
            try:
                return self._read_segment(segments[self._first], is_last=self._first == max(segments))
            except FileNotFoundError:
                continue  # it moved into the archive

    def _choose(self, segments: dict[int, Path]) -> bool:
        """The segment that has the next record; a JournalError if that was not kept."""
        wanted = max(self.sequence + 1, self._next)
        before = [first for first in segments if first <= wanted]
        if segments and not before:
            raise JournalError(
                f"{self.journal}: the records from sequence {wanted} to {min(segments) - 1} were not kept",
                hint="keep_history = true in the broker's file keeps them from the beginning",
            )
        if before and max(before) != self._first:
            self._first = self._next = max(before)
            self._offset = HEADER.size
        return bool(before)

    def _read_segment(self, path: Path, *, is_last: bool) -> list[Sealed]:
        with path.open("rb") as file:
            is_sound = file.read(HEADER.size) == header(SEGMENT_MAGIC, self._first)
            found, synced = self._whole(file.fileno()) if is_sound else ([], 0)
            if not found and not is_last:
                raise JournalError(f"{path}: damaged at byte {self._offset}: sequence {self._next} cannot be read")
            if is_last and found and found[-1].sequence > synced and _stays(file.fileno()):
                synced = found[-1].sequence
        certain = [one for one in found if not is_last or one.sequence <= synced]
        if certain:
            self._next = certain[-1].sequence + 1
            self._offset += sum(len(one.content) + RECORD_OVERHEAD_BYTES for one in certain)
        return certain

    def _whole(self, file: int) -> tuple[list[Sealed], int]:
        """Whole records from the offset on, and the last sequence that one of them says was on disk."""
        size = READ_BYTES
        while True:
            data = os.pread(file, size, self._offset)
            found, synced = _records(data, self._next)
            if found or len(data) < size:
                return found, synced
            size *= 2


def _records(data: bytes, first: int) -> tuple[list[Sealed], int]:
    found: list[Sealed] = []
    at = synced = 0
    while (place := place_at(data, at)) is not None and place.sequence == first + len(found):
        found.append(Sealed(place.sequence, data[place.start : place.end]))
        synced, at = place.synced, place.end
    return found, synced


def _segments(journal: Path, archive: Path) -> dict[int, Path]:
    """By their first sequence. The journal is listed first: one that moves meanwhile is seen in one of them."""
    paths = [*segment_paths(journal), *segment_paths(archive)]
    return {int(path.stem): path for path in paths}


def _stays(file: int) -> bool:
    """Puts what was read on disk; False if something was cut off meanwhile."""
    before = os.fstat(file).st_size
    os.fdatasync(file)
    return os.fstat(file).st_size >= before
