"""Why a delivery is a defect: a sentence for each, from what the log has around it.

Asked only about defects, so what is joined here is small: the intervals of their versions, the last hop of their copy.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from agvent.spark.log.frames import EVENT_KEY, arrow_frame, table_frame
from agvent.store.log_reader import LogReader

COLUMNS: Final = (
    "defect", *EVENT_KEY, "subscription", "version", "subscriber", "home_broker", "entry_broker", "epoch", "position",
    "accepted_at", "delivered_at", "why",
)  # fmt: skip


def with_reasons(spark: SparkSession, reader: LogReader, defects: DataFrame, *, late_after: timedelta) -> DataFrame:
    """The defects with the columns people look for, the last of which is `why`."""
    rows = _with_last_hop(_with_version(defects, spark, reader), spark, reader)
    why = (
        sf.when(sf.col("defect") == "lost", _lost())
        .when(sf.col("defect") == "unexpected", _unexpected())
        .when(sf.col("defect") == "duplicated", _text("delivered again, at position ", "position"))
        .when(sf.col("defect") == "out_of_order", _text("came after sequence ", "after_sequence", " of its publisher"))
        .otherwise(_late(late_after))
    )
    return rows.withColumn("why", why).select(*COLUMNS)


def _text(*parts: str) -> Column:
    """Columns and texts in turn, a text first; a null is written as such."""
    shown = [
        sf.lit(part) if at % 2 == 0 else sf.coalesce(sf.col(part).cast("string"), sf.lit("unknown"))
        for at, part in enumerate(parts)
    ]
    return sf.concat(*shown)


def _with_version(defects: DataFrame, spark: SparkSession, reader: LogReader) -> DataFrame:
    """`filter` of the version, null if the catalogue has no such version; was it `in_force` where the event entered?"""
    names = ["subscription", "version"]
    versions = table_frame(spark, reader, "subscriptions").select(*names, "filter").dropDuplicates(names)
    spans = sf.collect_list(sf.struct("from_epoch", "to_epoch")).alias("spans")
    intervals = arrow_frame(spark, reader.in_force()).groupBy("entry_broker", *names).agg(spans)
    rows = defects.join(versions, names, "left").join(intervals, ["entry_broker", *names], "left")
    held = sf.exists("spans", lambda span: _within(span, sf.col("epoch")))
    return rows.withColumn("in_force", sf.coalesce(held, sf.lit(False)))


def _within(span: Column, epoch: Column) -> Column:
    return (span["from_epoch"] <= epoch) & (span["to_epoch"].isNull() | (epoch < span["to_epoch"]))


def _with_last_hop(rows: DataFrame, spark: SparkSession, reader: LogReader) -> DataFrame:
    """`last_hop`: where the copy for the home broker was last seen."""
    hops = table_frame(spark, reader, "traces").withColumnRenamed("destination", "home_broker")
    copy = [*EVENT_KEY, "home_broker"]
    wanted = rows.where(sf.col("defect") == "lost").select(*copy).distinct()
    seen = sf.struct("hop", "from_broker", "to_broker", "sent_at", "received_at")
    last = hops.join(wanted, copy, "left_semi").groupBy(*copy).agg(sf.max(seen).alias("last_hop"))
    return rows.join(last, copy, "left")


def _lost() -> Column:
    arrived = sf.col("last_hop.received_at").isNotNull()
    way = (
        sf.when(sf.col("last_hop").isNull(), sf.lit(""))
        .when(arrived, _text("; its copy reached ", "last_hop.to_broker", " at ", "last_hop.received_at"))
        .otherwise(
            _text("; its copy left ", "last_hop.from_broker", " for ", "last_hop.to_broker", " and did not arrive")
        )
    )
    return sf.concat(
        _text("in force at ", "entry_broker", ", epoch ", "epoch"), sf.lit(", and neither delivered nor declared"), way
    )


def _unexpected() -> Column:
    return (
        sf.when(sf.col("accepted_at").isNull(), sf.lit("the log has no such event"))
        .when(sf.col("filter").isNull(), _text("the log has no version ", "version", " of this subscription"))
        .when(
            ~sf.col("in_force"),
            _text("version ", "version", " was not in force at ", "entry_broker", ", epoch ", "epoch"),
        )
        .otherwise(sf.lit("it does not match the subscription"))
    )


def _late(late_after: timedelta) -> Column:
    seconds = (sf.unix_micros("delivered_at") - sf.unix_micros("accepted_at")) / 1_000_000
    limit = f" s after it was accepted, the limit is {late_after.total_seconds():g} s"
    return sf.concat(sf.format_number(seconds, 3), sf.lit(limit))
