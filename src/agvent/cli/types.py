"""`agvent types`: what is published in a network, by whom."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from agvent.agents.authoring.type_table import table_of
from agvent.cli.where import add_where, client, run_async

if TYPE_CHECKING:
    from agvent.net.client.advertising import AdvertisedType
    from agvent.net.client.connect import Connecting
    from agvent.types import AgventType

SUMMARY = "show the types that are published in a network"

DESCRIPTION = """\
Show the advertised types, a line each: who publishes them, at which broker, with
which attributes. With TYPE, its full definition: the kind and the description of
each attribute and behaviour, as a table.
"""

EPILOG = """\
examples:
  agvent types
  agvent types Book --json

exit codes: 0 done, 1 nobody publishes such a type, 3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", nargs="?", default="", help="this one and those that inherit from it")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    found = run_async(_types(client(args), args.type))
    lines = [msgspec.json.encode(one).decode() for one in found] if args.json else _lines(found)
    for line in _tables(found) if args.type and not args.json else lines:
        print(line)
    if not found:
        print(f"nobody publishes {args.type or 'any type'}", file=sys.stderr)
    return 0 if found else 1


def _lines(found: list[AdvertisedType]) -> list[str]:
    shown = [", ".join(f"{one.name}: {one.kind}" for one in advertised.type.attributes) for advertised in found]
    return [
        f"{one.type.name}({each})  by {one.publisher} at {one.broker}" for one, each in zip(found, shown, strict=True)
    ]


def _tables(found: list[AdvertisedType]) -> list[str]:
    """Each type as a table, and below it who publishes it."""
    by: dict[AgventType, list[str]] = {}
    for one in found:
        by.setdefault(one.type, []).append(f"{one.publisher} at {one.broker}")
    return [f"{table_of(type)}\n  by {', '.join(names)}" for type, names in by.items()]


async def _types(connecting: Connecting, type: str) -> list[AdvertisedType]:
    async with connecting as asking:
        return await asking.types(type)
