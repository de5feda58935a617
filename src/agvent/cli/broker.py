"""`agvent broker`: run one broker; stop, kill, drain or forget one, or have it release a type."""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from agvent.cli.where import add_doing, add_where, credentials, named, network, run_async
from agvent.errors import CallerError

YOUNG_OBJECTS_MAX: Final = 50_000
"""Objects that a broker makes before it looks for cycles among them: some 10 MB, and a millisecond to look."""

SUMMARY = "run a broker; kill, drain, stop or forget one"

DESCRIPTION = """\
Run one broker until it is told to stop (Ctrl-C or SIGTERM).
docs/reference/configuration.md has the keys of its file.

Or send a command to a running broker: kill ends it at once, as a crash does; stop
ends it cleanly; drain sends its clients away and accepts no new ones until it is
started again; forget tells another broker that it never returns; release ends the
quarantine of a type in its sandbox host. `agvent up` restarts a broker however it
ended.
"""

EPILOG = """\
examples:
  agvent broker --config broker.toml
  agvent broker kill B2
  agvent broker forget B2 --from B1
  agvent broker release B1 Book

exit codes: 0 done, 2 a mistake in the arguments or the file, 3 the machine: the
journal is damaged, the port is taken, no broker answers
"""

DOINGS = {
    "kill": "end a broker at once, as a crash does",
    "stop": "end a broker cleanly",
    "drain": "send a broker's clients away; it accepts no new ones until it is started again",
    "forget": "say that a broker never returns: the others drop what waits for it",
    "release": "end the quarantine of a type's programs in the broker's sandbox host",
}

DONE = {"kill": "killed", "stop": "stopped", "drain": "drained", "forget": "forgotten", "release": "released"}

EXAMPLES = {
    "kill": ["agvent broker kill B2     # agvent up starts it again after two seconds"],
    "stop": ["agvent broker stop B2     # so it does after this", "agvent broker stop B2 --at 127.0.0.1:4781"],
    "drain": [
        "agvent broker drain B2",
        "agvent status             # B2 drained",
        "agvent broker stop B2     # undoes it: agvent up starts B2 again",
    ],
    "forget": ["agvent broker forget B2 --from B1"],
    "release": ["agvent broker release B1 Book"],
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", type=Path, help="the broker's configuration")
    parser.add_argument("--insecure", action="store_true", help="listen for other machines without authentication")
    doings = parser.add_subparsers(title="commands to a running broker", metavar="DOING")
    for doing, help in DOINGS.items():
        one = add_doing(doings, doing, help, *EXAMPLES[doing])
        one.add_argument("broker", metavar="BROKER", help="its name")
        if doing == "forget":
            one.add_argument(
                "--from", dest="teller", metavar="BROKER", help="the broker that the command is sent to (the first one)"
            )
        if doing == "release":
            one.add_argument("type", metavar="TYPE", help="the type, or the hash of a program")
        add_where(one)
        one.set_defaults(run=say, doing=doing)
    parser.set_defaults(run=run, complain=parser.error)


def run(args: argparse.Namespace) -> int:
    from agvent.net.server.config import read_config
    from agvent.net.server.server import BrokerServer

    if args.config is None:
        args.complain("--config says which broker to run")
    config = read_config(args.config, insecure=args.insecure)

    async def serve() -> None:
        server = BrokerServer(config)
        await server.start()
        _collect_seldom()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, server.stopping.set)
        with suppress(OSError):  # nobody reads it, or there is no room for it: a broker goes on
            print(
                f"{config.name} listens on {config.listen.host}:{server.port} (boot {server.broker.tables.boot})",
                flush=True,
            )
        await server.run()

    _raise_descriptors()
    run_async(serve())
    return 0


def _collect_seldom() -> None:
    """What a start has made stays, and no collection looks at it again. A broker's tables have no cycles: with Python's
    own thresholds a quarter of its time went into looking for some."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS_MAX, 20, 50)


def _raise_descriptors() -> None:
    """A connection is a descriptor: as many as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def say(args: argparse.Namespace) -> int:
    from agvent.net.link.dial import ask

    if args.doing == "forget":
        address, to = named(args, _teller(args))
        about = {"name": args.broker}
    else:
        address, to = named(args, args.broker)
        about = {"name": args.type} if args.doing == "release" else {}
    answer = run_async(ask(address, args.doing, credentials=credentials(args), to=to, **about))
    shown = {"broker": args.broker, "done": args.doing, **(answer or {})}
    print(msgspec.json.encode(shown).decode() if args.json else f"{args.broker}: {DONE[args.doing]}")
    return 0


def _teller(args: argparse.Namespace) -> str:
    if args.teller:
        return str(args.teller)
    others = [name for name in network(args) if name != args.broker]
    if not others:
        raise CallerError("no broker answers", hint="--at names a broker")
    return others[0]
