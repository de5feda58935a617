"""Two processes write one log: each its own streams, and a batch that is tried again only once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from agvent.errors import LogError
from agvent.store.heads import read_head
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_schema import TABLES, shaped
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from agvent.store.segments import Staged, stage_table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log")
    return tmp_path / "log"


def deliveries(*sequences: int) -> pa.Table:
    row = {"publisher": "nyse", "quality": "durable", "subscription": "cheap", "version": 1, "subscriber": "ann"}
    row |= {"home_broker": "b1", "entry_broker": "b1", "epoch": 1, "attempts": 1, "delivered_at": NOON}
    return shaped("deliveries", [{**row, "sequence": at, "position": at} for at in sequences])


def staged(log: Path, name: str, *sequences: int) -> Staged:
    file = stage_table(log, f"staged/x/{name}.parquet", deliveries(*sequences), form=TABLES["deliveries"], since=0)
    return Staged(file.hidden, msgspec.structs.replace(file.segment, path="deliveries/staged.parquet"))


def sequences(log: Path) -> list[int]:
    found: list[int] = LogReader(log).table("deliveries").column("sequence").to_pylist()
    return found


def test_two_writers_hold_streams_of_their_own(log: Path) -> None:
    """While one process may write events, another may write deliveries, and a third neither."""
    with LogWriter(log, streams=("catalogue", "events")) as events, LogWriter(log, streams=("deliveries",)) as other:
        other.append("deliveries", deliveries(1, 2))
        events.append_catalogue()
        for wanted in (("deliveries",), ("catalogue", "events")):
            with pytest.raises(LogError, match=f"another process is writing {wanted[0]} of"):
                LogWriter(log, streams=wanted)
    LogWriter(log).close()
    assert sequences(log) == [1, 2]


def test_a_writer_sweeps_only_its_own_streams(log: Path) -> None:
    """What is staged for another stream may be another process's commit that is under way."""
    for table in ("deliveries", "traces"):
        (log / table).mkdir()
        (log / table / ".x.partial").write_bytes(b"")
    LogWriter(log, streams=("deliveries",)).close()
    assert [finding.path for finding in verify(log).findings] == ["traces/.x.partial"]


def test_a_batch_is_adopted_once(log: Path) -> None:
    """Files staged for a batch that the stream has already are removed, and the head stays as it is."""
    with LogWriter(log, streams=("deliveries",)) as writer:
        first = writer.adopt("deliveries", [staged(log, "a", 1, 2), staged(log, "b", 3)], batch=("query", 0))
        again = staged(log, "c", 1, 2, 3)
        assert writer.adopt("deliveries", [again], batch=("query", 0)) == first
        assert not again.hidden.exists()
        writer.adopt("deliveries", [staged(log, "d", 4)], batch=("query", 1))
        writer.adopt("deliveries", [staged(log, "e", 5)], batch=("another", 0))
    assert sequences(log) == [1, 2, 3, 4, 5]
    assert read_head(log, "deliveries").batches == {"query": 1, "another": 0}
    assert verify(log).findings == []
