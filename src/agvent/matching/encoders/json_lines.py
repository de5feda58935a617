"""JSON lines to columns: one row for each line, read by the scanner, or by `decode_event` where it gave up.

The reference is `decode_event`: a line means what it says there, and one that it refuses becomes a Rejected. A blank
line is a row that is not live. How fast a line is read depends on what is in it, what it means does not.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from agvent.errors import EventError
from agvent.event_json import decode_event, decode_source
from agvent.matching.columns.arrays import F64, I64, U8
from agvent.matching.columns.column_batch import ColumnBatch, Grid, Rejected, empty_columns
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings, StringView
from agvent.matching.encoders.events import RowWriter
from agvent.matching.encoders.json_scan import count_lines, scan
from agvent.matching.encoders.json_tokens import FEED
from agvent.matching.encoders.json_trie import trie_of
from agvent.matching.encoders.json_values import scratch_for
from agvent.matching.encoders.lowercase import fill_lowered
from agvent.matching.encoders.slot_paths import SlotPaths

ELEMENT_BYTES_MIN: Final = 2
"""A list element takes a digit and a comma at least, which bounds their number."""


class JsonLayout:
    """What the scanner needs of the slots, made once for each generation of them."""

    __slots__ = ("blank_lists", "blank_values", "lowered", "paths", "trie")

    def __init__(self, slots: Slots) -> None:
        self.paths = SlotPaths(slots)
        self.trie = trie_of(self.paths)
        values, _, lists = blank = empty_columns(1, self.paths.values, self.paths.texts, self.paths.lists)
        RowWriter(self.paths, Strings(), blank).fill(0, {})
        self.blank_values: F64 = values[0]
        self.blank_lists: I64 = lists[0, :, 1].copy()
        self.lowered = self.paths.lowered()


class Scanned(NamedTuple):
    """What the scanner made: columns and data, the lines' places, and the rows that are still to be read slowly."""

    columns: Grid
    data: U8
    elements: F64
    starts: I64
    live: U8
    slow: I64


def encode_json(data: bytes | bytearray | memoryview, slots: Slots, strings: Strings) -> ColumnBatch:
    """The columns of some lines. The batch refers to `data`, which must stay as it is."""
    layout = slots.derived(JsonLayout)
    view = strings.view
    lines = np.frombuffer(data, np.uint8)
    if len(lines) and lines[-1] != FEED:
        lines = np.append(lines, np.uint8(FEED))
    found = scanned(lines, layout, view)
    texts, wide = fill_lowered(found.data, layout.lowered, view, found.columns)
    writer = RowWriter(layout.paths, strings, found.columns, data_start=len(texts), elements_start=len(found.elements))
    for row, target, text in wide:
        writer.put(row, target, text)

    def line(row: int) -> bytes:
        return lines[found.starts[row] : found.starts[row + 1] - 1].tobytes()

    rejected = []
    for row in found.slow.tolist():
        try:
            writer.fill(row, decode_source(line(row)))
        except EventError as error:
            found.live[row] = 0
            rejected.append(Rejected(row, error.message))
    return ColumnBatch(
        *found.columns,
        writer.data(texts),
        writer.elements(found.elements),
        found.live,
        lambda row: decode_event(line(row)),
        rejected,
    )


def scanned(lines: U8, layout: JsonLayout, view: StringView) -> Scanned:
    """What the scanner makes of lines of which the last one is ended too."""
    paths = layout.paths
    count = count_lines(lines)
    columns = (
        np.empty((count, paths.values)),
        np.empty((count, paths.texts, 2), np.int64),
        np.empty((count, paths.lists, 2), np.int64),
    )
    elements = np.empty(len(lines) // ELEMENT_BYTES_MIN if paths.lists else 0)
    unescaped = np.empty(len(lines), np.uint8)
    starts, live, slow = np.empty(count + 1, np.int64), np.empty(count, np.uint8), np.empty(count, np.int64)
    blank = (layout.blank_values, layout.blank_lists)
    scratch: tuple[Any, ...] = scratch_for(layout.trie, len(elements))
    element_count, unescaped_count, slow_count = scan(
        lines, *layout.trie, *view, *columns, elements, unescaped, *blank, starts, live, slow, *scratch
    )
    data = np.concatenate((lines, unescaped[:unescaped_count])) if unescaped_count else lines
    return Scanned(columns, data, elements[:element_count].copy(), starts, live, slow[:slow_count])
