"""`agvent spark dispatch`: deliver the events of a log to their subscribers, as they come."""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.progress import Progress

from agvent.cli.spark_job import add_master, running, warn_unanswered
from agvent.cli.where import add_keys, credentials
from agvent.errors import CallerError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from agvent.spark.streams.batch_reports import BatchReport
    from agvent.spark.streams.dispatch import Sink

SUMMARY = "deliver the events of a log to their subscribers, as they come"

DESCRIPTION = """\
Match the events of an event log against the subscriptions that were in force when
each was accepted, batch by batch as they come, and deliver each match once.
Subscriptions may be added, changed and removed while this runs.

--to deliveries writes into the log's own table of deliveries, which the audit reads.
--to FOLDER writes a folder for each subscriber with its events:
FOLDER/subscriber=ann/batch=12/….parquet. --to agvent://HOST:PORT publishes each
event into a broker network, for the subscribers it is due to.
"""

EPILOG = """\
Each batch prints one line to standard output: a sentence on a terminal, otherwise
JSON with the batch's number, its offsets and its catalogue version.

Ctrl-C and kill -9 lose nothing: the same command resumes where the last one ended,
and no delivery is made twice.

examples:
  agvent spark dispatch day
  agvent spark dispatch day --once
  agvent spark dispatch day --to inboxes --every 10
  agvent spark dispatch day --to agvent://127.0.0.1:4780
  agvent spark dispatch /mnt/shared/day --checkpoint /mnt/shared/state \\
    --master spark://head:7077

exit codes: 0 done (--once), 2 a bad argument, event or checkpoint, 3 a file cannot
be read, or Spark did not start or failed, 130 interrupted
"""

POLL_S: Final = 0.25
EVENTS_MAX: Final = 1_000_000
"""Events in a batch, unless given: some seconds of work, after which there is news of it."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="folder of the event log")
    parser.add_argument(
        "--to", default="deliveries", metavar="SINK", help="deliveries (the default), a folder, or agvent://HOST:PORT"
    )
    parser.add_argument(
        "--as",
        dest="name",
        default="",
        metavar="NAME",
        help="name of the client that publishes to agvent://… (default: a name for the stream)",
    )
    add_keys(parser)
    parser.add_argument("--checkpoint", metavar="DIR", help="folder for the stream's checkpoint (default: in the log)")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--once", action="store_true", help="end when all present events are delivered")
    when.add_argument(
        "--every", type=float, default=1.0, metavar="SECONDS", help="time from one batch to the next (default: 1)"
    )
    parser.add_argument(
        "--batch-events",
        type=int,
        default=EVENTS_MAX,
        metavar="N",
        help="events in a batch, at most (default: 1000000)",
    )
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="if an XPath could cost too much on a document: stop (the default), or count it as no match (skip)",
    )
    parser.add_argument(
        "--skip-dropped",
        action="store_true",
        help="continue where retention has dropped events that were not delivered",
    )
    add_master(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.spark.streams.dispatch import dispatch
    from agvent.store.log_reader import check_log

    if args.every < 0 or args.batch_events < 1:
        raise CallerError("--every must be at least 0, and --batch-events at least 1")
    check_log(Path(args.log))
    stopped = threading.Event()
    with running(args, app="agvent spark dispatch", stopped=stopped) as (spark, progress):
        query = dispatch(
            spark,
            args.log,
            _sink(args),
            checkpoint=args.checkpoint,
            once=args.once,
            every=args.every,
            events_max=args.batch_events,
            skip_unanswered=args.on_error == "skip",
            skip_dropped=args.skip_dropped,
        )
        follow(query, progress, stopped)
    return 0


def _sink(args: argparse.Namespace) -> Sink:
    """The sink of the arguments; one that shows who it is needs more than its address."""
    from agvent.spark.streams.dispatch import SCHEME, default_checkpoint

    if not args.to.startswith(SCHEME):
        return str(args.to)
    from agvent.spark.streams.network_sink import NetworkSink

    args.checkpoint = args.checkpoint or default_checkpoint(args.log, args.to)
    return NetworkSink(args.to, args.log, args.checkpoint, name=args.name, credentials=credentials(args))


def follow(query: StreamingQuery, progress: Progress, stopped: threading.Event) -> None:
    """Prints each batch until the query ends. Ctrl-C stops the query first."""
    from agvent.spark.streams.batch_reports import fault_of

    done = ReportedBatches(query, progress)
    while query.isActive and not stopped.wait(POLL_S):
        done.report()
    if stopped.is_set():
        query.stop()
    fault = None if stopped.is_set() else fault_of(query)
    done.report()
    warn_unanswered(progress, done.unanswered, done.example)
    if stopped.is_set():
        print("stopped; the same command resumes from here", file=sys.stderr)
    elif fault is not None:
        raise fault
    elif done.last < 0:
        print("no new events", file=sys.stderr)


class ReportedBatches:
    """The batches that were printed: the number of the last one, and the questions that were not answered."""

    def __init__(self, query: StreamingQuery, progress: Progress) -> None:
        self.query = query
        self.progress = progress
        self.last = -1
        self.unanswered = 0
        self.example: str | None = None

    def report(self) -> None:
        """Prints the batches that have ended since the last time."""
        from agvent.spark.streams.batch_reports import reports

        for one in reports(self.query, after=self.last):
            _print(one, self.progress)
            self.last = one.batch
            self.unanswered += one.unanswered
            self.example = self.example or one.example


def _print(report: BatchReport, progress: Progress) -> None:
    if sys.stdout.isatty():
        progress.console.print(report.sentence(), highlight=False, markup=False, soft_wrap=True)
    else:
        print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode(), flush=True)
