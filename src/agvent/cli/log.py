"""`agvent log`: check an event log, show what is in it, generate a sample, write that of a network."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from agvent.cli import log_follow

if TYPE_CHECKING:
    from agvent.store.log_summary import Contents, LogSummary

SUMMARY = "write the event log of a network; check a log, show it, generate a sample log"

DESCRIPTION = """\
Work on event logs: folders of Parquet files that say what happened, who
subscribed, what was delivered and how it travelled. docs/reference/event-log.md has the format.
"""

EPILOG = """\
examples:
  agvent log generate day --events 100000 --subscriptions 1000 --brokers 5
  agvent log show day
  agvent log verify day

exit codes: 0 done, 1 verify: the log is broken, 2 a mistake in the arguments,
3 no log there, or the machine
"""

VERIFY_DESCRIPTION = """\
Check every byte of a log against its heads, and name each file that is missing,
truncated, altered, damaged, or named by no head.
"""

VERIFY_EPILOG = """\
examples:
  agvent log verify day
  agvent log verify day --json

exit codes: 0 everything is there, 1 something is broken, 3 no log there
"""

SHOW_DESCRIPTION = """\
Say what is in a log: types, rows, time span, brokers, sizes, and what retention
has dropped.
"""

SHOW_EPILOG = """\
examples:
  agvent log show day
  agvent log show day --json

exit codes: 0 done, 3 no log there, or a head that cannot be read
"""

GENERATE_DESCRIPTION = """\
Generate a sample log of one day: events of several types, subscriptions that come
and go while events flow, the deliveries that are due by the matcher and the epochs,
and the path of each copy. Equal arguments give equal rows.

A defect is inserted in up to ten deliveries; planted.json in the log lists them.
"""

GENERATE_EPILOG = """\
examples:
  agvent log generate day --events 100000 --subscriptions 1000 --brokers 5 --seed 7
  agvent log generate broken --events 10000 --defect lost

exit codes: 0 done, 2 the folder is not empty, or a number that cannot be, 3 the machine
"""

COLLECT_DESCRIPTION = """\
Write a new log from the journals of a network's brokers: events, subscriptions,
epochs, deliveries, gaps and traces, for `agvent spark audit`, `analyse` and
`replay`. The journals are read, not changed, and the brokers may run on; agvent
log follow OUT goes on with the log.

A broker keeps its journal from the beginning if its file says keep_history = true
(`agvent up --keep-history`); without it, as long as it needs no snapshot (64 MB).
"""

COLLECT_EPILOG = """\
examples:
  agvent log collect day
  agvent log collect day --data B1/data B2/data
  agvent spark audit day

exit codes: 0 done, 2 the folder is not empty, 3 no journal there, or not from the beginning
"""

DEFECTS = ("none", "lost", "duplicated", "unexpected", "out_of_order", "late")


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    formatter = argparse.RawDescriptionHelpFormatter
    verify = actions.add_parser(
        "verify",
        help="list defects",
        description=VERIFY_DESCRIPTION,
        epilog=VERIFY_EPILOG,
        formatter_class=formatter,
    )
    verify.set_defaults(run=run_verify)
    show = actions.add_parser(
        "show",
        help="say what is in a log",
        description=SHOW_DESCRIPTION,
        epilog=SHOW_EPILOG,
        formatter_class=formatter,
    )
    show.set_defaults(run=run_show)
    for action in (verify, show):
        action.add_argument("log", type=Path, metavar="LOG", help="folder of the log")
        action.add_argument("--json", action="store_true", help="print one JSON object")
    generate = actions.add_parser(
        "generate",
        help="generate a sample log",
        description=GENERATE_DESCRIPTION,
        epilog=GENERATE_EPILOG,
        formatter_class=formatter,
    )
    _configure_generate(generate)
    collect = actions.add_parser(
        "collect",
        help="write the log of a network of brokers",
        description=COLLECT_DESCRIPTION,
        epilog=COLLECT_EPILOG,
        formatter_class=formatter,
    )
    collect.add_argument("out", type=Path, metavar="OUT", help="folder for the log, new or empty")
    log_follow.add_disks(collect)
    collect.add_argument("--json", action="store_true", help="print one JSON object: the rows of each table")
    collect.set_defaults(run=run_collect)
    log_follow.configure(
        actions.add_parser(
            "follow",
            help="write the log of a network of brokers as they run",
            description=log_follow.DESCRIPTION,
            epilog=log_follow.EPILOG,
            formatter_class=formatter,
        )
    )


def _configure_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the log, new or empty")
    for name, default, means in (
        ("events", 10_000, "events"),
        ("subscriptions", 100, "subscriptions"),
        ("brokers", 3, "brokers"),
        ("seed", 0, "where the random numbers begin"),
    ):
        help = f"{means}; {default:,} unless given"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=help)
    parser.add_argument("--xml", action="store_true", help="some events carry XML, some subscriptions are XPath")
    parser.add_argument("--defect", choices=DEFECTS, default="none", help="defect to insert")
    parser.add_argument("--json", action="store_true", help="print one JSON object: what was written and inserted")
    parser.set_defaults(run=run_generate)


def run_verify(args: argparse.Namespace) -> int:
    from agvent.store.log_verification import verify  # noqa: PLC0415 - pyarrow is imported by those who use it

    with _progress() as stage:
        verdict = verify(args.log, lambda done, total: stage("checking", done, total))
    if args.json:
        _print_json(verdict)
    else:
        for finding in verdict.findings:
            print(f"{finding.problem}: {finding.path}: {finding.detail}")
        size = _size(verdict.bytes)
        findings = f"{len(verdict.findings):,} broken" if verdict.findings else "all as they should be"
        print(f"{verdict.segments:,} segments, {verdict.rows:,} rows, {size}: {findings}")
    return 1 if verdict.findings else 0


def run_show(args: argparse.Namespace) -> int:
    from agvent.store.log_reader import LogReader  # noqa: PLC0415 - pyarrow is imported by those who use it
    from agvent.store.log_summary import summary  # noqa: PLC0415

    found = summary(LogReader(args.log))
    if args.json:
        _print_json(found)
    else:
        _show(found)
    return 0


def run_generate(args: argparse.Namespace) -> int:
    from agvent.sample_day.day_plan import DayPlan  # noqa: PLC0415
    from agvent.sample_day.generate import generate  # noqa: PLC0415 - pyarrow is imported by those who use it

    given = {name: getattr(args, name) for name in DayPlan.__struct_fields__}
    with _progress() as stage:
        report = generate(args.out, DayPlan(**given), progress=stage)
    if args.json:
        _print_json(report)
    else:
        planted = f", {len(report.planted)} defects inserted: {args.defect}" if report.planted else ""
        print(f"{args.out}: {report.events:,} events, {report.deliveries:,} deliveries{planted}")
    return 0


def run_collect(args: argparse.Namespace) -> int:
    from agvent.net.fleet.collect import collect  # noqa: PLC0415 - pyarrow is imported by those who use it

    disks = log_follow.disks_of(args)
    counts = collect(disks, args.out)
    if args.json:
        _print_json(counts)
    else:
        print(
            f"{args.out}: {counts.get('events', 0):,} events, {counts.get('deliveries', 0):,} deliveries, "
            f"{counts.get('gaps', 0):,} gaps of {len(disks)} brokers"
        )
    return 0


def _show(found: LogSummary) -> None:
    console = Console()
    table = Table(box=None, pad_edge=False)
    for title in ("table", "rows", "segments", "size", "first", "last", "brokers"):
        table.add_column(title, justify="right" if title in ("rows", "segments", "size") else "left", overflow="fold")
    for contents in (*found.events, *(one for one in found.tables if one.rows)):
        table.add_row(*_row(contents))
    console.print(table)
    ends = ", ".join(f"{broker} {end:,}" for broker, end in sorted(found.offset["ev"].items()))
    print(f"catalogue version {found.offset['sub']}; events ever accepted: {ends or 'none'}")
    for stream, dropped in found.dropped.items():
        print(f"retention has dropped {dropped.rows:,} rows ({_size(dropped.bytes)}) of {stream}")


def _row(contents: Contents) -> list[str]:
    name = f"events {contents.type or 'without a type'} {contents.schema}" if contents.schema else contents.table
    first, last = (_second(time) for time in (contents.first, contents.last))
    brokers = " ".join(f"{broker}:{rows:,}" for broker, rows in contents.brokers.items())
    return [name, f"{contents.rows:,}", f"{contents.segments:,}", _size(contents.bytes), first, last, brokers]


def _second(time: str | None) -> str:
    return "" if time is None else time[:19].replace("T", " ")


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def _print_json(report: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each stage on standard error, if that is a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        tasks: dict[str, Any] = {}

        def stage(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield stage
