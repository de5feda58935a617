"""Where a matcher's events come from: a DataFrame, or Parquet files that the tasks read themselves.

A task that reads its slice of a Parquet file with pyarrow spares the JVM the conversion of rows to Arrow, a quarter of
the whole cost, and knows the number of each row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from agvent.errors import CallerError, EventError
from agvent.spark.files import Slice, listed, parquet_batches, parquet_slices
from agvent.spark.matcher import ENTRY_BROKER, EPOCH, EVENT, Layout, Read
from agvent.spark.roster import Roster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

ROWS_PER_TASK = 1 << 18
"""Rows of a Parquet file for one task: a second of work against milliseconds to start it."""

NAMES_SHOWN_MAX = 8


class Events(NamedTuple):
    """Events as a job takes them: `frame` is what `mapInArrow` goes over, `read` makes batches of events of it, whose
    columns are `fields` and mean what `layout` says."""

    frame: DataFrame
    read: Read
    fields: Sequence[StructField]
    layout: Layout


def events_of(source: Any, spark: SparkSession, roster: Roster, *, event: str | None, keep: Sequence[str]) -> Events:
    """The events of a DataFrame, or of Parquet files by their path; those without `event` are named by their number."""
    if isinstance(source, (str, os.PathLike)):
        return _of_files(os.fspath(source), spark, roster, event, keep)
    return _of_frame(source, roster, event or EVENT, keep)


def _of_frame(events: DataFrame, roster: Roster, event: str, keep: Sequence[str]) -> Events:
    """Spark finds columns by name without regard to case, Agvent does not: they are renamed by position."""
    from pyspark.sql.pandas.types import to_arrow_type

    names = events.columns
    chosen, layout = arranged(names, roster, event=event, keep=keep)
    frame = events.toDF(*(f"c{at}" for at in range(len(names)))).select(*(f"c{at}" for at in chosen))
    fields = frame.schema.fields
    check_kinds(
        {layout.names[at]: to_arrow_type(fields[at].dataType, timezone="UTC") for at in layout.attributes}, roster
    )
    return Events(frame, unchanged, fields, layout)


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How the events of a DataFrame are read: Spark brings them."""
    return batches


def _of_files(path: str, spark: SparkSession, roster: Roster, event: str | None, keep: Sequence[str]) -> Events:
    from pyspark.sql.pandas.types import from_arrow_schema

    slices, schema = parquet_slices(listed(path), rows=ROWS_PER_TASK)
    names = schema.names if event is not None else [*schema.names, ROW_NUMBER]
    chosen, layout = arranged(names, roster, event=event or ROW_NUMBER, keep=keep)
    columns = [name for name in layout.names if name != ROW_NUMBER]
    check_kinds({layout.names[at]: schema.field(layout.names[at]).type for at in layout.attributes}, roster)
    whole = schema if event is not None else schema.append(pa.field(ROW_NUMBER, pa.int64()))
    fields = from_arrow_schema(pa.schema([whole.field(at) for at in chosen])).fields
    read = SliceReader(slices, columns, numbered=event is None, rows=roster.index.batch_rows)
    return Events(tasks(spark, len(slices)), read, fields, layout)


ROW_NUMBER = "row number"
"""The column that names the events of files without an `event`; no file has one of this name that anybody reads."""


def tasks(spark: SparkSession, count: int) -> DataFrame:
    """A row for each task, in a partition of its own."""
    return spark.range(0, count, 1, max(1, count))


class SliceReader:
    """Reads, in a task, the slices whose numbers it is given."""

    def __init__(self, slices: Sequence[Slice], columns: Sequence[str], *, numbered: bool, rows: int) -> None:
        self.slices = slices
        self.columns = columns
        self.numbered = numbered
        self.rows = rows

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                yield from self._read(self.slices[at])

    def _read(self, part: Slice) -> Iterator[pa.RecordBatch]:
        first = part.first
        for batch in parquet_batches(part, self.columns, rows=self.rows):
            found = batch.select(self.columns)
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            yield found.append_column(ROW_NUMBER, numbers) if self.numbered else found
            first += batch.num_rows


def arranged(names: Sequence[str], roster: Roster, *, event: str, keep: Sequence[str]) -> tuple[list[int], Layout]:
    """The positions of the columns that a task needs, and which of them mean what."""
    needed = [event, *keep, *((ENTRY_BROKER, EPOCH) if roster.in_force is not None else ())]
    for name in needed:
        if name not in names:
            raise CallerError(f"the events have no column {name!r}, only {shown(names)}", hint=_hint(name, event))
    attributes = {name for name in names if name in roster.index.names()}
    chosen = [at for at, name in enumerate(names) if name in {*needed, *attributes}]
    found = [names[at] for at in chosen]
    if len({*found}) < len(found):
        raise EventError(f"two columns have the name {next(name for name in found if found.count(name) > 1)}")
    layout = Layout(
        names=found,
        event=found.index(event),
        kept=[found.index(name) for name in keep],
        attributes=[at for at, name in enumerate(found) if name in attributes],
    )
    return chosen, layout


def unread(names: Sequence[str], roster: Roster) -> str | None:
    """What is strange about events of which no filter reads a column, None if one does: each is like an empty event,
    and either all match a subscription or none. That can be meant."""
    read = roster.index.names()
    if not read or read & {*names}:
        return None
    return f"no filter reads a column of the events: filters read {shown(read)}, the events have {shown(names)}"


def _hint(name: str, event: str) -> str | None:
    if name == event:
        return "say which column names an event: match(…, event='id')"
    return "what has intervals in force is matched at a broker and an epoch" if name in (ENTRY_BROKER, EPOCH) else None


def shown(names: Iterable[str]) -> str:
    """Names in a message, not too many of them."""
    ordered = sorted(names)
    more = len(ordered) - NAMES_SHOWN_MAX
    return ", ".join(ordered[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


def check_kinds(types: dict[str, Any], roster: Roster) -> None:
    """Matches no events at all, on the driver: a column that is no kind of value is refused before the job."""
    if types:
        columns = [pa.array([], type_) for type_ in types.values()]
        roster.index.match_batch(pa.record_batch(columns, list(types)))
