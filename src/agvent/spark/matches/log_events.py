"""Match over an event log: the deliveries that it calls for, by the epoch at which each event was accepted.

The tasks read row groups of the log's segments. With the log's own subscriptions, a pair is there if the version was in
force at the event's entry broker and epoch; with others, every event is matched, as if they had always been there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np
import pyarrow as pa

from agvent.errors import CallerError, EventError
from agvent.filters.evaluate import Behaviours
from agvent.matching.columns.arrays import I64
from agvent.matching.columns.column_batch import Unanswered
from agvent.matching.index.search import SearchResult
from agvent.matching.matches import Matches
from agvent.spark.files.file_slices import ROWS_PER_TASK, Slice, parquet_batches, parquet_slices, task_frame
from agvent.spark.matches.admission import admitted
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.pairs import COMPLAINT, EVENT, OUTPUT_ROWS_MAX, broker_codes, in_force, pieces, places_of
from agvent.spark.matches.recorded_answers import RecordedAnswers, by_answers
from agvent.spark.matches.sandbox_answers import SandboxAnswers
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.shipment import Shipment, received, ship
from agvent.store.event_batches import matchable
from agvent.store.event_columns import event_schema
from agvent.store.log_reader import LogReader, type_and_schema
from agvent.store.log_schema import TABLES
from agvent.types import AgventType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENT_COLUMNS: Final = ("publisher", "sequence", "quality", "entry_broker", "epoch", "accepted_at")
"""The columns of an event: its key, and where and when it was accepted."""


class SegmentPart(msgspec.Struct, frozen=True):
    """Some row groups of a segment, with the type that its columns are of."""

    slice: Slice
    name: str | None
    type: AgventType


class LogEvents:
    """The events of an event log."""

    has_lines: ClassVar[bool] = False

    def __init__(self, log: LogReader) -> None:
        self.log = log

    def check(self, options: MatchOptions) -> None:
        options.check("an event log", "keep", "hosts_key")
        for name in options.keep:
            if name not in EVENT_COLUMNS:
                raise CallerError(f"{name!r} cannot be kept", hint=f"a log's event has {', '.join(EVENT_COLUMNS)}")

    def count(self, spark: SparkSession) -> int:  # noqa: ARG002 - the heads say it
        return sum(segment.rows for segment in self.log.segments("events"))

    def unread(self, roster: Roster) -> str | None:  # noqa: ARG002 - the events of a log have many forms
        return None

    def pairs(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        """One that entered twice, at two brokers, is one event: its pairs are there once."""
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

        rows = self.deliveries(spark, roster, options)
        said = [COMPLAINT] if options.complaints else []
        named = F.concat_ws(":", "publisher", "sequence").alias(EVENT)
        return rows.select(named, *options.keep, *roster.names.schema.names, *said).distinct()

    def deliveries(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        """The deliveries that the log calls for, by each entry broker's copy: EVENT_COLUMNS, the subscription's names,
        and with complaints `complaint`."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StringType, StructField, StructType

        key = options.hosts_key
        if key is not None and roster.in_force is not None:
            raise CallerError("the log already has the answers to its own subscriptions", hint="omit hosts_key")
        events = pa.schema([TABLES["events"].schema.field(name) for name in EVENT_COLUMNS])
        fields = [*from_arrow_schema(events).fields, *from_arrow_schema(roster.names.schema).fields]
        fields += [StructField(COMPLAINT, StringType())] if options.complaints else []
        parts = parts_of(self.log)
        answers = RecordedAnswers(self.log) if key is None else SandboxAnswers(self.log, key)
        shipment = ship(spark, roster, shared=options.shared)
        task = LogTask(parts, shipment, answers, complaints=options.complaints)
        return task_frame(spark, len(parts)).mapInArrow(task, StructType(fields))


def parts_of(log: LogReader) -> list[SegmentPart]:
    """The log's events, in parts for one task each."""
    made: list[SegmentPart] = []
    for segment in log.segments("events"):
        name, schema = type_and_schema(segment.path)
        slices, _ = parquet_slices([str(log.path / segment.path)], rows=ROWS_PER_TASK)
        made += [SegmentPart(one, name, log.type_of(name, schema)) for one in slices]
    return made


class LogTask:
    """Matches the rows of a task's parts."""

    def __init__(
        self,
        parts: Sequence[SegmentPart],
        shipment: Shipment,
        answers: RecordedAnswers | SandboxAnswers,
        *,
        complaints: bool,
    ) -> None:
        self.parts = parts
        self.shipment = shipment
        self.answers = answers
        self.complaints = complaints

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for matched in self._matched(roster, self.parts[at]):
                    yield from pieces(self._complaining(matched), OUTPUT_ROWS_MAX)

    def _complaining(self, matched: pa.RecordBatch) -> pa.RecordBatch:
        """With complaints as they are, else without them: then there may be none."""
        if self.complaints:
            return matched
        check_answered(matched, hint="with complaints=True such questions count as no match and are listed")
        return matched.drop_columns([COMPLAINT])

    def _matched(self, roster: Roster, part: SegmentPart) -> Iterator[pa.RecordBatch]:
        schema = event_schema(part.type)
        for batch in parquet_batches(part.slice, schema.names, rows=roster.index.batch_rows):
            table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
            if isinstance(self.answers, SandboxAnswers):
                yield from self._asked(roster, table, part, self.answers)
                continue
            for lot, behaviours in by_answers(table, self.answers):
                yield from match_table(roster, lot, part.type, part.name, behaviours=behaviours)

    def _asked(
        self, roster: Roster, table: pa.Table, part: SegmentPart, answers: SandboxAnswers
    ) -> Iterator[pa.RecordBatch]:
        """Agvents by what they answer, the other events as they are."""
        rows, found = answers.matched(roster, table, part.type, part.name)
        yield _deliveries(roster, table.select(list(EVENT_COLUMNS)), rows, found, [])
        others = np.setdiff1d(np.arange(table.num_rows), rows)
        yield from match_table(roster, table.take(pa.array(others)), part.type, part.name)


def match_table(
    roster: Roster,
    table: pa.Table,
    type_: AgventType,
    name: str | None,
    *,
    kept: Sequence[str] = EVENT_COLUMNS,
    behaviours: Behaviours | None = None,
) -> Iterator[pa.RecordBatch]:
    """The deliveries that some rows of one type's table call for, with their complaints below.

    `kept` are the columns of the event that its deliveries have; `behaviours` those of a single event.
    """
    for rows, events in matchable(table, type_, name):
        found, unanswered = _judged(roster, roster.index.match_batch(events, behaviours), table.take(pa.array(rows)))
        yield _deliveries(roster, table.select(list(kept)), rows, found, unanswered)


def _judged(roster: Roster, matches: Matches, table: pa.Table) -> tuple[SearchResult, list[Unanswered]]:
    """The matches in force at each row's broker and epoch, of subscribers that its publisher admits. Subscriptions that
    are not the log's have no epochs: all of their matches count."""
    if roster.in_force is None:
        return SearchResult(matches.subscriptions, matches.ends), matches.unanswered
    broker = broker_codes(roster.in_force, table["entry_broker"].combine_chunks())
    found, unanswered = in_force(roster, matches, broker, table["epoch"].to_numpy())
    return (found if roster.audience is None else admitted(found, table, roster.audience)), unanswered


def _deliveries(
    roster: Roster, table: pa.Table, rows: I64, found: SearchResult, unanswered: Sequence[Unanswered]
) -> pa.RecordBatch:
    """A row for each pair, and for each question not answered; `rows` are the places of the events in the table."""
    matched = np.repeat(np.arange(len(found.ends)), np.diff(found.ends, prepend=0))
    asked, ordinals = places_of(unanswered, roster)
    events = table.take(pa.array(rows[np.concatenate([matched, asked])]))
    named = roster.names.take(pa.array(np.concatenate([found.subscriptions, ordinals])))
    texts = pa.array([None] * len(matched) + [one.message for one in unanswered], pa.string())
    columns = [*(column.combine_chunks() for column in events.columns), *named.columns, texts]
    return pa.record_batch(columns, [*table.column_names, *named.schema.names, COMPLAINT])


def check_answered(found: pa.RecordBatch, *, hint: str) -> None:
    """Nothing stands in silently for an answer."""
    complaints = found.filter(found[COMPLAINT].is_valid())
    if not complaints.num_rows:
        return
    row = complaints.slice(0, 1).to_pylist()[0]
    version = f" version {row['version']}" if "version" in row else ""
    raise EventError(
        f"event {row['publisher']}:{row['sequence']}: subscription {row['subscription']}{version} not answered: "
        f"{row[COMPLAINT]}",
        hint=hint,
    )
