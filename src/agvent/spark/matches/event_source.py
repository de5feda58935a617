"""The kinds of events that `match` takes: a DataFrame, files of Parquet or of JSON Lines, an event log.

The tasks read files and logs themselves. That spares the JVM the conversion of rows to Arrow, a quarter of the cost.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agvent.errors import CallerError
from agvent.spark.files.file_slices import is_log, is_parquet, listed
from agvent.spark.matches.line_events import LineEvents
from agvent.spark.matches.log_events import LogEvents
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.table_events import FrameEvents, ParquetEvents
from agvent.spark.rosters.roster import Roster
from agvent.store.log_reader import LogReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EventSource(Protocol):
    """Events of one kind. `has_lines`: are they lines of text, of which one may be rejected?"""

    has_lines: ClassVar[bool]

    def check(self, options: MatchOptions) -> None:
        """Refuses options that these events do not take."""

    def pairs(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        """A row for each event and each subscription that it matches."""

    def count(self, spark: SparkSession) -> int:
        """How many events there are."""

    def unread(self, roster: Roster) -> str | None:
        """A warning if no filter reads a column of the events; None if one does, or if events have no columns."""


def event_source(events: Any) -> EventSource:
    """The events of a DataFrame, a path, a LogReader, or a source as it is."""
    if isinstance(events, (FrameEvents, ParquetEvents, LineEvents, LogEvents)):
        return events
    if isinstance(events, LogReader):
        return LogEvents(events)
    if isinstance(events, (str, os.PathLike)):
        return _at(os.fspath(events))
    if hasattr(events, "mapInArrow"):
        return FrameEvents(events)
    raise CallerError(
        f"events are a Spark DataFrame, a path or a LogReader, not {type(events).__name__}",
        hint="a table in memory becomes a DataFrame with spark.createDataFrame(table)",
    )


def _at(path: str) -> EventSource:
    if is_log(path):
        return LogEvents(LogReader(path))
    files = listed(path)
    return ParquetEvents(files) if is_parquet(files[0]) else LineEvents(path)
