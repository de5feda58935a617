"""kill -9 of the driver in the middle of a stream, while subscriptions change: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from agvent.spark import dispatch
from agvent.store.heads import read_head
from agvent.store.log_reader import create_log
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from tests.feed import STREAMS, Feed, delivered, expected
from tests.integration.spark.audited import Counts, counts

DRIVER = Path(__file__).with_name("killed_driver.py")


def killed(log: Path, point: str, number: int) -> None:
    """Runs the driver until it kills itself."""
    command = [sys.executable, str(DRIVER), str(log), point, str(number)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        command, env=environment, start_new_session=True, capture_output=True, timeout=500, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def test_a_killed_driver_loses_nothing_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """After kills before, between and after the steps of a commit, and changes meanwhile, the audit finds nothing."""
    log = tmp_path / "log"
    create_log(log)
    with LogWriter(log, streams=STREAMS) as writer:
        feed = Feed(writer, seed=5)
        for number, point in enumerate(("planned", "staged", "renamed", "committed")):
            feed.step(30)
            feed.step(30)
            killed(log, point, number)
            done = number if point == "committed" else number - 1
            assert max(read_head(log, "deliveries").batches.values(), default=-1) == done
            assert set(delivered(log)) <= set(expected(log))
        feed.step(30)
        dispatch(spark, log, once=True).awaitTermination()
        assert delivered(log) == expected(log)
    assert counts(spark, log) == Counts(expected=len(expected(log)), delivered=len(expected(log)))
    assert verify(log).findings == []
    assert not list((log / "staged").iterdir())
