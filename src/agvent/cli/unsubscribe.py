"""`agvent unsubscribe`: end a subscription."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from agvent.cli.where import add_where, client, run_async

if TYPE_CHECKING:
    from agvent.net.client.connect import Connecting

SUMMARY = "end a subscription"

DESCRIPTION = "End a subscription of a client; its undelivered events are dropped."

EPILOG = """\
examples:
  agvent unsubscribe dear --as ada

exit codes: 0 done, 1 the client has no such subscription, 3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the subscription's id")
    parser.add_argument("--as", dest="name", metavar="NAME", required=True, help="the client that subscribed")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    broker = run_async(_unsubscribe(client(args, args.name), args.id))
    if broker:
        print(f"{args.name} has no subscription {args.id} at {broker}, its home", file=sys.stderr)
        return 1
    print(msgspec.json.encode({"unsubscribed": args.id}).decode() if args.json else f"{args.id} is ended")
    return 0


async def _unsubscribe(connecting: Connecting, id: str) -> str:
    """Ends it; the broker that has no such subscription, empty if it had."""
    async with connecting as asking:
        return "" if await asking.unsubscribe(id) else asking.broker
