"""`agvent log follow`: the event log of a network of brokers, as they run."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

import msgspec

from agvent import limits
from agvent.cli.numbers import above_zero, whole
from agvent.cli.where import FOLDER
from agvent.errors import EnvironmentFault

DESCRIPTION = """\
Write the log of a network of brokers while they run, from their journals: events,
subscriptions, epochs, deliveries, gaps and traces. Every few seconds what is new
becomes one commit; `agvent spark audit`, `analyse`, `replay` and `dispatch` read
the log meanwhile. The brokers are not asked, and do not wait.

It can be stopped, and killed, at any time: the same command goes on where the log
ends, and no row is lost or there twice. Brokers keep their journals for it if their
files say keep_history = true, which `agvent up --log` sees to.
"""

EPILOG = """\
examples:
  agvent log follow day
  agvent log follow day --every 1 --trim
  agvent log follow day --keep-hours 48 --keep-mb 2000
  agvent spark audit day --until 2026-03-01T12:00:00Z

exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 the folder is something else, 3 no
journal there, or not from the beginning, or another process writes this log
"""


def add_disks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--network", type=Path, default=Path(FOLDER), metavar="FOLDER", help=f"of agvent up ({FOLDER})")
    parser.add_argument(
        "--data", type=Path, nargs="+", metavar="FOLDER", help="the brokers' data, in place of --network"
    )


def add_keep(parser: argparse.ArgumentParser) -> None:
    """The options that bound a log."""
    hours, size = above_zero(limits.LOG_KEEP_HOURS_MAX), whole(1, limits.LOG_KEEP_MB_MAX)
    parser.add_argument(
        "--keep-hours", type=hours, metavar="H", help="drop older segments from the log; the catalogue stays"
    )
    parser.add_argument(
        "--keep-mb", type=size, metavar="MB", help="drop the oldest of each of its streams beyond this size"
    )


def disks_of(args: argparse.Namespace) -> list[Path]:
    """The brokers' disks that the arguments name."""
    disks = args.data or sorted(path.parent / "data" for path in args.network.glob("*/broker.toml"))
    if not disks:
        raise EnvironmentFault(f"{args.network}: no broker's disk there", hint="--data names them")
    return list(disks)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the log, new, or one that this command wrote")
    add_disks(parser)
    seconds = above_zero(limits.WAIT_SECONDS_MAX)
    parser.add_argument("--every", type=seconds, default=5.0, metavar="SECONDS", help="time from commit to commit (5)")
    parser.add_argument("--trim", action="store_true", help="delete archived journals that the log has")
    add_keep(parser)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each commit")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.net.fleet.follow import Follower, Keep  # noqa: PLC0415 - pyarrow is imported by those who use it

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    keep = Keep(args.keep_hours, args.keep_mb * 1_000_000 if args.keep_mb is not None else None)
    follower = Follower(args.out, disks_of(args), trim=args.trim, keep=keep)
    try:
        while not stopped.is_set():
            _tell(follower.step(), as_json=args.json)
            if not follower.is_behind:
                stopped.wait(args.every)
        _tell(follower.step(), as_json=args.json)
    finally:
        follower.close()
    return 0


def _tell(counts: dict[str, int] | None, *, as_json: bool) -> None:
    if counts is None or not any(counts.values()):
        return
    if as_json:
        print(msgspec.json.encode(counts).decode(), flush=True)
    elif sys.stdout.isatty():
        print(", ".join(f"{count:,} {name}" for name, count in counts.items() if count), flush=True)
