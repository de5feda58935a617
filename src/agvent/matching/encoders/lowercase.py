"""lower() of the texts an encoder found: ASCII here, compiled; anything else is left for Python's own `str.lower`."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from agvent.event import Kind
from agvent.matching.columns.arrays import BORROWED, F64, I32, I64, U8, Records, read, several, write
from agvent.matching.columns.column_batch import Grid
from agvent.matching.columns.slots import SlotTarget
from agvent.matching.columns.strings import ENTRY, StringView, code_of, hash_bytes

Wide = tuple[int, SlotTarget, str]
"""A row, where its lowered text goes, and that text."""


def fill_lowered(data: U8, targets: list[SlotTarget], view: StringView, columns: Grid) -> tuple[U8, list[Wide]]:
    """Fills what lower() gives; returns the data with the lowered bytes after it, and what is left to Python."""
    if not targets:
        return data, []
    values, texts, _ = columns
    room = sum(int(texts[:, target.text, 1].clip(0).sum()) for target in targets)
    end = len(data)
    data = np.concatenate((data, np.zeros(room, np.uint8)))
    wide = np.empty(len(texts), np.int64)
    left: list[Wide] = []
    for target in targets:
        lower = target.lower
        assert lower is not None
        places = (lower.values[Kind.NULL], lower.values[Kind.STRING], lower.text)
        end, wides = _lower_texts(data, *view, values, texts, target.text, *places, end, wide)
        for row in wide[:wides].tolist():
            start, size = texts[row, target.text].tolist()
            left.append((row, lower, data[start : start + size].tobytes().decode().lower()))
    return data, left


@njit(
    several(types.int64, types.int64)(
        write(np.uint8), read(np.int32), read(ENTRY), read(np.uint8), write(np.float64, 2), write(np.int64, 3),
        types.int64, types.int64, types.int64, types.int64, types.int64, write(np.int64),
    ),
    nogil=True,
    **BORROWED,
)  # fmt: skip
def _lower_texts(
    data: U8,
    # the dictionary, as strings.StringView
    table: I32, entries: Records, blob: U8,
    values: F64, texts: I64,
    # the text column to read; the slots and the column of lower() to fill, -1 where nobody asks
    column: int, present: int, string: int, text: int,
    # where the lowered bytes go in `data`; the rows that are not ASCII
    end: int, wide: I64,
) -> tuple[int, int]:  # fmt: skip
    """Lowers one text column; returns the end of the lowered bytes and the number of wide rows."""
    wides = 0
    for row in range(len(texts)):
        start, size = texts[row, column, 0], texts[row, column, 1]
        if size < 0:
            continue
        every = np.uint8(0)
        for i in range(size):
            byte = data[start + i]
            every |= byte
            data[end + i] = byte + 32 if 65 <= byte <= 90 else byte
        if every >= 128:
            wide[wides] = row
            wides += 1
            continue
        if present >= 0:
            values[row, present] = 1.0
        if string >= 0:
            h = hash_bytes(data, end, size)
            values[row, string] = code_of(table, entries, blob, data, end, size, h)
        if text >= 0:
            texts[row, text, 0] = end
            texts[row, text, 1] = size
        end += size
    return end, wides
