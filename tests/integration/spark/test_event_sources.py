"""One `match` for every kind of events: a DataFrame, Parquet, JSON Lines and an event log give the same pairs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from agvent import Event, EventId, Subscription
from agvent.errors import CallerError, EventError
from agvent.spark import count_matches, match
from agvent.spark.matches.event_source import event_source
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter

TICKS = [{"symbol": "IBM", "price": 99.5}, {"symbol": "MSFT", "price": 410.0}, {"symbol": "IBM", "price": 150.25}, {}]
INTERESTS = [
    Subscription(id="cheap", filter="symbol = 'IBM' AND price < 100"),
    Subscription(id="ibm", filter="symbol=IBM", language="tags"),
    Subscription(id="twice", filter="price * 2 > 800"),
    Subscription(id="nothing", filter="symbol IS NULL"),
]
EXPECTED = [(0, "cheap"), (0, "ibm"), (1, "twice"), (2, "ibm"), (3, "nothing")]
COUNTS = [("cheap", 1), ("ibm", 2), ("nothing", 1), ("twice", 1)]
KINDS = ["frame", "parquet", "lines", "log", "log reader"]
DOCUMENT = f"<r>{'<a/>' * 2_000}</r>"
"""One on which the XPath of the test could cost more than its bound."""

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def sources(spark: SparkSession, tmp_path: Path) -> dict[str, Any]:
    """The same ticks as every kind of events."""
    schema = pa.schema([("symbol", pa.string()), ("price", pa.float64())])
    pq.write_table(pa.Table.from_pylist(TICKS, schema), tmp_path / "ticks.parquet")
    (tmp_path / "ticks.jsonl").write_text("".join(json.dumps(tick) + "\n" for tick in TICKS))
    frame = spark.createDataFrame(
        [(at, tick.get("symbol"), tick.get("price")) for at, tick in enumerate(TICKS)],
        "event long, symbol string, price double",
    )
    log = written_log(tmp_path / "log", [Event(attributes=dict(tick)) for tick in TICKS])
    return {
        "frame": frame,
        "parquet": str(tmp_path / "ticks.parquet"),
        "lines": tmp_path / "ticks.jsonl",
        "log": log,
        "log reader": LogReader(log),
    }


def written_log(path: Path, events: list[Event]) -> Path:
    """A log of these events, all of one publisher, whose sequence begins at 1; the first enters at two brokers."""
    create_log(path)
    named = [Event(attributes=one.attributes, xml=one.xml, id=EventId("p", at + 1)) for at, one in enumerate(events)]
    with LogWriter(path) as log:
        records = [LoggedEvent(event=one, accepted_at=NOON, entry_broker="b1", epoch=0) for one in named]
        log.append_events([*records, LoggedEvent(event=named[0], accepted_at=NOON, entry_broker="b2", epoch=0)])
    return path


def pairs(frame: DataFrame) -> list[tuple[int, str]]:
    """The pairs by number of the event; a log names them by publisher and sequence."""
    assert frame.columns == ["event", "subscription"]
    return sorted((_number(row.event), row.subscription) for row in frame.collect())


def _number(name: Any) -> int:
    return int(name.removeprefix("p:")) - 1 if isinstance(name, str) else int(name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_events_gives_the_same_pairs(sources: dict[str, Any], kind: str) -> None:
    """And the same counts. An event that entered a log at two brokers is one event."""
    assert pairs(match(sources[kind], INTERESTS)) == EXPECTED
    assert sorted(map(tuple, count_matches(sources[kind], INTERESTS).collect())) == COUNTS


def test_a_source_says_how_many_events_it_has(spark: SparkSession, sources: dict[str, Any]) -> None:
    """A log counts what its brokers accepted, so an event that two accepted counts twice."""
    assert [event_source(sources[kind]).count(spark) for kind in KINDS] == [4, 4, 4, 5, 5]


@pytest.mark.parametrize("kind", ["frame", "lines", "log"])
def test_an_unanswered_question_fails_the_job_or_is_a_row(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Whatever the kind of events: an error that names both, or with `complaints` a row."""
    (tmp_path / "e.jsonl").write_text(json.dumps({"$xml": DOCUMENT}) + "\n")
    source = {
        "frame": spark.createDataFrame([(0, DOCUMENT)], "event long, `$xml` string"),
        "lines": tmp_path / "e.jsonl",
        "log": written_log(tmp_path / "log", [Event(xml=DOCUMENT)]),
    }[kind]
    interests = [Subscription(id="costly", language="xpath", filter="//a[//a[//a]]")]
    with pytest.raises(EventError, match=r"event '?(0|p:1)'?: subscription costly not answered"), translated_errors():
        match(source, interests).collect()
    [row] = match(source, interests, complaints=True).collect()
    assert (_number(row.event), row.subscription, row.complaint is None) == (0, "costly", False)


def test_a_rejected_line_fails_the_job_or_is_a_row(sources: dict[str, Any]) -> None:
    """With `skip_rejected` the other lines are matched, and the row has a complaint and no subscription."""
    with sources["lines"].open("a") as file:
        file.write("{no event}\n")
    with pytest.raises(EventError, match=r"ticks\.jsonl line 5: "), translated_errors():
        match(sources["lines"], INTERESTS).collect()
    rows = match(sources["lines"], INTERESTS, complaints=True, skip_rejected=True).collect()
    assert sorted((row.event, row.subscription) for row in rows if row.complaint is None) == EXPECTED
    assert [(row.event, row.subscription) for row in rows if row.complaint is not None] == [(4, None)]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("lines", {"event": "id"}, "the option event does not apply to JSON Lines: it names a column of a DataFrame"),
        ("lines", {"keep": ["price"]}, "the option keep does not apply to JSON Lines"),
        ("lines", {"skip_rejected": True}, "skip_rejected is given without complaints=True"),
        ("parquet", {"skip_rejected": True, "complaints": True}, "the option skip_rejected does not apply to Parquet"),
        ("frame", {"hosts_key": "key"}, "the option hosts_key does not apply to a DataFrame: it is for the agvents"),
        ("log", {"event": "id"}, "the option event does not apply to an event log"),
        ("log", {"keep": ["price"]}, "'price' cannot be kept"),
    ],
)
def test_an_option_that_does_not_apply_is_refused(
    sources: dict[str, Any], kind: str, options: dict[str, Any], message: str
) -> None:
    """It is named, with the kind of events it was given for."""
    with pytest.raises(CallerError) as caught:
        match(sources[kind], INTERESTS, **options)
    assert caught.value.message.startswith(message)


def test_events_that_it_cannot_take_are_named(sources: dict[str, Any], tmp_path: Path) -> None:
    """An object of another type, a path with nothing there, events without subscriptions, lines without epochs."""
    for events, message in (
        (pa.table({"x": [1]}), "events are a Spark DataFrame, a path or a LogReader, not Table"),
        (tmp_path / "nowhere", f"{tmp_path / 'nowhere'} does not exist"),
        (sources["lines"], "subscriptions are missing"),
    ):
        with pytest.raises(CallerError) as caught:
            match(events)
        assert caught.value.message == message
    with pytest.raises(CallerError, match="JSON Lines have no entry broker and no epoch"):
        match(sources["lines"], sources["log"])
