"""The events between two offsets, and which of them are copies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agvent.errors import LogError, LogFileError
from agvent.event import Event, EventId
from agvent.spark.log.event_slices import NUMBER, EventSlice, for_tasks, rows_of, slices_between
from agvent.spark.log.offsets import Offset, beginning, end_of
from agvent.spark.log.repeated_events import Runs, Seen
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_schema import TABLES
from agvent.store.log_writer import LogWriter
from agvent.types import unadvertised

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEMA = pa.schema([TABLES["events"].schema.field(name) for name in ("sequence", "entry_broker", "position")])


def accepted(sequence: int, broker: str, second: int) -> LoggedEvent:
    event = Event(type="Quote" if sequence % 2 else None, id=EventId("p", sequence))
    return LoggedEvent(event=event, accepted_at=NOON + timedelta(seconds=second), entry_broker=broker, epoch=0)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sequences 1 to 12: six at b1, six at b2, in two commits; then 5 and 6 again at b2, and 12 at b1."""
    path = tmp_path_factory.mktemp("slices") / "log"
    create_log(path)
    with LogWriter(path) as writer:
        writer.append_events([accepted(at, "b1", at) for at in range(1, 7)])
        writer.append_events([accepted(at, "b2", at) for at in range(7, 13)])
        writer.append_events([accepted(5, "b2", 13), accepted(6, "b2", 14), accepted(12, "b1", 15)])
    return path


def rows_between(log: Path, start: Offset, end: Offset) -> list[tuple[int, int, str]]:
    """Number, sequence and entry broker of each event, by number."""
    tables = [rows_of(log, one, SCHEMA) for one in slices_between(LogReader(log), start, end)]
    rows = [row for table in tables for part in table for row in part.to_pylist()]
    return sorted((row[NUMBER], row["sequence"], row["entry_broker"]) for row in rows)


@given(cut=st.tuples(st.integers(0, 7), st.integers(0, 8)))
def test_two_batches_have_all_events_between_them(log: Path, cut: tuple[int, int]) -> None:
    """Wherever a stream is cut, its events are numbered 1, 2, 3, … and rise in each broker's order."""
    middle, end = {"ev": {"b1": cut[0], "b2": cut[1]}, "sub": 0}, end_of(LogReader(log).heads["events"])
    rows = rows_between(log, beginning(), middle) + rows_between(log, middle, end)
    assert [number for number, _, _ in rows] == list(range(1, 16))
    assert [sequence for _, sequence, broker in rows if broker == "b1"] == [1, 2, 3, 4, 5, 6, 12]
    assert [sequence for _, sequence, broker in rows if broker == "b2"] == [7, 8, 9, 10, 11, 12, 5, 6]


@given(cut=st.tuples(st.integers(0, 7), st.integers(0, 8)), forgets=st.booleans())
def test_of_copies_one_is_left(log: Path, cut: tuple[int, int], forgets: bool) -> None:
    """Wherever a stream is cut, and also if it starts again there, one of each event is no copy."""
    middle, end = {"ev": {"b1": cut[0], "b2": cut[1]}, "sub": 0}, end_of(LogReader(log).heads["events"])
    seen = Seen()
    first = seen.copies(LogReader(log), beginning(), middle)
    second = (Seen() if forgets else seen).copies(LogReader(log), middle, end)
    left = []
    for copies, start, stop in ((first, beginning(), middle), (second, middle, end)):
        for part in slices_between(LogReader(log), start, stop):
            whole = EventSlice(part.path, part.name, part.type, part.part, part.parts, part.rows, part.spans, copies)
            left += [at for table in rows_of(log, whole, SCHEMA) for at in table["sequence"].to_pylist()]
    assert sorted(left) == list(range(1, 13))


def test_the_earlier_of_two_copies_is_left(log: Path) -> None:
    """Within a batch it is the one that was accepted first."""
    end = end_of(LogReader(log).heads["events"])
    assert Seen().copies(LogReader(log), beginning(), end) == {"b2": [6, 7], "b1": [6]}


@given(batches=st.lists(st.lists(st.integers(0, 60), min_size=1), min_size=1))
def test_runs_hold_what_was_put_in(batches: list[list[int]]) -> None:
    """Runs are a set of integers: joined or made at once, they hold the same, and are as few as can be."""
    runs = [Runs.of(np.sort(np.array(batch, np.int64))) for batch in batches]
    joined = runs[0]
    for one in runs[1:]:
        joined = joined.joined(one)
    everything = sorted({at for batch in batches for at in batch})
    assert np.flatnonzero(joined.holds(np.arange(70))).tolist() == everything
    assert len(joined.begin) == sum(at - 1 not in everything for at in everything)


def test_small_segments_are_read_together() -> None:
    """A task takes many small segments, or one large one."""

    def slices(rows: int, count: int) -> list[EventSlice]:
        return [EventSlice("", None, unadvertised(None), 0, 1, rows, {}) for _ in range(count)]

    assert [len(group) for group in for_tasks(slices(100, 300))] == [164, 136]
    assert [len(group) for group in for_tasks(slices(1 << 18, 20))] == [1] * 20
    assert for_tasks([]) == []


def test_a_segment_that_is_gone_is_named(log: Path) -> None:
    """A task that cannot read a file says which."""
    part = EventSlice("events/x.parquet", None, unadvertised(None), 0, 1, 1, {})
    with pytest.raises(LogFileError, match=r"cannot read the segment .*events/x.parquet"):
        list(rows_of(log, part, SCHEMA))


def test_dropped_events_are_missed(tmp_path: Path) -> None:
    """Events that retention took are an error for who wants them, and none for who is past them."""
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as writer:
        writer.append_events([accepted(1, "b1", 1)])
        writer.append_events([accepted(3, "b1", 3)])
        writer.drop("events", writer.heads["events"].segments[:1])
    reader = LogReader(tmp_path / "log")
    end = end_of(reader.heads["events"])
    with pytest.raises(LogError, match="retention has dropped events of 'b1'"):
        slices_between(reader, beginning(), end)
    assert len(slices_between(reader, beginning(), end, whole=False)) == 1
    assert len(slices_between(reader, {"ev": {"b1": 1}, "sub": 0}, end)) == 1
