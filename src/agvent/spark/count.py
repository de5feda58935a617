"""Matches per subscription, counted where they are found: no pair goes through the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from agvent.spark.event_source import events_of
from agvent.spark.matcher import Layout, Read, found_in, pieces, refuse
from agvent.spark.session import session_of
from agvent.spark.shipment import Shipment, received, ship
from agvent.spark.subscription_source import roster_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def count_matches(
    events: Any,
    subscriptions: Any,
    *,
    event: str | None = None,
    in_force: Any = None,
    language: str = "sql",
    shared: str | None = None,
) -> DataFrame:
    """How many events each subscription matches: the columns `subscription` (and `version`) and `matches`.

    Arguments as of `match`. A subscription that matches nothing has no row. Each task counts its own events, so that at
    most one row for each subscription and task is sent, however many matches there are.
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    spark = session_of(events)
    roster = roster_of(subscriptions, in_force=in_force, language=language)
    found = events_of(events, spark, roster, event=event, keep=())
    counter = Counter(ship(spark, roster, shared=shared), found.layout, found.read)
    names = from_arrow_schema(roster.names.schema).fields
    counted = found.frame.mapInArrow(counter, StructType([*names, StructField("matches", LongType())]))
    return counted.groupBy(*(field.name for field in names)).agg(F.sum("matches").alias("matches"))


class Counter:
    """Counts the matches of a task's events by subscription."""

    def __init__(self, shipment: Shipment, layout: Layout, read: Read) -> None:
        self.shipment = shipment
        self.layout = layout
        self.read = read

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        counts = np.zeros(roster.names.num_rows, np.int64)
        for batch in self.read(batches):
            for piece in pieces(batch, roster.index.batch_rows):
                found, unanswered = found_in(roster, piece, self.layout)
                refuse(unanswered, piece, self.layout)
                counts += np.bincount(found.subscriptions, minlength=len(counts))
        matched = np.flatnonzero(counts)
        named = roster.names.take(pa.array(matched))
        yield named.append_column("matches", pa.array(counts[matched]))
