"""Other engines read the log's folders as they are."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import duckdb
import msgspec
import pandas as pd
import polars as pl
import pytest

from agvent.event import Event, EventId
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, AgventType
from tests.logs import QUOTE, QUOTES, after, quote, small_log

WIDER = AgventType(name="Quote", attributes=(*QUOTE.attributes, AdvertisedAttribute("volume", "int")))
DELIVERED = [(1, 7.5), (4, 12.0)]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small log, a second version of its type, and an event without a type."""
    path = small_log(tmp_path_factory.mktemp("readers") / "log")
    untyped = Event(id=EventId("nyse", 6), topic="a/b", attributes={"a": 1})
    with LogWriter(path) as writer:
        writer.append_catalogue(advertisements=[msgspec.structs.replace(QUOTES, type=WIDER)])
        writer.append_events(
            [quote(5, 1.5, volume=9), LoggedEvent(event=untyped, accepted_at=after(6), entry_broker="b1", epoch=1)]
        )
    return path


def test_duckdb_reads_it(log: Path) -> None:
    """Types and versions are columns, versions are read together, events and deliveries are joined, times are UTC."""
    events = f"read_parquet('{log}/events/**/*.parquet', hive_partitioning=true, union_by_name=true)"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        rows = database.execute(
            f"SELECT type, price, volume, topic, epoch_us(accepted_at) FROM {events} "
            "WHERE sequence >= 5 ORDER BY sequence"
        ).fetchall()
        joined = database.execute(
            f"SELECT sequence, price FROM {events} AS events JOIN '{log}/deliveries/*.parquet' AS deliveries "
            "USING (publisher, sequence, quality) ORDER BY sequence"
        ).fetchall()
    micros = [int(after(second).timestamp() * 1e6) for second in (5, 6)]
    assert rows == [("Quote", 1.5, 9, None, micros[0]), (None, None, None, "a/b", micros[1])]
    assert joined == DELIVERED


def test_polars_reads_it(log: Path) -> None:
    """Lazily over both versions of a type, with the folders as columns."""
    events = pl.scan_parquet(f"{log}/events/type=Quote/**/*.parquet", hive_partitioning=True, missing_columns="insert",
                             extra_columns="ignore")  # fmt: skip
    deliveries = pl.scan_parquet(f"{log}/deliveries/*.parquet")
    found = events.join(deliveries, on=["publisher", "sequence", "quality"]).sort("sequence").collect()
    assert found.select("sequence", "price").rows() == DELIVERED
    assert found["accepted_at"].dt.convert_time_zone("UTC").to_list() == [after(1), after(4)]
    assert events.select("type", "schema").unique().sort("schema").collect().rows() == sorted(
        [("Quote", QUOTE.schema), ("Quote", WIDER.schema)]
    )


def test_pandas_reads_it(log: Path) -> None:
    """A folder as it is, its types and versions as columns."""
    events = pd.read_parquet(log / "events" / "type=Quote", columns=["sequence", "price", "accepted_at", "schema"])
    deliveries = pd.read_parquet(log / "deliveries")
    found = events.merge(deliveries, on="sequence").sort_values("sequence")
    assert list(zip(found["sequence"], found["price"], strict=True)) == DELIVERED
    assert [time.astimezone(UTC) for time in found["accepted_at"]] == [after(1), after(4)]
    assert set(events["schema"]) == {QUOTE.schema, WIDER.schema}
