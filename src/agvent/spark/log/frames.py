"""The tables of an event log as DataFrames: the segments that the log's heads name, no other file; and what was due."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from agvent.errors import LogFileError
from agvent.spark.matches.log_events import LogEvents
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.pairs import COMPLAINT
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.subscription_source import log_roster
from agvent.store.heads import Segment
from agvent.store.log_reader import LogReader
from agvent.store.log_schema import TABLES

EVENT_KEY = ("publisher", "sequence", "quality")
"""What names an event in every table."""


def check_segments(reader: LogReader) -> None:
    """Refuses a log with a segment that is missing or torn, before Spark is asked to read it."""
    for head in reader.heads.values():
        for segment in head.segments:
            _check(reader.path, segment)


def _check(log: Path, segment: Segment) -> None:
    path, hint = log / segment.path, f"agvent log verify {log}"
    try:
        size = path.stat().st_size
    except OSError as error:
        raise LogFileError(f"cannot read the segment {path}: {error.strerror}", hint=hint) from None
    if size != segment.bytes:
        raise LogFileError(f"the segment {path} has {size} bytes, its head says {segment.bytes}", hint=hint)


def table_frame(spark: SparkSession, reader: LogReader, table: str) -> DataFrame:
    """A table other than events."""
    schema = from_arrow_schema(TABLES[table].schema)
    return _frame(spark, schema, reader.path, reader.segments(table))


def arrow_frame(spark: SparkSession, table: Any) -> DataFrame:
    """An Arrow table as a DataFrame. A Connect session has to be told the columns of one without rows."""
    return spark.createDataFrame(table, from_arrow_schema(table.schema))


def events_frame(spark: SparkSession, reader: LogReader) -> DataFrame:
    """The events of all types with the columns that all have, and `type`."""
    shared = [field for field in from_arrow_schema(TABLES["events"].schema) if field.name != "ancestors"]
    schema = st.StructType(
        [*shared, st.StructField("type", st.StringType()), st.StructField("schema", st.StringType())]
    )
    return _frame(spark, schema, reader.path, reader.segments("events"), root="events")


def due_frame(spark: SparkSession, reader: LogReader, *, shared: str | None = None) -> DataFrame:
    """A row for each event and each version of a subscription that was due it, with the version's home and subscriber.

    An event that was accepted by two entry brokers has the rows of both. A question that could cost more than its bound
    is unknown, as it was at the entry broker: no delivery is due.
    """
    roster, versions = log_roster(reader), reader.versions()
    names = roster.names
    for column in ("home_broker", "subscriber"):
        names = names.append_column(column, versions[column].combine_chunks())
    named = Roster(roster.index, names, roster.in_force, roster.audience)
    due = LogEvents(reader).deliveries(spark, named, MatchOptions(complaints=True, shared=shared))
    return due.where(sf.col(COMPLAINT).isNull()).drop(COMPLAINT)


def _frame(
    spark: SparkSession, schema: st.StructType, log: Path, segments: list[Segment], root: str | None = None
) -> DataFrame:
    """Reads files as they are named. Below `root`, the folders of a path are columns."""
    if not segments:
        return spark.createDataFrame([], schema)
    reading = spark.read.schema(schema)
    if root is not None:
        reading = reading.option("basePath", str(log.absolute() / root))
    return reading.parquet(*(str(log.absolute() / segment.path) for segment in segments))
