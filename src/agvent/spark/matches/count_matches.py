"""Matches per subscription, counted where they are found: no pair goes through the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from agvent.spark.matches.event_source import event_source
from agvent.spark.matches.match import roster_for
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.pairs import pieces, refuse
from agvent.spark.matches.table_events import FrameEvents, ParquetEvents, TableJob
from agvent.spark.matches.table_task import Read, TaskLayout, found_in, names_in
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.shipment import Shipment, received, ship
from agvent.spark.runtime.session import session_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def count_matches(
    events: Any,
    subscriptions: Any = None,
    *,
    event: str | None = None,
    in_force: Any = None,
    language: str = "sql",
    shared: str | None = None,
) -> DataFrame:
    """Count the events that each subscription matches: a DataFrame with `subscription` (and `version`) and `matches`.

    Arguments as of `match`. A subscription that matches nothing has no row. Over a DataFrame or Parquet, each task
    counts its own events: it sends at most one row for each subscription, however many matches there are.

    >>> from agvent import Subscription
    >>> from agvent.spark import count_matches, session
    >>> spark = session("local[1]")
    >>> ticks = spark.createDataFrame([(1, 99.5), (2, 150.0)], "event long, price double")
    >>> [tuple(row) for row in count_matches(ticks, [Subscription(id="bob", filter="price > 0")]).collect()]
    [('bob', 2)]
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

    spark, source = session_of(events), event_source(events)
    options = MatchOptions(event=event, shared=shared)
    source.check(options)
    roster = roster_for(source, subscriptions, in_force=in_force, language=language)
    names = roster.names.schema.names
    if not isinstance(source, (FrameEvents, ParquetEvents)):
        return source.pairs(spark, roster, options).groupBy(*names).agg(F.count("*").alias("matches"))
    counted = _counted(source.job(spark, roster, options), spark, roster, shared)
    return counted.groupBy(*names).agg(F.sum("matches").alias("matches"))


def _counted(job: TableJob, spark: SparkSession, roster: Roster, shared: str | None) -> DataFrame:
    """The matches of each subscription in each task."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    task = CountTask(ship(spark, roster, shared=shared), job.layout, job.read)
    names = from_arrow_schema(roster.names.schema).fields
    return job.frame.mapInArrow(task, StructType([*names, StructField("matches", LongType())]))


class CountTask:
    """Counts the matches of a task's events by subscription."""

    def __init__(self, shipment: Shipment, layout: TaskLayout, read: Read) -> None:
        self.shipment = shipment
        self.layout = layout
        self.read = read

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        counts = np.zeros(roster.names.num_rows, np.int64)
        for batch in self.read(batches):
            for piece in pieces(batch, roster.index.batch_rows):
                found, unanswered = found_in(roster, piece, self.layout)
                refuse(unanswered, names_in(piece, self.layout))
                counts += np.bincount(found.subscriptions, minlength=len(counts))
        matched = np.flatnonzero(counts)
        named = roster.names.take(pa.array(matched))
        yield named.append_column("matches", pa.array(counts[matched]))
