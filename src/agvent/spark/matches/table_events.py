"""Events as tables: a DataFrame, or Parquet files that the tasks read themselves.

A task that reads its slice of a Parquet file with pyarrow spares the JVM the conversion of rows to Arrow, a quarter of
the whole cost, and knows the number of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from agvent.errors import CallerError, EventError
from agvent.spark.files.file_slices import (
    ROWS_PER_TASK,
    Slice,
    columns_of,
    parquet_batches,
    parquet_slices,
    row_count,
    task_frame,
)
from agvent.spark.matches.match_options import MatchOptions
from agvent.spark.matches.pairs import COMPLAINT, ENTRY_BROKER, EPOCH, EVENT
from agvent.spark.matches.table_task import Read, TableTask, TaskLayout
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.shipment import ship

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField

NAMES_SHOWN_MAX = 8


class TableJob(NamedTuple):
    """Rows as a job takes them: `frame` is what `mapInArrow` goes over, `read` makes batches of events of it, whose
    columns are `fields` and mean what `layout` says."""

    frame: DataFrame
    read: Read
    fields: Sequence[StructField]
    layout: TaskLayout


class FrameEvents:
    """The rows of a DataFrame."""

    has_lines: ClassVar[bool] = False

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    def check(self, options: MatchOptions) -> None:
        options.check("a DataFrame", "event", "keep")

    def count(self, spark: SparkSession) -> int:  # noqa: ARG002 - a frame has its own
        return self.frame.count()

    def unread(self, roster: Roster) -> str | None:
        return unread(self.frame.columns, roster)

    def pairs(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        return table_pairs(self.job(spark, roster, options), spark, roster, options)

    def job(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> TableJob:  # noqa: ARG002
        """Spark finds columns by name without regard to case, Agvent does not: they are renamed by position."""
        from pyspark.sql.pandas.types import to_arrow_type

        names = self.frame.columns
        chosen, layout = arranged(names, roster, event=options.event or EVENT, keep=options.keep)
        frame = self.frame.toDF(*(f"c{at}" for at in range(len(names)))).select(*(f"c{at}" for at in chosen))
        fields = frame.schema.fields
        check_kinds(
            {layout.names[at]: to_arrow_type(fields[at].dataType, timezone="UTC") for at in layout.attributes}, roster
        )
        return TableJob(frame, unchanged, fields, layout)


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How the events of a DataFrame are read: Spark brings them."""
    return batches


class ParquetEvents:
    """The rows of Parquet files, which the tasks read with pyarrow."""

    has_lines: ClassVar[bool] = False

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def check(self, options: MatchOptions) -> None:
        options.check("Parquet", "event", "keep")

    def count(self, spark: SparkSession) -> int:  # noqa: ARG002 - the footers say it
        return row_count(self.files)

    def unread(self, roster: Roster) -> str | None:
        return unread(columns_of(self.files[0]), roster)

    def pairs(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
        return table_pairs(self.job(spark, roster, options), spark, roster, options)

    def job(self, spark: SparkSession, roster: Roster, options: MatchOptions) -> TableJob:
        from pyspark.sql.pandas.types import from_arrow_schema

        slices, schema = parquet_slices(self.files, rows=ROWS_PER_TASK)
        numbered = options.event is None
        names = [*schema.names, ROW_NUMBER] if numbered else schema.names
        chosen, layout = arranged(names, roster, event=options.event or ROW_NUMBER, keep=options.keep)
        columns = [name for name in layout.names if name != ROW_NUMBER]
        check_kinds({layout.names[at]: schema.field(layout.names[at]).type for at in layout.attributes}, roster)
        whole = schema.append(pa.field(ROW_NUMBER, pa.int64())) if numbered else schema
        fields = from_arrow_schema(pa.schema([whole.field(at) for at in chosen])).fields
        read = SliceReader(slices, columns, numbered=numbered, rows=roster.index.batch_rows)
        return TableJob(task_frame(spark, len(slices)), read, fields, layout)


def table_pairs(job: TableJob, spark: SparkSession, roster: Roster, options: MatchOptions) -> DataFrame:
    """The pairs of a table's rows: the event's columns with the types they have, and the subscription's names."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    layout = job.layout
    task = TableTask(ship(spark, roster, shared=options.shared), layout, job.read, complaints=options.complaints)
    result = [StructField(EVENT, job.fields[layout.event].dataType)]
    result += [StructField(layout.names[at], job.fields[at].dataType) for at in layout.kept]
    result += from_arrow_schema(roster.names.schema).fields
    result += [StructField(COMPLAINT, StringType())] if options.complaints else []
    return job.frame.mapInArrow(task, StructType(result))


ROW_NUMBER = "row number"
"""The column that names the events of files without an `event`; no file has one of this name that anybody reads."""


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


def arranged(names: Sequence[str], roster: Roster, *, event: str, keep: Sequence[str]) -> tuple[list[int], TaskLayout]:
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
    layout = TaskLayout(
        names=found,
        event=found.index(event),
        kept=[found.index(name) for name in keep],
        attributes=[at for at, name in enumerate(found) if name in attributes],
    )
    return chosen, layout


def unread(names: Sequence[str], roster: Roster) -> str | None:
    """A warning if no filter reads a column of the events, None if one does. Each event is then like an empty one, and
    a subscription matches all of them or none. That can be intended."""
    read = roster.index.names()
    if not read or read & {*names}:
        return None
    return f"no filter reads a column of the events: filters read {shown(read)}, the events have {shown(names)}"


def _hint(name: str, event: str) -> str | None:
    if name == event:
        return "name the column that names an event: match(…, event='id')"
    return (
        "subscriptions with versions are matched at an entry broker and an epoch"
        if name in (ENTRY_BROKER, EPOCH)
        else None
    )


def shown(names: Iterable[str]) -> str:
    """Names in a message, not too many of them."""
    ordered = sorted(names)
    more = len(ordered) - NAMES_SHOWN_MAX
    return ", ".join(ordered[:NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


def check_kinds(types: dict[str, Any], roster: Roster) -> None:
    """Matches no events at all, on the driver: a column whose type is not a kind of value is refused before the job."""
    if types:
        columns = [pa.array([], type_) for type_ in types.values()]
        roster.index.match_batch(pa.record_batch(columns, list(types)))
