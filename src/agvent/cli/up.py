"""`agvent up`: a network of broker processes on this machine."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console, Group
from rich.live import Live

from agvent import limits
from agvent.cli.log_follow import add_keep
from agvent.cli.numbers import whole
from agvent.cli.status import table_of
from agvent.cli.where import FOLDER, ask_all, run_async
from agvent.errors import CallerError
from agvent.net.link.address import PORT_MAX
from agvent.sim.topology import TOPOLOGIES

if TYPE_CHECKING:
    from agvent.net.fleet.fleet import Fleet
    from agvent.net.fleet.follow_process import FollowProcess

SUMMARY = "start a network of brokers on this machine"

DESCRIPTION = """\
Start a network of broker processes on this machine and show what they do, until
Ctrl-C stops them. A broker that ends, because somebody killed it, is started
again after two seconds, and has lost nothing.

The folder keeps their state; the same command continues with it. They listen on
this machine only, on ports from --first-port on; as many ports after those have
their metrics: GET /metrics, /status and /health.
"""

EPILOG = """\
examples:
  agvent up
  agvent up ring --brokers 5
  agvent up abdes --network /tmp/seeds
  agvent up --log, then agvent spark audit agvent-network/log
  agvent up --log --keep-hours 48 --keep-mb 2000

then, in another terminal:
  agvent tail "price > 100"
  agvent publish '{"price": 120}'
  agvent broker kill B2
  curl http://127.0.0.1:4783/metrics

exit codes: 0 stopped, 3 a port is taken, or a broker does not start
"""

SHOW_SECONDS = 1.0
RESTART_SECONDS = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # brokers do not end with the terminal by themselves


def configure(parser: argparse.ArgumentParser) -> None:
    shapes = f"{', '.join(TOPOLOGIES)} (ring)"
    parser.add_argument("topology", metavar="TOPOLOGY", nargs="?", default="ring", choices=[*TOPOLOGIES], help=shapes)
    count, port = whole(1, limits.FLEET_BROKERS_MAX), whole(0, PORT_MAX)
    parser.add_argument("--brokers", type=count, default=3, metavar="N", help="how many (3; abdes has 12)")
    parser.add_argument(
        "--network", type=Path, default=Path(FOLDER), metavar="FOLDER", help=f"folder for their state ({FOLDER})"
    )
    parser.add_argument("--data", type=Path, dest="network", default=Path(FOLDER), help=argparse.SUPPRESS)
    parser.add_argument(
        "--first-port", type=port, default=4780, metavar="PORT", help="the first one's port (4780); 0: any free port"
    )
    parser.add_argument(
        "--keep-history", action="store_true", help="keep journals from the beginning, for agvent log collect"
    )
    parser.add_argument(
        "--log", action="store_true", help="write the network's event log as it runs, in FOLDER/log: agvent log follow"
    )
    add_keep(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON when they are up, and no table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.matching.prepare import prepare_kernels
    from agvent.net.fleet.fleet import Fleet, locked
    from agvent.net.fleet.follow_process import FollowProcess

    keep = _keep(args)
    if keep and not args.log:
        raise CallerError(f"{keep[0]} bounds the event log", hint="give --log too")
    edges = TOPOLOGIES[args.topology](args.brokers, Random(0))
    names = list(dict.fromkeys(name for edge in edges for name in edge)) or ["B1"]
    if args.first_port + 2 * len(names) - 1 > PORT_MAX:
        raise CallerError(
            f"--first-port {args.first_port}: {len(names)} brokers need {2 * len(names)} ports, the last is {PORT_MAX}",
            hint="choose a smaller one, or 0: any free port",
        )
    with locked(args.network) as lock:
        prepare_kernels()
        keep_history = args.keep_history or args.log
        fleet = Fleet(args.network, edges, names, first_port=args.first_port, keep_history=keep_history, lock=lock)
        follow = FollowProcess(args.network, trim=not args.keep_history, keep=keep) if args.log else None
        _run(fleet, follow, as_json=args.json)
    return 0


def _run(fleet: Fleet, follow: FollowProcess | None, *, as_json: bool) -> None:
    """Starts the brokers, and stops them when a signal comes, which may be while they start."""
    stopping = threading.Event()
    _on_signals(stopping)
    try:
        fleet.start_all()
        fleet.wait_until_up(given_up=stopping.is_set)
        if stopping.is_set():
            return
        if follow is not None:
            follow.start()
        if as_json:
            _print_addresses(fleet)
        run_async(_watch(fleet, follow, stopping, quiet=as_json))
    finally:
        _on_signals(stopping)  # the loop gave them back: a second Ctrl-C would leave brokers behind
        fleet.stop()
        if follow is not None:
            follow.stop()


def _on_signals(stopping: threading.Event) -> None:
    for number in SIGNALS:
        signal.signal(number, lambda *_: stopping.set())


def _print_addresses(fleet: Fleet) -> None:
    brokers = {name: str(member.address) for name, member in fleet.members.items()}
    admin = {name: str(member.admin) for name, member in fleet.members.items()}
    print(msgspec.json.encode({"brokers": brokers, "admin": admin}).decode(), flush=True)


def _keep(args: argparse.Namespace) -> list[str]:
    """The options of `agvent log follow` that were given."""
    given = {"--keep-hours": args.keep_hours, "--keep-mb": args.keep_mb}
    return [word for option, value in given.items() if value is not None for word in (option, str(value))]


async def _watch(fleet: Fleet, follow: FollowProcess | None, stopped: threading.Event, *, quiet: bool) -> None:
    """Shows the brokers and starts those again that ended, until a signal, which may have come before."""
    stopping = asyncio.Event()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    if stopped.is_set():
        return
    console = Console()
    addresses = {name: member.address for name, member in fleet.members.items()}
    metrics = "metrics: " + ", ".join(f"{name} http://{one.admin}/metrics" for name, one in fleet.members.items())
    restarts = asyncio.create_task(_restart(fleet, follow))
    if not quiet and not console.is_terminal:
        print("up: " + ", ".join(f"{name} {address}" for name, address in addresses.items()), flush=True)
        print(metrics, flush=True)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not stopping.is_set():
            if console.is_terminal and not quiet:
                live.update(Group(table_of(await ask_all(addresses, "status")), metrics), refresh=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(SHOW_SECONDS):
                    await stopping.wait()
    restarts.cancel()


async def _restart(fleet: Fleet, follow: FollowProcess | None) -> None:
    """Starts again what has ended; what cannot be started now is tried again."""
    failure = ""
    while True:
        ended = [name for name, member in fleet.members.items() if not member.is_running]
        await asyncio.sleep(RESTART_SECONDS)
        before, failure = failure, _started(fleet, follow, ended) or failure
        if failure not in ("", before):
            print(failure, file=sys.stderr, flush=True)


def _started(fleet: Fleet, follow: FollowProcess | None, ended: list[str]) -> str:
    """Starts these brokers, and who writes the log; why one cannot be started, if one cannot."""
    starts: dict[str, Callable[[], None]] = {
        name: partial(fleet.start, name) for name in ended if not fleet.members[name].is_running
    }
    failures = []
    if follow is not None and not follow.is_running:
        starts["agvent log follow"] = follow.start
        if follow.complaint:
            failures.append(f"the event log is not written, and is tried again: {follow.complaint}")
    for name, start in starts.items():
        try:
            start()
        except OSError as error:  # no room, no descriptors, no memory: there may be some later
            failures.append(f"{name} cannot be started, and is tried again: {error}")
    return "\n".join(failures)
