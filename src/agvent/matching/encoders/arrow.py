"""Arrow record batches to columns: one row for each row, only the columns that something asks for.

A column's name is an attribute's, a struct's field a step of a dotted path; the reserved names `$type`, `$topic`,
`$channel`, `$time` and `$xml` carry the headers. What each Arrow type means stands in arrow_values.py.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.errors import EventError
from agvent.event import Event, Kind, Path, event_of, name_of
from agvent.matching.columns.arrays import F64, U8
from agvent.matching.columns.column_batch import ABSENT, ColumnBatch, empty_columns
from agvent.matching.columns.slots import NONE, Slots, SlotTarget
from agvent.matching.columns.strings import Strings, StringView
from agvent.matching.encoders.arrow_headers import check_names, header, read_documents
from agvent.matching.encoders.arrow_values import (
    Array,
    bytes_of,
    element,
    floats_of,
    kind_of_type,
    offsets_of,
    plain,
    sizes_of,
    validity,
    value_of,
)
from agvent.matching.encoders.events import SIZED, RowWriter
from agvent.matching.encoders.lowercase import fill_lowered
from agvent.matching.encoders.slot_paths import ELEMENT_KINDS, PathNode, SlotPaths


def whole(events: object) -> pa.RecordBatch:
    """A record batch as it is, a table as one batch, which copies it if it has several chunks."""
    if isinstance(events, pa.RecordBatch):
        return events
    if not isinstance(events, pa.Table):
        raise EventError(
            f"{type(events).__name__} is not a record batch or table", hint="pyarrow.table() makes one of many things"
        )
    batches = events.combine_chunks().to_batches()
    if len(batches) > 1:
        raise EventError("a column of the table has more than 2 GB of text", hint="match it batch by batch")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], events.schema)


def encode_arrow(batch: pa.RecordBatch, slots: Slots, strings: Strings) -> ColumnBatch:
    """The columns of a record batch."""
    paths = slots.derived(SlotPaths)
    view = strings.view
    check_names(batch.schema)
    writer = _ArrayWriter(paths, view, batch.num_rows)
    for name, node in paths.attributes.items():
        if name in batch.schema.names:
            writer.fill(node, plain(batch.column(name)), (name,))
    for name, node in paths.headers.items():
        writer.fill(node, header(batch, str(name)), (name,))
    data, elements = writer.data(), writer.elements()
    data, wide = fill_lowered(data, paths.lowered(), view, writer.columns)
    rows = RowWriter(paths, strings, writer.columns, data_start=len(data), elements_start=len(elements))
    for row, target, text in wide:
        rows.put(row, target, text)
    read_documents(batch, rows.document)

    def event(row: int) -> Event:
        return event_at(batch, row)

    return ColumnBatch(
        *writer.columns, rows.data(data), rows.elements(elements), np.ones(batch.num_rows, np.uint8), event
    )


def event_at(batch: pa.RecordBatch, row: int) -> Event:
    """The event that a row is."""
    return event_of({name: value_of(batch.column(name)[row], (name,)) for name in batch.schema.names})


class _ArrayWriter:
    """Columns that are filled array by array."""

    def __init__(self, paths: SlotPaths, view: StringView, count: int) -> None:
        self.columns = empty_columns(count, paths.values, paths.texts, paths.lists)
        self._view = view
        self._data: list[U8] = [np.zeros(0, np.uint8)]
        self._data_size = 0
        self._elements: list[F64] = [np.zeros(0)]
        self._elements_size = 0

    def data(self) -> U8:
        return np.concatenate(self._data)

    def elements(self) -> F64:
        return np.concatenate(self._elements)

    def fill(self, node: PathNode, array: Array, path: Path) -> None:
        """Writes the values of an array that `plain` gave, and of what lies below it."""
        kind = kind_of_type(array.type, path)
        if node.target is not None:
            self._values(node.target, array, kind, path)
            if kind is Kind.STRING and node.target.text != NONE:
                self._text(node.target.text, array)
            if kind is Kind.LIST:
                self._lists(node.target, array, path)
        for step, child in node.children.items():
            if kind is Kind.OBJECT and isinstance(step, str):
                self._member(child, array, (*path, step))
            elif kind is Kind.LIST and isinstance(step, int):
                self.fill(child, plain(element(array, step)), (*path, step))

    def _member(self, node: PathNode, array: Array, path: Path) -> None:
        found = array.type.get_all_field_indices(path[-1])
        if len(found) > 1:
            raise EventError(f"column {name_of(path)} stands there {len(found)} times")
        if found:
            self.fill(node, plain(pc.struct_field(array, found)), path)

    def _values(self, target: SlotTarget, array: Array, kind: Kind, path: Path) -> None:
        values = self.columns[0]
        present, slot = target.values[Kind.NULL], target.values[kind]
        if kind is not Kind.NULL and (slot != NONE or present != NONE):
            floats = floats_of(array, kind, self._view, path)
            if slot != NONE:
                values[:, slot] = floats
            if present != NONE:
                values[:, present] = np.where(np.isnan(floats), np.nan, 1.0)
        if target.size is not None and kind in SIZED:
            sizes = sizes_of(array, kind)
            if target.size.values[Kind.NUMBER] != NONE:
                values[:, target.size.values[Kind.NUMBER]] = sizes
            if target.size.values[Kind.NULL] != NONE:
                values[:, target.size.values[Kind.NULL]] = np.where(np.isnan(sizes), np.nan, 1.0)

    def _text(self, column: int, array: Array) -> None:
        texts = self.columns[1]
        offsets = offsets_of(array)
        texts[:, column, 0] = offsets[:-1] - offsets[0] + self._data_size
        texts[:, column, 1] = np.where(validity(array), np.diff(offsets), ABSENT)
        self._data.append(bytes_of(array)[offsets[0] : offsets[-1]])
        self._data_size += int(offsets[-1] - offsets[0])

    def _lists(self, target: SlotTarget, array: Array, path: Path) -> None:
        """The elements of each kind that is asked for; an Arrow list has those of one."""
        lists = self.columns[2]
        offsets, valid = offsets_of(array), validity(array)
        for kind, column in enumerate(target.lists):
            if column == NONE:
                continue
            lists[:, column, 1] = np.where(valid, 0, ABSENT)
            values = plain(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
            if kind in ELEMENT_KINDS and kind_of_type(values.type, path) == kind:
                floats = floats_of(values, Kind(kind), self._view, path)
                kept = ~np.isnan(floats)
                places = np.concatenate(([0], np.cumsum(kept)))[offsets - offsets[0]]
                lists[:, column, 0] = places[:-1] + self._elements_size
                lists[:, column, 1] = np.where(valid, np.diff(places), ABSENT)
                self._elements.append(floats[kept])
                self._elements_size += int(kept.sum())
