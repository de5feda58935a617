"""`match` on a real Spark session: any DataFrame, any source of subscriptions, in the words of the matcher."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from agvent import Subscription, Subscriptions, save_index
from agvent.errors import CallerError, EventError, SubscriptionError
from agvent.spark import count_matches, match
from agvent.spark.rosters.roster import Roster
from agvent.spark.runtime.spark_errors import translated_errors

TICKS = [(1, "IBM", 99.5), (2, "MSFT", 410.0), (3, "IBM", 150.25), (4, None, None)]
INTERESTS = [
    Subscription(id="cheap", filter="symbol = 'IBM' AND price < 100"),
    Subscription(id="ibm", filter="symbol=IBM", language="tags"),
    Subscription(id="twice", filter="price * 2 > 800"),
    Subscription(id="nothing", filter="symbol IS NULL"),
]
EXPECTED = [(1, "cheap"), (1, "ibm"), (2, "twice"), (3, "ibm"), (4, "nothing")]


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(TICKS, "id long, symbol string, price double")


def pairs(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_a_row_for_each_pair(ticks: DataFrame) -> None:
    """The result has the events' names and the subscriptions' ids, and nothing else."""
    found = match(ticks, INTERESTS, event="id")
    assert found.schema.simpleString() == "struct<event:bigint,subscription:string>"
    assert pairs(found) == EXPECTED


def test_columns_are_kept_on_request(ticks: DataFrame) -> None:
    """`keep` carries columns of the event into each of its pairs, read by a filter or not."""
    found = match(ticks.selectExpr("*", "id * 10 AS lot"), INTERESTS[:2], event="id", keep=["lot", "symbol"])
    assert found.columns == ["event", "lot", "symbol", "subscription"]
    assert pairs(found) == [(1, 10, "IBM", "cheap"), (1, 10, "IBM", "ibm"), (3, 30, "IBM", "ibm")]


@pytest.mark.parametrize("form", ["index", "table", "frame", "parquet", "saved index", "JSON Lines", "roster"])
def test_every_form_of_subscriptions(form: str, spark: SparkSession, ticks: DataFrame, tmp_path: Path) -> None:
    """An index, a table, a DataFrame and the three kinds of file give the same pairs."""
    index = Subscriptions(INTERESTS)
    rows = [{"id": one.id, "filter": one.filter, "language": one.language} for one in INTERESTS]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "interests.parquet")
    save_index(index, tmp_path / "interests.index")
    (tmp_path / "interests.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = {
        "index": index,
        "table": table,
        "frame": spark.createDataFrame(rows),
        "parquet": tmp_path / "interests.parquet",
        "saved index": tmp_path / "interests.index",
        "JSON Lines": str(tmp_path / "interests.jsonl"),
        "roster": Roster.of(index),
    }[form]
    assert pairs(match(ticks, source, event="id")) == EXPECTED


def test_headers_and_nested_names(spark: SparkSession) -> None:
    """Columns with reserved names are headers, structs are objects, arrays are lists; every language is answered."""
    schema = "`event` int, `$topic` string, `$type` array<string>, `$xml` string, o struct<x: int, y: array<string>>"
    frame = spark.createDataFrame(
        [(0, "a/b", ["Book", "Item"], "<a><b>2</b></a>", (7, ["p", "q"])), (1, "c", None, None, (3, []))], schema
    )
    interests = [
        Subscription(id="pattern", pattern="a/#"),
        Subscription(id="type", type="Item"),
        Subscription(id="xpath", language="xpath", filter="/a[b > 1]"),
        Subscription(id="path", filter="o.x = 7 AND o.y[1] = 'q'"),
        Subscription(id="elvin", language="elvin", filter="n == 3"),
    ]
    assert pairs(match(frame.selectExpr("*", "o.x AS n"), interests)) == [
        (0, "path"), (0, "pattern"), (0, "type"), (0, "xpath"), (1, "elvin"),
    ]  # fmt: skip


def test_values_of_every_kind_are_exact(spark: SparkSession) -> None:
    """Integers beyond 2**53, timestamps and bytes mean in a DataFrame what they mean in an event."""
    frame = spark.createDataFrame(
        [(2**53 + 1, datetime(2026, 3, 1, 12, tzinfo=UTC), bytearray(b"\x00\xff"), True)],
        "n long, t timestamp, b binary, yes boolean",
    )
    interests = [
        Subscription(id="exact", filter="n = 9007199254740993"),
        Subscription(id="near", filter="n = 9007199254740992"),
        Subscription(id="noon", filter="t = TIMESTAMP '2026-03-01T12:00:00Z'"),
        Subscription(id="yes", filter="yes"),
        Subscription(id="bytes", filter="size(b) = 2"),
    ]
    assert pairs(match(frame.selectExpr("'e' AS event", "*"), interests)) == [
        ("e", "bytes"), ("e", "exact"), ("e", "noon"), ("e", "yes"),
    ]  # fmt: skip


def test_names_that_differ_in_case_are_two(spark: SparkSession) -> None:
    """Spark takes `Price` and `price` for one name, a filter does not."""
    frame = spark.createDataFrame([(0, 1, 2)], "event int, Price int, price int")
    interests = [Subscription(id="low", filter="price = 2"), Subscription(id="high", filter="Price = 1")]
    assert pairs(match(frame, interests)) == [(0, "high"), (0, "low")]


def test_only_the_columns_that_are_read_leave_the_jvm(ticks: DataFrame) -> None:
    """The plan under the kernel has the event's name and the columns of the filters, and no others."""
    wide = ticks.selectExpr("*", "'x' AS note")
    plan = match(wide, INTERESTS[:1], event="id")._jdf.queryExecution().optimizedPlan().toString()
    assert "note" not in plan
    assert "symbol" in plan


def test_versions_in_force(spark: SparkSession) -> None:
    """A pair is there only where the version was in force at the event's entry broker and epoch."""
    versions = pa.table({"id": ["s", "s"], "version": [1, 2], "filter": ["price > 0", "price > 100"]})
    intervals = pa.table(
        {
            "entry_broker": ["b1", "b1", "b2"],
            "subscription": ["s", "s", "s"],
            "version": [1, 2, 2],
            "from_epoch": [1, 4, 2],
            "to_epoch": [4, None, 3],
        }
    )
    rows = [(broker, epoch, price) for broker in ("b1", "b2") for epoch in (0, 2, 4) for price in (50.0, 200.0)]
    events = spark.createDataFrame(rows, "entry_broker string, epoch long, price double")
    named = events.selectExpr("concat(entry_broker, ' ', epoch, ' ', int(price)) AS event", "*")
    found = match(named, versions, in_force=intervals)
    assert found.columns == ["event", "subscription", "version"]
    assert pairs(found) == [("b1 2 200", "s", 1), ("b1 2 50", "s", 1), ("b1 4 200", "s", 2), ("b2 2 200", "s", 2)]
    assert pairs(count_matches(named, versions, in_force=intervals)) == [("s", 1, 2), ("s", 2, 2)]


def test_counts_per_subscription(ticks: DataFrame) -> None:
    """`count_matches` says how many events each subscription matched, whatever the partitions."""
    expected = [("cheap", 1), ("ibm", 2), ("nothing", 1), ("twice", 1)]
    assert pairs(count_matches(ticks, INTERESTS, event="id")) == expected
    assert pairs(count_matches(ticks.repartition(3), INTERESTS, event="id")) == expected


@pytest.mark.usefixtures("spark")
def test_parquet_files_are_read_by_the_tasks(tmp_path: Path) -> None:
    """The path of Parquet files gives the pairs of the DataFrame; without a column that names them, events are rows
    counted over all files."""
    table = pa.table(
        {"id": [row[0] for row in TICKS], "symbol": [row[1] for row in TICKS], "price": [row[2] for row in TICKS]}
    )
    (tmp_path / "ticks").mkdir()
    pq.write_table(table.slice(0, 3), tmp_path / "ticks" / "a.parquet", row_group_size=1)
    pq.write_table(table.slice(3), tmp_path / "ticks" / "b.parquet")
    (tmp_path / "ticks" / "_SUCCESS").touch()
    path = str(tmp_path / "ticks")
    assert pairs(match(path, INTERESTS, event="id")) == EXPECTED
    assert pairs(match(path, INTERESTS)) == [(event - 1, id) for event, id in EXPECTED]
    assert pairs(count_matches(path, INTERESTS)) == [("cheap", 1), ("ibm", 2), ("nothing", 1), ("twice", 1)]


COSTLY = Subscription(id="costly", language="xpath", filter="//b[count(//b[count(//b[count(//b) > 0]) > 0]) > 0]")


def test_a_question_that_was_not_answered_is_reported(spark: SparkSession) -> None:
    """An XPath beyond its bound fails the job, or is a row with a complaint; it is never just no match."""
    document = f"<a>{'<b/>' * 400}</a>"
    frame = spark.createDataFrame([(5, document), (6, "<b/>")], "event int, `$xml` string")
    interests = [COSTLY, Subscription(id="b", language="xpath", filter="/b")]
    with pytest.raises(EventError, match="event 5: subscription costly not answered"), translated_errors():
        match(frame, interests).collect()
    found = match(frame, interests, complaints=True)
    told = [(event, id, complaint is not None) for event, id, complaint in found.collect()]
    assert sorted(told) == [(5, "costly", True), (6, "b", False), (6, "costly", False)]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"event": "nr"}, "the events have no column 'nr', only id, price, symbol"),
        ({"keep": ["lot"]}, "the events have no column 'lot', only id, price, symbol"),
    ],
)
def test_a_column_that_is_not_there_is_named(ticks: DataFrame, wrong: dict[str, Any], complaint: str) -> None:
    """The error says which column was looked for and which there are."""
    with pytest.raises(CallerError) as caught:
        match(ticks, INTERESTS, **{"event": "id", **wrong})
    assert caught.value.message == complaint


def test_events_of_which_no_column_is_read_are_like_empty_ones(spark: SparkSession) -> None:
    """They match what an event without attributes matches, whatever their own columns are."""
    frame = spark.createDataFrame([(0, 1.0), (1, None)], "event int, cost double")
    assert Subscriptions(INTERESTS).match({}) == ["nothing"]
    assert pairs(match(frame, INTERESTS)) == [(0, "nothing"), (1, "nothing")]
    assert [tuple(row) for row in count_matches(frame, INTERESTS).collect()] == [("nothing", 2)]


def test_a_type_that_is_no_kind_of_value_is_refused_before_the_job(spark: SparkSession) -> None:
    """A decimal that a filter reads is refused with its column; one that nobody reads is left alone."""
    frame = spark.createDataFrame([(0,)], "event int").selectExpr(
        "event", "CAST(1 AS DECIMAL(5, 2)) AS price", "1 AS n"
    )
    with pytest.raises(EventError, match="column price: Arrow's decimal128"):
        match(frame, [Subscription(id="s", filter="price > 0")])
    assert pairs(match(frame, [Subscription(id="s", filter="n > 0")])) == [(0, "s")]


def test_a_bad_filter_is_named_by_its_subscription(ticks: DataFrame) -> None:
    """The error has the id, the place and the caret."""
    rows = pa.table({"id": ["good", "bad"], "filter": ["price > 1", "price >> 1"]})
    with pytest.raises(SubscriptionError) as caught:
        match(ticks, rows, event="id")
    assert caught.value.message == (
        "in the filter of 'bad', line 1, column 8: expected a value, found '>'\n  price >> 1\n         ^"
    )
