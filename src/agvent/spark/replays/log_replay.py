"""Replay from an event log: a table for each version of a type, of the segments that the heads put into the window.

Where a row's column `exact` is true, its columns compare as its attributes do (docs/reference/event-log.md), and
Spark evaluates its part of the filter. The other rows, few if publishers keep to what they advertise, all go to the
matcher.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import product
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from agvent.event import time_of
from agvent.filters.subscription import Subscription
from agvent.filters.tree import And, Attribute, Condition, Literal
from agvent.spark.pushdown.operands import Compiled, FilterColumns, operand_of
from agvent.spark.pushdown.reach import ALL, Reach, all_of
from agvent.spark.pushdown.to_column import Case, Pushdown, pushed_down
from agvent.spark.replays.table_replay import Window
from agvent.spark.replays.verifiers import LogVerifier, names_read
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.event_columns import event_schema, promoted
from agvent.store.heads import Segment
from agvent.store.history import condition_of
from agvent.store.log_reader import LogReader, event_folder
from agvent.types import AgventType

EXACT = "exact"
ACCEPTED = Attribute(("accepted_at",))
DOUBLE = ("$topic", "$channel")
COPY = "agvent_copy"
EVENT = ("publisher", "quality", "sequence")


class TypeReplay(NamedTuple):
    """The events of one version of a type that a subscription receives, and the segments they were read from."""

    type: str | None
    schema: str
    segments: list[Segment]
    pushdown: Pushdown
    frame: DataFrame

    @property
    def folder(self) -> str:
        """Where its rows belong below a folder of results: as in the log."""
        return event_folder(self.type, self.schema).removeprefix("events/")


class LogReplay(NamedTuple):
    """The parts of a replay; how many segments the log has; and the time up to which retention took events away."""

    parts: list[TypeReplay]
    segment_count: int
    dropped_until: datetime | None


def replay_log(
    spark: SparkSession,
    log: str | os.PathLike[str],
    subscription: Subscription,
    window: Window,
    *,
    subscriber: str = "",
) -> LogReplay:
    """Find the events of a log, accepted in the window, that a subscription would have received.

    The result has a part for each version of a type, with a DataFrame. An event for named subscribers is there if
    `subscriber` is one of them. An event for subscribers of a context is there if the subscription's context fits.

    Each event is there once, even if two brokers accepted it. The events of a publisher are together, in the order of
    their sequence.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent import Subscription
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import Window, replay_log, session
    >>> day = Path(mkdtemp()) / "day"
    >>> made = generate(day, DayPlan(events=100, subscriptions=20))
    >>> found = replay_log(session("local[1]"), day, Subscription(id="all"), Window())
    >>> sum(part.frame.count() for part in found.parts)
    100
    """
    reader = LogReader(log)
    condition = condition_of(subscription)
    with translated_errors():
        parts = list(_parts(spark, reader, subscription, condition, window, subscriber))
    dropped = reader.heads["events"].dropped.ranges.values()
    ends = [time_of(facts["accepted_at"][1]) for facts in dropped]
    return LogReplay(parts, len(reader.segments("events")), max(ends, default=None))


def _parts(
    spark: SparkSession,
    reader: LogReader,
    subscription: Subscription,
    condition: Condition,
    window: Window,
    subscriber: str,
) -> Iterator[TypeReplay]:
    for name, schema in reader.event_types():
        folder = f"{event_folder(name, schema)}/"
        segments = [one for one in reader.segments("events") if one.path.startswith(folder) and _meets(one, window)]
        if not segments:
            continue
        type_ = reader.type_of(name, schema)
        meant = cases(type_, name, names_read(condition))
        addressed = pushed_down(addressing(condition), meant).rows
        if addressed.rows is False:
            continue
        pushdown = pushed_down(condition, meant)
        paths = [str(reader.path.absolute() / one.path) for one in segments]
        stored = spark.read.schema(from_arrow_schema(event_schema(type_))).parquet(*paths)
        inside = stored.where(all_of([_within(window), addressed]).column)
        found = _matching(_addressed_to(inside, subscriber), pushdown, LogVerifier(subscription, type_, name))
        yield TypeReplay(name, schema, segments, pushdown, _in_order(found))


def _meets(segment: Segment, window: Window) -> bool:
    """Can the segment have events of the window? Its head knows when the first and last of each broker came."""
    ranges = [facts["accepted_at"] for facts in segment.ranges.values()]
    return any(
        (window.since is None or time_of(last) >= window.since)
        and (window.until is None or time_of(first) < window.until)
        for first, last in ranges
    )


def addressing(condition: Condition) -> Condition:
    """The conjuncts on headers alone, which every row has in columns, whatever its attributes are."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return And(tuple(part for part in parts if all(name.startswith("$") for name in names_read(part))))


def _within(window: Window) -> Reach:
    accepted = FilterColumns({"accepted_at": operand_of(sf.col("accepted_at"), st.TimestampType(), ("accepted_at",))})
    return pushed_down(And(window.tests(ACCEPTED)), [(ALL, accepted)]).rows


def _matching(inside: DataFrame, pushdown: Pushdown, verifier: LogVerifier) -> DataFrame:
    """Rows that Spark's part of the filter is sure of, and those that the matcher says match; it also says whether a
    publisher that chose its subscribers by their context wants this one.

    Two scans, not one with an OR: Spark pushes down no part of an OR unless it can push down all of it.
    """
    sure = inside.where(all_of([Reach(sf.col(EXACT) & sf.col("to").isNull()), pushdown.rows]).column)
    doubtful = inside.where(~sf.col(EXACT) | sf.col("to").isNotNull())
    if pushdown.exact:
        return sure.union(doubtful.mapInArrow(verifier, inside.schema))
    return sure.union(doubtful).mapInArrow(verifier, inside.schema)


def _addressed_to(inside: DataFrame, subscriber: str) -> DataFrame:
    """Events for everybody, and those that name the subscriber."""
    destinations = sf.col("destinations")
    return inside.where(destinations.isNull() | sf.array_contains(destinations, subscriber))


def _in_order(frame: DataFrame) -> DataFrame:
    """One row for each event, the first accepted; each publisher's in one partition, in the order of their sequence."""
    copies = Over.partitionBy(*EVENT).orderBy("accepted_at", "entry_broker")
    counted = frame.repartition("publisher").withColumn(COPY, sf.row_number().over(copies))
    return counted.where(sf.col(COPY) == 1).drop(COPY).sortWithinPartitions(*EVENT)


# What a filter's names are in a table of the log


def cases(type_: AgventType, name: str | None, read: set[str]) -> list[Case]:
    """A topic or channel is a text or a number, each in a column of its own: a case for each that a filter reads."""
    kinds = {field.name: field.dataType for field in from_arrow_schema(event_schema(type_))}

    def column(named: str) -> Compiled:
        return operand_of(sf.col(named), kinds[named], (named,))

    own = {one.attribute: column(one.column) for one in promoted(type_)}
    own |= {"$type": Literal(name), "$time": column("event_time"), "$xml": column("xml")}
    types = [] if name is None else [Literal(name), column("ancestors")]
    found = []
    for numbered in product(*([(header, False), (header, True)] for header in DOUBLE if header in read)):
        wheres, named = [], dict(own)
        for header, is_number in numbered:
            number = sf.col(f"{header[1:]}_number")
            wheres.append(Reach(number.isNotNull() if is_number else number.isNull()))
            named[header] = column(f"{header[1:]}_number" if is_number else header[1:])
        found.append((all_of(wheres), FilterColumns(named, types=types, whole=False)))
    return found
