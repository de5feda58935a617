"""`agvent spark replay`: the events that one new subscription would have received since a time."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from rich.progress import Progress

import agvent
from agvent.cli.languages import add_language
from agvent.cli.spark_job import add_master, running, warn
from agvent.errors import CallerError, EventError, TranslationError
from agvent.event import time_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from agvent.spark.pushdown.to_column import Pushdown
    from agvent.spark.replays.log_replay import LogReplay
    from agvent.spark.replays.table_replay import Replayed, Window

SUMMARY = "find the events that one new subscription would have received"

DESCRIPTION = """\
Find every event of the past that one new subscription would have received, and
write them as Parquet or JSON Lines, the events of each publisher in their order.

SOURCE is an event log, or a file or folder of Parquet whose columns are attributes
($type, $topic, $channel, $time and $xml are the headers, as everywhere).

In a log, TIME is when an event was accepted; the events of each type are written
to a folder of their own, with the columns they have in the log. In other Parquet,
TIME is in the column $time, or in the one that --time names.

Parquet and Spark test as much of FILTER as they can. The matcher verifies the rest
event by event, so the result is exactly that of `agvent match`.
"""

EPILOG = """\
TIME is for example 2026-03-01 or 2026-03-01T12:00:00Z; without a zone it is UTC.
FILTER may be '' if a type, topic, pattern or channel is given.
DIR must be new or empty. It appears when the job is done. With --format jsonl the
events go to standard output, as `agvent match` reads them.

examples:
  agvent spark replay day "price > 100 AND symbol = 'IBM'" --type Quote \\
    --since 2026-03-01 --out ibm
  agvent spark replay day '' --pattern 'Sports/#' --since 2026-03-01T12:00:00Z \\
    --until 2026-03-02 --out sports
  agvent spark replay day "price > 100" --since 2026-03-01 --format jsonl |
    agvent match subscriptions.jsonl -
  agvent spark replay ticks/ "price * volume > 1e6" --time at --since 2026-03-01 --explain

exit codes: 0 done, 2 a bad argument or filter, 3 a file cannot be read, or Spark
did not start or failed, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="an event log, or a file or folder of Parquet")
    parser.add_argument("filter", metavar="FILTER", help="the filter's text")
    parser.add_argument("--since", required=True, type=_time, metavar="TIME", help="the first moment of the window")
    parser.add_argument(
        "--until", type=_time, metavar="TIME", help="the first moment after the window (default: no end)"
    )
    parser.add_argument("--out", metavar="DIR", help="folder to write; it must be new or empty")
    parser.add_argument(
        "--format",
        choices=("parquet", "jsonl"),
        default="parquet",
        help="files of Parquet in DIR (the default), or a line of JSON for each event",
    )
    add_language(parser, whose="FILTER")
    parser.add_argument("--type", metavar="NAME", help="only events of this type and its subtypes")
    address = parser.add_mutually_exclusive_group()
    address.add_argument("--topic", metavar="TOPIC", help="only events of this topic")
    address.add_argument("--pattern", metavar="PATTERN", help="only events of topics under this pattern")
    address.add_argument("--channel", metavar="CHANNEL", help="only events of this channel")
    parser.add_argument(
        "--subscriber", default="", metavar="NAME", help="the subscriber's name, for events to named subscribers"
    )
    parser.add_argument(
        "--context", type=_context, metavar="JSON", help="the subscriber's context, for events with a filter on it"
    )
    parser.add_argument("--time", metavar="COLUMN", help="the column of Parquet with the time (default: $time)")
    parser.add_argument("--explain", action="store_true", help="print how the filter is divided, and write nothing")
    add_master(parser)
    parser.set_defaults(run=run)


def _time(text: str) -> datetime:
    try:
        return time_of(text)
    except EventError as error:
        raise argparse.ArgumentTypeError(f"{error.message}, {error.hint}") from None


def _context(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not a JSON object: {error}") from None


def run(args: argparse.Namespace) -> int:
    from agvent.spark.files.file_slices import is_log
    from agvent.spark.replays.table_replay import Window
    from agvent.store.history import condition_of

    subscription = _subscription(args)
    condition_of(subscription)
    window = Window(args.since, args.until)
    check(args)
    if is_log(args.source):
        return _run_log(args, subscription, window)
    return _run_files(args, subscription, window)


def _subscription(args: argparse.Namespace) -> agvent.Subscription:
    return agvent.Subscription(
        id="replay",
        language=args.language,
        filter=args.filter,
        type=args.type,
        topic=args.topic,
        pattern=args.pattern,
        channel=args.channel,
        context=args.context,
    )


def check(args: argparse.Namespace) -> None:
    """Finds mistakes in the arguments before Spark is started, which takes seconds."""
    from agvent.spark.files.file_slices import is_log, is_parquet, listed
    from agvent.spark.files.output_folder import check_free

    if args.until is not None and args.until <= args.since:
        raise CallerError("--until must be later than --since")
    if args.format == "jsonl" and args.out is not None:
        raise CallerError("--out does not apply to --format jsonl, which goes to standard output")
    if args.out is None and args.format == "parquet" and not args.explain:
        raise CallerError("--out is missing", hint="name a folder for the events, or use --format jsonl or --explain")
    if args.out is not None:
        check_free(args.out)
    first = listed(args.source)[0]
    if not is_log(args.source) and not is_parquet(first):
        raise CallerError(f"{args.source} is neither Parquet nor an event log")
    if not is_log(args.source) and (args.subscriber or args.context is not None):
        raise CallerError("--subscriber and --context apply only to an event log")
    if is_log(args.source) and args.time is not None:
        raise CallerError("--time applies only to Parquet; in a log, TIME is when an event was accepted")


# A log


def _run_log(args: argparse.Namespace, subscription: agvent.Subscription, window: Window) -> int:
    from agvent.spark.files.output_folder import write_frames
    from agvent.spark.replays.json_lines import log_lines
    from agvent.spark.replays.log_replay import replay_log
    from agvent.store.log_reader import LogReader

    started = time.perf_counter()
    with running(args, app="agvent spark replay") as (spark, progress):
        found = replay_log(spark, args.source, subscription, window, subscriber=args.subscriber)
        if found.dropped_until is not None and args.since <= found.dropped_until:
            warn(progress, f"retention has dropped events accepted up to {found.dropped_until.isoformat()}")
        if not found.segment_count:
            warn(progress, f"{args.source} has no events")
        if args.explain:
            print(_explained_log(args.source, found, window))
            return 0
        if args.format == "jsonl":
            return _print_lines(progress, log_lines(LogReader(args.source), found.parts))
        counts = write_frames([(part.folder, part.frame) for part in found.parts], args.out)
    _summary(args.out, counts, time.perf_counter() - started)
    return 0


def _explained_log(source: str, found: LogReplay, window: Window) -> str:
    from agvent.spark.pushdown.pushed_filters import pushed_filters

    read = sum(len(part.segments) for part in found.parts)
    total = found.segment_count
    lines = [f"{source}: {read} of {total} segments may have events {window}; only those are read"]
    for part in found.parts:
        rows = sum(segment.rows for segment in part.segments)
        lines.append(f"{part.type or 'events without a type'}, {part.schema}: {rows:,} rows in {len(part.segments)}")
        lines += _division(part.pushdown, pushed_filters(part.frame))
        lines.append("  the matcher checks every event that differs from its advertisement")
    return "\n".join(lines)


# Other Parquet


def _run_files(args: argparse.Namespace, subscription: agvent.Subscription, window: Window) -> int:
    from agvent.spark.files.output_folder import write_frames
    from agvent.spark.replays.json_lines import FrameLines, lines

    started = time.perf_counter()
    with running(args, app="agvent spark replay") as (spark, progress):
        found = _replayed(spark, args, subscription, window)
        if args.explain:
            print(_explained_files(args.source, found, window))
            return 0
        if args.format == "jsonl":
            return _print_lines(progress, lines(found.frame, FrameLines(found.frame.columns)))
        counts = write_frames([("", found.frame)], args.out)
    _summary(args.out, counts, time.perf_counter() - started)
    return 0


def _replayed(
    spark: SparkSession, args: argparse.Namespace, subscription: agvent.Subscription, window: Window
) -> Replayed:
    from agvent.spark.replays.table_replay import TIME, replayed
    from agvent.spark.runtime.spark_errors import translated_errors

    with translated_errors():
        return replayed(spark.read.parquet(args.source), subscription, window, time=args.time or TIME)


def _explained_files(source: str, found: Replayed, window: Window) -> str:
    from agvent.spark.pushdown.pushed_filters import pushed_filters

    return "\n".join([f"{source}: events {window}", *_division(found.pushdown, pushed_filters(found.frame))])


# Both


def _division(pushdown: Pushdown, pushed: list[str]) -> list[str]:
    """The parts of the filter that Parquet, Spark and the matcher test."""
    lines = [f"  Parquet skips rows that fail: {filters}" for filters in pushed]
    if pushdown.rows.rows is False:
        return [*lines, "  no event that follows its advertisement can match"]
    if pushdown.residual is None:
        return [*lines, "  Spark tests the whole filter on the rest"]
    return [*lines, f"  Spark tests the rest, and the matcher verifies: {_text(pushdown.residual)}"]


def _text(condition: Any) -> str:
    try:
        return agvent.format_filter(condition)
    except TranslationError:
        return "a part that SQL cannot express"


def _print_lines(progress: Progress, lines: Iterator[str]) -> int:
    """The lines are the whole answer. A bar on the same terminal would tear them."""
    if sys.stdout.isatty():
        progress.stop()
    for line in lines:
        print(line)
    return 0


def _summary(out: str, counts: dict[str, int], seconds: float) -> None:
    total = sum(counts.values())
    if sys.stdout.isatty():
        for folder, count in counts.items():
            print(f"{count:>12,}  {out}/{folder}")
        print(f"{total:,} events in {seconds:.1f} s")
        return
    report = {"events": total, "folders": {folder: count for folder, count in counts.items() if folder}, "out": out}
    print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())
