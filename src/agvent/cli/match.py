"""`agvent match`: a file of subscriptions against a file or stream of events."""

from __future__ import annotations

import argparse
import os
import stat
import sys
import time
from collections.abc import Iterator
from io import FileIO

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

import agvent
from agvent.cli.languages import add_language
from agvent.cli.output import Count, JsonLines, MatchTable, MatchTotals, Output, Paper
from agvent.errors import CallerError, EventError
from agvent.store.line_chunks import STANDARD_INPUT, line_chunks, open_input, pieces, shown_name
from agvent.store.subscription_file import SubscriptionFile

SUMMARY = "say which subscriptions each event matches"

DESCRIPTION = """\
Say which subscriptions each event matches.

SUBSCRIPTIONS has one JSON object per line:
  {"id": "s1", "language": "sql", "filter": "pages > 200"}
with the optional keys type, topic, pattern, channel and context. Other keys
are ignored. Without a filter, the type or topic alone has to match.

EVENTS has one JSON object of attributes per line; the keys $type, $topic,
$channel, $time and $xml say what their names say:
  {"$topic": "books/new", "author": "V. P.", "pages": 301}

Either may be - for standard input, but not both. Events are answered as they
arrive, in any amount; memory does not grow with them.
"""

EPILOG = """\
output:
  jsonl  one line per event that matched something, its number counted from 0
         over all lines of the input, its subscriptions in code-point order:
         {"event": 0, "subscriptions": ["s1", "s7"]}
  table  the same for reading, with at most 20 subscriptions per event
  count  only how many: {"events": 2, "subscriptions": 1, "matches": 1, "rejected": 0},
         or a sentence with the speed on a terminal
  Without --format it is table on a terminal, and jsonl on a pipe or in a file.

examples:
  agvent match subscriptions.jsonl events.jsonl > matches.jsonl
  tail -f events.jsonl | agvent match subscriptions.jsonl - --on-error skip
  agvent match subscriptions.jsonl events.jsonl --format count

exit codes: 0 done, 2 a bad subscription or event, 3 a file cannot be read
"""

WARNINGS_MAX = 20
"""Lines of warnings on standard error; the rest is only counted."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subscriptions", metavar="SUBSCRIPTIONS", help="file of subscriptions, or -")
    parser.add_argument("events", metavar="EVENTS", help="file of events, or -")
    add_language(parser, whose="subscriptions that name none")
    parser.add_argument("--format", choices=("jsonl", "table", "count"), help="form of the output, see below")
    parser.add_argument(
        "--on-error",
        choices=("stop", "skip"),
        default="stop",
        help="a line of EVENTS that is not an event: end the run (stop, the default), or report it and go on (skip)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.subscriptions == args.events == STANDARD_INPUT:
        raise CallerError("SUBSCRIPTIONS and EVENTS cannot both be standard input")
    output = _output(args.format)
    with (
        open_input(args.subscriptions) as subscription_file,
        open_input(args.events) as event_file,
        _progress(output) as progress,
    ):
        starting = progress.add_task("starting (the first run compiles, which takes a while)", total=None)
        subscriptions = agvent.Subscriptions()
        progress.remove_task(starting)
        task = _task(progress, "subscriptions", subscription_file)
        SubscriptionFile(
            subscription_file, language=args.language, advance=lambda size: progress.advance(task, size)
        ).load_into(subscriptions, shown_name(args.subscriptions))
        totals = MatchTotals(subscriptions=len(subscriptions))
        _match(subscriptions, event_file, args, output=output, totals=totals, progress=progress)
    output.finish(totals)
    return 0


def _match(
    subscriptions: agvent.Subscriptions,
    stream: FileIO,
    args: argparse.Namespace,
    *,
    output: Output,
    totals: MatchTotals,
    progress: Progress,
) -> None:
    """Matches chunk after chunk. Everything before a line that stops the run has been written by then."""
    source = shown_name(args.events)
    task = _task(progress, "events", stream)
    started = time.perf_counter()
    for chunk in _batches(stream, subscriptions.batch_rows):
        matches = subscriptions.match_json(chunk)
        first, rejected = totals.events, matches.rejected
        if rejected and args.on_error == "stop":
            output.write(matches, first=first, before=rejected[0].event)
            raise EventError(f"{source} line {first + rejected[0].event + 1}: {rejected[0].message}")
        output.write(matches, first=first, before=matches.event_count)
        for bad in rejected[: max(0, WARNINGS_MAX - totals.rejected)]:
            _warn(progress, f"{source} line {first + bad.event + 1}: {bad.message}")
        for one in matches.unanswered[: max(0, WARNINGS_MAX - totals.unanswered)]:
            _warn(progress, f"{source} line {first + one.event + 1}: {one.subscription} not answered: {one.message}")
        totals.events += matches.event_count
        totals.matches += len(matches)
        totals.rejected += len(rejected)
        totals.unanswered += len(matches.unanswered)
        totals.seconds = time.perf_counter() - started
        progress.advance(task, len(chunk))
    if totals.rejected:
        _warn(progress, f"{source}: {totals.rejected:,} of {totals.events:,} lines skipped")
    if totals.unanswered:
        _warn(progress, f"{source}: {totals.unanswered:,} questions not answered, which count as no match")


def _batches(stream: FileIO, line_count: int) -> Iterator[bytes]:
    """Lines in batches whose columns and matches fit into memory, however short the lines are."""
    for chunk in line_chunks(stream):
        yield from pieces(chunk, line_count)


def _output(form: str | None) -> Output:
    terminal = sys.stdout.isatty()
    match form or ("table" if terminal else "jsonl"):
        case "jsonl":
            return JsonLines(sys.stdout.buffer)
        case "table":
            return MatchTable(Paper(file=sys.stdout))
        case _:
            return Count(Paper(file=sys.stdout))


def _progress(output: Output) -> Progress:
    """A bar on standard error if that is a terminal; rows that go to a terminal too are printed above it."""
    console = output.console if isinstance(output, MatchTable) and output.console.is_terminal else Paper(stderr=True)
    shown = sys.stderr.isatty() and not (isinstance(output, JsonLines) and sys.stdout.isatty())
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        transient=True,
        disable=not shown,
    )


def _task(progress: Progress, name: str, stream: FileIO) -> TaskID:
    """A file's size is known beforehand, a pipe's is not."""
    status = os.fstat(stream.fileno())
    return progress.add_task(name, total=status.st_size if stat.S_ISREG(status.st_mode) else None)


def _warn(progress: Progress, text: str) -> None:
    if progress.disable:
        print(f"warning: {text}", file=sys.stderr)
    else:
        progress.console.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)
