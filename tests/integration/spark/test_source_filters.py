"""A query's filters on `read.format("agvent")`: the same rows, of fewer segments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from agvent.spark import register
from agvent.store.heads import Segment
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from tests.feed import STREAMS, Feed

STEPS = 4


@pytest.fixture(scope="module")
def log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two types in each of four commits, a minute and an epoch after the other."""
    register(spark)
    path = tmp_path_factory.mktemp("filtered") / "log"
    create_log(path)
    with LogWriter(path, streams=STREAMS) as writer:
        feed = Feed(writer, seed=4)
        for _ in range(STEPS):
            feed.step(30)
    return path


def table_of(spark: SparkSession, log: Path, **options: str) -> DataFrame:
    return spark.read.format("agvent").options(**options).load(str(log))


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(map(str, frame.collect()))


@pytest.fixture(scope="module")
def unfiltered(spark: SparkSession, log: Path, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """All events, in a table that is not ours: what Spark itself says of a filter."""
    copy = str(tmp_path_factory.mktemp("unfiltered") / "events")
    table_of(spark, log).write.parquet(copy)
    return spark.read.schema(table_of(spark, log).schema).parquet(copy)


def segments_with(log: Path, name: str, first_epoch: int) -> list[Segment]:
    """Those of a type with an event from an epoch on, in plain words."""
    return [
        one
        for one in LogReader(log).segments("events")
        if f"/type={name}/" in one.path and any(facts["epoch"][1] >= first_epoch for facts in one.ranges.values())
    ]


def test_only_segments_that_can_have_rows_are_read(
    spark: SparkSession, log: Path, unfiltered: DataFrame, tmp_path: Path
) -> None:
    """By type and epoch two of eight are left; without the files of the others, the answer is the same."""
    asked = f"type = 'Book' AND epoch >= {STEPS - 1} AND price > 2"
    kept = {one.path for one in segments_with(log, "Book", STEPS - 1)}
    everything = LogReader(log).segments("events")
    assert (len(kept), len(everything)) == (2, 2 * STEPS)
    shutil.copytree(log, tmp_path / "log")
    for one in everything:
        if one.path not in kept:
            (tmp_path / "log" / one.path).unlink()
    found = rows_of(table_of(spark, tmp_path / "log").where(asked))
    assert found == rows_of(unfiltered.where(asked)) != []


@pytest.mark.parametrize(
    "asked",
    [
        "type IS NULL",
        "symbol IS NULL AND pages < 40",
        "symbol IN ('a', 'c') OR price = 3",
        "symbol IN ('a', 'c') AND price <> 3 AND exact",
        "entry_broker = 'b2' AND sequence BETWEEN 20 AND 70",
        "entry_broker LIKE 'b%' AND xml LIKE '%shelf%'",
        "accepted_at < TIMESTAMP '2026-03-01 00:01:00' AND quality = 'durable'",
        "price >= 0.0 AND price <= -0.0",
        "topic <=> null AND schema > 'v'",
        "publisher = 'nobody'",
    ],
)
def test_filters_mean_what_they_mean_to_spark(
    spark: SparkSession, log: Path, unfiltered: DataFrame, asked: str
) -> None:
    """Whoever answers which part of a filter, the rows are those of Spark over a plain table."""
    assert rows_of(table_of(spark, log).where(asked)) == rows_of(unfiltered.where(asked))


def test_what_is_due_is_asked_of_the_events_before_they_are_matched(spark: SparkSession, log: Path) -> None:
    """Filters on the event's columns and on the subscription's give the same rows of `due` as they would afterwards."""
    asked = "entry_broker = 'b1' AND epoch > 2 AND type = 'Quote' AND subscription < 's5' AND position > 10"
    due = table_of(spark, log, table="due", contents="true")
    everything = spark.createDataFrame(due.collect(), due.schema)
    assert rows_of(due.where(asked)) == rows_of(everything.where(asked)) != []


def test_other_tables_are_filtered_too(spark: SparkSession, log: Path) -> None:
    """A table of the catalogue has fewer segments to read, and the same rows."""
    asked = "change = 'open' AND position > 5"
    changes = table_of(spark, log, table="changes")
    everything = spark.createDataFrame(changes.collect(), changes.schema)
    assert rows_of(changes.where(asked)) == rows_of(everything.where(asked)) != []


def test_a_schema_of_ones_own_is_spark_s_to_filter(spark: SparkSession, log: Path) -> None:
    """A column that is read as another type than the log has is compared as that type."""
    texts = spark.read.format("agvent").schema("epoch string, type string").load(str(log))
    assert (
        texts.where("epoch = '3' AND type = 'Book'").count()
        == table_of(spark, log).where("epoch = 3 AND type = 'Book'").count()
        > 0
    )
