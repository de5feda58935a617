"""`agvent spark replay` and `agvent spark discover` as a user runs them, each in a process with a Spark of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from agvent import evaluate, parse
from agvent.event_json import encode_event
from agvent.store.log_reader import LogReader
from tests.awkward_log import awkward_log

AGVENT = (sys.executable, "-c", "import sys; from agvent.cli.main import main; sys.exit(main())")
SECONDS_MAX = 300.0


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return awkward_log(tmp_path_factory.mktemp("command") / "log")


def agvent(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AGVENT, "spark", *arguments], capture_output=True, text=True, check=False, timeout=SECONDS_MAX
    )


def test_a_replay_is_a_folder_for_each_type(log: Path, tmp_path: Path) -> None:
    """The summary counts what the files have; they have what the oracle says, and nothing else lies beside them."""
    out = tmp_path / "out"
    done = agvent("replay", str(log), "a > 0", "--type", "Item", "--since", "2026-03-01", "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    rows = {
        folder: pq.read_table(out / folder, columns=["publisher", "sequence"], partitioning=None)
        for folder in summary["folders"]
    }
    assert {folder: table.num_rows for folder, table in rows.items()} == summary["folders"]
    expected = {
        (record.event.id.publisher, record.event.id.sequence)
        for record in LogReader(log).events()
        if record.event.id and record.event.type and evaluate(parse("a > 0"), record.event) is True
    }
    got = [(row["publisher"], row["sequence"]) for table in rows.values() for row in table.to_pylist()]
    assert sorted(got) == sorted(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_json_lines_are_the_events(log: Path) -> None:
    """Each event comes once, as the line that says it."""
    asked = "c IS NOT NULL"
    done = agvent("replay", str(log), asked, "--type", "Item", "--since", "2026-03-01", "--format", "jsonl")
    expected = {
        record.event.id: encode_event(record.event).decode()
        for record in LogReader(log).events()
        if record.event.type and evaluate(parse(asked), record.event) is True
    }
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == sorted(expected.values())
    assert expected


def test_explain_says_who_is_asked_what(log: Path) -> None:
    """Segments, what Parquet is given, and what is left to the matcher; types that are ruled out are not there."""
    done = agvent(
        "replay", str(log), "a > 0 AND regex(c, 'a')", "--type", "Book", "--since", "2026-03-01T02:00", "--explain"
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == f"{log}: 3 of 8 segments may have events since 2026-03-01T02:00:00+00:00; only those are read"
    assert [line.split(",")[0] for line in rest if not line.startswith(" ")] == ["Book", "Item", "Paper"]
    scans = [line for line in rest if line.startswith("  Parquet skips rows that fail: ")]
    assert len(scans) >= 3
    assert all("GreaterThanOrEqual(accepted_at,2026-03-01 02:00:00.0)" in line for line in scans)
    assert sum("GreaterThan(a,0)" in line for line in scans) == 1
    assert sum(line == "  Spark tests the rest, and the matcher verifies: regex(c, 'a')" for line in rest) == 1


def test_discovery_prints_json_lines(log: Path) -> None:
    """One object for each result, addressed to the asker; the exit code says whether there was any."""
    found = agvent("discover", str(log), "--query", "/advertisement[@type = 'Item']", "--realm", "eu", "--to", "ann")
    assert (found.returncode, found.stderr) == (0, "")
    [result] = [json.loads(line) for line in found.stdout.splitlines()]
    assert (result["to"], result["source"], result["name"], result["owner"]) == ("ann", "advertisement", "Item", "p")
    none = agvent("discover", str(log), "--query", "/advertisement", "--realm", "us")
    assert (none.returncode, none.stdout) == (1, "")
