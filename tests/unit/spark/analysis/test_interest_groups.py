"""Subscriptions as interests: exposure by epochs, and groups of those that ask for the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from agvent import limits
from agvent.filters.subscription import Subscription
from agvent.spark.analysis.interest_groups import alike, exposure
from agvent.store.log_reader import LogReader
from tests.stories import Story

SAME = (
    "price < 10 AND symbol = 'IBM'",
    "symbol = 'IBM' AND price < 10",
    "price < 20 AND price < 10 AND symbol IN ('IBM')",
)


def log_of(path: Path, *filters: str) -> LogReader:
    """A log with one event, accepted when all of these filters were in force."""
    story = Story(path, *(Subscription(id=f"s{at}", type="Quote", filter=text) for at, text in enumerate(filters)))
    story.event("p", 1, epoch=len(filters), symbol="IBM", price=5.0)
    return LogReader(story.write())


def groups(reader: LogReader) -> list[list[str]]:
    found: dict[int, list[str]] = {}
    for row in alike(reader):
        found.setdefault(row["group"], []).append(row["subscription"])
    return [sorted(names) for names in found.values()]


def test_filters_that_accept_the_same_events_are_a_group(tmp_path: Path) -> None:
    """Equal texts, texts in another order and texts that only a proof shows to be equal come together."""
    reader = log_of(tmp_path / "log", *SAME, SAME[0], "price < 11 AND symbol = 'IBM'", "symbol = 'IBM'")
    assert groups(reader) == [["s0", "s1", "s2", "s3"]]


def test_without_proofs_left_only_equal_filters_are_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on proofs ends the search for what is not equal at sight, and nothing else."""
    monkeypatch.setattr(limits, "COVER_PROOFS_MAX", 0)
    assert groups(log_of(tmp_path / "log", *SAME, SAME[0])) == [["s0", "s3"]]


def test_a_subscription_is_exposed_to_the_events_of_its_epochs(tmp_path: Path) -> None:
    """Subscription n comes into force at epoch n: earlier epochs, and brokers it never came to, do not count."""
    reader = log_of(tmp_path / "log", "price < 1", "price < 2", "price < 3")
    counted = [("b1", 0, 100), ("b1", 1, 10), ("b1", 2, 20), ("b2", 3, 5), ("elsewhere", 3, 1000)]
    counts = pa.Table.from_pylist(
        [{"entry_broker": broker, "epoch": epoch, "events": events} for broker, epoch, events in counted]
    )
    found = exposure(reader, counts).to_pylist()
    assert [(row["subscription"], row["exposed"], row["address"]) for row in found] == [
        ("s0", 35, "type Quote"),
        ("s1", 25, "type Quote"),
        ("s2", 5, "type Quote"),
    ]
