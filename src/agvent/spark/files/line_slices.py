"""JSON Lines in slices that end where a line does, and how many lines lie before each.

A file is cut every so many bytes, and each cut is moved to the end of its line. One job counts the lines of the slices,
so that every task knows the number of its first line over all files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from agvent.spark.files.file_slices import Slice, listed, opened, task_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BYTES_PER_TASK = 16 << 20
CHUNK_BYTES = 1 << 20


def line_slices(spark: SparkSession, path: str) -> tuple[list[Slice], int]:
    """Parts of the files that end where a line does, and how many lines there are. One job counts them."""
    parts = [part for file in listed(path) for part in line_parts(file)]
    counted = task_frame(spark, len(parts)).mapInArrow(LineCountTask(parts), "part long, lines long").collect()
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


class LineCountTask:
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
