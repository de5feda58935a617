"""`agvent spark dispatch`: a line for each batch, and an end on Ctrl-C after which the same command goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from agvent.cli.main import main
from agvent.spark import dispatch
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from tests.feed import STREAMS, Feed, delivered, expected
from tests.stories import COMPLAINT, costly

AGVENT = str(Path(sys.executable).with_name("agvent"))


def test_ctrl_c_stops_it_and_it_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    """Interrupted after its first batch, it ends with 130 and says how to go on; nothing is lost or made twice."""
    log = tmp_path / "log"
    create_log(log)
    with LogWriter(log, streams=STREAMS) as writer:
        feed = Feed(writer, seed=7)
        feed.step(40)
        feed.step(40)
        words = ["spark", "dispatch", str(log), "--every", "0", "--batch-events", "30", "--master", "local[2]"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [AGVENT, *words],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stdout is not None
            first = json.loads(running.stdout.readline())
            running.send_signal(signal.SIGINT)
            _, complaint = running.communicate(timeout=300)
        assert (running.returncode, complaint) == (130, "stopped; the same command resumes from here\n")
        feed.step(40)
    assert {name: first[name] for name in ("batch", "events", "catalogue", "start")} == {
        "batch": 0,
        "events": 30,
        "catalogue": LogReader(log).heads["catalogue"].number - 1,
        "start": {"ev": {}, "sub": 0},
    }
    assert sum(first["end"]["ev"].values()) == 30
    dispatch(spark, log, once=True).awaitTermination()
    assert delivered(log) == expected(log)


def test_what_it_skips_is_counted(tmp_path: Path) -> None:
    """A question that could cost more than its bound is no delivery: the batch has the count, the end has it in all."""
    words = ["spark", "dispatch", str(costly(tmp_path / "log")), "--once", "--on-error", "skip", "--batch-events", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [AGVENT, *words, "--master", "local[2]"], env=environment, capture_output=True, text=True, check=True
    )
    batches = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["deliveries"], one["unanswered"]) for one in batches] == [(1, 1), (0, 1)]
    assert done.stderr.startswith(COMPLAINT)
    assert batches[0]["example"] == done.stderr.strip().partition("for example ")[2]


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["nowhere"], 3, "error: nowhere is not an event log: it has no log.json\n"),
        (["nowhere", "--batch-events", "0"], 2, "error: --every must be at least 0, and --batch-events at least 1\n"),
    ],
)
def test_mistakes_are_said_before_spark_starts(
    arguments: list[str], code: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be seen to be wrong without Spark is not waited for."""
    assert main(["spark", "dispatch", *arguments]) == code
    assert capsys.readouterr().err == complaint
