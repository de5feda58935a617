"""`agvent link`: cut the link between two brokers, and heal it."""

from __future__ import annotations

import argparse

import msgspec

from agvent.cli.where import add_where, credentials, named, run_async

SUMMARY = "cut or heal the link between two brokers"

DESCRIPTION = """\
Cut the link between two neighbours: they stay apart until it is healed. Events
find another way, or wait.
"""

EPILOG = """\
examples:
  agvent link cut B1 B2
  agvent link heal B1 B2

exit codes: 0 done, 2 no such link, 3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    doings = parser.add_subparsers(metavar="DOING", required=True)
    for doing in ("cut", "heal"):
        one = doings.add_parser(doing, help=f"{doing} a link", description=f"{doing.capitalize()} a link.")
        one.add_argument("broker", metavar="BROKER", help="the one that is told")
        one.add_argument("neighbour", metavar="NEIGHBOUR")
        add_where(one)
        one.set_defaults(run=run, doing=doing)


def run(args: argparse.Namespace) -> int:
    from agvent.net.dialled import ask

    address, to = named(args, args.broker)
    run_async(ask(address, args.doing, credentials=credentials(args), to=to, name=args.neighbour))
    if args.json:
        print(msgspec.json.encode({"link": [args.broker, args.neighbour], "done": args.doing}).decode())
    else:
        print(f"{args.broker} - {args.neighbour}: {args.doing}")
    return 0
