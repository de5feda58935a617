"""JSON Lines on Spark: the tasks read their part of a file and put it to the matcher as it stands.

Spark's own JSON reader would turn numbers into doubles and timestamps into text before the matcher saw them; here a
line means exactly what it means to `agvent match`. An event's name is its line, counted from 0 over all files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from agvent.errors import CallerError, EventError
from agvent.matching.matches import Matches
from agvent.spark.files.file_slices import Slice, task_frame
from agvent.spark.files.line_slices import chunks, line_slices
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.pairs import COMPLAINT, EVENT, OUTPUT_ROWS_MAX, pieces, places_of, refuse
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.shipment import Shipment, received, ship
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.line_chunks import pieces as line_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LineEvents:
    """The lines of a file, or of the files of a folder."""

    has_lines: ClassVar[bool] = True

    def __init__(self, path: str) -> None:
        self.path = path
        self._slices: tuple[list[Slice], int] | None = None

    def check(self, options: MatchOptions) -> None:
        options.check("JSON Lines", "skip_rejected")

    def count(self, spark: SparkSession) -> int:
        return self._counted(spark)[1]

    def unread(self, roster: Roster) -> str | None:  # noqa: ARG002 - a line has no columns
        return None

    def pairs(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import LongType, StringType, StructField, StructType

        if roster.in_force is not None:
            raise CallerError(
                "JSON Lines have no entry broker and no epoch, and the subscriptions have versions",
                hint="match an event log, or a table with the columns entry_broker and epoch",
            )
        slices, _ = self._counted(spark)
        shipment = ship(spark, roster, shared=options.shared)
        task = LineTask(slices, shipment, complaints=options.complaints, skip=options.skip_rejected)
        result = [StructField(EVENT, LongType()), *from_arrow_schema(roster.names.schema).fields]
        result += [StructField(COMPLAINT, StringType())] if options.complaints else []
        return task_frame(spark, len(slices)).mapInArrow(task, StructType(result))

    def _counted(self, spark: SparkSession) -> tuple[list[Slice], int]:
        """One job counts the lines, once for each source."""
        if self._slices is None:
            with translated_errors():
                self._slices = line_slices(spark, self.path)
        return self._slices


class LineTask:
    """Matches the lines of a task's slices."""

    def __init__(self, slices: Sequence[Slice], shipment: Shipment, *, complaints: bool, skip: bool) -> None:
        self.slices = slices
        self.shipment = shipment
        self.complaints = complaints
        self.skip = skip

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from self._matched(roster, self.slices[at])

    def _matched(self, roster: Roster, part: Slice) -> Iterator[pa.RecordBatch]:
        first = part.first
        for chunk in chunks(part):
            for lines in line_pieces(chunk, roster.index.batch_rows):
                matches = roster.index.match_json(lines)
                if matches.rejected and not self.skip:
                    bad = matches.rejected[0]
                    raise EventError(f"{part.path} line {first - part.file_first + bad.event + 1}: {bad.message}")
                yield from pieces(self._rows(roster, matches, first), OUTPUT_ROWS_MAX)
                first += matches.event_count

    def _rows(self, roster: Roster, matches: Matches, first: int) -> pa.RecordBatch:
        """A row for each match; with complaints, one for each question not answered and each line that is rejected."""
        if not self.complaints:
            refuse(matches.unanswered, lambda at: first + at)
        asked, ordinals = places_of(matches.unanswered, roster)
        rejected = np.array([bad.event for bad in matches.rejected], np.int64)
        events = np.concatenate([matches.events, asked, rejected]) + first
        matched = pa.array(np.concatenate([matches.subscriptions, ordinals]), pa.int64())
        named = roster.names.take(pa.concat_arrays([matched, pa.nulls(len(rejected), pa.int64())]))
        found = named.add_column(0, EVENT, pa.array(events))
        if not self.complaints:
            return found
        texts = [*(one.message for one in matches.unanswered), *(bad.message for bad in matches.rejected)]
        said = pa.concat_arrays([pa.nulls(len(matches), pa.string()), pa.array(texts, pa.string())])
        return found.append_column(COMPLAINT, said)
