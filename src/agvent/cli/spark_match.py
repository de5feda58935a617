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

if TYPE_CHECKING:
    from agvent.spark.matches.write_matches import MatchCounts

SUMMARY = "match subscriptions against files of events or an event log"

DESCRIPTION = """\
Match a file of subscriptions against files of events, and write every match as
a row of Parquet with the columns `event` and `subscription`.

SUBSCRIPTIONS is JSON Lines as `agvent match` reads them, Parquet with the same
names as columns, a saved index, or an event log.

EVENTS is a file or a folder of files: JSON Lines as `agvent match` reads them, or
Parquet, whose columns are attributes. `event` is the line or the row, counted from
0 over all files in the order of their names; for Parquet, --event names a column
to use instead. Or EVENTS is an event log, whose events are named
publisher:sequence.

If SUBSCRIPTIONS is an event log, an event matches only the versions that were in
force where and when it was accepted, and the result has the column `version`.
"""

EPILOG = """\
DIR must be new or empty. It appears when the job is done.

examples:
  agvent spark match subscriptions.jsonl events.jsonl --out matches
  agvent spark match interests.parquet ticks/ --event id --out matches \\
    --master spark://head:7077 --shared /mnt/shared/agvent

exit codes: 0 done, 2 a bad argument, subscription or event, 3 a file cannot be
read, or Spark did not start or failed, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subscriptions", metavar="SUBSCRIPTIONS", help="file of subscriptions, or an event log")
    parser.add_argument("events", metavar="EVENTS", help="file or folder of events, or an event log")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write; it must be new or empty")
    parser.add_argument("--event", metavar="COLUMN", help="the column of Parquet that names an event")
    add_language(parser, whose="subscriptions that name none")
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="if a line of EVENTS is not an event: stop the job (the default), or skip the line and count it",
    )
    parser.add_argument(
        "--shared", metavar="DIR", help="a folder that every machine of the cluster sees, for the index"
    )
    parser.add_argument(
        "--hosts-key",
        metavar="FILE",
        help="key file of the network's sandbox hosts: run the agvents of an event log for filters that call them",
    )
    add_master(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.spark.files.output_folder import check_free
    from agvent.spark.matches.event_source import event_source
    from agvent.spark.matches.match import match
    from agvent.spark.matches.match_options import MatchOptions
    from agvent.spark.matches.write_matches import write_matches
    from agvent.spark.rosters.subscription_source import roster_of

    # Every mistake is found before Spark is started, which takes seconds.
    check_free(args.out)
    source = event_source(args.events)
    options = {
        "event": args.event,
        "complaints": True,
        "skip_rejected": args.on_error == "skip" and source.has_lines,
        "hosts_key": args.hosts_key,
        "shared": args.shared,
    }
    source.check(MatchOptions(**options))
    roster = roster_of(args.subscriptions, language=args.language)
    started = time.perf_counter()
    with running(args, app="agvent spark match") as (spark, progress):
        pairs = match(source, roster, **options)
        count = source.count(spark)
        warning = source.unread(roster) if count else f"{args.events} has no events"
        if warning:
            warn(progress, warning)
        written = write_matches(pairs, args.out)
        _complain(progress, written)
    _summary(args.out, count, len(roster.index), written, time.perf_counter() - started)
    return 0


def _complain(progress: Progress, written: MatchCounts) -> None:
    if written.rejected:
        warn(progress, f"{written.rejected:,} rejected lines skipped; for example {written.example}")
    warn_unanswered(progress, written.unanswered, written.example)


def _summary(out: str, events: int, subscriptions: int, written: MatchCounts, seconds: float) -> None:
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
