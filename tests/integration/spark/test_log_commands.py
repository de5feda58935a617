"""`agvent spark audit` and `agvent spark analyse` as processes: what they print, write and exit with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from agvent.filters.subscription import Subscription
from tests.stories import INTERPRETED, Story

COMMAND = (sys.executable, "-c", "from agvent.cli.main import main; raise SystemExit(main())", "spark")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One delivery is lost, one is late."""
    story = Story(tmp_path / "log", Subscription(id="cheap", filter="price < 10"))
    for sequence in (1, 2):
        story.event("p", sequence, epoch=1, price=5.0)
    story.delivery("p", 1, "cheap", at=9)
    return story.write()


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    settings = {**INTERPRETED, "spark.sql.shuffle.partitions": "2"}
    options = [f"--config={name}={value}" for name, value in settings.items()]
    return subprocess.run([*COMMAND, *map(str, arguments), *options], capture_output=True, text=True, check=False)


def test_the_audit_fails_for_a_machine_and_writes_the_defects(log: Path, tmp_path: Path) -> None:
    """Exit code 1, one JSON object on standard output and nothing else, and a row of Parquet for each defect."""
    done = run("audit", log, "--json", "--out", tmp_path / "defects", "--late-after", "0")
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    counts = {"expected": 2, "delivered": 1, "lost": 1, "duplicated": 0, "unexpected": 0, "out_of_order": 0, "late": 1}
    assert dict(list(report.items())[:7]) == counts
    rows = pq.read_table(tmp_path / "defects").select(["defect", "publisher", "sequence", "subscription"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [("late", "p", 1, "cheap"), ("lost", "p", 2, "cheap")]


def test_the_audit_can_be_read_in_ten_seconds(log: Path) -> None:
    """The verdict is the first line, the defect has a line with its reason, and the last line says how to get all."""
    done = run("audit", log)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0] == f"✗ {log}: the promise was broken: 1 lost"
    assert lines[-1] == "1 of 1 defects; --out DIR writes all of them"


def test_the_analysis_writes_a_report(log: Path, tmp_path: Path) -> None:
    """Exit code 0 even if the promise was broken; the folder must be new."""
    done = run("analyse", log, "--out", tmp_path / "report", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["report"] == str(tmp_path / "report" / "report.html")
    assert (found["audit"]["lost"], found["events"], found["deliveries"], found["dead"]) == (1, 2, 1, 0)
    assert (tmp_path / "report" / "report.html").is_file()
    again = run("analyse", log, "--out", tmp_path / "report")
    assert again.returncode == 2
    assert again.stderr.startswith(f"error: {tmp_path / 'report'} exists and is not empty\n")
