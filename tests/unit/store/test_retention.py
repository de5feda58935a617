"""Retention: whole segments, oldest first, and the head says what went."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.errors import LogError
from agvent.store.heads import Dropped
from agvent.store.log_reader import LogReader
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from agvent.store.retention import retain
from tests.logs import after, small_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return small_log(tmp_path / "log")


def sequences(log: Path) -> list[int]:
    return [record.event.id.sequence for record in LogReader(log).events() if record.event.id]


@pytest.mark.parametrize(("seconds", "left"), [(1, [1, 2, 3, 4]), (2, [1, 2, 3, 4]), (3, [3, 4]), (4.5, [])])
def test_by_age_a_segment_goes_when_its_last_row_is_older(log: Path, seconds: float, left: list[int]) -> None:
    """A segment with one row that is young enough stays whole."""
    with LogWriter(log) as writer:
        retain(writer, "events", before=after(seconds))
    assert sequences(log) == left
    assert verify(log).findings == []


def test_by_size_the_oldest_go_until_the_rest_is_small_enough(log: Path) -> None:
    """The bound is of all segments of the stream together."""
    first, second = LogReader(log).segments("events")
    with LogWriter(log) as writer:
        assert retain(writer, "events", bytes_max=first.bytes + second.bytes) == []
        assert retain(writer, "events", bytes_max=first.bytes + second.bytes - 1) == [first]
        assert retain(writer, "events", bytes_max=0) == [second]
    assert sequences(log) == []


def test_the_head_says_what_went(log: Path) -> None:
    """Rows, bytes and ranges per broker add up over drops; places of later events go on."""
    first, second = LogReader(log).segments("events")
    with LogWriter(log) as writer:
        retain(writer, "events", before=after(3))
        retain(writer, "events", before=after(5))
    reader = LogReader(log)
    assert reader.heads["events"].dropped == Dropped(
        upto=second.since,
        segments=2,
        rows=4,
        bytes=first.bytes + second.bytes,
        ranges={
            "b1": {
                "rows": 4,
                "position": [0, 3],
                "epoch": [1, 2],
                "sequence": [1, 4],
                "accepted_at": ["2026-03-01T12:00:01.000000+00:00", "2026-03-01T12:00:04.000000+00:00"],
            }
        },
    )
    assert reader.offset() == {"ev": {"b1": 4}, "sub": 2}
    assert not (log / first.path).exists()


def test_the_catalogue_is_kept_whole(log: Path) -> None:
    """Without it nobody could say who should have received what."""
    with LogWriter(log) as writer, pytest.raises(LogError, match="'catalogue' is kept whole"):
        retain(writer, "catalogue", bytes_max=0)
