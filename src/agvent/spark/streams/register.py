"""Makes a session know the formats `agvent` and `agvent-deliveries`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the source `agvent` and the sink `agvent-deliveries` in a session.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import register, session
    >>> day = str(Path(mkdtemp()) / "day")
    >>> made = generate(day, DayPlan(events=100, subscriptions=20))
    >>> spark = session("local[1]")
    >>> register(spark)
    >>> spark.read.format("agvent").option("table", "due").load(day).count() == made.expected
    True
    """
    from agvent.spark.log.source import AgventSource
    from agvent.spark.streams.deliveries_sink import DeliveriesSink

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")  # without it, a source that can is refused
    spark.dataSource.register(AgventSource)
    spark.dataSource.register(DeliveriesSink)
    spark.createDataFrame([], "none INT")  # makes this session the active one: a stream's sink is looked up there
