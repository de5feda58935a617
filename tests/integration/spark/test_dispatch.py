"""Streams over an event log whose subscriptions change: what is due is delivered, whatever the batches."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from agvent.errors import AgventError, CallerError, EventError, LogError, LogFileError
from agvent.filters.subscription import Subscription
from agvent.spark import dispatch, register
from agvent.spark.streams.batch_reports import fault_of, reports
from agvent.store.event_columns import LoggedEvent
from agvent.store.heads import read_head
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from agvent.store.retention import retain
from tests.feed import START, STREAMS, Feed, delivered, expected
from tests.integration.spark.audited import Counts, counts
from tests.stories import Story, costly

KEY = ["publisher", "sequence", "quality", "subscription", "version"]


def feed_log(path: Path, *, steps: int = 6, events: int = 20, seed: int = 1) -> Path:
    create_log(path)
    with LogWriter(path, streams=STREAMS) as log:
        feed = Feed(log, seed=seed)
        for _ in range(steps):
            feed.step(events)
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return feed_log(tmp_path_factory.mktemp("feed") / "log")


@pytest.fixture
def checkpoints(tmp_path: Path) -> Iterator[str]:
    """A new folder each time it is asked."""
    return (str(tmp_path / f"checkpoint-{number}") for number in range(1_000_000))


class Collected:
    """A sink: the rows of every batch, in this process."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[object, ...]]] = {}

    def __call__(self, due: DataFrame, number: int) -> None:
        assert number not in self.batches
        self.batches[number] = [tuple(row) for row in due.select(*KEY, "position").collect()]

    def rows(self) -> list[tuple[object, ...]]:
        return sorted(row[:5] for batch in self.batches.values() for row in batch)


def fault_in(query: StreamingQuery) -> AgventError | None:
    """What ends a query, once it has ended."""
    with suppress(StreamingQueryException):
        query.awaitTermination()
    return fault_of(query)


def test_a_batch_read_is_what_is_due(spark: SparkSession, log: Path) -> None:
    """The table `due` has the pairs that match and were in force, XPath and both types included, and no other."""
    register(spark)
    due = spark.read.format("agvent").option("table", "due").load(str(log))
    wanted = expected(log)
    assert len(wanted) > 100
    assert sorted(tuple(row) for row in due.select(*KEY).collect()) == wanted


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events_max=st.integers(13, 130))
def test_a_stream_does_not_depend_on_its_batches(
    spark: SparkSession, log: Path, checkpoints: Iterator[str], events_max: int
) -> None:
    """Stream = batch for any batch size, and positions rise with the sequence of each publisher's broker."""
    sink = Collected()
    query = dispatch(spark, log, sink, checkpoint=next(checkpoints), once=True, events_max=events_max)
    query.awaitTermination()
    assert query.exception() is None
    assert sink.rows() == expected(log)
    told = list(reports(query, after=-1))
    assert len(told) == len(sink.batches) == -(-120 // events_max)
    assert max(one.events for one in told) <= events_max
    assert (sum(one.events for one in told), sum(one.deliveries for one in told)) == (120, len(expected(log)))
    assert {one.catalogue for one in told} == {LogReader(log).offset()["sub"]}


def test_subscriptions_change_while_the_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    """While a thread appends events and changes subscriptions, the deliveries come to be those of the whole log."""
    log = tmp_path / "log"
    create_log(log)
    with LogWriter(log, streams=STREAMS) as writer:
        feed = Feed(writer, seed=2)
        feed.step(10)
        query = dispatch(spark, log, every=0, events_max=23)
        writing = threading.Thread(target=lambda: [*map(feed.step, [15] * 6)])
        query.processAllAvailable()
        writing.start()
        query.processAllAvailable()
        writing.join()
        writer.snapshot()
        query.processAllAvailable()
        query.stop()
    assert query.exception() is None
    assert delivered(log) == expected(log)
    assert len({one.catalogue for one in reports(query, after=-1)}) > 1


def test_a_copy_is_not_delivered_again(spark: SparkSession, tmp_path: Path, checkpoints: Iterator[str]) -> None:
    """An event that its publisher sent to two entry brokers is due once, in one batch or two, and the audit agrees."""
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as writer:
        feed = Feed(writer, seed=3)
        for _ in range(4):
            feed.step(10)
        again = [
            LoggedEvent(event=one.event, accepted_at=feed.clock + timedelta(1), entry_broker=other, epoch=1)
            for one in LogReader(tmp_path / "log").events()
            for other in ("b1", "b2")
            if one.entry_broker != other
        ]
        once = expected(tmp_path / "log")
        writer.append_events(again)
    for events_max in (1_000, 19):
        sink = Collected()
        dispatch(
            spark, tmp_path / "log", sink, checkpoint=next(checkpoints), once=True, events_max=events_max
        ).awaitTermination()
        keys = [row[:4] for row in sink.rows()]
        assert len(keys) == len(set(keys))
        if events_max == 1_000:
            assert sink.rows() == once
    dispatch(spark, tmp_path / "log", once=True, events_max=19).awaitTermination()
    found = counts(spark, tmp_path / "log")
    assert found == Counts(expected=found.expected, delivered=found.expected)


def test_deliveries_are_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    """The deliveries of a dispatched log are a table like any other: readable, verified, in order, each once."""
    log = feed_log(tmp_path / "log")
    for _ in range(2):  # the second has nothing left to do
        query = dispatch(spark, log, once=True, events_max=50)
        query.awaitTermination()
        assert query.exception() is None
    assert delivered(log) == expected(log)
    assert counts(spark, log) == Counts(expected=len(expected(log)), delivered=len(expected(log)))
    assert verify(log).findings == []
    assert list(read_head(log, "deliveries").batches.values()) == [2]
    for subscription, rows in _by_subscription(log).items():
        ordered = [row["sequence"] for row in sorted(rows, key=lambda row: (row["entry_broker"], row["position"]))]
        by_broker = [row["sequence"] for row in sorted(rows, key=lambda row: (row["entry_broker"], row["sequence"]))]
        assert ordered == by_broker, subscription
        assert len({row["position"] for row in rows}) == len(rows)


def _by_subscription(log: Path) -> dict[str, list[dict[str, object]]]:
    found: dict[str, list[dict[str, object]]] = {}
    for row in LogReader(log).table("deliveries").to_pylist():
        found.setdefault(row["subscription"], []).append(row)
    return found


def test_recorded_answers_decide_as_in_the_audit(spark: SparkSession, tmp_path: Path) -> None:
    """A call is true or false as the log says, unknown with a fault or without a row; each row has its own event."""
    story = Story(tmp_path / "log", Subscription(id="calls", filter="price > 1 AND cited('Ada', 2) > 3"))
    for sequence in (1, 2, 3, 4, 5):
        story.event("p", sequence, epoch=1, price=float(sequence))
    for sequence, result, fault in ((1, "5", None), (2, "3", None), (3, None, "timed out"), (5, "5", None)):
        story.answer("p", sequence, "cited('Ada',2)", result=result, fault=fault)
    log = story.write()
    received: list[tuple[int, str]] = []

    def sink(due: DataFrame, _: int) -> None:
        received.extend((row.sequence, row.attributes) for row in due.collect())

    dispatch(spark, log, sink, checkpoint=str(tmp_path / "checkpoint"), once=True).awaitTermination()
    assert received == [(5, '{"price":5.0}')]
    dispatch(spark, log, once=True).awaitTermination()
    assert counts(spark, log) == Counts(expected=1, delivered=1)


def test_an_unanswered_question_ends_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Unless it is skipped, an XPath that could cost more than its bound is an error that names event and whom."""
    fault = fault_in(dispatch(spark, costly(tmp_path / "log"), once=True))
    assert isinstance(fault, EventError)
    assert fault.message.startswith("event p:2: subscription bomb version 1 not answered: //a[//a[//a]] may need ")


def test_a_folder_for_each_subscriber(
    spark: SparkSession, log: Path, tmp_path: Path, checkpoints: Iterator[str]
) -> None:
    """Into a folder, each subscriber's events lie in a folder of its own, with their attributes."""
    out = tmp_path / "inboxes"
    query = dispatch(spark, log, out, checkpoint=next(checkpoints), once=True, events_max=60)
    query.awaitTermination()
    assert query.exception() is None
    rows = spark.read.parquet(str(out))
    assert sorted(tuple(row) for row in rows.select(*KEY).collect()) == expected(log)
    subscribers = {f"subscriber=c{subscription}" for _, _, _, subscription, _ in expected(log)}
    assert {folder.name for folder in out.iterdir() if folder.is_dir()} == subscribers
    book = rows.where("type = 'Book'").select("attributes", "xml").first()
    assert book is not None
    assert book.xml.startswith("<shop>")
    assert '"pages"' in book.attributes


def test_a_batch_write_is_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    """`write.format("agvent-deliveries")` appends a DataFrame of deliveries, and overwrites nothing."""
    log = feed_log(tmp_path / "log")
    register(spark)
    due = spark.read.format("agvent").option("table", "due").load(str(log)).drop("accepted_at")
    due.write.format("agvent-deliveries").mode("append").save(str(log))
    assert delivered(log) == expected(log)
    assert read_head(log, "deliveries").number == 1
    with pytest.raises(Exception, match="cannot be overwritten"):
        due.write.format("agvent-deliveries").mode("overwrite").save(str(log))


def test_events_of_one_type_have_its_columns(spark: SparkSession, log: Path) -> None:
    """A type's events have its attributes as columns; without a type, all types' columns are there, by name."""
    register(spark)
    source = spark.read.format("agvent")
    books = source.option("type", "Book").load(str(log))
    assert {"pages", "price", "schema"} <= set(books.columns)
    assert "symbol" not in books.columns
    everything = spark.read.format("agvent").load(str(log))
    assert {"pages", "price", "symbol"} <= set(everything.columns)
    assert everything.count() == 120
    kinds = {(row.type, row.symbol is None) for row in everything.select("type", "symbol").distinct().collect()}
    assert kinds == {("Book", True), ("Quote", False)}
    chosen = spark.read.format("agvent").schema("price double, symbol string").load(str(log))
    assert chosen.where("symbol = 'a'").count() == everything.where("symbol = 'a'").count() > 0
    with pytest.raises(Exception, match="the table has no column 'prise'"):
        spark.read.format("agvent").schema("prise double").load(str(log)).count()
    with pytest.raises(Exception, match="has no type 'Bok'"):
        spark.read.format("agvent").option("type", "Bok").load(str(log))


def test_other_tables_stream_by_commits(spark: SparkSession, log: Path, checkpoints: Iterator[str]) -> None:
    """A table of the catalogue or of deliveries is a stream of whole commits."""
    register(spark)
    sizes = []
    changes = spark.readStream.format("agvent").options(table="changes", maxEventsPerTrigger="5").load(str(log))
    writer = changes.writeStream.option("checkpointLocation", next(checkpoints)).trigger(availableNow=True)
    writer.foreachBatch(lambda rows, _: sizes.append(rows.count())).start().awaitTermination()
    assert sum(sizes) == LogReader(log).table("changes").num_rows
    assert len(sizes) > 1


def test_an_empty_log_has_nothing_due(spark: SparkSession, tmp_path: Path) -> None:
    """A log without an event is no error, and its stream ends at once."""
    create_log(tmp_path / "log")
    query = dispatch(spark, tmp_path / "log", once=True)
    query.awaitTermination()
    assert query.exception() is None
    assert list(reports(query, after=-1)) == []
    assert spark.read.format("agvent").option("table", "due").load(str(tmp_path / "log")).count() == 0


def test_what_retention_has_dropped_is_missed(spark: SparkSession, tmp_path: Path, checkpoints: Iterator[str]) -> None:
    """A stream that comes too late says so, and goes on with what is left only if it is told to."""
    log = feed_log(tmp_path / "log")
    with LogWriter(log) as writer:
        retain(writer, "events", before=START + timedelta(seconds=80))
    fault = fault_in(dispatch(spark, log, Collected(), checkpoint=next(checkpoints), once=True))
    assert isinstance(fault, LogError)
    assert "retention has dropped events" in fault.message
    assert fault.message.endswith("--skip-dropped")
    sink = Collected()
    dispatch(spark, log, sink, checkpoint=next(checkpoints), once=True, skip_dropped=True).awaitTermination()
    assert sink.rows() == expected(log) != []


def test_a_checkpoint_of_another_log_is_refused(spark: SparkSession, tmp_path: Path, log: Path) -> None:
    """A checkpoint that is further than its log is not of that log."""
    small = feed_log(tmp_path / "small", steps=1)
    checkpoint = str(tmp_path / "checkpoint")
    dispatch(spark, log, Collected(), checkpoint=checkpoint, once=True).awaitTermination()
    fault = fault_in(dispatch(spark, small, Collected(), checkpoint=checkpoint, once=True))
    assert isinstance(fault, LogError)
    assert fault.message == (
        "the log has 20 events, and this stream has read 120 already\n"
        "hint: the checkpoint belongs to another log; use a new checkpoint for this log"
    )


def test_mistakes_are_said_before_the_stream_starts(spark: SparkSession, tmp_path: Path, log: Path) -> None:
    """A folder that is no log, and a function without a checkpoint."""
    with pytest.raises(LogFileError, match="is not an event log"):
        dispatch(spark, tmp_path)
    with pytest.raises(CallerError, match="needs a checkpoint"):
        dispatch(spark, log, Collected())


def test_another_session_may_be_the_active_one(spark: SparkSession, tmp_path: Path) -> None:
    """A query over stored documents, for one, works in a session of its own."""
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log", streams=STREAMS) as writer:
        Feed(writer, seed=3).step(40)
    spark.newSession().createDataFrame([(1,)], "n INT").collect()
    dispatch(spark, tmp_path / "log", once=True).awaitTermination()
    assert delivered(tmp_path / "log") == expected(tmp_path / "log")
