"""JSON Lines on Spark: the tasks read their part of a file and put it to the matcher as it stands.

Spark's own JSON reader would turn numbers into doubles and timestamps into text before the matcher saw them; here a
line means exactly what it means to `agvent match`. An event's name is its line, counted from 0 over all files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from agvent.errors import EventError
from agvent.matching.matches import Matches
from agvent.spark.event_source import tasks
from agvent.spark.files import Slice, listed, opened
from agvent.spark.matcher import COMPLAINT, EVENT, OUTPUT_ROWS_MAX, pieces, places_of
from agvent.spark.roster import Roster
from agvent.spark.shipment import Shipment, received
from agvent.store.chunks import pieces as line_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES_PER_TASK = 16 << 20
CHUNK_BYTES = 1 << 20

SCHEMA = f"{EVENT} long, subscription string, {COMPLAINT} string"


def match_lines(spark: SparkSession, slices: Sequence[Slice], shipment: Shipment, *, skip: bool) -> DataFrame:
    """The columns `event`, `subscription` and `complaint`. A line that is no event fails the job; with `skip` it is a
    row with a complaint and no subscription."""
    return tasks(spark, len(slices)).mapInArrow(LineMatcher(slices, shipment, skip=skip), SCHEMA)


def line_slices(spark: SparkSession, path: str) -> tuple[list[Slice], int]:
    """Parts of the files that end where a line does, and how many lines there are. One job counts them."""
    parts = [part for file in listed(path) for part in line_parts(file)]
    counted = tasks(spark, len(parts)).mapInArrow(LineCounter(parts), "part long, lines long").collect()
    lines = {row.part: row.lines for row in counted}
    slices: list[Slice] = []
    first = file_first = 0
    for at, part in enumerate(parts):
        file_first = first if part.start == 0 else file_first
        slices.append(part._replace(first=first, file_first=file_first))
        first += lines[at]
    return slices, first


def line_parts(path: str) -> Iterator[Slice]:
    """A file cut every so many bytes, each cut moved to the end of the line it falls into."""
    with opened(path) as file:
        size, start = file.size(), 0
        while start < size:
            end = _line_end(file, min(start + BYTES_PER_TASK, size), size)
            yield Slice(path, start, end)
            start = end


def _line_end(file: Any, place: int, size: int) -> int:
    """The end of the line that the byte before this place belongs to."""
    at = place - 1
    while at < size:
        data = file.read_at(min(CHUNK_BYTES, size - at), at)
        found: int = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
    return size


def chunks(part: Slice) -> Iterator[bytes]:
    """The slice's whole lines, a megabyte at a time."""
    with opened(part.path) as file:
        start = part.start
        while start < part.end:
            end = min(_line_end(file, min(start + CHUNK_BYTES, part.end), part.end), part.end)
            yield file.read_at(end - start, start)
            start = end


class LineCounter:
    """Counts the lines of a task's slices; a last line without an end counts."""

    def __init__(self, parts: Sequence[Slice]) -> None:
        self.parts = parts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            counts = [sum(_line_count(chunk) for chunk in chunks(self.parts[at])) for at in numbers]
            yield pa.record_batch({"part": pa.array(numbers, pa.int64()), "lines": pa.array(counts, pa.int64())})


def _line_count(chunk: bytes) -> int:
    return chunk.count(b"\n") + (not chunk.endswith(b"\n"))


class LineMatcher:
    """Matches the lines of a task's slices."""

    def __init__(self, slices: Sequence[Slice], shipment: Shipment, *, skip: bool) -> None:
        self.slices = slices
        self.shipment = shipment
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
                yield from pieces(rows(roster, matches, first), OUTPUT_ROWS_MAX)
                first += matches.event_count


def rows(roster: Roster, matches: Matches, first: int) -> pa.RecordBatch:
    """A row for each match, for each question not answered, and for each line that is no event."""
    asked, ordinals = places_of(matches.unanswered, roster)
    refused = np.array([bad.event for bad in matches.rejected], np.int64)
    events = np.concatenate([matches.events, asked, refused]) + first
    names = roster.names.column("subscription").take(pa.array(np.concatenate([matches.subscriptions, ordinals])))
    texts = [*(one.message for one in matches.unanswered), *(bad.message for bad in matches.rejected)]
    return pa.record_batch(
        {
            EVENT: pa.array(events),
            "subscription": pa.concat_arrays([names, pa.nulls(len(refused), pa.string())]),
            COMPLAINT: pa.concat_arrays([pa.nulls(len(matches), pa.string()), pa.array(texts, pa.string())]),
        }
    )
