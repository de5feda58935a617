"""The analysis of a log: its numbers against DuckDB's on the same files, and the folder it writes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from lxml import etree
from pyspark.sql import SparkSession

from agvent.filters.subscription import Subscription
from agvent.sample_day.day_plan import DayPlan
from agvent.sample_day.generate import generate
from agvent.spark.analysis.analyse import HOT_TIMES, analyse
from agvent.spark.analysis.write_report import write_report
from agvent.store.catalogue import subscription_row
from agvent.store.log_writer import LogWriter
from tests.stories import NOON, Story, after, interpreted

Tables = dict[str, pa.Table]
LATE_AFTER = timedelta(seconds=60)


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    with interpreted(spark) as session:
        yield session


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("logs") / "day"
    generate(log, DayPlan(events=600, subscriptions=60, brokers=3, seed=5, defect="lost"))
    return log


@pytest.fixture(scope="module")
def written(quick: SparkSession, day: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tables]:
    out = tmp_path_factory.mktemp("reports") / "report"
    found = analyse(quick, day)
    _, tables = write_report(found, out)
    found.close()
    return out, tables


@pytest.fixture(scope="module")
def duck(day: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        events = f"read_parquet('{day}/events/**/*.parquet', union_by_name=true, hive_partitioning=true)"
        connection.execute(f"CREATE VIEW events AS SELECT * FROM {events}")
        for name in ("deliveries", "traces", "subscriptions"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{day}/{name}/*.parquet')")
        yield connection


def rows(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in columns) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize(
    ("name", "columns", "query"),
    [
        (
            "types",
            ("type", "events", "deliveries"),
            """WITH d AS (SELECT DISTINCT ON (d.subscription, d.position) e.type FROM deliveries d JOIN events e
                 USING (publisher, sequence, quality, entry_broker, epoch))
               SELECT type, count(*), (SELECT count(*) FROM d WHERE d.type IS NOT DISTINCT FROM e.type)
               FROM events e GROUP BY type""",
        ),
        (
            "brokers",
            ("broker", "events", "deliveries"),
            """SELECT b, sum(e)::BIGINT, sum(d)::BIGINT FROM (SELECT entry_broker b, 1 e, 0 d FROM events
               UNION ALL SELECT home_broker, 0, 1 FROM deliveries) GROUP BY b""",
        ),
        ("subscribers", ("subscriber", "deliveries"), "SELECT subscriber, count(*) FROM deliveries GROUP BY ALL"),
        (
            "minutes",
            ("minute", "events", "deliveries"),
            """SELECT date_trunc('minute', t), sum(e)::BIGINT, sum(d)::BIGINT FROM (SELECT accepted_at t, 1 e, 0 d
               FROM events UNION ALL SELECT delivered_at, 0, 1 FROM deliveries) GROUP BY ALL""",
        ),
        (
            "hops",
            ("hops", "copies"),
            """SELECT h, count(*) FROM (SELECT max(hop) h FROM traces
               GROUP BY publisher, sequence, quality, destination) GROUP BY h""",
        ),
        (
            "links",
            ("from_broker", "to_broker", "copies", "bytes", "never_arrived", "queue_max"),
            """SELECT from_broker, to_broker, count(*), sum(bytes)::BIGINT, count(*) - count(received_at), max(queue)
               FROM traces GROUP BY ALL""",
        ),
    ],
)
def test_counts_are_those_of_duckdb(
    name: str, columns: tuple[str, ...], query: str, written: tuple[Path, Tables], duck: duckdb.DuckDBPyConnection
) -> None:
    """Each table has the numbers that another engine counts in the same files."""
    expected = [
        tuple(str(cell) if name == "minutes" and at == 0 else cell for at, cell in enumerate(row))
        for row in duck.execute(query).fetchall()
    ]
    found = [
        tuple(str(cell) if name == "minutes" and at == 0 else cell for at, cell in enumerate(row))
        for row in rows(written[1][name], *columns)
    ]
    assert found
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_latency_percentiles_are_those_of_duckdb(written: tuple[Path, Tables], duck: duckdb.DuckDBPyConnection) -> None:
    """The percentiles of a log of this size are exact: a value that occurs, at the asked rank."""
    query = """SELECT quality, count(*), quantile_disc(ms, 0.5), quantile_disc(ms, 0.9), quantile_disc(ms, 0.99),
          max(ms)
        FROM (SELECT d.quality, (epoch_us(delivered_at) - epoch_us(accepted_at)) / 1000 ms FROM deliveries d
        JOIN events e USING (publisher, sequence, quality, entry_broker, epoch)) GROUP BY quality"""
    columns = ("quality", "deliveries", "p50_ms", "p90_ms", "p99_ms", "max_ms")
    assert rows(written[1]["latency"], *columns) == sorted(duck.execute(query).fetchall(), key=repr)


def test_a_subscription_is_measured_by_the_events_it_was_exposed_to(written: tuple[Path, Tables]) -> None:
    """Selectivity is matches by exposed events; without a match a version is dead, over ten times the mean hot."""
    versions = written[1]["subscriptions"].to_pylist()
    mean = sum(row["matches"] for row in versions) / len(versions)
    for row in versions:
        assert row["matches"] <= row["exposed"]
        assert row["selectivity"] == (row["matches"] / row["exposed"] if row["exposed"] else None)
        state = "dead" if not row["matches"] else "hot" if row["matches"] > HOT_TIMES * mean else "used"
        assert row["state"] == state
    assert {"dead", "used"} <= {row["state"] for row in versions}


def test_the_folder_has_the_page_and_every_table_twice(written: tuple[Path, Tables]) -> None:
    """report.html is well-formed and opens with the verdict; tables are Parquet and CSV with the same rows."""
    out, tables = written
    names = {f"{name}.{form}" for name in tables for form in ("parquet", "csv")}
    assert {path.name for path in out.iterdir()} == {"report.html", *names}
    page = etree.fromstring((out / "report.html").read_bytes())
    assert page.find(".//p[@class='verdict broken']") is not None
    for name, table in tables.items():
        assert pq.read_table(out / f"{name}.parquet").num_rows == table.num_rows
        if table.num_rows:
            assert csv.read_csv(out / f"{name}.csv").num_rows == table.num_rows


def test_subscriptions_that_accept_the_same_are_grouped_and_moves_are_counted(
    quick: SparkSession, tmp_path: Path
) -> None:
    """Equal filters and filters that cover each other are one group, at one home; a move is counted with its losses."""
    story = Story(
        tmp_path / "log",
        Subscription(id="one", type="Quote", filter="price < 10 AND symbol = 'IBM'"),
        Subscription(id="same", type="Quote", filter="symbol = 'IBM' AND price < 10"),
        Subscription(id="proven", type="Quote", filter="price < 20 AND price < 10 AND symbol IN ('IBM')"),
        Subscription(id="other", type="Quote", filter="price < 11 AND symbol = 'IBM'"),
    )
    for sequence in (1, 2):
        story.event("p", sequence, epoch=4, symbol="IBM", price=5.0)
        for subscription in ("one", "same", "proven"):
            story.delivery("p", sequence, subscription, epoch=4, subscriber="ann")
    story.write()
    moved = Subscription(id="other", type="Quote", filter="price < 11 AND symbol = 'IBM'")
    row = subscription_row(moved, version=2, subscriber="of other", home_broker="h2", created_at=after(9))
    with LogWriter(story.path) as log:
        log.append_catalogue(subscriptions=[row])
    analysis = analyse(quick, story.path, late_after=LATE_AFTER)
    [group] = [one.asDict() for one in analysis.groups().collect()]
    assert group["subscriptions"] == ["one@1", "proven@1", "same@1"]
    saved = {name: value for name, value in group.items() if name.startswith("saved")}
    assert saved == {"saved_index_rows": 2, "saved_forwarded_filters": 2, "saved_deliveries": 0}
    [move] = [one.asDict() for one in analysis.tables()["moves"].collect()]
    assert (move["subscription"], move["from_broker"], move["to_broker"], move["lost"]) == ("other", "h1", "h2", 2)
    assert move["moved_at"].replace(tzinfo=NOON.tzinfo) == after(9)
    analysis.close()
