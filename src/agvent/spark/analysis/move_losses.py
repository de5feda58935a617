"""Losses around moves: a subscription moves when a version of it comes into force at another home broker."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from agvent.spark.audits.audit import Audit
from agvent.spark.log.frames import table_frame
from agvent.store.log_reader import LogReader

AROUND: Final = timedelta(minutes=1)
"""A defect of a subscription whose event was accepted this close to its move is counted as one of the move."""


def losses_in_moves(spark: SparkSession, reader: LogReader, audit: Audit | None) -> DataFrame:
    """Each move: who, from where to where, when, and the defects around it; no rows without moves."""
    versions = table_frame(spark, reader, "subscriptions")
    in_turn = Window.partitionBy("subscription").orderBy("version")
    moves = (
        versions.withColumn("from_broker", sf.lag("home_broker").over(in_turn))
        .where(sf.col("from_broker") != sf.col("home_broker"))
        .select(
            "subscription",
            "subscriber",
            "from_broker",
            sf.col("home_broker").alias("to_broker"),
            sf.col("created_at").alias("moved_at"),
        )
    )
    if audit is None:
        counts = [sf.lit(0).cast("long").alias(name) for name in ("lost", "duplicated", "out_of_order")]
        return moves.select("*", *counts)
    around = sf.abs(sf.unix_micros("accepted_at") - sf.unix_micros("moved_at")) <= AROUND // timedelta(microseconds=1)
    found = audit.defects.select("defect", "accepted_at", sf.col("subscription").alias("whose"))
    joined = moves.join(found, (sf.col("whose") == sf.col("subscription")) & around, "left")
    counts = [
        sf.count(sf.when(sf.col("defect") == name, 1)).alias(name) for name in ("lost", "duplicated", "out_of_order")
    ]
    return joined.groupBy(*moves.columns).agg(*counts).orderBy("moved_at", "subscription")
