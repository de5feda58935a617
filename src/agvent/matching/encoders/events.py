"""Python events to columns: the reference that the other encoders are tested against.

An Event was checked when it was made. A plain dict is read as it is: only the values that some subscription mentions
are looked at, and one that cannot be an event's raises EventError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agvent import limits
from agvent.event import (
    BOOL,
    BYTES,
    HEADERS,
    LIST,
    NULL,
    NUMBER,
    STRING,
    TIME,
    Event,
    Path,
    checked,
    event_of,
    kind_of,
    microseconds,
    step_into,
)
from agvent.matching.columns.arrays import F64, U8
from agvent.matching.columns.column_batch import ColumnBatch, Grid, empty_columns
from agvent.matching.columns.slots import NONE, Slots, SlotTarget
from agvent.matching.columns.strings import Strings
from agvent.matching.encoders.slot_paths import ELEMENT_KINDS, PathNode, SlotPaths
from agvent.matching.encoders.xml_values import ValuePlaces, is_large, number_of
from agvent.xml import document

SIZED = frozenset({STRING, BYTES, LIST})
INT_MIN, INT_MAX = limits.INT_MIN, limits.INT_MAX

NO_HEADERS = Event()
NO_BYTES = np.zeros(0, np.uint8)
NO_ELEMENTS = np.zeros(0)
ONE_LIVE = np.ones(1, np.uint8)


def encode_events(events: Sequence[Event | Mapping[str, Any]], slots: Slots, strings: Strings) -> ColumnBatch:
    """The columns of some events, a row for each."""
    paths = slots.derived(SlotPaths)
    count = len(events)
    if count == 1:
        values, texts, lists = paths.empty
        columns = (values.copy(), texts.copy() if paths.texts else texts, lists.copy() if paths.lists else lists)
    else:
        columns = empty_columns(count, paths.values, paths.texts, paths.lists)
    rows = RowWriter(paths, strings, columns)
    for row, event in enumerate(events):
        rows.fill(row, event)
    live = ONE_LIVE if count == 1 else np.ones(count, np.uint8)
    return ColumnBatch(
        *columns, rows.data(NO_BYTES), rows.elements(NO_ELEMENTS), live, lambda row: event_of(events[row])
    )


class RowWriter:
    """Columns that are filled event by event. Texts and elements come after those already there."""

    __slots__ = (
        "_data",
        "_data_start",
        "_elements",
        "_elements_start",
        "_into",
        "lists",
        "paths",
        "strings",
        "texts",
        "values",
    )

    def __init__(
        self, paths: SlotPaths, strings: Strings, columns: Grid, data_start: int = 0, elements_start: int = 0
    ) -> None:
        self.paths = paths
        self.strings = strings
        self.values, self.texts, self.lists = columns
        self._data = bytearray()
        self._data_start = data_start
        self._elements: list[float] = []
        self._elements_start = elements_start

    def data(self, before: U8) -> U8:
        """The bytes of all texts, after those that were there before."""
        return np.concatenate((before, np.frombuffer(self._data, np.uint8))) if self._data else before

    def elements(self, before: F64) -> F64:
        """The elements of all lists, after those that were there before."""
        return np.concatenate((before, np.array(self._elements))) if self._elements else before

    def fill(self, row: int, source: Event | Mapping[str, Any]) -> None:
        """Writes an event into a row in which nothing is yet."""
        self._into = self.values[row]
        if type(source) is dict:
            self._attributes(row, source)
        else:
            self._event(row, event_of(source))

    def put(self, row: int, target: SlotTarget, value: Any) -> None:
        """Writes one value into its places."""
        self._into = self.values[row]
        self._value(row, target, value)

    def _attributes(self, row: int, source: dict[Any, Any]) -> None:
        """A plain dict, its numbers and strings on the shortest way; in doubt the general one takes over."""
        nodes, into, find = self.paths.attributes, self._into, self.strings.find
        xml = None
        for key, value in source.items():
            node = nodes.get(key)
            if node is None:
                if key == "$xml" and type(value) is str:
                    xml = value
                elif type(key) is not str or key[:1] == "$":
                    return self._event(row, event_of(source))
                continue
            places = node.quick.get(type(value))
            if places is None:
                self._node(row, node, value)
            elif type(value) is str:
                into[places[0]] = 1.0
                into[places[1]] = find(encoded(value, (key,)))
            elif INT_MIN <= value <= INT_MAX:
                into[places[0]] = 1.0
                into[places[1]] = value + 0.0
            else:
                self._node(row, node, value)
        if xml is not None:
            self.document(row, xml)
        return self._headers(row, NO_HEADERS, xml)

    def _event(self, row: int, event: Event) -> None:
        attributes = event.attributes
        for name, node in self.paths.attributes.items():
            self._node(row, node, attributes.get(name))  # type: ignore[arg-type]
        if event.xml is not None:
            self.document(row, event.xml)
        self._headers(row, event, event.xml)

    def _headers(self, row: int, event: Event, xml: str | None) -> None:
        for name, node in self.paths.headers.items():
            self._node(row, node, xml if name == "$xml" else HEADERS[name](event))  # type: ignore[index]

    def document(self, row: int, text: str) -> None:
        """Writes the values of an event's XML that are asked for."""
        read = document(text)
        documents = self.paths.documents
        if documents is None:
            return
        into = self.values[row]
        large = is_large(read)
        for context, (several, texts) in documents.found(read).items():
            if context.alone != NONE and not several and not large:
                into[context.alone] = 1.0
            for mode in context.modes(large=large, several=several):
                if context.found[mode] != NONE:
                    into[context.found[mode]] = 1.0
                for value, places in context.values[mode].items():
                    if value in texts:
                        self._texts(row, into, places, texts[value])

    def _texts(self, row: int, into: F64, places: ValuePlaces, texts: list[str]) -> None:
        """Writes a value of a document that is there, perhaps several times."""
        present, as_texts, as_numbers, most, least = places
        if present != NONE:
            into[present] = 1.0
        if as_texts != NONE:
            self._elements_at(row, as_texts, [self.strings.find(text.encode()) for text in texts])
        if as_numbers != NONE or most != NONE or least != NONE:
            numbers = [number + 0.0 for number in map(number_of, texts) if number == number]  # NaN equals nothing
            if as_numbers != NONE:
                self._elements_at(row, as_numbers, numbers)
            if most != NONE and numbers:
                into[most] = max(numbers)
            if least != NONE and numbers:
                into[least] = min(numbers)

    def _elements_at(self, row: int, column: int, elements: list[float]) -> None:
        place = self.lists[row, column]
        place[0], place[1] = self._elements_start + len(self._elements), len(elements)
        self._elements += elements

    def _node(self, row: int, node: PathNode, value: Any) -> None:
        if node.target is not None:
            self._value(row, node.target, value)
        for step, child in node.children.items():
            self._node(row, child, step_into(value, step))

    def _value(self, row: int, target: SlotTarget, value: Any) -> None:
        kind = kind_of(value)
        if kind is NULL:
            return
        slots = target.values
        if slots[NULL] != NONE:
            self._into[slots[NULL]] = 1.0
        if kind is STRING:
            self._string(row, target, value)
        elif slots[kind] != NONE:
            self._into[slots[kind]] = self._float(kind, value, target)
        if kind is LIST:
            self._list(row, target, value)
        if target.size is not None and kind in SIZED:
            self._value(row, target.size, len(value))

    def _string(self, row: int, target: SlotTarget, value: str) -> None:
        text = encoded(value, target.path)
        slot = target.values[STRING]
        if slot != NONE:
            self._into[slot] = self.strings.find(text)
        if target.text != NONE:
            self.texts[row, target.text] = self._data_start + len(self._data), len(text)
            self._data += text
        if target.lower is not None:
            self._value(row, target.lower, value.lower())

    def _list(self, row: int, target: SlotTarget, value: Sequence[Any]) -> None:
        for kind, column in enumerate(target.lists):
            if column != NONE:
                asked = kind in ELEMENT_KINDS
                found = [self._float(kind, item, target) for item in value if kind_of(item) == kind and asked]
                self.lists[row, column] = self._elements_start + len(self._elements), len(found)
                self._elements += found

    def _float(self, kind: int, value: Any, target: SlotTarget) -> float:
        """A value as the column of its kind holds it."""
        if kind == NUMBER:
            if not INT_MIN <= value <= INT_MAX:
                checked(value, target.path)
            return float(value) + 0.0  # -0.0 becomes 0.0
        if kind == STRING:
            return self.strings.find(encoded(value, target.path))
        if kind == TIME:
            return float(microseconds(value))
        if kind == BYTES:
            return self.strings.find(bytes(value))
        return float(value) if kind == BOOL else 1.0


def encoded(text: str, path: Path) -> bytes:
    """The text in UTF-8, or an EventError for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        checked(text, path)
        raise
