"""Analyse: the traffic of a log, as tables.

Each table is a DataFrame and small: one row for a type, a broker, a subscriber, a link, a minute or a subscription.
docs/how-to/audit.md has their columns.
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import cached_property

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from agvent.spark.analysis.interest_groups import exposure, interest_groups
from agvent.spark.analysis.move_losses import losses_in_moves
from agvent.spark.audits.audit import LATE_AFTER, Audit, audit
from agvent.spark.log.frames import EVENT_KEY, arrow_frame, check_segments, due_frame, events_frame, table_frame
from agvent.store.log_reader import LogReader

PERCENTILES = (50, 90, 99)
ACCURACY = 10_000
"""Spark's: a percentile is that of a rank at most 1 in 10,000 away."""


class Analysis:
    """The tables of a log, each computed when it is first asked for. `close` frees the disk space that they use."""

    def __init__(self, spark: SparkSession, reader: LogReader, *, late_after: timedelta, shared: str | None) -> None:
        self.spark = spark
        self.reader = reader
        self.events = events_frame(spark, reader)
        self.deliveries = table_frame(spark, reader, "deliveries")
        self.hops = table_frame(spark, reader, "traces")
        # Matching is the dear part, and both the audit and the selectivities need all of it.
        self.due = due_frame(spark, reader, shared=shared).persist(StorageLevel.DISK_ONLY)
        self._late_after = late_after

    def close(self) -> None:
        """Free the disk space that Spark uses for the due deliveries."""
        self.due.unpersist()

    @cached_property
    def audit(self) -> Audit | None:
        """The audit, if deliveries are recorded."""
        if not self.reader.segments("deliveries"):
            return None
        return audit(self.spark, self.reader, late_after=self._late_after, due=self.due)

    @cached_property
    def received(self) -> DataFrame:
        """Deliveries with what is known of their event: `type`, and `latency_ms` since their copy was accepted."""
        copy = [*EVENT_KEY, "entry_broker", "epoch"]
        known = self.events.select(*copy, "type", "accepted_at").dropDuplicates(copy)
        latency = (sf.unix_micros("delivered_at") - sf.unix_micros("accepted_at")) / 1_000
        return self.deliveries.join(known, copy, "left").withColumn("latency_ms", latency)

    def tables(self) -> dict[str, DataFrame]:
        """Every table by its name."""
        return {
            "types": self.types(),
            "brokers": self.brokers(),
            "subscribers": self.subscribers(),
            "minutes": self.minutes(),
            "latency": self.latency(),
            "hops": self.hop_counts(),
            "links": self.links(),
            "subscriptions": self.subscriptions(),
            "groups": self.groups(),
            "moves": losses_in_moves(self.spark, self.reader, self.audit),
        }

    def types(self) -> DataFrame:
        """Events and deliveries of each type."""
        events = self.events.groupBy("type").agg(sf.count("*").alias("events"))
        deliveries = self.received.groupBy("type").agg(sf.count("*").alias("deliveries"), *_percentiles("latency_ms"))
        return _beside(events, deliveries, "type").orderBy(sf.desc("events"), "type")

    def brokers(self) -> DataFrame:
        """Events that each broker accepted, and deliveries to its own subscribers."""
        accepted = self.events.groupBy(sf.col("entry_broker").alias("broker")).agg(sf.count("*").alias("events"))
        made = self.deliveries.groupBy(sf.col("home_broker").alias("broker")).agg(sf.count("*").alias("deliveries"))
        return _beside(accepted, made, "broker").orderBy("broker")

    def subscribers(self) -> DataFrame:
        """Deliveries to each subscriber."""
        counts = [sf.count("*").alias("deliveries"), sf.sum(sf.col("attempts") - 1).alias("repeated_attempts")]
        found = self.received.groupBy("subscriber").agg(*counts, *_percentiles("latency_ms"))
        return found.orderBy(sf.desc("deliveries"), "subscriber")

    def minutes(self) -> DataFrame:
        """Events accepted and deliveries made in each minute; a minute without either has no row."""
        accepted = self.events.groupBy(sf.date_trunc("minute", "accepted_at").alias("minute"))
        made = self.deliveries.groupBy(sf.date_trunc("minute", "delivered_at").alias("minute"))
        return _beside(
            accepted.agg(sf.count("*").alias("events")), made.agg(sf.count("*").alias("deliveries")), "minute"
        ).orderBy("minute")

    def latency(self) -> DataFrame:
        """Percentiles of the time from acceptance to acknowledged delivery, for each quality."""
        return (
            self.received.groupBy("quality")
            .agg(
                sf.count("latency_ms").alias("deliveries"),
                *_percentiles("latency_ms"),
                sf.max("latency_ms").alias("max_ms"),
            )
            .orderBy("quality")
        )

    def hop_counts(self) -> DataFrame:
        """Copies by the number of links they went over; a copy whose entry broker is its home went over none."""
        copies = self.hops.groupBy(*EVENT_KEY, "destination").agg(sf.max("hop").alias("hops"))
        return copies.groupBy("hops").agg(sf.count("*").alias("copies")).orderBy("hops")

    def links(self) -> DataFrame:
        """The load of each link, in the direction it was used."""
        took = (sf.unix_micros("received_at") - sf.unix_micros("sent_at")) / 1_000
        return (
            self.hops.withColumn("transit_ms", took)
            .groupBy("from_broker", "to_broker")
            .agg(
                sf.count("*").alias("copies"),
                sf.sum("bytes").alias("bytes"),
                sf.count(sf.when(sf.col("received_at").isNull(), 1)).alias("never_arrived"),
                *_percentiles("transit_ms"),
                sf.max("queue").alias("queue_max"),
            )
            .orderBy(sf.desc("bytes"), "from_broker", "to_broker")
        )

    def subscriptions(self) -> DataFrame:
        """Each version in force: events it was exposed to, those that matched, and what was delivered.

        `selectivity` is matches by exposed. `state` is `dead` if nothing matched, `hot` if its share of all matches is
        more than ten times an even one.
        """
        names = ["subscription", "version"]
        matched = self.due.groupBy(*names).agg(sf.count("*").alias("matches"))
        made = self.deliveries.groupBy(*names).agg(sf.count("*").alias("deliveries"))
        rows = self._exposed.join(matched, names, "left").join(made, names, "left").fillna(0, ["matches", "deliveries"])
        mean = matched.agg((sf.sum("matches") / self._exposed_rows).alias("mean"))
        state = (
            sf.when(sf.col("matches") == 0, "dead")
            .when(sf.col("matches") > HOT_TIMES * sf.col("mean"), "hot")
            .otherwise("used")
        )
        selectivity = sf.when(sf.col("exposed") > 0, sf.col("matches") / sf.col("exposed"))
        return (
            rows.crossJoin(mean)
            .withColumns({"selectivity": selectivity, "state": state})
            .select(
                *names,
                "subscriber",
                "home_broker",
                "address",
                "filter",
                "exposed",
                "matches",
                "deliveries",
                "selectivity",
                "state",
            )
            .orderBy(sf.desc("matches"), *names)
        )

    def groups(self) -> DataFrame:
        """Subscriptions of one home broker that accept the same events, and what making them one would save."""
        return interest_groups(self.spark, self.reader, self.subscriptions())

    @cached_property
    def _exposure(self) -> pa.Table:
        counts = self.events.groupBy("entry_broker", "epoch").agg(sf.count("*").alias("events"))
        return exposure(self.reader, counts.toArrow())

    @cached_property
    def _exposed(self) -> DataFrame:
        return arrow_frame(self.spark, self._exposure)

    @property
    def _exposed_rows(self) -> int:
        return max(1, int(self._exposure.num_rows))


HOT_TIMES = 10
"""Times the mean number of matches from which a subscription is hot."""


def analyse(
    spark: SparkSession,
    log: str | os.PathLike[str] | LogReader,
    *,
    late_after: timedelta = LATE_AFTER,
    shared: str | None = None,
) -> Analysis:
    """Describe the traffic of a log as tables: by type, broker, subscriber, minute, link and subscription.

    `log` is the folder of an event log, or a LogReader. `Analysis.tables()` gives every table by its name, as a
    DataFrame; each has a method of its own too. `close()` frees the disk space that Spark uses for them.

    Options: `late_after` and `shared` as in `audit`.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import analyse, session
    >>> day = Path(mkdtemp()) / "day"
    >>> made = generate(day, DayPlan(events=100, subscriptions=20))
    >>> found = analyse(session("local[1]"), day)
    >>> sorted(found.tables())
    ['brokers', 'groups', 'hops', 'latency', 'links', 'minutes', 'moves', 'subscribers', 'subscriptions', 'types']
    >>> found.types().columns
    ['type', 'events', 'deliveries', 'p50_ms', 'p90_ms', 'p99_ms']
    >>> found.audit.verdict.is_fine
    True
    >>> found.close()
    """
    reader = log if isinstance(log, LogReader) else LogReader(log)
    check_segments(reader)
    return Analysis(spark, reader, late_after=late_after, shared=shared)


def _percentiles(column: str) -> list[Column]:
    unit = column.rpartition("_")[2]
    return [sf.percentile_approx(column, p / 100, ACCURACY).alias(f"p{p}_{unit}") for p in PERCENTILES]


def _beside(some: DataFrame, others: DataFrame, key: str) -> DataFrame:
    """Rows of both by their key, null included, with 0 for a count that one of them lacks."""
    left, right = some.alias("left"), others.alias("right")
    joined = left.join(right, sf.col(f"left.{key}").eqNullSafe(sf.col(f"right.{key}")), "full")
    shown = [sf.coalesce(f"left.{key}", f"right.{key}").alias(key)]
    shown += [sf.col(f"left.{name}") for name in some.columns if name != key]
    shown += [sf.col(f"right.{name}") for name in others.columns if name != key]
    return joined.select(*shown).fillna(0, ["events", "deliveries"])
