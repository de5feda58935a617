"""Makes a session know the formats `agvent` and `agvent-deliveries`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the source `agvent` and the sink `agvent-deliveries` in a session."""
    from agvent.spark.log.source import AgventSource
    from agvent.spark.streams.deliveries_sink import DeliveriesSink

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")  # without it, a source that can is refused
    spark.dataSource.register(AgventSource)
    spark.dataSource.register(DeliveriesSink)
    spark.createDataFrame([], "none INT")  # makes this session the active one: a stream's sink is looked up there
