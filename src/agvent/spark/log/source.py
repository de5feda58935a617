"""`spark.read.format("agvent")` and `spark.readStream.format("agvent")`: a table of an event log.

This module needs pyspark when it is imported: `agvent.spark.register` does that. Its classes run in Spark's own Python
processes: schema and plan on the driver, `read` in the tasks, which take slices of segments with pyarrow.

| option | means |
|---|---|
| `table` | `events` (unless given), `due`, or another table of the log |
| `type`, `schema` | events of one type, of one version of it |
| `maxEventsPerTrigger` | the most a batch of a stream takes |
| `failOnDataLoss` | `false`: go on where retention has dropped events that were not read yet |
| `contents` | of `due`: `true` has the event beside each row |
| `complaints` | of `due`: `true` has also rows for questions that were not answered, which otherwise are an error |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from agvent.errors import LogError
from agvent.spark.log.offsets import Offset
from agvent.spark.log.row_tests import Tests, split_filters
from agvent.spark.log.tables import LogTable, Piece, table_of
from agvent.spark.runtime.spark_errors import hints_in_text

LIMIT = "maxEventsPerTrigger"


class AgventSource(DataSource):
    """A table of an event log, as Spark asks for it."""

    @classmethod
    def name(cls) -> str:
        return "agvent"

    @cached_property
    def table(self) -> LogTable:
        path = self.options.get("path")
        if not path:
            raise LogError("the folder of the log is missing", hint="load(FOLDER)")
        return table_of(Path(path), dict(self.options))

    @hints_in_text()
    def schema(self) -> StructType:
        return from_arrow_schema(self.table.schema())

    @hints_in_text()
    def reader(self, schema: StructType) -> DataSourceReader:
        self._check(schema)
        return LogBatchReader(self.table, schema)

    @hints_in_text()
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        self._check(schema)
        return LogStreamReader(self.table, schema, _events_max(self.options.get(LIMIT)))

    def _check(self, schema: StructType) -> None:
        """A caller may give the columns it wants; a column that the table does not have would always be null."""
        there = self.table.schema().names
        unknown = [name for name in schema.fieldNames() if name not in there]
        if unknown:
            raise LogError(f"the table has no column {unknown[0]!r}", hint=f"its columns are {', '.join(there)}")


def _events_max(given: str | None) -> int | None:
    if given is None:
        return None
    if not given.isdigit() or not int(given):
        raise LogError(f"{LIMIT} must be a whole number, at least 1, not {given!r}")
    return int(given)


class LogPartition(InputPartition):
    """A piece of a table for one task."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(piece)


def read(table: LogTable, schema: StructType, partition: InputPartition, tests: Tests = ()) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, with exactly the Arrow types that Spark has for its schema."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    if partition.value is None:  # Spark makes a partition of nothing where a plan has none
        return
    with hints_in_text():
        for batch in table.read(partition.value, wanted.names, tests):
            if batch.num_rows:
                yield pa.record_batch([_cast(batch, field) for field in wanted], schema=wanted)


def _cast(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    try:
        return batch[field.name].cast(field.type)
    except pa.ArrowException as error:
        raise LogError(
            f"the column {field.name!r} is Arrow's {batch[field.name].type} in some events, not {field.type}: {error}",
            hint="read one version of the type: the option schema",
        ) from None


class LogBatchReader(DataSourceReader):
    """A table as it is when the query is planned."""

    def __init__(self, table: LogTable, schema: StructType) -> None:
        self.table = table
        self.schema = schema
        self.tests: Tests = ()

    @hints_in_text()
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Takes the tests of columns that are as the table has them; a given schema may say another type."""
        columns = [one for one in self.table.tested() if self._is_own(one)]
        self.tests, left = split_filters(filters, pa.schema(columns))
        return left

    def _is_own(self, column: pa.Field) -> bool:
        [field] = from_arrow_schema(pa.schema([column])).fields
        return field.name in self.schema.names and self.schema[field.name].dataType == field.dataType

    @hints_in_text()
    def partitions(self) -> Sequence[InputPartition]:
        pieces = self.table.pieces(self.table.beginning(), self.table.end(), self.tests)
        return [LogPartition(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(self.table, self.schema, partition, self.tests)


class LogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A table as it grows, from where the checkpoint stands."""

    def __init__(self, table: LogTable, schema: StructType, events_max: int | None) -> None:
        self.table = table
        self.schema = schema
        self.events_max = events_max
        self.target: Offset | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's names, here and below
        return self.table.beginning()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self.events_max is None else ReadMaxRows(self.events_max)

    @hints_in_text()
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        end = self.table.end() if self.target is None else self.target
        return self.table.advanced(start, end, limit.max_rows if isinstance(limit, ReadMaxRows) else None)

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return self.table.end()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.target = self.table.end()

    @hints_in_text()
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [LogPartition(piece) for piece in self.table.pieces(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(self.table, self.schema, partition)
