"""Audit: the deliveries that were due, against those that were made.

The due deliveries are computed from the log's events and catalogue, by the matcher that brokers use, and compared
with the recorded ones. docs/how-to/audit.md says what each word means and what is not judged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from agvent.chronicle.chronicle import MOVE_SHIFT
from agvent.spark.audits.defect_reasons import with_reasons
from agvent.spark.audits.judgement import DECLARED, DUPLICATED, LEFT_OUT, LOST, MET, UNEXPECTED, judged
from agvent.spark.log.frames import check_segments, due_frame, events_frame, table_frame
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.log_reader import LogReader

LATE_AFTER: Final = timedelta(seconds=60)
"""A delivery that took longer is late, unless another limit is given."""

DEFECTS: Final = (LOST, DUPLICATED, UNEXPECTED, "out_of_order", "late")


class DeliveryTally(msgspec.Struct, frozen=True, kw_only=True):
    """Deliveries of one quality, counted. `expected - lost - declared` equals `delivered - duplicated - unexpected`."""

    expected: int = 0
    delivered: int = 0
    lost: int = 0
    duplicated: int = 0
    unexpected: int = 0
    out_of_order: int = 0
    late: int = 0
    declared: int = 0


class AuditVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of an audit. Fast events have a tally of their own: losing one breaks no promise.

    `events` are rows of the log, `left_out` the events that could not be judged.
    """

    durable: DeliveryTally
    fast: DeliveryTally
    events: int
    left_out: int
    late_after: timedelta

    @property
    def violations(self) -> int:
        """Deliveries that broke the promise. A late one did not: there is no promise of time."""
        durable, fast = self.durable, self.fast
        broken = durable.lost + durable.duplicated + durable.unexpected + durable.out_of_order
        return broken + fast.duplicated + fast.unexpected

    @property
    def is_fine(self) -> bool:
        """Was the promise kept?"""
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """The durable tally's keys first, then everything else."""
        return {
            **msgspec.to_builtins(self.durable),
            "verdict": "fine" if self.is_fine else "violated",
            "violations": self.violations,
            "events": self.events,
            "left_out": self.left_out,
            "late_after_seconds": self.late_after.total_seconds(),
            "fast": msgspec.to_builtins(self.fast),
        }


class Audit:
    """An audit as DataFrames. `verdict` runs it and counts.

    `deliveries` has a row for each recorded delivery and each due one that has none, with the columns `outcome`,
    `out_of_order` and `late`. `defects` are those that are not as they should be, with `defect` and `why`.
    """

    def __init__(self, deliveries: DataFrame, defects: DataFrame, *, events: int, late_after: timedelta) -> None:
        self.deliveries = deliveries
        self.defects = defects
        self.events = events
        self.late_after = late_after

    @cached_property
    def verdict(self) -> AuditVerdict:
        """The counts, and whether the promise was kept. The first call runs the audit."""
        with translated_errors():
            rows = {row["quality"]: row.asDict() for row in _tallies(self.deliveries).collect()}
        return AuditVerdict(
            durable=_tally(rows.get("durable", {})),
            fast=_tally(rows.get("fast", {})),
            events=self.events,
            left_out=sum(row["left_out"] for row in rows.values()),
            late_after=self.late_after,
        )


def audit(
    spark: SparkSession,
    log: str | os.PathLike[str] | LogReader,
    *,
    late_after: timedelta = LATE_AFTER,
    until: datetime | None = None,
    due: DataFrame | None = None,
    shared: str | None = None,
) -> Audit:
    """Compare the deliveries that a log's events were due to with the deliveries that it records.

    `log` is the folder of an event log, or a LogReader. The audit runs when `verdict` or an action of one of its
    DataFrames asks for it. The verdict counts the deliveries that were lost, duplicated, unexpected, out of order or
    late; `defects` has a row for each of them, with `why`.

    Options:

    - `late_after`: a delivery that took longer is late.
    - `until`: leave out events accepted later. In a log that is still being written, the last ones are on their way.
    - `due`: the due deliveries, if they are known already.
    - `shared`: a folder that every machine of the cluster sees, for the index.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import audit, session
    >>> day = Path(mkdtemp()) / "day"
    >>> made = generate(day, DayPlan(events=100, subscriptions=20, defect="lost"))
    >>> found = audit(session("local[1]"), day)
    >>> found.verdict.is_fine, found.verdict.durable.lost == len(made.planted)
    (False, True)
    >>> {row.defect for row in found.defects.collect()}
    {'lost'}
    """
    reader = log if isinstance(log, LogReader) else LogReader(log)
    check_segments(reader)
    rows = judged(
        events_frame(spark, reader),
        due_frame(spark, reader, shared=shared) if due is None else due,
        table_frame(spark, reader, "deliveries"),
        table_frame(spark, reader, "gaps"),
        reader=reader,
        until=until,
    )
    deliveries = _in_time(rows, late_after)
    defects = with_reasons(spark, reader, _defects(deliveries), late_after=late_after)
    events = sum(segment.rows for segment in reader.segments("events"))
    return Audit(deliveries, defects, events=events, late_after=late_after)


def _in_time(rows: DataFrame, late_after: timedelta) -> DataFrame:
    """Order is judged among the durable deliveries that were met, of events that entered once, by their place in the
    subscription's sequence. There is none between two entries, and none between two homes of a subscriber that moved:
    what waited at the next one may go before what the last one had.

    A delivery has one defect at most: one that is out of order is not called late too.
    """
    is_met = sf.col("outcome") == MET
    stay = sf.shiftright("position", MOVE_SHIFT)
    judged_in = Window.partitionBy("subscription", "publisher", "entry_broker", stay).orderBy("position")
    earlier = judged_in.rowsBetween(Window.unboundedPreceding, -1)
    ordered = is_met & (sf.col("quality") == "durable") & (sf.col("copies") == 1)
    rows = rows.withColumn("after_sequence", sf.max(sf.when(ordered, sf.col("sequence"))).over(earlier))
    is_late = sf.unix_micros("delivered_at") - sf.unix_micros("accepted_at") > late_after // timedelta(microseconds=1)
    is_after = ordered & sf.coalesce(sf.col("after_sequence") > sf.col("sequence"), sf.lit(False))
    return rows.withColumns({"out_of_order": is_after, "late": is_met & ~is_after & is_late}).drop(
        "kind", "copies", "left_out", "was_due", "number"
    )


def _tallies(deliveries: DataFrame) -> DataFrame:
    def of(*outcomes: str) -> Any:
        return sf.count(sf.when(sf.col("outcome").isin(*outcomes), 1))

    return deliveries.groupBy("quality").agg(
        of(MET, LOST, DECLARED).alias("expected"),
        of(MET, DUPLICATED, UNEXPECTED).alias("delivered"),
        *(of(outcome).alias(outcome) for outcome in (LOST, DUPLICATED, UNEXPECTED, DECLARED)),
        *(sf.count(sf.when(sf.col(name), 1)).alias(name) for name in ("out_of_order", "late")),
        of(LEFT_OUT).alias("left_out"),
    )


def _tally(row: Mapping[str, Any]) -> DeliveryTally:
    return DeliveryTally(**{name: row.get(name, 0) for name in DeliveryTally.__struct_fields__})


def _defects(deliveries: DataFrame) -> DataFrame:
    named = [sf.when(sf.col("outcome") == name, name) for name in DEFECTS[:3]]
    named += [sf.when(sf.col(name), name) for name in DEFECTS[3:]]
    return deliveries.withColumn("defect", sf.coalesce(*named)).where(sf.col("defect").isNotNull())
