"""The bytes of a journal: segments of sealed records, and snapshots of them.

A record has a checksum, its sequence, and the last sequence that was on disk when it was written. The last of these
tells a torn tail, of which nobody was told, from damage to something that had been safe: docs/reference/journal.md.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import JournalError

SEGMENT_MAGIC: Final = b"AGVJRNL1"
SNAPSHOT_MAGIC: Final = b"AGVSNAP1"
HEADER: Final = struct.Struct(">8sQQI")
"""Magic; the sequence of the first record, in a snapshot of the first after it; how many records (0: as many as there
are); CRC-32 of what stands before."""

SEAL: Final = struct.Struct(">II")
NUMBERS: Final = struct.Struct(">QQ")
RECORD_OVERHEAD_BYTES: Final = SEAL.size + NUMBERS.size


def header(magic: bytes, sequence: int, count: int = 0) -> bytes:
    start = HEADER.pack(magic, sequence, count, 0)[:-4]
    return start + zlib.crc32(start).to_bytes(4, "big")


def sealed(sequence: int, synced: int, content: bytes) -> bytes:
    """A record as it stands on disk."""
    numbers = NUMBERS.pack(sequence, synced)
    return SEAL.pack(len(content), zlib.crc32(content, zlib.crc32(numbers))) + numbers + content


class RecordPlace(msgspec.Struct, frozen=True):
    """A whole record in a file: its numbers, and where its content lies."""

    sequence: int
    synced: int
    start: int
    end: int


def place_at(data: bytes, offset: int) -> RecordPlace | None:
    """The record at this offset, None if none is whole there."""
    start = offset + RECORD_OVERHEAD_BYTES
    if start > len(data):
        return None
    length, checksum = SEAL.unpack_from(data, offset)
    if start + length > len(data) or zlib.crc32(memoryview(data)[offset + SEAL.size : start + length]) != checksum:
        return None
    sequence, synced = NUMBERS.unpack_from(data, offset + SEAL.size)
    return RecordPlace(sequence, synced, start, start + length)


class Reading(msgspec.Struct, frozen=True):
    """What a file holds: its whole records from the first on, and whether something else follows at `end`."""

    path: Path
    first: int
    places: list[RecordPlace]
    end: int
    is_whole: bool

    @property
    def next(self) -> int:
        """The sequence that would come next."""
        return self.places[-1].sequence + 1 if self.places else self.first

    def contents(self) -> Iterator[bytes]:
        data = self.path.read_bytes()
        return (data[place.start : place.end] for place in self.places)


def read_segment(path: Path) -> Reading:
    """The whole records of a segment, up to the first that is not; its name says the first sequence."""
    data = path.read_bytes()
    first = int(path.stem)
    if data[: HEADER.size] != header(SEGMENT_MAGIC, first):
        return Reading(path, first, [], 0, False)
    return _read(path, data, first)


def read_snapshot(path: Path) -> Reading:
    """The records of a snapshot, which is whole or a JournalError."""
    data = path.read_bytes()
    count = HEADER.unpack_from(data)[2] if len(data) >= HEADER.size else 0
    reading = _read(path, data, 1)
    expected = header(SNAPSHOT_MAGIC, int(path.stem), count)
    if data[: HEADER.size] != expected or not reading.is_whole or len(reading.places) != count:
        raise JournalError(f"{path}: the snapshot is damaged at byte {reading.end}")
    return reading


def _read(path: Path, data: bytes, first: int) -> Reading:
    places: list[RecordPlace] = []
    offset, expected = HEADER.size, first
    while offset < len(data):
        place = place_at(data, offset)
        if place is None or place.sequence != expected:
            return Reading(path, first, places, offset, False)
        places.append(place)
        offset, expected = place.end, expected + 1
    return Reading(path, first, places, min(offset, len(data)), True)


def synced_after(path: Path, offset: int, expected: int) -> int:
    """The highest sequence that some whole record beyond this offset says was on disk; 0 if there is none."""
    return max((place.synced for place in places_after(path.read_bytes(), offset, expected)), default=0)


def places_after(data: bytes, offset: int, expected: int) -> Iterator[RecordPlace]:
    """The whole records beyond an offset at which none is.

    Such a record's sequence is at least the expected one, so its upper bytes are known and are searched for."""
    upper = {number.to_bytes(8, "big")[:5] for number in (expected, expected + (1 << 24))}
    pattern = b"|".join(re.escape(prefix) + rb"(?!\x00\x00\x00)" for prefix in sorted(upper))
    end = offset
    for hit in re.finditer(b"(?=" + pattern + b")", data[offset:], re.DOTALL):
        at = offset + hit.start() - SEAL.size
        place = place_at(data, at) if at >= end else None
        if place is not None and place.sequence >= expected:
            yield place
            end = place.end
