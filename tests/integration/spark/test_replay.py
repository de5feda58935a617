"""Replay gives exactly the events that the matcher says, of a DataFrame and of a log, and Parquet is asked for them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from agvent import Event, Subscription, evaluate
from agvent.errors import CallerError, EventError, SubscriptionError
from agvent.event_json import decode_event
from agvent.spark.pushdown.pushed_filters import pushed_filters
from agvent.spark.pushdown.to_column import pushed_down
from agvent.spark.replays.json_lines import FrameLines, LogLines, lines
from agvent.spark.replays.log_replay import LogReplay, cases, replay_log
from agvent.spark.replays.table_replay import Window, replay, replayed
from agvent.spark.replays.verifiers import names_read
from agvent.store.event_columns import event_schema, records_of
from agvent.store.log_reader import LogReader
from agvent.store.log_writer import LogWriter
from agvent.store.retention import retain
from tests import strategies
from tests.awkward_log import MINUTE, START, awkward_log
from tests.spark_tables import drawn_conditions, world
from tests.stories import QUOTE, Story


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return awkward_log(tmp_path_factory.mktemp("replay") / "log")


@pytest.mark.parametrize("number", range(2))
def test_exact_rows_compare_as_their_events(interpreted: SparkSession, log: Path, number: int) -> None:
    """Where a row of the log is exact, its columns say of a random filter what the oracle says of its event."""
    conditions = drawn_conditions(strategies.conditions(), count=150, number=number)
    reader = LogReader(log)
    wrong = []
    for name, schema in reader.event_types():
        type_ = reader.type_of(name, schema)
        table = reader.event_table(name, schema)
        frame = interpreted.createDataFrame(table, from_arrow_schema(event_schema(type_)))
        found = [pushed_down(one, cases(type_, name, names_read(one))) for one in conditions]
        columns = [sf.coalesce(one.column, sf.lit(False)).alias(f"r{n}") for n, one in enumerate(found)]
        answers = frame.select("exact", *columns).collect()
        for record, (exact, *row) in zip(records_of(table, type_, name), answers, strict=True):
            for condition, pushdown, said in zip(conditions, found, row, strict=True):
                holds = evaluate(condition, record.event) is True
                if exact and said != holds and (pushdown.exact or not said):
                    wrong.append((condition, record.event, said))
    assert wrong == []


def received(found: LogReplay) -> list[tuple[str, int]]:
    """Publisher and sequence of everything, each part in the order in which it comes."""
    return [
        (row.publisher, row.sequence)
        for part in found.parts
        for row in part.frame.select("publisher", "sequence").collect()
    ]


def expected(log: Path, subscription: Subscription, since: datetime, until: datetime) -> set[tuple[str, int]]:
    condition = subscription.condition()
    return {
        (record.event.id.publisher, record.event.id.sequence)
        for record in LogReader(log).events()
        if record.event.id and since <= record.accepted_at < until
        if evaluate(condition, record.event) is True
    }


@pytest.mark.parametrize(
    "subscription",
    [
        Subscription(id="s", filter="a > 0"),
        Subscription(id="s", filter="NOT a = 'abc' AND b IS NOT NULL", type="Item"),
        Subscription(id="s", filter="size(list) > 1 OR regex(c, 'b')", type="Item"),
        Subscription(id="s", filter="a / 2 >= 0 OR o.x = 1"),
        Subscription(id="s", topic=42),
        Subscription(id="s", pattern="a/#"),
        Subscription(id="s", language="xpath", filter="/a/b"),
        Subscription(id="s", language="elvin", filter="int32(a) || nan(b)"),
    ],
    ids=lambda one: f"{one.type} {one.topic} {one.pattern} {one.filter}",
)
def test_a_replay_is_what_the_oracle_says(spark: SparkSession, log: Path, subscription: Subscription) -> None:
    """Columns, `rest`, kinds that do not fit, subtypes, addresses, XPath: each matching event comes, once."""
    since, until = START + 20 * MINUTE, START + 220 * MINUTE
    got = received(replay_log(spark, log, subscription, Window(since, until)))
    assert sorted(got) == sorted(expected(log, subscription, since, until))
    assert got


def test_an_event_that_was_accepted_twice_comes_once(spark: SparkSession, log: Path) -> None:
    """A failover leaves two rows of one event in the log; a subscriber gets one."""
    got = received(replay_log(spark, log, Subscription(id="s"), Window()))
    assert sorted(got) == sorted({(f"p{number % 3}", number // 3 + 1) for number in range(240)})


def test_a_publishers_events_are_in_order(spark: SparkSession, log: Path) -> None:
    """In each part the events of one publisher stand together, in the order of their sequence."""
    for part in replay_log(spark, log, Subscription(id="s"), Window()).parts:
        rows = [(row.publisher, row.quality, row.sequence) for row in part.frame.collect()]
        publishers = [row[0] for at, row in enumerate(rows) if at == 0 or rows[at - 1][0] != row[0]]
        assert len(publishers) == len(set(publishers))
        assert [row for one in publishers for row in sorted(rows) if row[0] == one] == rows


def test_segments_outside_the_window_are_not_read(spark: SparkSession, log: Path) -> None:
    """The head knows when a segment's events were accepted; Spark is given only the others."""
    found = replay_log(spark, log, Subscription(id="s"), Window(since=START + 120 * MINUTE))
    assert found.segment_count == 8
    assert sorted((part.type or "", len(part.segments)) for part in found.parts) == [
        ("", 1),
        ("Book", 1),
        ("Item", 1),
        ("Paper", 1),
    ]


def test_what_retention_took_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """A replay says up to when events are gone; a log that has none left is no mistake."""
    log = awkward_log(tmp_path / "log", count=8)
    with LogWriter(log) as writer:
        retain(writer, "events", bytes_max=0)
    assert replay_log(spark, log, Subscription(id="s"), Window()) == LogReplay([], 0, START + 7 * MINUTE)


def test_parquet_is_asked_for_the_filter(spark: SparkSession, log: Path) -> None:
    """The plan shows the comparisons and the window among the filters that the scan of a log pushes down."""
    subscription = Subscription(id="s", filter="a > 2.5 AND c = 'abc' AND size(c) > 2 AND regex(c, 'b')", type="Item")
    found = replay_log(spark, log, subscription, Window(since=START))
    [item] = [part for part in found.parts if part.type == "Item"]
    since = "GreaterThanOrEqual(accepted_at,2026-03-01 00:00:00.0)"
    exact, other = pushed_filters(item.frame)
    assert all(test in exact for test in (since, "EqualTo(exact,true)", "GreaterThan(a,2)", "EqualTo(c,abc)"))
    assert all(test in other for test in (since, "Or(Not(EqualTo(exact,true)),IsNotNull(to))"))


def test_a_replay_of_a_frame_is_what_the_oracle_says(spark: SparkSession) -> None:
    """Of a DataFrame of any types, the rows come that the oracle says, whatever part of the filter Spark answers."""
    found = world(3, rows=60)
    frame = spark.createDataFrame(found.table).withColumn("row", sf.monotonically_increasing_id()).coalesce(1)
    for filter in (
        "a IS NOT NULL AND NOT b = 1",
        "lower(c) = 'abc' OR size(list) > 1",
        "regex(a, 'b') OR list[0] IS NULL",
    ):
        subscription = Subscription(id="s", filter=filter)
        condition = subscription.condition()
        expected = [row for row, event in enumerate(found.events) if evaluate(condition, event) is True]
        rows = replay(frame, subscription).select("row").collect()
        assert sorted(row.row for row in rows) == expected


@pytest.fixture(scope="module")
def ticks(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thousand prices, one a minute, in Parquet."""
    path = tmp_path_factory.mktemp("ticks") / "ticks"
    at = sf.timestamp_seconds(sf.lit(int(START.timestamp())) + sf.col("id") * 60)
    frame = spark.range(1000).select(at.alias("at"), (sf.col("id") % 100).alias("price"), sf.lit("IBM").alias("symbol"))
    frame.write.parquet(str(path))
    return path


def test_parquet_of_any_kind_is_replayed(spark: SparkSession, ticks: Path) -> None:
    """A column of any name is the time; the window's end is not in it, its start is."""
    window = Window(START + 10 * MINUTE, START + 310 * MINUTE)
    found = replayed(spark.read.parquet(str(ticks)), Subscription(id="s", filter="price >= 9.5"), window, time="at")
    assert [row.price for row in found.frame.collect()] == [*range(10, 100)] * 3
    assert found.pushdown.exact
    [pushed] = pushed_filters(found.frame)
    assert "GreaterThanOrEqual(price,10)" in pushed
    assert "LessThan(at,2026-03-01 05:10:00.0)" in pushed


def test_what_the_matcher_verifies_is_still_pushed_down(spark: SparkSession, ticks: Path) -> None:
    """An expression that Spark has no equal words for leaves the rest of the filter to Parquet."""
    subscription = Subscription(id="s", filter="price < 3 AND regex(symbol, '^I')")
    found = replayed(spark.read.parquet(str(ticks)), subscription, Window(START, None), time="at")
    assert found.pushdown.residual == Subscription(id="s", filter="regex(symbol, '^I')").condition()
    [pushed] = pushed_filters(found.frame)
    assert "LessThan(price,3)" in pushed
    assert found.frame.count() == 30


def test_a_window_needs_a_time(spark: SparkSession, ticks: Path) -> None:
    """Events without the column, or with no time in it, cannot be replayed since a time."""
    frame = spark.read.parquet(str(ticks))
    for name in ("$time", "price"):
        with pytest.raises(CallerError, match="no time in the column"):
            replayed(frame, Subscription(id="s"), Window(since=START), time=name)


def test_a_filter_that_asks_agvents_is_refused(spark: SparkSession, ticks: Path) -> None:
    """There is no agvent to call; the other part of the filter alone would give too much."""
    with pytest.raises(SubscriptionError, match="calls cites"):
        replayed(spark.read.parquet(str(ticks)), Subscription(id="s", filter="price > 1 AND cites('A')"), Window())


def test_rows_of_a_frame_are_lines(spark: SparkSession) -> None:
    """Columns are attributes and headers, as everywhere, and one that is null is not there; in the frame's order."""
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    made = spark.createDataFrame(
        [("Sports/NBA", noon, 1, {"c": 2.5}), (None, None, None, {"c": None})],
        "`$topic` string, `$time` timestamp, a int, b struct<c: double>",
    ).coalesce(1)
    assert [decode_event(line.encode()) for line in lines(made, FrameLines(made.columns))] == [
        Event(topic="Sports/NBA", time=noon, attributes={"a": 1, "b": {"c": 2.5}}),
        Event(attributes={"b": {"c": None}}),
    ]


def test_an_event_that_no_line_can_say_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """It is the caller's to choose another format; nothing stands in for the value."""
    story = Story(tmp_path / "log")
    story.event("p", 7, epoch=0, price=math.inf)
    [part] = replay_log(spark, story.write(), Subscription(id="s", filter="price > 1"), Window()).parts
    with pytest.raises(EventError) as caught:
        list(lines(part.frame, LogLines(QUOTE, "Quote")))
    assert caught.value.message == (
        "event p:7: price: no line of JSON has an infinite number\nhint: write it as Parquet: --out DIR"
    )


def test_a_publisher_chooses_its_subscribers(spark: SparkSession, tmp_path: Path) -> None:
    """Events to named subscribers, or to those of a context, are for whom their publisher wanted."""
    story = Story(tmp_path / "log")
    for sequence in range(1, 5):
        story.event("p", sequence, epoch=0, price=float(sequence))
    _, by_name, by_context, by_both = story.events
    story.events[1] = msgspec.structs.replace(by_name, destinations=("ada", "ben"))
    story.events[2] = msgspec.structs.replace(by_context, to="floor = 3")
    story.events[3] = msgspec.structs.replace(by_both, to="floor = 3", destinations=("ben",))
    log = story.write()

    def got(subscriber: str, floor: int | None) -> list[int]:
        context = None if floor is None else {"floor": floor}
        subscription = Subscription(id="s", filter="price > 0", context=context)
        return [
            sequence for _, sequence in received(replay_log(spark, log, subscription, Window(), subscriber=subscriber))
        ]

    assert got("", None) == [1]
    assert got("ada", 3) == [1, 2, 3]
    assert got("ben", 3) == [1, 2, 3, 4]
    assert got("ben", 4) == [1, 2]
