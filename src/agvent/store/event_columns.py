"""Events as rows of a typed table and back, with nothing lost.

An advertised attribute has a column of its kind. What a column cannot hold exactly stands in `rest`, the JSON of
values.py, and `rest` stands before the column when a row becomes an event again. docs/reference/event-log.md has
the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from agvent import limits
from agvent.errors import EventError, LogError
from agvent.event import Event, EventId, Int32, Kind, kind_of
from agvent.store.log_schema import TABLES, TIME
from agvent.store.values import decode_values, encode_values, in_utc
from agvent.types import AgventType

FIXED: Final = frozenset({"type", "schema", *TABLES["events"].schema.names})
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
RESERVED_PREFIX: Final = "agvent_"

ARROW_TYPES: Final[Mapping[str, Any]] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "int32": pa.int32(),
    "float": pa.float64(),
    "str": pa.string(),
    "bytes": pa.binary(),
    "timestamp": TIME,
}
PYTHON_TYPES: Final[Mapping[str, type]] = {
    "bool": bool,
    "int": int,
    "int32": Int32,
    "float": float,
    "str": str,
    "bytes": bytes,
    "timestamp": datetime,
}


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event with what its entry broker knew when it accepted it. `schema` None: as its type is advertised now.

    `to`, `destinations` and `expires_at` are its publisher's word on who may have it, and until when.
    """

    event: Event
    accepted_at: datetime
    entry_broker: str
    epoch: int
    quality: str = "durable"
    payload: str | None = None
    schema: str | None = None
    to: str = ""
    destinations: tuple[str, ...] = ()
    expires_at: datetime | None = None


class Promoted(msgspec.Struct, frozen=True):
    """An attribute that has a column."""

    attribute: str
    kind: str
    column: str

    @property
    def element(self) -> str:
        """The kind of its values, or of their elements."""
        return self.kind.removeprefix("list[").removesuffix("]")

    @property
    def is_list(self) -> bool:
        return self.kind != self.element

    @property
    def arrow(self) -> Any:
        scalar = ARROW_TYPES[self.element]
        return pa.list_(scalar) if self.is_list else scalar


def promoted(type_: AgventType) -> list[Promoted]:
    """The columns of a type, in the order of its attributes."""
    found: dict[str, Promoted] = {}
    for attribute in type_.attributes:
        column = column_of(attribute.name)
        if column is not None and attribute.kind not in ("object", "any") and column.casefold() not in found:
            found[column.casefold()] = Promoted(attribute.name, attribute.kind, column)
    return list(found.values())


def column_of(attribute: str) -> str | None:
    """The column's name, None for an attribute that gets no column.

    >>> [column_of(name) for name in ("price", "topic", "Topic_", "two words", "agvent_x")]
    ['price', 'topic_', 'Topic__', None, None]
    """
    if not IDENTIFIER.match(attribute) or attribute.casefold().startswith(RESERVED_PREFIX):
        return None
    return f"{attribute}_" if attribute.rstrip("_").casefold() in FIXED else attribute


def event_schema(type_: AgventType) -> Any:
    """The columns of a type's table, fixed and promoted."""
    return pa.schema([*TABLES["events"].schema, *(pa.field(one.column, one.arrow) for one in promoted(type_))])


def ancestor_column(type_: AgventType, rows: int) -> Any:
    """The ancestors of a type, once for each of some rows."""
    offsets = pa.array([row * len(type_.ancestors) for row in range(rows + 1)], pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(type_.ancestors * rows, pa.string()))


# Events to rows


def table_of(records: Sequence[LoggedEvent], type_: AgventType) -> Any:
    """The rows of some events of one type, without their positions."""
    rests: list[dict[str, Any]] = [{} for _ in records]
    exact = [True] * len(records)
    columns = _fixed(records)
    attributes = [record.event.attributes for record in records]
    own = promoted(type_)
    for one in own:
        columns[one.column] = _promoted_column(one, attributes, rests, exact)
    names = {one.attribute for one in own}
    for rest, given in zip(rests, attributes, strict=True):
        if given.keys() - names:
            rest |= {name: value for name, value in given.items() if name not in names}
    columns["rest"] = pa.array([encode_values(rest) if rest else None for rest in rests], pa.string())
    columns["exact"] = pa.array(exact, pa.bool_())
    return pa.table(columns)


def _fixed(records: Sequence[LoggedEvent]) -> dict[str, Any]:
    events = [record.event for record in records]
    ids = [_id(event) for event in events]
    return {
        "publisher": pa.array([id.publisher for id in ids], pa.string()),
        "sequence": pa.array([id.sequence for id in ids], pa.int64()),
        "quality": pa.array([record.quality for record in records], pa.string()),
        "event_time": _instants([event.time for event in events], "its time"),
        "accepted_at": _instants([record.accepted_at for record in records], "accepted_at"),
        "entry_broker": pa.array([record.entry_broker for record in records], pa.string()),
        "epoch": pa.array([record.epoch for record in records], pa.int64()),
        "ancestors": pa.array([list(event.ancestors) for event in events], pa.list_(pa.string())),
        **_address("topic", [event.topic for event in events]),
        **_address("channel", [event.channel for event in events]),
        "xml": pa.array([event.xml for event in events], pa.string()),
        "payload": pa.array([record.payload for record in records], pa.string()),
        "to": pa.array([record.to or None for record in records], pa.string()),
        "destinations": pa.array([list(record.destinations) or None for record in records], pa.list_(pa.string())),
        "expires_at": _instants([record.expires_at for record in records], "expires_at"),
    }


def _id(event: Event) -> EventId:
    if event.id is None:
        raise LogError("an event without an id cannot be logged", hint="give it id=EventId(publisher, sequence)")
    return event.id


def _instants(times: list[datetime | None], whose: str) -> Any:
    in_range = [time if time is None else in_utc(time) for time in times]
    if any(time is not None and time.tzinfo is not UTC for time in in_range):
        raise LogError(f"an event cannot be logged: {whose} lies outside the years 1 to 9999 in UTC")
    return pa.array(in_range, TIME)


def _address(name: str, values: list[str | int | None]) -> dict[str, Any]:
    return {
        name: pa.array([value if isinstance(value, str) else None for value in values], pa.string()),
        f"{name}_number": pa.array([int(value) if isinstance(value, int) else None for value in values], pa.int64()),
    }


_MISSING: Final = object()
_AT_ONCE: Final = ("bool", "int", "int32", "float", "str", "bytes")
"""Kinds whose columns are made at once if every event has a value of that kind, instead of value by value."""


def _promoted_column(
    one: Promoted, attributes: list[Mapping[str, Any]], rests: list[dict[str, Any]], exact: list[bool]
) -> Any:
    values = [given.get(one.attribute, _MISSING) for given in attributes]
    if one.kind in _AT_ONCE and set(map(type, values)) == {PYTHON_TYPES[one.kind]}:
        column = pa.array(values, one.arrow)
        if one.kind != "float" or not pc.any(pc.is_nan(column)).as_py():
            return column
    cells = []
    for row, value in enumerate(values):
        cell = None
        if value is not _MISSING:
            cell, compares, whole = _cell(one, _plain(value))
            exact[row] &= compares
            if not whole:
                rests[row][one.attribute] = value
        cells.append(cell)
    return pa.array(cells, one.arrow)


def _cell(one: Promoted, value: Any) -> tuple[Any, bool, bool]:
    """What the column holds for a value; whether it compares as the value does; whether it is the value itself."""
    if kind_of(value) is Kind.NULL:
        return None, True, False
    if one.is_list:
        fits = isinstance(value, list) and all(item is None or _fits(item, one.element) for item in value)
        return (value, True, True) if fits else (None, False, False)
    if _fits(value, one.element):
        return value, True, True
    if one.element in _SAME_NUMBER and kind_of(value) is Kind.NUMBER:
        number = _SAME_NUMBER[one.element](value)
        return number, number is not None, False
    return None, False, False


def _fits(value: Any, kind: str) -> bool:
    if PYTHON_TYPES[kind] is not type(value):
        return False
    if isinstance(value, datetime):
        return value.tzinfo is UTC
    return bool(value == value)  # NaN does not fit


def _same_int(value: Any, low: int, high: int) -> int | None:
    return int(value) if low <= value <= high and int(value) == value else None


_SAME_NUMBER: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int": lambda value: _same_int(value, limits.INT_MIN, limits.INT_MAX),
    "int32": lambda value: _same_int(value, limits.INT32_MIN, limits.INT32_MAX),
    "float": lambda value: float(value) if float(value) == value else None,
}


def _plain(value: Any) -> Any:
    """A value of one of the types events are made of, where it was of a subclass such as NumPy's float64."""
    if value is None or type(value) in (bool, int, Int32, float, str, bytes):
        return value
    if isinstance(value, datetime):
        return in_utc(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return next((known(value) for known in _PLAIN_TYPES if isinstance(value, known)), value)


_PLAIN_TYPES: Final[tuple[Any, ...]] = (Int32, int, float, str, bytes)


# Rows to events


def records_of(table: Any, type_: AgventType, name: str | None) -> list[LoggedEvent]:
    """The events of rows that `table_of` made, in their order. `name` is the type's, None for events without one."""
    attributes: list[dict[str, Any]] = [{} for _ in range(table.num_rows)]
    for one in promoted(type_):
        _fill(attributes, one, table.column(one.column).to_pylist())
    for given, rest in zip(attributes, table.column("rest").to_pylist(), strict=True):
        if rest is not None:
            given |= decode_values(rest)
    fixed = table.select(TABLES["events"].schema.names).to_pylist()
    return [_record(row, given, type_, name) for row, given in zip(fixed, attributes, strict=True)]


def _fill(attributes: list[dict[str, Any]], one: Promoted, values: list[Any]) -> None:
    narrow = one.element == "int32"
    for given, value in zip(attributes, values, strict=True):
        if value is None:
            continue
        if narrow:
            value = [item if item is None else Int32(item) for item in value] if one.is_list else Int32(value)
        given[one.attribute] = value


def _record(row: dict[str, Any], attributes: dict[str, Any], type_: AgventType, name: str | None) -> LoggedEvent:
    try:
        event = Event(
            attributes=attributes,
            type=name,
            ancestors=tuple(row["ancestors"]),
            topic=row["topic_number"] if row["topic"] is None else row["topic"],
            channel=row["channel_number"] if row["channel"] is None else row["channel"],
            time=row["event_time"],
            xml=row["xml"],
            id=EventId(row["publisher"], row["sequence"]),
        )
    except EventError as error:
        raise LogError(
            f"event {row['publisher']}:{row['sequence']} in the log is not a valid event: {error.message}"
        ) from None
    return LoggedEvent(
        event=event,
        accepted_at=row["accepted_at"],
        entry_broker=row["entry_broker"],
        epoch=row["epoch"],
        quality=row["quality"],
        payload=row["payload"],
        schema=type_.schema,
        to=row["to"] or "",
        destinations=tuple(row["destinations"] or ()),
        expires_at=row["expires_at"],
    )
