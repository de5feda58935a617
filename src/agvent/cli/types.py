"""`agvent types`: what is published in a network, by whom."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from agvent.cli.where import add_where, client, run_async

if TYPE_CHECKING:
    from agvent.net.client import Found
    from agvent.net.connect import Connecting

SUMMARY = "show the types that are published in a network"

DESCRIPTION = "Show the advertised types: who publishes them, at which broker, with which attributes."

EPILOG = """\
examples:
  agvent types
  agvent types Book --json

exit codes: 0 done, 1 nothing of that type is published, 3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", nargs="?", default="", help="this one and those that inherit from it")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    found = run_async(_types(client(args), args.type))
    for one in found:
        if args.json:
            print(msgspec.json.encode(one).decode())
        else:
            attributes = ", ".join(f"{attribute.name}: {attribute.kind}" for attribute in one.type.attributes)
            print(f"{one.type.name}({attributes})  by {one.publisher} at {one.broker}")
    return 0 if found else 1


async def _types(connecting: Connecting, type: str) -> list[Found]:
    async with connecting as asking:
        return await asking.types(type)
