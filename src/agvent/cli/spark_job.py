"""The frame of every stage's job on Spark: the session, a bar on the terminal, and a clean end on Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from agvent.errors import CallerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S: Final = 0.25
WAITING_S: Final = 15.0
"""Time without a running task after which a warning says that the cluster gives no workers."""


def add_master(parser: argparse.ArgumentParser) -> None:
    """Adds the options of every stage that starts Spark."""
    parser.add_argument(
        "--master", metavar="URL", help="spark://HOST:PORT, yarn, k8s://… or sc://HOST:PORT (default: local[*])"
    )
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="a Spark setting; may be repeated"
    )


@contextmanager
def running(
    args: argparse.Namespace, *, app: str, stopped: threading.Event | None = None
) -> Iterator[tuple[SparkSession, Progress]]:
    """A session with a bar that follows its jobs. Spark's jobs and processes end with the block.

    Ctrl-C cancels them, or if `stopped` is given, sets it and leaves the rest to the block.
    """
    from agvent.spark.runtime.session import session

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("starting Spark", total=None)
        interrupted = threading.Event() if stopped is None else stopped
        cancelled = interrupted if stopped is None else threading.Event()
        with (
            session(args.master, app=app, config=settings(args.config)) as spark,
            _interruptible(interrupted),
            _followed(spark, progress, task, cancelled),
        ):
            yield spark, progress


def settings(given: list[str]) -> dict[str, str]:
    """`--config KEY=VALUE`, all of them."""
    for one in given:
        if "=" not in one:
            raise CallerError(f"--config {one}: expected KEY=VALUE")
    return dict(one.split("=", 1) for one in given)


@contextmanager
def _interruptible(interrupted: threading.Event) -> Iterator[None]:
    """Ctrl-C lets the thread that follows cancel the jobs, and the call that waits for them then fails. PySpark's own
    handler would talk to the JVM on the connection that the main thread is in the middle of reading."""

    def interrupt(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt  # the second time, at once
        interrupted.set()
        # PySpark's own servers would print a traceback for each connection that the JVM then closes
        socketserver.BaseServer.handle_error = lambda *_: None  # type: ignore[method-assign]

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if interrupted.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _followed(spark: SparkSession, progress: Progress, task: TaskID, interrupted: threading.Event) -> Iterator[None]:
    """A thread that shows how far Spark is and cancels what is interrupted; it ends before the session does."""
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(spark, progress, task, ended, interrupted), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _follow(
    spark: SparkSession, progress: Progress, task: TaskID, ended: threading.Event, interrupted: threading.Event
) -> None:
    from agvent.spark.runtime.job_progress import cancel_all, tasks_now

    idle_since: float | None = None
    warned = False
    while not ended.wait(POLL_S):
        if interrupted.is_set():
            cancel_all(spark)
        tasks = tasks_now(spark)
        progress.update(task, description="tasks", completed=tasks.done, total=tasks.total or None)
        waiting = tasks.total > 0 and not tasks.running and not tasks.done
        idle_since = (idle_since or time.monotonic()) if waiting else None
        if idle_since is not None and not warned and time.monotonic() - idle_since > WAITING_S:
            warn(progress, "no worker has started a task yet: does the cluster have free cores and memory?")
            warned = True


def warn(progress: Progress, text: str) -> None:
    """A warning on standard error, above the bar if there is one."""
    if progress.disable:
        print(f"warning: {text}", file=sys.stderr)
    else:
        progress.console.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)


def warn_unanswered(progress: Progress, count: int, example: str | None) -> None:
    """Says how many questions were not answered, if any was."""
    if count:
        warn(progress, f"{count:,} questions not answered and counted as no match; for example {example}")
