"""The event log as its readers see it: what the heads name, as Arrow tables and as events.

A reader is a view of one moment: the heads are read when it is opened, and files that heads name are never changed.
The streams are read in the reverse of the order in which they are written, so that every delivery has its event, and
every event its answers and its epoch. `LogWriter` is in log_writer.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa

from agvent.errors import LogError, LogFileError
from agvent.store.catalogue import in_force, versions_in_force
from agvent.store.event_columns import LoggedEvent, event_schema, records_of
from agvent.store.heads import FORMAT, HEADS, Head, Segment, read_head, write_head
from agvent.store.log_schema import STREAMS, TABLES, form_of
from agvent.store.segments import read_segment
from agvent.store.sync_folder import sync_folder
from agvent.store.type_tables import types_of
from agvent.types import AgventType, unadvertised

UNTYPED: Final = "__HIVE_DEFAULT_PARTITION__"
"""The folder of events without a type, by the name that hive-style readers show as null."""

FOLDER_BYTES_MAX: Final = 255
"""A file system's bound on one name."""

READ_ORDER: Final = ("snapshots", "documents", "traces", "deliveries", "events", "behaviours", "catalogue")
assert set(READ_ORDER) == set(STREAMS)


class Marker(msgspec.Struct, frozen=True):
    """log.json: what says that a folder is a log."""

    format: int


def create_log(path: str | os.PathLike[str]) -> None:
    """Makes an empty log in a folder that is new or empty."""
    log = Path(path)
    check_free(log)
    try:
        (log / HEADS).mkdir(parents=True)
        for stream in STREAMS:
            write_head(log, Head(stream=stream))
        partial = log / ".log.json"  # renamed: whoever looks meanwhile sees no log, or a whole one
        partial.write_bytes(msgspec.json.encode(Marker(FORMAT)) + b"\n")
        partial.replace(log / "log.json")
    except OSError as error:
        raise LogFileError(f"cannot make a log in {log}: {error.strerror}") from None
    sync_folder(log)


def check_free(log: Path) -> None:
    """Refuses a folder that has something in it."""
    try:
        if log.exists() and any(log.iterdir()):
            raise LogError(f"{log} is not empty", hint="give a log a folder of its own")
    except OSError as error:
        raise LogFileError(f"cannot make a log in {log}: {error.strerror}") from None


def check_log(log: Path) -> None:
    """Refuses a folder that is no log, or one of another format."""
    try:
        marker = msgspec.json.decode((log / "log.json").read_bytes(), type=Marker)
    except OSError:
        raise LogFileError(f"{log} is not an event log: it has no log.json") from None
    except ValueError as error:
        raise LogFileError(f"{log / 'log.json'} is damaged: {error}") from None
    if marker.format != FORMAT:
        raise LogFileError(f"{log} has format {marker.format}, this Agvent reads {FORMAT}")


def event_folder(type_name: str | None, schema: str) -> str:
    """The folder of a type's version: `events/type=Quote/schema=v…`."""
    if type_name in ("", UNTYPED):
        raise LogError(f"events of type {type_name!r} cannot be logged", hint="leave the type out, or name it")
    folder = f"type={UNTYPED if type_name is None else quote(type_name, safe='')}"
    if len(folder) > FOLDER_BYTES_MAX:
        raise LogError(f"the type {type_name[:40] if type_name else ''!r}… is too long for the name of a folder")
    return f"events/{folder}/schema={schema}"


def type_and_schema(path: str) -> tuple[str | None, str]:
    """The type and version that a segment's path says."""
    _, type_part, schema_part, *_ = path.split("/")
    name = type_part.removeprefix("type=")
    return None if name == UNTYPED else unquote(name), schema_part.removeprefix("schema=")


class LogReader:
    """A log as it was when this was opened.

    `catalogue` in its methods is a catalogue version; without it, that of the events there are.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        check_log(self.path)
        self.heads: dict[str, Head] = {stream: read_head(self.path, stream) for stream in READ_ORDER}

    def offset(self) -> dict[str, Any]:
        """Where the events end, and the catalogue version that goes with them: `{"ev": {"b1": 118000}, "sub": 57}`."""
        head = self.heads["events"]
        return {"ev": dict(head.ends), "sub": head.catalogue}

    @cached_property
    def types(self) -> dict[tuple[str, str], AgventType]:
        """Every type that was advertised, by name and version."""
        return types_of(self.table("types").to_pylist())

    def type_of(self, name: str | None, schema: str) -> AgventType:
        """The type behind a folder of events."""
        found = unadvertised(name) if name is None else self.types.get((name, schema), unadvertised(name))
        if found.schema != schema:
            raise LogFileError(f"{self.path} has events of {name!r} with the schema {schema}, without an advertisement")
        return found

    def segments(self, table: str, *, upto: int | None = None) -> list[Segment]:
        """The segments of a table, those of the stream's head number `upto` or earlier if it is given."""
        head = self.heads[form_of(table).stream]
        kept = head.segments if upto is None else [one for one in head.segments if one.since <= upto]
        return [one for one in kept if one.path.split("/", 1)[0] == table]

    def event_types(self) -> list[tuple[str | None, str]]:
        """Type and version of every folder that has events, untyped ones first."""
        found = {type_and_schema(one.path) for one in self.segments("events")}
        return sorted(found, key=lambda pair: (pair[0] is not None, pair))

    def table(self, name: str, *, columns: list[str] | None = None, upto: int | None = None) -> Any:
        """A table other than events, whole, as Arrow."""
        assert name != "events", "events are read by type: event_table"
        return self._joined(self.segments(name, upto=upto), TABLES[name].schema, columns)

    def event_table(self, type_name: str | None, schema: str, *, columns: list[str] | None = None) -> Any:
        """The rows of one version of a type, promoted columns included, in the order they were written."""
        folder = event_folder(type_name, schema) + "/"
        segments = [one for one in self.segments("events") if one.path.startswith(folder)]
        return self._joined(segments, event_schema(self.type_of(type_name, schema)), columns)

    def _joined(self, segments: list[Segment], schema: Any, columns: list[str] | None) -> Any:
        if columns is not None:
            schema = pa.schema([schema.field(name) for name in columns])
        parts = [read_segment(self.path, one, columns).select(schema.names).cast(schema) for one in segments]
        return pa.concat_tables([schema.empty_table(), *parts])

    def events(self, type_name: str | None = None) -> Iterator[LoggedEvent]:
        """Whole events again, of one type or of all, segment by segment."""
        for segment in self.segments("events"):
            name, schema = type_and_schema(segment.path)
            if type_name is None or name == type_name:
                yield from records_of(read_segment(self.path, segment), self.type_of(name, schema), name)

    def in_force(self, *, catalogue: int | None = None) -> Any:
        """The in-force table: `entry_broker`, `subscription`, `version`, `from_epoch`, `to_epoch` (null: still)."""
        upto = self._catalogue(catalogue)
        return in_force(self.table("changes", upto=upto), self.table("epochs", upto=upto))

    def versions(self, *, catalogue: int | None = None) -> Any:
        """The subscription versions that were in force somewhere at some time, with `id`, their `version_id`."""
        upto = self._catalogue(catalogue)
        return versions_in_force(self.table("subscriptions", upto=upto), self.in_force(catalogue=upto))

    def _catalogue(self, asked: int | None) -> int:
        newest = self.heads["catalogue"].number
        if asked is not None and not 0 <= asked <= newest:
            raise LogError(f"{self.path} has no catalogue version {asked}", hint=f"its versions are 0 to {newest}")
        return self.heads["events"].catalogue if asked is None else asked
