"""`match` over an event log: the epochs decide, and the log's own record agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from agvent import Subscription
from agvent.sample_day.day_plan import DayPlan
from agvent.sample_day.generate import generate
from agvent.spark import match
from agvent.store.log_reader import LogReader

KEY = ("publisher", "sequence", "quality", "subscription", "version")


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day without defects: what was delivered is what had to be."""
    path = tmp_path_factory.mktemp("log") / "day"
    generate(path, DayPlan(events=2_000, subscriptions=200))
    return path


@pytest.mark.usefixtures("spark")
def test_a_log_without_defects_was_delivered_as_it_calls_for(day: Path) -> None:
    """The deliveries that the epochs call for are those that the log records, and nothing was left unanswered."""
    log = LogReader(day)
    called_for = match(log, keep=["publisher", "sequence", "quality"], complaints=True).toArrow()
    assert called_for["complaint"].null_count == called_for.num_rows
    expected = {tuple(row.values()) for row in called_for.select(KEY).to_pylist()}
    recorded = {tuple(row.values()) for row in log.table("deliveries").select(KEY).to_pylist()}
    assert recorded - expected == set()
    gaps = log.table("gaps").to_pylist()
    assert [key for key in expected - recorded if not any(declares(gap, key) for gap in gaps)] == []


def declares(gap: dict[str, Any], key: tuple[Any, ...]) -> bool:
    """Does a gap say of this delivery that it will not come?"""
    publisher, sequence, quality, subscription, _ = key
    return (
        gap["subscription"] in (None, subscription)
        and gap["publisher"] in (None, publisher)
        and gap["quality"] == quality
        and gap["first_sequence"] <= sequence
        and (gap["last_sequence"] is None or sequence <= gap["last_sequence"])
    )


@pytest.mark.usefixtures("spark")
def test_other_subscriptions_are_matched_as_if_always_there(day: Path) -> None:
    """Subscriptions that are not the log's are matched against every event, whatever its epoch."""
    log = LogReader(day)
    found = match(log, [Subscription(id="all")], keep=["quality", "entry_broker"])
    assert found.columns == ["event", "quality", "entry_broker", "subscription"]
    assert found.count() == sum(segment.rows for segment in log.segments("events"))


def test_the_command_takes_a_log_for_both(day: Path, tmp_path: Path) -> None:
    """`agvent spark match LOG LOG` writes the deliveries that the log calls for, an event under its id."""
    agvent = Path(sys.executable).with_name("agvent")
    command = [str(word) for word in (agvent, "spark", "match", day, day, "--out", tmp_path / "matches")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    log = LogReader(day)
    recorded = {
        (f"{row['publisher']}:{row['sequence']}", row["subscription"], row["version"])
        for row in log.table("deliveries").to_pylist()
    }
    found = [tuple(row.values()) for row in pq.read_table(tmp_path / "matches").to_pylist()]
    assert recorded - {*found} == set()
    assert len({*found}) == len(found) == json.loads(done.stdout)["matches"]
