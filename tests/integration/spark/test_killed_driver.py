"""kill -9 of the driver in the middle of a stream, while subscriptions change: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from agvent.spark import dispatch
from agvent.store.heads import read_head
from agvent.store.log import create_log
from agvent.store.log_writer import LogWriter
from agvent.store.verify import verify
from tests.feed import STREAMS, Feed, delivered, expected

DRIVER = '''
"""Runs a dispatch and kills its own process group, JVM included, at a chosen point of the batch with a chosen number."""
import os, signal, sys

from agvent.spark import dispatch as dispatch_module
from agvent.spark import session
from agvent.spark.deliveries_sink import DeliveriesSink, StreamWriter
from agvent.store.log_writer import LogWriter

log, point, number, group = sys.argv[1], sys.argv[2], int(sys.argv[3]), os.getpid()


class KilledWriter(StreamWriter):
    def write(self, iterator):
        if point == "planned" and ready(self.log, number):
            os.killpg(group, signal.SIGKILL)
        return super().write(iterator)

    def commit(self, messages, batchId):
        if batchId == number and point == "staged":
            os.killpg(group, signal.SIGKILL)
        if batchId == number and point == "renamed":
            LogWriter._replace = lambda *_, **__: os.killpg(group, signal.SIGKILL)
        super().commit(messages, batchId)
        if batchId == number and point == "committed":
            os.killpg(group, signal.SIGKILL)


def ready(log, number):
    from agvent.store.heads import read_head

    return max(read_head(log, "deliveries").batches.values(), default=-1) == number - 1


class KilledSink(DeliveriesSink):
    def streamWriter(self, schema, overwrite):
        made = super().streamWriter(schema, overwrite)
        return KilledWriter(made.log, made.checkpoint)


import agvent.spark.register as register_module
from agvent.spark.source import AgventSource


def register(spark):
    spark.dataSource.register(AgventSource)
    spark.dataSource.register(KilledSink)


import agvent.spark.dispatch as module
module.register = register
with session("local[2]") as spark:
    module.dispatch(spark, log, once=True, events_max=20).awaitTermination()
'''


def killed(log: Path, point: str, number: int, driver: Path) -> None:
    """Runs the driver until it kills itself."""
    driver.write_text(DRIVER)
    command = [sys.executable, str(driver), str(log), point, str(number)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        command, env=environment, start_new_session=True, capture_output=True, timeout=500, check=False
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def test_a_killed_driver_loses_nothing_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """After kills before, between and after the steps of a commit, and changes meanwhile, the deliveries are exact."""
    log = tmp_path / "log"
    create_log(log)
    with LogWriter(log, streams=STREAMS) as writer:
        feed = Feed(writer, seed=5)
        for number, point in enumerate(("planned", "staged", "renamed", "committed")):
            feed.step(30)
            feed.step(30)
            killed(log, point, number, tmp_path / "driver.py")
            done = number if point == "committed" else number - 1
            assert max(read_head(log, "deliveries").batches.values(), default=-1) == done
            assert set(delivered(log)) <= set(expected(log))
        feed.step(30)
        dispatch(spark, log, once=True).awaitTermination()
        assert delivered(log) == expected(log)
    assert verify(log).findings == []
    assert not list((log / "staged").iterdir())
