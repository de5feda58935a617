"""A batch's columns as plain values, so that two batches can be compared whole; and slots that ask for everything."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from agvent.event import Kind, Path
from agvent.filters.primitives import Term
from agvent.filters.tree import Attribute, Function
from agvent.matching.columns.column_batch import ABSENT, ColumnBatch
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings


def attribute(*path: str | int) -> Attribute:
    return Attribute(path)


def lower(*path: str | int) -> Function:
    return Function("lower", (Attribute(path),))


def size(*path: str | int) -> Function:
    return Function("size", (Attribute(path),))


def everything(*paths: Path) -> Slots:
    """Slots for every kind of value, text, list, lower() and size() of these paths."""
    slots = Slots()
    for path in paths:
        terms: tuple[Term, ...] = (attribute(*path), lower(*path), size(*path))
        for term in terms:
            for kind in Kind:
                slots.value(term, kind)
            slots.text(term)
        for kind in Kind:
            slots.list(terms[0], kind)
    return slots


def dictionary(words: Iterable[str | bytes]) -> Strings:
    strings = Strings()
    for word in words:
        strings.code(word.encode() if isinstance(word, str) else word)
    strings.flush()
    return strings


def row_of(batch: ColumnBatch, row: int) -> dict[str, Any]:
    """One row: values as their 64 bits (None for NaN), texts as bytes, lists as bits; None for what is absent."""
    values = [None if value != value else bits(value) for value in batch.values[row].tolist()]
    texts = [
        None if count == ABSENT else batch.data[start : start + count].tobytes()
        for start, count in batch.texts[row].tolist()
    ]
    lists = [
        None if count == ABSENT else [bits(element) for element in batch.elements[start : start + count].tolist()]
        for start, count in batch.lists[row].tolist()
    ]
    return {"live": bool(batch.live[row]), "values": values, "texts": texts, "lists": lists}


def rows_of(batch: ColumnBatch) -> list[dict[str, Any]]:
    return [row_of(batch, row) for row in range(len(batch))]


def bits(value: float) -> str:
    """A float to its last bit, in a form that reads well when a test fails."""
    return f"{value!r} {struct.pack('>d', value).hex()}"
