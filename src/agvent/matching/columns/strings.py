"""The string dictionary: every string that some subscription names, numbered.

Comparing strings is comparing codes. An event's string is looked up by its UTF-8 bytes, and one that no subscription
names has the code -1, which equals nothing. A lookup costs one hash of the bytes, one probe and one comparison.

The dictionary only grows. A reader takes `view` once: later insertions into the same arrays do not disturb it, because
an entry is written before the table points to it, and growth makes new arrays.
"""

from __future__ import annotations

import copy
import threading
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, I32, U8, Records, grown, read, write

UNKNOWN = -1

ENTRY = np.dtype([("hash", np.uint64), ("start", np.int64), ("size", np.int64)])


class StringView(NamedTuple):
    """What a kernel needs: `table` is open addressing with -1 for a free place, `entries` are per code."""

    table: I32
    entries: Records
    blob: U8


@njit(types.uint64(read(np.uint8), types.int64, types.int64), **BORROWED)
def hash_bytes(data: U8, start: int, size: int) -> np.uint64:
    """FNV-1a and a final mix: strings here are short, and a longer prefix continues the hash of a shorter one."""
    h = np.uint64(0xCBF29CE484222325)
    for i in range(start, start + size):
        h = (h ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    return h


@njit(types.uint64(types.uint64), **BORROWED)
def mixed(h: np.uint64) -> np.uint64:
    """Spreads a hash over all its bits, so that the low ones can address a table."""
    h ^= h >> np.uint64(32)
    h *= np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


LOOKUP = types.int64(
    read(np.int32), read(ENTRY), read(np.uint8), read(np.uint8), types.int64, types.int64, types.uint64
)


@njit(LOOKUP, **BORROWED)
def code_of(table: I32, entries: Records, blob: U8, data: U8, start: int, size: int, h: np.uint64) -> np.int64:
    """The code of `data[start : start + size]`, whose hash_bytes is `h`, or -1."""
    mask = len(table) - 1
    place = np.int64(mixed(h)) & mask
    while True:
        code = table[place]
        if code < 0:
            return np.int64(-1)
        entry = entries[code]
        if entry.hash == h and entry.size == size:
            same = True
            for i in range(size):
                if blob[entry.start + i] != data[start + i]:
                    same = False
                    break
            if same:
                return np.int64(code)
        place = (place + 1) & mask


@njit(types.void(write(np.int32), write(ENTRY), read(np.uint8), types.int64, types.int64), **BORROWED)
def _file(table: I32, entries: Records, blob: U8, first: int, last: int) -> None:
    """Hashes the entries first..last, whose bytes are in place, and lets the table point to them."""
    mask = len(table) - 1
    for code in range(first, last):
        h = hash_bytes(blob, entries[code].start, entries[code].size)
        entries[code].hash = h
        place = np.int64(mixed(h)) & mask
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = code


class Strings:
    """The dictionary as its writer sees it."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] | None = {}
        self._making = threading.Lock()
        self._count = 0
        self._waiting: list[bytes] = []
        self._blob_size = 0
        self.view = StringView(np.full(64, -1, np.int32), np.zeros(32, ENTRY), np.zeros(1024, np.uint8))

    def __deepcopy__(self, memo: dict[int, Any]) -> Strings:
        other = memo[id(self)] = Strings()
        own = {name: value for name, value in vars(self).items() if name != "_making"}
        vars(other).update(copy.deepcopy(own, memo))
        return other

    @classmethod
    def of(cls, view: StringView, count: int) -> Strings:
        """The dictionary of a saved index. The codes by text are made when somebody first needs them."""
        made = cls()
        made.view, made._count, made._codes, made._blob_size = view, count, None, len(view.blob)
        return made

    def _by_text(self) -> dict[bytes, int]:
        """Made once, by whichever thread needs it first: a second would not know what the first was given since."""
        with self._making:
            if self._codes is None:
                self._codes = self._read_texts()
            return self._codes

    def _read_texts(self) -> dict[bytes, int]:
        _, entries, blob = self.view
        data = blob.tobytes()
        starts, sizes = entries["start"][: self._count].tolist(), entries["size"][: self._count].tolist()
        spans = zip(starts, sizes, strict=True)
        return {data[start : start + size]: code for code, (start, size) in enumerate(spans)}

    def __len__(self) -> int:
        return self._count

    def code(self, text: bytes) -> int:
        """The code of a string, given one if it is new. `flush` makes new ones known to readers."""
        codes = self._codes if self._codes is not None else self._by_text()
        known = codes.get(text)
        if known is None:
            known = codes[text] = self._count
            self._count += 1
            self._waiting.append(text)
        return known

    def find(self, text: bytes) -> int:
        """The code of a string, or -1."""
        codes = self._codes if self._codes is not None else self._by_text()
        return codes.get(text, UNKNOWN)

    def flush(self) -> None:
        """Files what is waiting; called before any row that names it becomes visible."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting = []
        total = self._count
        first = total - len(waiting)
        table, entries, blob = self.view
        data = b"".join(waiting)
        entries = grown(entries, total)
        blob = grown(blob, self._blob_size + len(data))
        blob[self._blob_size : self._blob_size + len(data)] = np.frombuffer(data, np.uint8)
        sizes = np.fromiter(map(len, waiting), np.int64, len(waiting))
        entries["size"][first:total] = sizes
        entries["start"][first:total] = self._blob_size + np.cumsum(sizes) - sizes
        self._blob_size += len(data)
        if 2 * total > len(table) or not table.flags.writeable:
            table = np.full(1 << (3 * total).bit_length(), -1, np.int32)
            first = 0
        _file(table, entries, blob, first, total)
        self.view = StringView(table, entries, blob)
