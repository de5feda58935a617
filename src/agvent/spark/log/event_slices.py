"""The events between two offsets, cut into slices that tasks read with pyarrow.

A slice is some row groups of a segment, and the positions that it may take from each entry broker. Every event between
the offsets also has a number, its place in the stream: those of one entry broker follow each other as it accepted them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from agvent.errors import LogError, LogFileError
from agvent.spark.files.file_slices import ROWS_PER_TASK
from agvent.spark.log.offsets import Offset, event_count
from agvent.spark.log.row_tests import Tests, condition, groups_that_may_pass, may_have
from agvent.store.heads import Head, Segment
from agvent.store.log_reader import LogReader, type_and_schema
from agvent.store.log_schema import TABLES
from agvent.types import AgventType

NUMBER = "agvent_number"
"""The column of an event's place in the stream, from 1."""


ROWS_PER_TASK_MIN = 1 << 14
"""Rows below which a task costs more to start than to run."""

FOLDERS = ("type", "schema")
"""The columns that the path of a segment says, of all of its rows."""

TASKS_WANTED = 16
"""Tasks that a batch is cut into, if it has rows enough for so many."""


class Span(NamedTuple):
    """Positions of one entry broker, `end` excluded, and how many events of the stream lie before the first."""

    begin: int
    end: int
    before: int


class EventSlice(msgspec.Struct, frozen=True):
    """The n-th of `parts` equal parts of a segment's row groups, and what of it is wanted.

    `left_out` are positions of each entry broker that are not.
    """

    path: str
    name: str | None
    type: AgventType
    part: int
    parts: int
    rows: int
    spans: dict[str, Span]
    left_out: dict[str, list[int]] = {}


Part = TypeVar("Part", EventSlice, Segment)


def spans_between(start: Offset, end: Offset) -> dict[str, Span]:
    """For each entry broker the positions from one offset up to another."""
    before, found = event_count(start), {}
    for broker in sorted(end["ev"]):
        first, last = start["ev"].get(broker, 0), end["ev"][broker]
        if first < last:
            found[broker] = Span(first, last, before)
            before += last - first
    return found


def slices_between(
    log: LogReader, start: Offset, end: Offset, *, whole: bool = True, tests: Tests = ()
) -> list[EventSlice]:
    """The slices from one offset up to another that can have rows that pass the tests. With `whole`, events that
    retention has taken are missed."""
    spans = spans_between(start, end)
    if whole:
        _check_kept(log, spans)
    found = []
    for segment in log.segments("events"):
        wanted = _wanted(segment, spans)
        name, schema = type_and_schema(segment.path)
        if wanted and may_have(segment, tests, TABLES["events"], {"type": name, "schema": schema}):
            parts = -(-segment.rows // ROWS_PER_TASK)
            type_ = log.type_of(name, schema)
            rows = segment.rows // parts
            found += [EventSlice(segment.path, name, type_, part, parts, rows, wanted) for part in range(parts)]
    return found


def for_tasks(slices: Sequence[Part]) -> list[list[Part]]:
    """Slices in groups for one task each: a log of many small commits has many small segments."""
    enough = max(ROWS_PER_TASK_MIN, min(ROWS_PER_TASK, sum(one.rows for one in slices) // TASKS_WANTED))
    groups: list[list[Part]] = []
    rows = enough
    for one in slices:
        if rows >= enough:
            groups.append([])
            rows = 0
        groups[-1].append(one)
        rows += one.rows
    return groups


def _wanted(segment: Segment, spans: Mapping[str, Span]) -> dict[str, Span]:
    return {
        broker: spans[broker]
        for broker, facts in segment.ranges.items()
        if broker in spans and facts["position"][0] < spans[broker].end and spans[broker].begin <= facts["position"][1]
    }


def _check_kept(log: LogReader, spans: Mapping[str, Span]) -> None:
    head: Head = log.heads["events"]
    for broker, facts in head.dropped.ranges.items():
        last = facts["position"][1]
        if broker in spans and spans[broker].begin <= last:
            raise LogError(
                f"retention has dropped events of {broker!r} up to position {last} from {log.path}, and they are "
                f"needed from position {spans[broker].begin} on",
                hint="read the rest with the option failOnDataLoss=false, or agvent spark dispatch --skip-dropped",
            )


def rows_of(log: Path, part: EventSlice, schema: pa.Schema, tests: Tests = ()) -> Iterator[pa.Table]:
    """The wanted rows of a slice that pass the tests, a row group at a time, with these columns and their numbers."""
    path = log / part.path
    asked = condition([test for test in tests if test.column not in FOLDERS], schema.names)
    try:
        with pq.ParquetFile(path) as file:
            count = file.metadata.num_row_groups
            groups = range(count * part.part // part.parts, count * (part.part + 1) // part.parts)
            for group in groups if asked is None else groups_that_may_pass(path, groups, asked):
                if _overlaps(file.metadata.row_group(group), part.spans):
                    table = file.read_row_group(group, schema.names).select(schema.names).cast(schema)
                    chosen = _chosen(table, part)
                    yield chosen if asked is None else chosen.filter(asked)
    except (OSError, pa.ArrowException) as error:
        raise LogFileError(f"cannot read the segment {path}: {error}", hint=f"agvent log verify {log}") from None


def _overlaps(group: Any, spans: Mapping[str, Span]) -> bool:
    """Can a row group have wanted positions, by its statistics?"""
    for at in range(group.num_columns):
        column = group.column(at)
        if column.path_in_schema == "position":
            known = column.statistics
            if known is None or not known.has_min_max:
                return True
            return any(known.min < span.end and span.begin <= known.max for span in spans.values())
    return True


def _chosen(table: pa.Table, part: EventSlice) -> pa.Table:
    """The rows that are wanted, with their numbers."""
    coded = table["entry_broker"].combine_chunks().dictionary_encode()
    nothing = Span(0, 0, 0)
    names = coded.dictionary.to_pylist()
    known = [part.spans.get(name, nothing) for name in names]
    begin, end, before = (np.array([span[at] for span in known], np.int64) for at in range(3))
    codes, position = coded.indices.to_numpy(), table["position"].to_numpy()
    kept = (begin[codes] <= position) & (position < end[codes])
    for code, name in enumerate(names):
        if name in part.left_out:
            kept &= (codes != code) | ~np.isin(position, part.left_out[name])
    numbers = (position - begin[codes] + before[codes] + 1)[kept]
    chosen = table if kept.all() else table.filter(pa.array(kept))
    return chosen.append_column(NUMBER, pa.array(numbers))
