"""JSON lines to columns: one row for each line, read by the scanner, or by `decode_event` where it gave up.

The reference is `decode_event`: a line means what it says there, and one that it refuses becomes a Rejected. A blank
line is a row that is not live. How fast a line is read depends on what is in it, what it means does not.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from agvent.errors import EventError
from agvent.event_json import decode_event, decode_source
from agvent.matching.arrays import F64, I64, U8
from agvent.matching.batch import Batch, Grid, Rejected, empty_columns
from agvent.matching.encode import RowWriter
from agvent.matching.json_scan import count_lines, scan
from agvent.matching.json_tokens import FEED
from agvent.matching.json_trie import trie_of
from agvent.matching.json_values import work_for
from agvent.matching.lower import fill_lowered
from agvent.matching.plan import Plan
from agvent.matching.slots import Slots
from agvent.matching.strings import Strings, StringView

ELEMENT_BYTES_MIN: Final = 2
"""A list element takes a digit and a comma at least, which bounds their number."""


class Layout:
    """What the scanner needs of the slots, made once for each generation of them."""

    __slots__ = ("blank_lists", "blank_values", "lowered", "plan", "trie")

    def __init__(self, slots: Slots) -> None:
        self.plan = Plan(slots)
        self.trie = trie_of(self.plan)
        values, _, lists = blank = empty_columns(1, self.plan.values, self.plan.texts, self.plan.lists)
        RowWriter(self.plan, Strings(), blank).fill(0, {})
        self.blank_values: F64 = values[0]
        self.blank_lists: I64 = lists[0, :, 1].copy()
        self.lowered = self.plan.lowered()


class Scanned(NamedTuple):
    """What the scanner made: columns and data, the lines' places, and the rows that are still to be read slowly."""

    columns: Grid
    data: U8
    elements: F64
    starts: I64
    live: U8
    slow: I64


def encode_json(data: bytes | bytearray | memoryview, slots: Slots, strings: Strings) -> Batch:
    """The columns of some lines. The batch refers to `data`, which must stay as it is."""
    layout = slots.derived(Layout)
    view = strings.view
    lines = np.frombuffer(data, np.uint8)
    if len(lines) and lines[-1] != FEED:
        lines = np.append(lines, np.uint8(FEED))
    found = scanned(lines, layout, view)
    texts, wide = fill_lowered(found.data, layout.lowered, view, found.columns)
    writer = RowWriter(layout.plan, strings, found.columns, data_start=len(texts), elements_start=len(found.elements))
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
    return Batch(
        *found.columns,
        writer.data(texts),
        writer.elements(found.elements),
        found.live,
        lambda row: decode_event(line(row)),
        rejected,
    )


def scanned(lines: U8, layout: Layout, view: StringView) -> Scanned:
    """What the scanner makes of lines of which the last one is ended too."""
    plan = layout.plan
    count = count_lines(lines)
    columns = (
        np.empty((count, plan.values)),
        np.empty((count, plan.texts, 2), np.int64),
        np.empty((count, plan.lists, 2), np.int64),
    )
    elements = np.empty(len(lines) // ELEMENT_BYTES_MIN if plan.lists else 0)
    unescaped = np.empty(len(lines), np.uint8)
    starts, live, slow = np.empty(count + 1, np.int64), np.empty(count, np.uint8), np.empty(count, np.int64)
    blank = (layout.blank_values, layout.blank_lists)
    work: tuple[Any, ...] = work_for(layout.trie, len(elements))
    element_count, unescaped_count, slow_count = scan(
        lines, *layout.trie, *view, *columns, elements, unescaped, *blank, starts, live, slow, *work
    )
    data = np.concatenate((lines, unescaped[:unescaped_count])) if unescaped_count else lines
    return Scanned(columns, data, elements[:element_count].copy(), starts, live, slow[:slow_count])
