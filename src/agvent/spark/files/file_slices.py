"""Files of events that tasks read themselves: on a disk that every worker sees, or in an object store by its address.

A file is cut into slices on the driver, which knows then how many rows or lines lie before each. So every task can say
the number of each event, counted over all files in the order of their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from agvent.errors import CallerError, SparkFault

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET_MAGIC = b"PAR1"
ROWS_PER_TASK = 1 << 18
"""Rows of a Parquet file for one task: a second of work against milliseconds to start it."""

HIDDEN = ("_", ".")
"""What begins so in a folder is not data, to Spark and to Hive: `_SUCCESS`, `_temporary`, checksums."""


class Slice(NamedTuple):
    """A part of a file: its row groups or its bytes from `start` up to `end`. `first` is the number of its first event
    over all files, `file_first` that of the first event of its file."""

    path: str
    start: int
    end: int
    first: int = 0
    file_first: int = 0


def listed(path: str) -> list[str]:
    """The file itself, or the files below a folder, by name."""
    system, inside = system_of(path)
    info = system.get_file_info(inside)
    if info.type == fs.FileType.NotFound:
        raise CallerError(f"{path} does not exist")
    prefix = path.partition("://")[0] + "://" if "://" in path else ""
    if info.type == fs.FileType.File:
        return [prefix + inside]  # whole: a worker's own folder is another
    below = system.get_file_info(fs.FileSelector(inside, recursive=True))
    names = sorted(one.path for one in below if one.type == fs.FileType.File and not _hidden(one.path, inside))
    if not names:
        raise CallerError(f"{path} is a folder without files")
    return [prefix + name for name in names]


def _hidden(path: str, folder: str) -> bool:
    return any(part.startswith(HIDDEN) for part in path.removeprefix(folder).split("/"))


def opened(path: str) -> Any:
    """The file for reading anywhere in it. In a task, a missing file is a fault, not a mistake of the caller."""
    system, inside = system_of(path)
    try:
        return system.open_input_file(inside)
    except OSError as error:
        hint = "put the file on a disk that every worker sees, or in an object store"
        raise SparkFault(f"cannot read {path}: {error}", hint=hint) from error


def system_of(path: str) -> tuple[Any, str]:
    if "://" in path:
        system, inside = fs.FileSystem.from_uri(path)
        return system, inside
    return fs.LocalFileSystem(), str(Path(path).resolve())


def task_frame(spark: SparkSession, count: int) -> DataFrame:
    """A row with its number for each task, in a partition of its own."""
    return spark.range(0, count, 1, max(1, count))


def is_log(path: str | os.PathLike[str]) -> bool:
    """Is this the folder of an event log?"""
    return (Path(path) / "log.json").is_file()


def is_parquet(path: str) -> bool:
    with opened(path) as file:
        return bool(file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC)


def parquet_slices(paths: Sequence[str], *, rows: int) -> tuple[list[Slice], pa.Schema]:
    """Whole row groups, some `rows` rows a slice, and the schema that all files have."""
    slices: list[Slice] = []
    schema: pa.Schema | None = None
    first = 0
    for path in paths:
        with opened(path) as file:
            metadata, found = _parquet(file, path)
        if schema is not None and not found.equals(schema):
            raise CallerError(
                f"the columns of {path} differ from those of {paths[0]}",
                hint="read both with Spark and pass the DataFrame to match",
            )
        schema = found
        start, before = 0, first
        for group in range(metadata.num_row_groups):
            first += metadata.row_group(group).num_rows
            if first - before >= rows or group == metadata.num_row_groups - 1:
                slices.append(Slice(path, start, group + 1, before))
                start, before = group + 1, first
    assert schema is not None
    return slices, schema


def columns_of(path: str) -> list[str]:
    """The names of a Parquet file's columns."""
    with opened(path) as file:
        names: list[str] = _parquet(file, path)[1].names
    return names


def row_count(paths: Sequence[str]) -> int:
    """The rows of Parquet files, as their footers say."""
    total = 0
    for path in paths:
        with opened(path) as file:
            total += _parquet(file, path)[0].num_rows
    return total


def _parquet(file: Any, path: str) -> tuple[Any, pa.Schema]:
    try:
        parquet = pq.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise CallerError(f"{path} is not Parquet: {error}") from None
    return parquet.metadata, parquet.schema_arrow.remove_metadata()


def parquet_batches(part: Slice, columns: Sequence[str], *, rows: int) -> Iterator[pa.RecordBatch]:
    """The slice's rows, only these columns, in batches."""
    with opened(part.path) as file:
        groups = list(range(part.start, part.end))
        yield from pq.ParquetFile(file).iter_batches(batch_size=rows, row_groups=groups, columns=list(columns))
