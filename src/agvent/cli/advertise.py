"""`agvent advertise`: say that somebody publishes a type."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from agvent.cli.where import add_where, client, run_async
from agvent.errors import CallerError
from agvent.types import AdvertisedAttribute, AgventType

if TYPE_CHECKING:
    from agvent.net.client.connect import Connecting
    from agvent.wire.client_messages import Advertised

SUMMARY = "say that a client publishes a type"

DESCRIPTION = """\
Say that a client publishes events of a type. ATTRIBUTE is name:kind, such as
pages:int. The advertisement stands until the client takes it back with --end.
"""

EPILOG = """\
examples:
  agvent advertise Book title:str pages:int --as acme
  agvent advertise Book --as acme --end

exit codes: 0 done, 2 a mistake in the type, 3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="its name")
    parser.add_argument("attributes", metavar="ATTRIBUTE", nargs="*", help="name:kind")
    parser.add_argument("--as", dest="name", metavar="NAME", required=True, help="the client that publishes it")
    parser.add_argument(
        "--parent", action="append", default=[], metavar="TYPE", help="its ancestors, nearest first; may repeat"
    )
    parser.add_argument("--end", action="store_true", help="take the advertisement back")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    attributes = tuple(_attribute(text) for text in args.attributes)
    type = AgventType(name=args.type, attributes=attributes, ancestors=tuple(args.parent))
    answer = run_async(_advertise(client(args, args.name), type, end=args.end))
    confirmed, pending = (answer.confirmed, answer.pending) if answer is not None else ((), ())
    if args.json:
        shown = {"type": args.type, "by": args.name, "end": args.end, "confirmed": confirmed, "pending": pending}
        print(msgspec.json.encode(shown).decode())
    else:
        waiting = f"; no answer yet from {', '.join(pending)}" if pending else ""
        print(f"{args.name} {'no longer publishes' if args.end else 'publishes'} {args.type}{waiting}")
    return 0


def _attribute(text: str) -> AdvertisedAttribute:
    name, _, kind = text.partition(":")
    if not kind:
        raise CallerError(f"{text!r} is not an attribute", hint="write name:kind, such as pages:int")
    return AdvertisedAttribute(name, kind)


async def _advertise(connecting: Connecting, type: AgventType, *, end: bool) -> Advertised | None:
    async with connecting as acting:
        if end:
            await acting.unadvertise(type.name)
            return None
        return await acting.advertise(type)
