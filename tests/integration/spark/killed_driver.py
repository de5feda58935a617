"""A dispatch that kills its own process group, JVM included, at a chosen point of a chosen batch: run by a test."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from agvent.spark import dispatch, session
from agvent.spark.log.source import AgventSource
from agvent.spark.streams.deliveries_sink import DeliveriesSink, StagedFiles, StreamWriter
from agvent.store.heads import read_head
from agvent.store.log_writer import LogWriter

LOG, POINT, NUMBER, GROUP = sys.argv[1], sys.argv[2], int(sys.argv[3]), os.getpid()


def die(*_: object, **__: object) -> None:
    """The driver first, then this process: Spark's Python processes are not of the driver's group."""
    os.killpg(GROUP, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class KilledWriter(StreamWriter):
    """Dies when a task of the batch begins, when all have staged their rows, when those have their names but the head
    is the old one, or when the batch is committed and Spark does not know it yet."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFiles:
        if POINT == "planned" and max(read_head(self.log, "deliveries").batches.values(), default=-1) == NUMBER - 1:
            die()
        return super().write(iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's
        if (POINT, batchId) == ("staged", NUMBER):
            die()
        if (POINT, batchId) == ("renamed", NUMBER):
            LogWriter._replace = die  # type: ignore[assignment, method-assign]
        super().commit(messages, batchId)
        if (POINT, batchId) == ("committed", NUMBER):
            die()


class KilledSink(DeliveriesSink):
    """The sink with that writer, in the place of the real one."""

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        made = super().streamWriter(schema, overwrite)
        assert isinstance(made, StreamWriter)
        return KilledWriter(made.log, made.checkpoint)


def register(spark: SparkSession) -> None:
    spark.dataSource.register(AgventSource)
    spark.dataSource.register(KilledSink)


if __name__ == "__main__":
    importlib.import_module("agvent.spark.streams.dispatch").register = register  # type: ignore[attr-defined]
    with session("local[2]") as spark:
        dispatch(spark, LOG, once=True, events_max=20).awaitTermination()
