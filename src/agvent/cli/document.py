"""`agvent document`: give a document to a librarian, and take it back."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agvent.cli.where import add_doing, add_where, client, run_async
from agvent.errors import CallerError

if TYPE_CHECKING:
    from agvent.net.client.connect import Connecting

SUMMARY = "store a document to be found, or withdraw it"

DESCRIPTION = """\
Give a document in XML to the librarian of a realm (agvent librarian), where agvent
discover finds it as OWNER/NAME, or withdraw it. The last version stands. The command
returns when a broker has it on disk; the librarian has it soon after.
"""

EPILOG = """\
examples:
  agvent document store menu menu.xml --as acme --realm eu/ankara
  agvent document withdraw menu --as acme --realm eu/ankara

exit codes: 0 done, 2 not XML, or no librarian of that realm, 3 no broker answers
"""

DONE = {"store": "stored", "withdraw": "withdrawn"}

DOINGS = {
    "store": ("give a document to a realm's librarian", "agvent document store menu menu.xml --as acme --realm eu"),
    "withdraw": ("take a document back", "agvent document withdraw menu --as acme --realm eu"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    doings = parser.add_subparsers(metavar="DOING", required=True)
    for doing, (help, example) in DOINGS.items():
        one = add_doing(doings, doing, help, example)
        one.add_argument("name", metavar="NAME", help="its name, which its owner chooses")
        if doing == "store":
            one.add_argument("file", metavar="FILE", help="its XML; - is standard input")
        one.add_argument("--as", dest="owner", required=True, metavar="OWNER", help="the client that owns it")
        one.add_argument("--realm", default="", help="a path such as eu/ankara")
        add_where(one)
        one.set_defaults(run=run, file=None, doing=doing)


def run(args: argparse.Namespace) -> int:
    xml = None if args.file is None else _text(args.file)
    run_async(_stored(client(args, args.owner), args, xml))
    shown = {"document": f"{args.owner}/{args.name}", "realm": args.realm, "done": args.doing}
    print(msgspec.json.encode(shown).decode() if args.json else f"{args.owner}/{args.name}: {DONE[args.doing]}")
    return 0


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CallerError(f"{file}: {error}") from None


async def _stored(connecting: Connecting, args: argparse.Namespace, xml: str | None) -> None:
    from agvent.net.client.discovery import store_document

    async with connecting as owner:
        await store_document(owner, args.name, xml, realm=args.realm)
