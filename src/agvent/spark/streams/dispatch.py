"""Dispatch: the deliveries that a log calls for, as events come, into a sink. The streaming form of match.

A stream reads the table `due` (log/source.py): events since the checkpoint, matched against the subscriptions that were
in force at each event's epoch, whatever was added or removed since. A sink is the deliveries of the log, a folder, a
broker network, or a function of a batch and its number, as of Spark's `foreachBatch`. A batch runs again if its driver
died in it, with the same rows under the same number: a sink that takes a number once has every delivery exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agvent.errors import CallerError
from agvent.spark.matches.pairs import COMPLAINT
from agvent.spark.matches.unanswered import unanswered
from agvent.spark.runtime.session import is_connect
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.spark.streams.batch_reports import OBSERVED
from agvent.spark.streams.register import register
from agvent.store.log_reader import check_log
from agvent.store.log_schema import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Sink = str | Path | Callable[["DataFrame", int], None]

DELIVERIES = "deliveries"
"""The sink that is the log's own table of deliveries."""

CHECKPOINTS = "checkpoints"
SCHEME = "agvent://"


def dispatch(
    spark: SparkSession,
    log: str | Path,
    sink: Sink = DELIVERIES,
    *,
    checkpoint: str | None = None,
    once: bool = False,
    every: float = 1.0,
    events_max: int | None = None,
    contents: bool | None = None,
    skip_unanswered: bool = False,
    skip_dropped: bool = False,
) -> StreamingQuery:
    """Start a query that delivers the events of a log into a sink, and return it running.

    `sink` is one of:

    - `"deliveries"`: the log's own table of deliveries, which `audit` reads.
    - a folder, which gets a folder for each subscriber.
    - `agvent://HOST:PORT`: a broker network, into which each event is published for its subscribers.
    - a function of a DataFrame and the batch's number; it needs a `checkpoint`.

    Options:

    - `checkpoint`: the folder of the stream's position. Without it, it lies in the log. Two sinks need two.
    - `once`: end when all present events are delivered. Without it, the query runs until it is stopped.
    - `every`: seconds from one batch to the next.
    - `events_max`: events in a batch, at most.
    - `contents`: add the columns of the event itself to each delivery. Every sink but the deliveries has them unless
      this is False.
    - `skip_unanswered`: count an XPath that could cost more than its bound as no match. Without it, the query fails.
    - `skip_dropped`: continue where retention has dropped events that were not delivered. Without it, the query fails.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import dispatch, session
    >>> day = Path(mkdtemp()) / "day"
    >>> made = generate(day, DayPlan(events=100, subscriptions=20))
    >>> counts = []
    >>> def count(deliveries, batch):
    ...     counts.append(deliveries.count())
    >>> query = dispatch(session("local[1]"), day, count, checkpoint=mkdtemp(), once=True)
    >>> query.awaitTermination()
    >>> sum(counts) == made.expected
    True
    """
    if not is_connect(spark):
        check_log(Path(log))
    register(spark)
    with_events = sink != DELIVERIES if contents is None else contents
    options = {
        "table": "due",
        "contents": str(with_events).lower(),
        "complaints": str(skip_unanswered).lower(),
        "failOnDataLoss": str(not skip_dropped).lower(),
        **({} if events_max is None else {"maxEventsPerTrigger": str(events_max)}),
    }
    trigger = {"availableNow": True} if once else {"processingTime": f"{every} seconds"}
    with translated_errors():
        due = spark.readStream.format("agvent").options(**options).load(str(log))
        if skip_unanswered:
            due = _answered(due)
        if sink == DELIVERIES:
            due = due.select(*(name for name in due.columns if name in TABLES[DELIVERIES].schema.names))
        place = checkpoint or default_checkpoint(log, sink)
        writer = due.writeStream.option("checkpointLocation", place)
        return _started(writer.trigger(**trigger), log, sink, place)


def _answered(due: DataFrame) -> DataFrame:
    """Without the questions that were not answered; Spark counts them as they pass."""
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

    event = F.concat_ws(":", "publisher", "sequence")
    return due.observe(OBSERVED, *unanswered(event)).where(F.col(COMPLAINT).isNull()).drop(COMPLAINT)


def default_checkpoint(log: str | Path, sink: Sink) -> str:
    """In the log, one for its deliveries and one for each folder."""
    if callable(sink):
        raise CallerError("a function as a sink needs a checkpoint", hint="dispatch(…, checkpoint=FOLDER)")
    if sink == DELIVERIES:
        name = DELIVERIES
    elif _is_network(sink):
        name = f"network-{str(sink).removeprefix(SCHEME).replace('/', '-')}"
    else:
        name = f"folder-{Path(sink).resolve().as_posix().strip('/').replace('/', '-')}"
    return str(Path(log) / CHECKPOINTS / name)


def _is_network(sink: str | Path) -> bool:
    return isinstance(sink, str) and sink.startswith(SCHEME)


def _started(writer: DataStreamWriter, log: str | Path, sink: Sink, checkpoint: str) -> StreamingQuery:
    if sink == DELIVERIES:
        return writer.format("agvent-deliveries").start(str(log))
    if callable(sink):
        return writer.foreachBatch(sink).start()
    if not _is_network(sink):
        return writer.foreachBatch(Folders(str(sink))).start()
    from agvent.spark.streams.network_sink import NetworkSink  # it needs pyspark when it is imported

    return writer.foreachBatch(NetworkSink(str(sink), log, checkpoint)).start()


class Folders:
    """A folder for each subscriber, and in it one for each batch: `subscriber=ann/batch=12/….parquet`.

    A batch that runs again replaces its own folders, with the same rows.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, due: DataFrame, number: int) -> None:
        from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

        rows = due.withColumn("batch", F.lit(number))
        writing = rows.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writing.partitionBy("subscriber", "batch").parquet(self.folder)
