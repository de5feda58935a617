"""`format("agvent-deliveries")`: the rows of a query, once, into the table `deliveries` of an event log.

A task stages its rows as files below `staged/` of the log, under names of their own, and says which. `commit` gives
them their places and replaces the head of the stream, which also notes the query and the batch. A batch that the head
has is not taken again, so a driver that is killed anywhere and started again neither loses a delivery nor has one
twice. The next commit of the same query removes the files that a killed job staged.

This module needs pyspark when it is imported: `agvent.spark.register` does that.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from agvent import limits
from agvent.errors import LogError
from agvent.spark.files.file_slices import opened
from agvent.spark.runtime.spark_errors import hints_in_text
from agvent.store.log_reader import check_log
from agvent.store.log_schema import TABLES, TIME, shaped
from agvent.store.log_writer import LogWriter
from agvent.store.segments import Staged, stage_table

STAGED = "staged"
STREAM = "deliveries"


class DeliveriesSink(DataSource):
    """The table `deliveries` of a log, as Spark asks for it."""

    @classmethod
    def name(cls) -> str:
        return "agvent-deliveries"

    @hints_in_text()
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002 - Spark's signature
        if overwrite:
            raise LogError("deliveries cannot be overwritten", hint='use mode("append")')
        return BatchWriter(self._log(), uuid4().hex)

    @hints_in_text()
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        checkpoint = self.options.get("checkpointLocation")
        if not checkpoint:
            raise LogError("agvent-deliveries needs a checkpoint", hint='option("checkpointLocation", …)')
        return StreamWriter(self._log(), checkpoint)

    def _log(self) -> Path:
        path = self.options.get("path")
        if not path:
            raise LogError("the folder of the log is missing", hint="start(FOLDER) or save(FOLDER)")
        check_log(Path(path))
        return Path(path)


@dataclass
class StagedFiles(WriterCommitMessage):
    """The files that one task has staged."""

    files: list[Staged]


class BatchWriter(DataSourceArrowWriter):
    """All rows of one job, as one commit."""

    def __init__(self, log: Path, job: str) -> None:
        self.log = log
        self.folder = f"{STAGED}/{job}"

    @hints_in_text()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFiles:
        return StagedFiles(list(staged(self.log, self.folder, iterator)))

    @hints_in_text()
    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        adopt(self.log, self.folder, messages, batch=None)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        shutil.rmtree(self.log / self.folder, ignore_errors=True)


class StreamWriter(DataSourceStreamArrowWriter):
    """The rows of each batch of a query, as one commit."""

    def __init__(self, log: Path, checkpoint: str) -> None:
        self.log = log
        self.checkpoint = checkpoint
        self.folder = f"{STAGED}/{hashlib.sha256(checkpoint.encode()).hexdigest()[:32]}"

    @hints_in_text()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFiles:
        return StagedFiles(list(staged(self.log, self.folder, iterator)))

    @hints_in_text()
    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        adopt(self.log, self.folder, messages, batch=(query_of(self.checkpoint), batchId))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        shutil.rmtree(self.log / self.folder, ignore_errors=True)


def staged(log: Path, folder: str, batches: Iterator[pa.RecordBatch]) -> Iterator[Staged]:
    """The rows as files that are whole and synced, and that no head names yet."""
    kept: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        kept.append(batch)
        rows += batch.num_rows
        if rows >= limits.SEGMENT_ROWS_MAX:
            yield _stage(log, folder, kept)
            kept, rows = [], 0
    if rows:
        yield _stage(log, folder, kept)


def _stage(log: Path, folder: str, batches: list[pa.RecordBatch]) -> Staged:
    table = pa.Table.from_batches(batches)
    for name, value in (("attempts", pa.scalar(1, pa.int32())), ("delivered_at", pa.scalar(datetime.now(UTC), TIME))):
        if name not in table.column_names:
            table = table.append_column(name, pa.repeat(value, table.num_rows))
    whole = shaped(STREAM, table)
    file = stage_table(log, f"{folder}/{uuid4().hex}.parquet", whole, form=TABLES[STREAM], since=0)
    named = msgspec.structs.replace(file.segment, path=f"{STREAM}/{Path(file.segment.path).name}")
    return Staged(file.hidden, named)


def adopt(
    log: Path, folder: str, messages: Sequence[WriterCommitMessage | None], *, batch: tuple[str, int] | None
) -> None:
    """Commits what the tasks say they staged, and removes what else lies there: the files of killed attempts."""
    files = [file for message in messages if isinstance(message, StagedFiles) for file in message.files]
    with LogWriter(log, streams=(STREAM,)) as writer:
        writer.adopt(STREAM, files, batch=batch)
    shutil.rmtree(log / folder, ignore_errors=True)


def query_of(checkpoint: str) -> str:
    """The id of the query whose checkpoint this is. A new checkpoint is a new query: its batches count from 0 again."""
    with opened(f"{checkpoint.removeprefix('file:').rstrip('/')}/metadata") as file:
        found: dict[str, str] = msgspec.json.decode(file.read())
    return found["id"]
