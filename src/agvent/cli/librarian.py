"""`agvent librarian`: keep the documents of a realm, and answer questions."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import suppress
from pathlib import Path

from agvent.cli.where import add_where, client, run_async

SUMMARY = "keep documents of a realm, and answer who looks for them"

DESCRIPTION = """\
Keep the documents that are stored in a realm (agvent document) and answer queries
for them (agvent discover), and for the advertisements of its broker; without a
realm, for those of all brokers. It is a client, and runs until Ctrl-C. Documents
that are stored while it is away wait for it.
"""

EPILOG = """\
examples:
  agvent librarian
  agvent librarian --realm eu/ankara --at 127.0.0.1:4780 --shelf ankara.db

exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 no realm, 3 no broker answers, or the
shelf cannot be written
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--realm", default="", help="a path such as eu/ankara; none unless given")
    parser.add_argument("--as", dest="name", default="", metavar="NAME", help="its name; librarian.REALM unless given")
    parser.add_argument("--shelf", type=Path, metavar="FILE", help="where it keeps documents; NAME.db unless given")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    name = args.name or ".".join(["librarian", *filter(None, args.realm.split("/"))])
    with suppress(asyncio.CancelledError):
        run_async(_kept(args, name))
    return 0


async def _kept(args: argparse.Namespace, name: str) -> None:
    from agvent.net.client.librarian import Librarian
    from agvent.store.document_shelf import Shelf

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    shelf = Shelf(args.shelf or Path(f"{name}.db"))
    async with client(args, name) as librarian:
        where = f"realm {args.realm}" if args.realm else "no realm"
        line = f"{name} at {librarian.broker}: {where}, documents in {shelf.path}"
        await Librarian(librarian, shelf, realm=args.realm).run(ready=lambda: print(line, flush=True))
