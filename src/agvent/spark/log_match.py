"""Match over an event log: what every event should have been delivered to, by the epochs it was accepted at.

The tasks read row groups of the log's segments. With the log's own subscriptions, a pair is there if the version was in
force at the event's entry broker and epoch; with others, every event is matched, as if they had always been there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from agvent.errors import CallerError
from agvent.filters.evaluate import Behaviours
from agvent.matching.arrays import I64
from agvent.matching.batch import Unanswered
from agvent.matching.matches import Matches
from agvent.matching.search import Found
from agvent.spark.admission import admitted
from agvent.spark.asked_answers import AskedAnswers
from agvent.spark.event_source import ROWS_PER_TASK, tasks
from agvent.spark.files import Slice, parquet_batches, parquet_slices
from agvent.spark.matcher import COMPLAINT, EVENT, OUTPUT_ROWS_MAX, broker_codes, in_force, pieces, places_of
from agvent.spark.recorded_answers import RecordedAnswers, by_answers
from agvent.spark.roster import Roster
from agvent.spark.shipment import Shipment, received, ship
from agvent.spark.subscription_source import log_roster, roster_of
from agvent.store.event_batches import matchable
from agvent.store.event_columns import event_schema
from agvent.store.log import LogReader, type_and_schema
from agvent.store.tables import TABLES
from agvent.types import AgventType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENT_COLUMNS: Final = ("publisher", "sequence", "quality", "entry_broker", "epoch", "accepted_at")
"""What the result says of an event: its key, and where and when it was accepted."""


class Part(msgspec.Struct, frozen=True):
    """Some row groups of a segment, with the type that its columns are of."""

    slice: Slice
    name: str | None
    type: AgventType


def match_log(
    spark: SparkSession,
    log: LogReader,
    subscriptions: Any = None,
    *,
    shared: str | None = None,
    hosts_key: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """The deliveries that a log calls for: the key of each event, `entry_broker`, `epoch`, `accepted_at`, and the
    `subscription` and `version`; without `version` if subscriptions are given that are not the log's own.

    Beside them `complaint`, which is null but for questions not answered (see `match`). Behaviours have the answers
    that the log has; with `hosts_key`, the key file of the network's sandbox hosts, agvents are asked anew.
    """
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    roster = log_roster(log) if subscriptions is None else roster_of(subscriptions)
    if hosts_key is not None and roster.in_force is not None:
        raise CallerError("the log has the answers to its own subscriptions", hint="leave hosts_key out")
    events = pa.schema([TABLES["events"].schema.field(name) for name in EVENT_COLUMNS])
    fields = [*from_arrow_schema(events).fields, *from_arrow_schema(roster.names.schema).fields]
    parts = parts_of(log)
    answers = RecordedAnswers(log) if hosts_key is None else AskedAnswers(log, hosts_key)
    matcher = LogMatcher(parts, ship(spark, roster, shared=shared), answers)
    return tasks(spark, len(parts)).mapInArrow(matcher, StructType([*fields, StructField(COMPLAINT, StringType())]))


def log_pairs(
    spark: SparkSession,
    log: LogReader,
    subscriptions: Any,
    *,
    shared: str | None = None,
    hosts_key: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """The columns `event`, `subscription` and `complaint`; an event is named `publisher:sequence`. One that entered
    twice, at two brokers, is one event."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

    named = F.concat_ws(":", "publisher", "sequence").alias(EVENT)
    matched = match_log(spark, log, subscriptions, shared=shared, hosts_key=hosts_key)
    return matched.select(named, "subscription", COMPLAINT).distinct()


def parts_of(log: LogReader) -> list[Part]:
    """The log's events, in parts for one task each."""
    made: list[Part] = []
    for segment in log.segments("events"):
        name, schema = type_and_schema(segment.path)
        slices, _ = parquet_slices([str(log.path / segment.path)], rows=ROWS_PER_TASK)
        made += [Part(one, name, log.type_of(name, schema)) for one in slices]
    return made


class LogMatcher:
    """Matches the rows of a task's parts."""

    def __init__(self, parts: Sequence[Part], shipment: Shipment, answers: RecordedAnswers | AskedAnswers) -> None:
        self.parts = parts
        self.shipment = shipment
        self.answers = answers

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        for batch in batches:
            for at in batch.column(0).to_pylist():
                for matched in self._matched(roster, self.parts[at]):
                    yield from pieces(matched, OUTPUT_ROWS_MAX)

    def _matched(self, roster: Roster, part: Part) -> Iterator[pa.RecordBatch]:
        schema = event_schema(part.type)
        for batch in parquet_batches(part.slice, schema.names, rows=roster.index.batch_rows):
            table = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
            if isinstance(self.answers, AskedAnswers):
                yield from self._asked(roster, table, part, self.answers)
                continue
            for lot, behaviours in by_answers(table, self.answers):
                yield from match_table(roster, lot, part.type, part.name, behaviours=behaviours)

    def _asked(self, roster: Roster, table: pa.Table, part: Part, answers: AskedAnswers) -> Iterator[pa.RecordBatch]:
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


def _judged(roster: Roster, matches: Matches, table: pa.Table) -> tuple[Found, list[Unanswered]]:
    """What was in force at each row's broker and epoch, and is whom its publisher wants; all of it, for subscriptions
    that are not the log's."""
    if roster.in_force is None:
        return Found(matches.subscriptions, matches.ends), matches.unanswered
    broker = broker_codes(roster.in_force, table["entry_broker"].combine_chunks())
    found, unanswered = in_force(roster, matches, broker, table["epoch"].to_numpy())
    return (found if roster.audience is None else admitted(found, table, roster.audience)), unanswered


def _deliveries(
    roster: Roster, table: pa.Table, rows: I64, found: Found, unanswered: Sequence[Unanswered]
) -> pa.RecordBatch:
    """A row for each pair, and for each question not answered; `rows` are the places of the events in the table."""
    matched = np.repeat(np.arange(len(found.ends)), np.diff(found.ends, prepend=0))
    asked, ordinals = places_of(unanswered, roster)
    events = table.take(pa.array(rows[np.concatenate([matched, asked])]))
    named = roster.names.take(pa.array(np.concatenate([found.subscriptions, ordinals])))
    texts = pa.array([None] * len(matched) + [one.message for one in unanswered], pa.string())
    columns = [*(column.combine_chunks() for column in events.columns), *named.columns, texts]
    return pa.record_batch(columns, [*table.column_names, *named.schema.names, COMPLAINT])
