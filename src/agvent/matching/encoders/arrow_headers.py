"""The headers of a record batch: columns with reserved names, checked as `event_of` checks those of one event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from agvent.errors import EventError
from agvent.event import RESERVED, TYPES, Kind, time_of
from agvent.matching.encoders.arrow_values import Array, element, kind_of_type, offsets_of, plain, validity

HEADER_KINDS: dict[str, tuple[Kind, ...]] = {
    "$type": (Kind.NULL, Kind.STRING, Kind.LIST),
    "$topic": (Kind.NULL, Kind.STRING, Kind.NUMBER),
    "$channel": (Kind.NULL, Kind.STRING, Kind.NUMBER),
    "$time": (Kind.NULL, Kind.STRING, Kind.TIME),
    "$xml": (Kind.NULL, Kind.STRING),
}


def check_names(schema: pa.Schema) -> None:
    """Refuses a name that stands twice, a reserved one that is unknown, and a header of a type it cannot have."""
    for name in schema.names:
        if len(schema.get_all_field_indices(name)) > 1:
            raise EventError(f"two columns have the name {name}")
        if name.startswith("$"):
            if name not in HEADER_KINDS:
                reserved = ", ".join(f"${key}" for key in RESERVED)
                raise EventError(f"{name} is not a reserved name", hint=f"they are {reserved}")
            _check_type(name, schema.field(name).type)


def _check_type(name: str, type_: Any) -> None:
    kind = kind_of_type(type_, (name,))
    names = kind is not Kind.LIST or kind_of_type(type_.value_type, (name,)) is Kind.STRING
    if kind not in HEADER_KINDS[name] or not names or pt.is_floating(type_):
        raise EventError(f"column {name} cannot be Arrow's {type_}")


def read_documents(batch: pa.RecordBatch, read: Callable[[int, str], object]) -> None:
    """Hands each row's `$xml` over, and says in which row it is if that is no document."""
    if "$xml" in batch.schema.names:
        for row, text in enumerate(batch.column("$xml").to_pylist()):
            try:
                if text is not None:
                    read(row, text)
            except EventError as error:
                raise EventError(f"row {row}: {error.message}", hint=error.hint) from None


def header(batch: pa.RecordBatch, name: str) -> Array:
    """The values of a header, null where the batch has no column for it."""
    if name in ("$type", TYPES):
        types = _types(batch)
        return types if name == TYPES else plain(element(types, 0))
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows)
    array = plain(batch.column(name))
    if name == "$time" and kind_of_type(array.type, (name,)) is Kind.STRING:
        return pa.array(
            [None if text is None else time_of(text) for text in array.to_pylist()], pa.timestamp("us", "UTC")
        )
    return array


def _types(batch: pa.RecordBatch) -> Array:
    """Each event's type and its ancestors as a list, which is empty for an event without a type."""
    array = plain(batch.column("$type")) if "$type" in batch.schema.names else pa.nulls(batch.num_rows)
    if pt.is_null(array.type):
        array = array.cast(pa.string())
    valid = validity(array)
    if kind_of_type(array.type, ("$type",)) is Kind.STRING:
        return _lists(valid.astype(np.int64), array.drop_null())
    offsets = offsets_of(array)
    sizes = np.where(valid, np.diff(offsets), 0)
    names = plain(array.flatten())
    wrong = np.flatnonzero(valid & (sizes == 0))
    if names.null_count or len(wrong):
        raise EventError("column $type: a list of types is empty or has a null in it")
    return _lists(sizes, names)


def _lists(sizes: Any, values: Array) -> Array:
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(sizes)))), values)
