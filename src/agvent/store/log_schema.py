"""The tables of the event log: their columns, the stream each belongs to, and the ranges a head keeps of them.

docs/reference/event-log.md says what each column means. The tables of events have promoted columns beside these, one
set for each version of each type: event_columns.py.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pyarrow as pa

from agvent.errors import LogError

TIME: Final = pa.timestamp("us", "UTC")
STRINGS: Final = pa.list_(pa.string())
PARAMETERS: Final = pa.list_(pa.struct({"name": pa.string(), "kind": pa.string(), "description": pa.string()}))

QUALITIES: Final = ("durable", "fast")

STREAMS: Final = ("catalogue", "events", "deliveries", "traces", "behaviours", "documents", "snapshots")

Columns = dict[str, Any]


class TableForm(msgspec.Struct, frozen=True):
    """A table's stream and columns. `ranged` are the columns whose least and greatest value a head keeps per broker."""

    name: str
    stream: str
    schema: Any
    broker: str
    ranged: tuple[str, ...]


def _form(
    name: str, stream: str, *, broker: str, ranged: tuple[str, ...], needed: Columns, optional: Columns
) -> TableForm:
    fields = [pa.field(column, type_, nullable=False) for column, type_ in needed.items()]
    fields += [pa.field(column, type_) for column, type_ in optional.items()]
    return TableForm(name, stream, pa.schema(fields), broker, ranged)


TEXT, LONG, INT = pa.string(), pa.int64(), pa.int32()
EVENT_KEY: Final[Columns] = {"publisher": TEXT, "sequence": LONG, "quality": TEXT}
ADDRESS: Final[Columns] = {"topic": TEXT, "topic_number": LONG, "channel": TEXT, "channel_number": LONG}

FORMS: Final = (
    _form(
        "events",
        "events",
        broker="entry_broker",
        ranged=("position", "epoch", "sequence", "accepted_at"),
        needed={
            **EVENT_KEY,
            "accepted_at": TIME,
            "entry_broker": TEXT,
            "epoch": LONG,
            "position": LONG,
            "ancestors": STRINGS,
            "exact": pa.bool_(),
        },
        optional={
            "event_time": TIME,
            **ADDRESS,
            "xml": TEXT,
            "payload": TEXT,
            "rest": TEXT,
            "to": TEXT,
            "destinations": STRINGS,
            "expires_at": TIME,
        },
    ),
    _form(
        "subscriptions",
        "catalogue",
        broker="home_broker",
        ranged=("created_at",),
        needed={
            "subscription": TEXT,
            "version": LONG,
            "subscriber": TEXT,
            "home_broker": TEXT,
            "language": TEXT,
            "filter": TEXT,
            "created_at": TIME,
        },
        optional={"type": TEXT, **ADDRESS, "pattern": TEXT, "context": TEXT},
    ),
    _form(
        "changes",
        "catalogue",
        broker="home_broker",
        ranged=("position", "changed_at"),
        needed={
            "home_broker": TEXT,
            "position": LONG,
            "change": TEXT,
            "subscription": TEXT,
            "version": LONG,
            "changed_at": TIME,
        },
        optional={},
    ),
    _form(
        "epochs",
        "catalogue",
        broker="entry_broker",
        ranged=("epoch", "applied_at"),
        needed={"entry_broker": TEXT, "epoch": LONG, "home_broker": TEXT, "position": LONG, "applied_at": TIME},
        optional={},
    ),
    _form(
        "types",
        "catalogue",
        broker="broker",
        ranged=("advertised_at",),
        needed={
            "type": TEXT,
            "schema": TEXT,
            "ancestors": STRINGS,
            "description": TEXT,
            "publisher": TEXT,
            "broker": TEXT,
            "realm": TEXT,
            "change": TEXT,
            "definition": TEXT,
            "xml": TEXT,
            "advertised_at": TIME,
        },
        optional={},
    ),
    _form(
        "type_attributes",
        "catalogue",
        broker="",
        ranged=(),
        needed={"type": TEXT, "schema": TEXT, "attribute": TEXT, "kind": TEXT, "description": TEXT},
        optional={"column": TEXT},
    ),
    _form(
        "type_behaviours",
        "catalogue",
        broker="",
        ranged=(),
        needed={
            "type": TEXT,
            "schema": TEXT,
            "behaviour": TEXT,
            "returns": TEXT,
            "description": TEXT,
            "parameters": PARAMETERS,
        },
        optional={},
    ),
    _form(
        "deliveries",
        "deliveries",
        broker="home_broker",
        ranged=("epoch", "sequence", "delivered_at"),
        needed={
            **EVENT_KEY,
            "subscription": TEXT,
            "version": LONG,
            "subscriber": TEXT,
            "home_broker": TEXT,
            "entry_broker": TEXT,
            "epoch": LONG,
            "position": LONG,
            "attempts": INT,
            "delivered_at": TIME,
        },
        optional={},
    ),
    _form(
        "gaps",
        "deliveries",
        broker="home_broker",
        ranged=("noticed_at",),
        needed={"home_broker": TEXT, "quality": TEXT, "reason": TEXT, "noticed_at": TIME},
        optional={
            "subscription": TEXT,
            "subscriber": TEXT,
            "publisher": TEXT,
            "first_sequence": LONG,
            "last_sequence": LONG,
        },
    ),
    _form(
        "traces",
        "traces",
        broker="from_broker",
        ranged=("sequence", "sent_at"),
        needed={
            **EVENT_KEY,
            "destination": TEXT,
            "hop": INT,
            "from_broker": TEXT,
            "to_broker": TEXT,
            "sent_at": TIME,
            "bytes": LONG,
        },
        optional={"received_at": TIME, "queue": INT},
    ),
    _form(
        "behaviours",
        "behaviours",
        broker="entry_broker",
        ranged=("sequence", "called_at"),
        needed={**EVENT_KEY, "entry_broker": TEXT, "call": TEXT, "called_at": TIME},
        optional={"subscription": TEXT, "version": LONG, "result": TEXT, "fault": TEXT},
    ),
    _form(
        "cargoes",
        "behaviours",
        broker="entry_broker",
        ranged=("sequence", "accepted_at"),
        needed={**EVENT_KEY, "entry_broker": TEXT, "program": TEXT, "accepted_at": TIME},
        optional={"hidden": pa.binary(), "sealed": pa.binary(), "opaque": STRINGS},
    ),
    _form(
        "programs",
        "catalogue",
        broker="broker",
        ranged=("brought_at",),
        needed={"program": TEXT, "publisher": TEXT, "broker": TEXT, "code": pa.binary(), "brought_at": TIME},
        optional={},
    ),
    _form(
        "documents",
        "documents",
        broker="broker",
        ranged=("stored_at",),
        needed={"document": TEXT, "version": LONG, "owner": TEXT, "broker": TEXT, "realm": TEXT, "stored_at": TIME},
        optional={"xml": TEXT},
    ),
)

TABLES: Final[dict[str, TableForm]] = {form.name: form for form in FORMS}


def form_of(name: str) -> TableForm:
    """The form of a table by its name."""
    if name not in TABLES:
        raise LogError(f"the log has no table {name!r}", hint=f"its tables are {', '.join(TABLES)}")
    return TABLES[name]


def shaped(name: str, rows: Any, schema: Any = None) -> Any:
    """Rows (an Arrow table, or dicts) as a table with exactly the columns the log has, or a LogError that names one."""
    wanted = form_of(name).schema if schema is None else schema
    if isinstance(rows, pa.Table):
        given = rows
        _check_names(name, set(given.column_names), wanted)
    else:
        given = _table(name, list(rows), wanted)
    return pa.table([_column(name, given, field) for field in wanted], schema=wanted)


def _check_names(name: str, columns: set[str], wanted: Any) -> None:
    unknown = sorted(columns - set(wanted.names))
    if unknown:
        raise LogError(f"{name} has no column {unknown[0]!r}", hint=f"its columns are {', '.join(wanted.names)}")


def _table(name: str, rows: list[dict[str, Any]], wanted: Any) -> Any:
    _check_names(name, {key for row in rows for key in row}, wanted)
    try:
        return pa.Table.from_pylist(rows, pa.schema([pa.field(field.name, field.type) for field in wanted]))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise LogError(f"a row does not fit {name}: {error}") from None


def _column(name: str, given: Any, field: Any) -> Any:
    if field.name not in given.column_names:
        if not field.nullable and given.num_rows:
            raise LogError(f"{name} needs the column {field.name!r}")
        return pa.chunked_array([pa.nulls(given.num_rows, field.type)])
    column = given.column(field.name)
    if column.null_count and not field.nullable:
        raise LogError(f"{name}: the column {field.name!r} has a null in it, and none is allowed")
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise LogError(
            f"{name}: the column {field.name!r} is Arrow's {column.type}, not {field.type}: {error}"
        ) from None
