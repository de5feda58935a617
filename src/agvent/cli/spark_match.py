"""`agvent spark match`: a file of subscriptions against any amount of events, on Spark, into Parquet."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
from rich.progress import Progress

from agvent.cli.languages import add_language
from agvent.cli.spark_job import add_master, running, warn, warn_unanswered
from agvent.errors import CallerError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from agvent.spark.roster import Roster
    from agvent.spark.write import Written

SUMMARY = "match a file of subscriptions against files of events"

DESCRIPTION = """\
Match a file of subscriptions against files of events, and write every match as
a row of Parquet with the columns `event` and `subscription`.

SUBSCRIPTIONS is JSON Lines as `agvent match` reads them, Parquet with the same
names as columns, a saved index, or an event log.

EVENTS is a file or a folder of files: JSON Lines as `agvent match` reads them, or
Parquet, whose columns are attributes. `event` is the line or the row, counted from
0 over all files in the order of their names; for Parquet, --event names a column
that is to be used instead. Or EVENTS is an event log, whose events are named
publisher:sequence; with the log as SUBSCRIPTIONS too, each is matched against what
was in force where and when it was accepted.
"""

EPILOG = """\
DIR must be new. It has its files when the job is done, and none before.

examples:
  agvent spark match subscriptions.jsonl events.jsonl --out matches
  agvent spark match interests.parquet ticks/ --event id --out matches \\
    --master spark://head:7077 --shared /mnt/shared/agvent

exit codes: 0 done, 2 a bad argument, subscription or event, 3 a file cannot be
read, or Spark did not start or gave up, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subscriptions", metavar="SUBSCRIPTIONS", help="file of subscriptions")
    parser.add_argument("events", metavar="EVENTS", help="file or folder of events")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write, which must be new")
    parser.add_argument("--event", metavar="COLUMN", help="the column of Parquet that names an event")
    add_language(parser, whose="subscriptions that name none")
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="a line of EVENTS that is no event ends the job (stop, the default) or is counted and left out (skip)",
    )
    parser.add_argument(
        "--shared", metavar="DIR", help="a folder that every machine of the cluster sees, for the index"
    )
    parser.add_argument(
        "--hosts-key",
        metavar="FILE",
        help="the key of a network's sandbox hosts: agvents of an event log are asked what filters call",
    )
    add_master(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.spark.subscription_source import roster_of
    from agvent.spark.write import check_free, write_matches

    check_free(args.out)
    check_events(args)
    roster = roster_of(args.subscriptions, language=args.language)
    started = time.perf_counter()
    with running(args, app="agvent spark match") as (spark, progress):
        pairs, count = _pairs(spark, roster, args)
        doubt = _strange(args, roster) if count else f"{args.events} has no events"
        if doubt:
            warn(progress, doubt)
        written = write_matches(pairs, args.out)
        _complain(progress, written)
    _summary(args.out, count, len(roster.index), written, time.perf_counter() - started)
    return 0


def check_events(args: argparse.Namespace) -> None:
    """Refuses what is not there before Spark is started, which takes seconds."""
    from agvent.spark.files import is_parquet, listed
    from agvent.spark.subscription_source import is_log

    files = listed(args.events)
    if args.event is not None and (is_log(args.events) or not is_parquet(files[0])):
        raise CallerError("--event names a column of Parquet; the events of JSON Lines are their lines")


def _strange(args: argparse.Namespace, roster: Roster) -> str | None:
    """What may not be meant about the events, by their columns."""
    from agvent.spark.event_source import unread
    from agvent.spark.files import columns_of, is_parquet, listed
    from agvent.spark.subscription_source import is_log

    first = listed(args.events)[0]
    return unread(columns_of(first), roster) if not is_log(args.events) and is_parquet(first) else None


def _pairs(spark: SparkSession, roster: Roster, args: argparse.Namespace) -> tuple[DataFrame, int]:
    """The matches with their complaints, and how many events there are."""
    from agvent.spark.faults import faults
    from agvent.spark.files import is_parquet, listed, row_count
    from agvent.spark.lines import line_slices, match_lines
    from agvent.spark.log_match import log_pairs
    from agvent.spark.match import match
    from agvent.spark.shipment import ship
    from agvent.spark.subscription_source import is_log
    from agvent.store.log import LogReader

    if is_log(args.events):
        log = LogReader(args.events)
        pairs = log_pairs(spark, log, roster, shared=args.shared, hosts_key=args.hosts_key)
        return pairs, sum(one.rows for one in log.segments("events"))
    files = listed(args.events)
    if is_parquet(files[0]):
        pairs = match(args.events, roster, event=args.event, shared=args.shared, complaints=True)
        return pairs, row_count(files)
    with faults():
        slices, count = line_slices(spark, args.events)
    shipment = ship(spark, roster, shared=args.shared)
    return match_lines(spark, slices, shipment, skip=args.on_error == "skip"), count


def _complain(progress: Progress, written: Written) -> None:
    if written.rejected:
        warn(progress, f"{written.rejected:,} lines skipped; for example {written.example}")
    warn_unanswered(progress, written.unanswered, written.example)


def _summary(out: str, events: int, subscriptions: int, written: Written, seconds: float) -> None:
    if sys.stdout.isatty():
        print(
            f"{events:,} events against {subscriptions:,} subscriptions: {written.matches:,} matches "
            f"in {seconds:.1f} s, written to {out}"
        )
        return
    report: dict[str, Any] = {
        "events": events,
        "subscriptions": subscriptions,
        "matches": written.matches,
        "rejected": written.rejected,
        "unanswered": written.unanswered,
        "out": out,
    }
    print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())
