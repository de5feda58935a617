"""`agvent log` as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from agvent.cli.log import DEFECTS
from agvent.sample_day import day_plan as plan
from agvent.store.log_reader import LogReader
from tests.logs import small_log

AGVENT = Path(sys.executable).with_name("agvent")


class Done(NamedTuple):
    code: int
    out: str
    err: str


def agvent(*words: str | Path) -> Done:
    run = subprocess.run([AGVENT, *words], capture_output=True, text=True, check=False)
    return Done(run.returncode, run.stdout, run.stderr)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return small_log(tmp_path / "log")


def test_verify_says_that_a_log_is_whole(log: Path) -> None:
    """Exit code 0, and how much was looked at."""
    done = agvent("log", "verify", log)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("14 segments, 22 rows, ")
    assert done.out.endswith(": all as they should be\n")


def test_verify_names_what_is_broken(log: Path) -> None:
    """Exit code 1; the same as text and as JSON."""
    path = LogReader(log).segments("deliveries")[0].path
    (log / path).unlink()
    text, machine = agvent("log", "verify", log), agvent("log", "verify", log, "--json")
    assert (text.code, machine.code) == (1, 1)
    assert text.out.splitlines()[0] == f"missing: {path}: No such file or directory"
    assert json.loads(machine.out)["findings"] == [
        {"problem": "missing", "path": path, "detail": "No such file or directory"}
    ]


def test_show_says_what_is_there(log: Path) -> None:
    """Rows, sizes, times and brokers of each type and table, and the offset."""
    found = json.loads(agvent("log", "show", log, "--json").out)
    [quotes] = found["events"]
    assert (quotes["type"], quotes["rows"], quotes["segments"], quotes["brokers"]) == ("Quote", 4, 2, {"b1": 4})
    assert (quotes["first"], quotes["last"]) == (
        "2026-03-01T12:00:01.000000+00:00",
        "2026-03-01T12:00:04.000000+00:00",
    )
    assert {table["table"]: table["rows"] for table in found["tables"] if table["rows"]} == {
        "subscriptions": 2,
        "changes": 3,
        "epochs": 2,
        "types": 1,
        "type_attributes": 2,
        "deliveries": 2,
    }
    assert (found["offset"], found["snapshots"]) == ({"ev": {"b1": 4}, "sub": 2}, [2])
    shown = agvent("log", "show", log)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[-1] == "catalogue version 2; events ever accepted: b1 4"


def test_generate_makes_a_log_that_verifies(tmp_path: Path) -> None:
    """And says what was planted, as planted.json does."""
    out = tmp_path / "day"
    done = agvent("log", "generate", out, "--events", "300", "--seed", "3", "--defect", "late", "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    assert report["plan"] == {
        "events": 300,
        "subscriptions": 100,
        "brokers": 3,
        "seed": 3,
        "xml": False,
        "defect": "late",
    }
    assert report["planted"]
    assert json.loads((out / "planted.json").read_bytes()) == report
    assert agvent("log", "verify", out).code == 0
    again = agvent("log", "generate", out)
    assert (again.code, again.err) == (2, f"error: {out} is not empty\nhint: give a log a folder of its own\n")


def test_what_is_no_log_is_said_plainly(tmp_path: Path) -> None:
    """Exit code 3 and one sentence."""
    for action in ("verify", "show"):
        done = agvent("log", action, tmp_path / "none")
        assert (done.code, done.out) == (3, "")
        assert done.err == f"error: {tmp_path / 'none'} is not an event log: it has no log.json\n"


def test_the_command_line_knows_every_defect() -> None:
    """It lists them itself, because listing must not import pyarrow."""
    assert DEFECTS == plan.DEFECTS
