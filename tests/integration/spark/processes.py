"""A Spark cluster of real processes on this machine: one master, workers, a Connect server; and drivers beside them.

A process can have one Spark session, and the tests' own has it, so a driver for another master is a process too.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pyspark

from agvent.spark.runtime.java import find_java
from tests.stories import INTERPRETED

BIN = Path(pyspark.__file__).parent / "bin"
STARTED_SECONDS_MAX = 300.0
DRIVER_SECONDS_MAX = 300.0
"""Bounds for a busy machine; a quiet one takes a tenth of it."""


def environment(folder: Path) -> dict[str, str]:
    """That of a Spark process which must not look for a name of this machine or write outside its folder."""
    return {
        **os.environ,
        "JAVA_HOME": str(find_java(os.environ, folder / "cache")),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }


class Output:
    """What a process says, read as it comes, so that the process never waits for a reader."""

    def __init__(self, stream: IO[str]) -> None:
        self._text = ""
        self._more = threading.Condition()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            with self._more:
                self._text += line
                self._more.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match of the pattern, as soon as it is there."""
        with self._more:
            found = self._more.wait_for(lambda: re.search(pattern, self._text), STARTED_SECONDS_MAX)
            assert found, f"never said {pattern}:\n{self._text[-2000:]}"
            return found


@contextmanager
def process(command: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], Output]]:
    """A process of its own group, and what it says; the whole group is gone at the end."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=environment(folder), start_new_session=True, **streams) as started:
        try:
            assert started.stdout is not None
            yield started, Output(started.stdout)
        finally:
            kill(started)


def kill(started: subprocess.Popen[str]) -> None:
    """Ends a process and all that it started, at once."""
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@contextmanager
def cluster(folder: Path, *, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """A standalone master and workers of one core each: the address, and the workers' processes."""
    spark_class = str(BIN / "spark-class")
    quiet = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as stack:
        command = [spark_class, "org.apache.spark.deploy.master.Master", *quiet, "--port", "0"]
        _, output = stack.enter_context(process(command, folder))
        url = output.wait_for(r"Starting Spark master at (spark://\S+)")[1]
        command = [
            spark_class,
            "org.apache.spark.deploy.worker.Worker",
            *quiet,
            "--cores",
            "1",
            "--memory",
            "1g",
            url,
        ]
        started = [stack.enter_context(process(command, folder)) for _ in range(workers)]
        for _, said in started:
            said.wait_for("Successfully registered with master")
        yield url, [one for one, _ in started]


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The address of a Spark Connect server that runs its jobs in itself."""
    command = [str(BIN / "spark-submit"), "--master", "local[2]"]
    command += ["--conf", "spark.connect.grpc.binding.port=0", "--conf", "spark.ui.enabled=false"]
    command += ["--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"]
    command += [word for name, value in INTERPRETED.items() for word in ("--conf", f"{name}={value}")]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with process(command, folder) as (_, output):
        port = output.wait_for(r"Spark Connect server started at: \S+:(\d+)")[1]
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def pipe(path: Path) -> Iterator[Callable[[], None]]:
    """A pipe in the file system that tasks may write to; what is given waits until one has."""
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait() -> None:
        ready, _, _ = select.select([descriptor], [], [], STARTED_SECONDS_MAX)
        assert ready, "no task ever ran"

    try:
        yield wait
    finally:
        os.close(descriptor)


def driver(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python program as a driver, in a group of its own, so that what it starts can be ended with it."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, env=environment(folder), start_new_session=True, **streams)


def answer(started: subprocess.Popen[str]) -> Any:
    """The JSON that a driver printed, when it has ended well."""
    with started:
        try:
            out, err = started.communicate(timeout=DRIVER_SECONDS_MAX)
        finally:
            kill(started)
    assert started.returncode == 0, err[-3000:]
    return json.loads(out)
