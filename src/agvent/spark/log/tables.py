"""The tables of an event log as a Spark source has them: their columns, how far they go, their pieces, their rows.

`events` and `due` go by the offsets of offsets.py. Every other table goes by the commits of its stream, and its offset
is `{"number": 12}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
import pyarrow as pa

from agvent.errors import LogError
from agvent.spark.log import offsets
from agvent.spark.log.due_rows import CONTENTS, DUE, due_in
from agvent.spark.log.event_slices import FOLDERS, EventSlice, for_tasks, rows_of, slices_between
from agvent.spark.log.offsets import Offset
from agvent.spark.log.repeated_events import Seen
from agvent.spark.log.row_tests import Tests, condition, may_have
from agvent.spark.matches.pairs import COMPLAINT
from agvent.spark.matches.recorded_answers import RecordedAnswers
from agvent.spark.rosters.catalogue_rosters import roster_at
from agvent.store.event_columns import event_schema
from agvent.store.heads import Segment, read_head
from agvent.store.log_reader import LogReader, type_and_schema
from agvent.store.log_schema import TABLES, form_of
from agvent.store.segments import read_segment

Piece = Any
"""The part of a table that one task reads; it is pickled on its way."""


class LogTable(Protocol):
    """A table of a log as it grows."""

    def schema(self) -> pa.Schema:
        """Its columns."""

    def beginning(self) -> Offset:
        """Before its first row."""

    def end(self) -> Offset:
        """Behind its last row, now."""

    def advanced(self, start: Offset, end: Offset, rows_max: int | None) -> Offset:
        """From `start` towards `end`, by not many more rows than `rows_max`."""

    def tested(self) -> pa.Schema:
        """The columns of which it takes tests."""

    def pieces(self, start: Offset, end: Offset, tests: Tests = ()) -> list[Piece]:
        """The rows between two offsets, cut for tasks, without segments in which no row can pass the tests."""

    def read(self, piece: Piece, columns: Sequence[str], tests: Tests = ()) -> Iterator[pa.RecordBatch]:
        """The rows of a piece that pass the tests."""


def table_of(log: Path, options: Mapping[str, str]) -> LogTable:
    """The table that the options of a Spark source ask for."""
    given = {name.lower(): value for name, value in options.items()}
    name, whole = given.get("table", "events"), given.get("failondataloss", "true").lower() != "false"
    if name == "events":
        return EventTable(log, given.get("type"), given.get("schema"), whole=whole)
    if name == "due":
        contents, complaints = (given.get(flag, "false").lower() == "true" for flag in ("contents", "complaints"))
        return DueTable(log, contents=contents, complaints=complaints, whole=whole)
    form_of(name)
    return PlainTable(log, name, whole=whole)


class _Events:
    """What goes by the offsets of the events."""

    def __init__(self, log: Path, *, whole: bool) -> None:
        self.log = log
        self.whole = whole

    def beginning(self) -> Offset:
        return offsets.beginning()

    def end(self) -> Offset:
        return offsets.end_of(read_head(self.log, "events"))

    def advanced(self, start: Offset, end: Offset, rows_max: int | None) -> Offset:
        return offsets.advanced(start, end, rows_max)


class EventTable(_Events):
    """Events of all types, of one, or of one version of one: the columns of all of them, by name."""

    def __init__(self, log: Path, type_name: str | None, version: str | None, *, whole: bool) -> None:
        super().__init__(log, whole=whole)
        self.type_name = type_name
        self.version = version

    def schema(self) -> pa.Schema:
        log = LogReader(self.log)
        known = {*log.event_types(), *log.types}
        wanted = sorted((pair for pair in known if self._is_wanted(*pair)), key=str)
        if not wanted and self.type_name is not None:
            raise LogError(f"{self.log} has no type {self.type_name!r}" + (f" {self.version}" if self.version else ""))
        folders = pa.schema([pa.field("type", pa.string()), pa.field("schema", pa.string())])
        versions = [event_schema(log.type_of(name, version)) for name, version in wanted]
        try:
            return pa.unify_schemas([folders, TABLES["events"].schema, *versions])
        except pa.ArrowException as error:
            hint = "read one type or one version of it: the options type and schema"
            raise LogError(f"the events of {self.log} have no common columns: {error}", hint=hint) from None

    def _is_wanted(self, name: str | None, version: str) -> bool:
        return self.type_name in (None, name) and self.version in (None, version)

    def tested(self) -> pa.Schema:
        return self.schema()

    def pieces(self, start: Offset, end: Offset, tests: Tests = ()) -> list[list[EventSlice]]:
        found = slices_between(LogReader(self.log), start, end, whole=self.whole, tests=tests)
        return for_tasks([one for one in found if self._is_wanted(*type_and_schema(one.path))])

    def read(self, piece: list[EventSlice], columns: Sequence[str], tests: Tests = ()) -> Iterator[pa.RecordBatch]:
        needed = {*columns, "entry_broker", "position"}
        for part in piece:
            there = pa.schema([field for field in event_schema(part.type) if field.name in needed])
            for table in rows_of(self.log, part, there, tests):
                yield from (_named(batch, part) for batch in table.to_batches())


def _named(batch: pa.RecordBatch, part: EventSlice) -> pa.RecordBatch:
    """With the columns that the path says."""
    for name, value in (("type", part.name), ("schema", type_and_schema(part.path)[1])):
        batch = batch.append_column(name, pa.array([value] * batch.num_rows, pa.string()))
    return batch


class DuePiece(NamedTuple):
    """Slices of events, the catalogue version that they are matched by, and the answers that their behaviours gave."""

    slices: list[EventSlice]
    catalogue: int
    answers: RecordedAnswers


class DueTable(_Events):
    """Due deliveries; see due_rows.py. If an event is in the log twice, one is due; see repeated_events.py."""

    def __init__(self, log: Path, *, contents: bool, complaints: bool, whole: bool) -> None:
        super().__init__(log, whole=whole)
        self.contents = contents
        self.complaints = complaints
        self.seen = Seen()

    def schema(self) -> pa.Schema:
        said = [pa.field(COMPLAINT, pa.string())] if self.complaints else []
        return pa.schema([*DUE, *(CONTENTS if self.contents else ()), *said])

    def tested(self) -> pa.Schema:
        """Those of the event, which are tested before it is matched; `position` is another than the event's there."""
        there = {*TABLES["events"].schema.names, *FOLDERS} - {"position"}
        return pa.schema([field for field in self.schema() if field.name in there])

    def pieces(self, start: Offset, end: Offset, tests: Tests = ()) -> list[DuePiece]:
        log = LogReader(self.log)
        found = slices_between(log, start, end, whole=self.whole, tests=tests)
        copies = self.seen.copies(log, start, end)
        wanted = [msgspec.structs.replace(one, left_out=copies) for one in found]
        segments = {one.path: one for one in log.segments("events")}
        known = RecordedAnswers(log)
        groups = for_tasks(wanted)
        return [DuePiece(group, end["sub"], known.near(segments[one.path] for one in group)) for group in groups]

    def read(
        self,
        piece: DuePiece,
        columns: Sequence[str],  # noqa: ARG002 - all of them come out of one match
        tests: Tests = (),
    ) -> Iterator[pa.RecordBatch]:
        roster = roster_at(self.log, piece.catalogue)
        for part in piece.slices:
            for events in rows_of(self.log, part, event_schema(part.type), tests):
                yield from due_in(
                    events, part, roster, piece.answers, contents=self.contents, complaints=self.complaints
                )


class PlainTable:
    """A table with the same columns in every segment."""

    def __init__(self, log: Path, name: str, *, whole: bool) -> None:
        self.log = log
        self.form = form_of(name)
        self.whole = whole

    def schema(self) -> pa.Schema:
        return self.form.schema

    def tested(self) -> pa.Schema:
        return self.form.schema

    def beginning(self) -> Offset:
        return {"number": 0}

    def end(self) -> Offset:
        return {"number": read_head(self.log, self.form.stream).number}

    def advanced(self, start: Offset, end: Offset, rows_max: int | None) -> Offset:
        """By whole commits, and at least one, so that a stream advances even if the limit is small."""
        rows, number = 0, start["number"]
        for segment in self._segments(start, end):
            if rows and rows_max is not None and segment.since > number and rows + segment.rows > rows_max:
                return {"number": number}
            rows, number = rows + segment.rows, segment.since
        return end if rows else start

    def pieces(self, start: Offset, end: Offset, tests: Tests = ()) -> list[list[Segment]]:
        dropped = read_head(self.log, self.form.stream).dropped
        if self.whole and dropped.upto > start["number"]:
            raise LogError(
                f"retention has dropped rows of {self.form.stream} from {self.log} that were not read yet",
                hint="read the rest with the option failOnDataLoss=false",
            )
        return for_tasks([one for one in self._segments(start, end) if may_have(one, tests, self.form, {})])

    def _segments(self, start: Offset, end: Offset) -> list[Segment]:
        found = read_head(self.log, self.form.stream).segments
        there = [one for one in found if one.path.startswith(f"{self.form.name}/")]
        wanted = [one for one in there if start["number"] < one.since <= end["number"]]
        return sorted(wanted, key=lambda one: one.since)

    def read(self, piece: list[Segment], columns: Sequence[str], tests: Tests = ()) -> Iterator[pa.RecordBatch]:
        names = [name for name in columns if name in self.form.schema.names]
        asked = condition(tests, names)
        for segment in piece:
            table = read_segment(self.log, segment, names)
            yield from (table if asked is None else table.filter(asked)).to_batches()
