"""`agvent link`: cut the link between two brokers, and heal it."""

from __future__ import annotations

import argparse

import msgspec

from agvent.cli.where import add_doing, add_where, credentials, named, network, run_async
from agvent.errors import AgventError, CallerError, NetworkFault

SUMMARY = "cut or heal the link between two brokers"

DESCRIPTION = """\
Cut the link between two neighbours: they stay apart until it is healed. Events
take another path, or wait. The command goes to both ends, and each keeps its end cut
until it is healed or that broker restarts. heal reports an end that did not answer.
"""

EPILOG = """\
examples:
  agvent link cut B1 B2
  agvent link heal B1 B2

exit codes: 0 done, 1 heal: one end did not answer, 2 no such link, 3 neither end
answers
"""

DONE = {"cut": "cut", "heal": "healed"}

DOINGS = {
    "cut": "keep two neighbours apart until the link is healed, or both have restarted",
    "heal": "let two neighbours link again",
}


def configure(parser: argparse.ArgumentParser) -> None:
    doings = parser.add_subparsers(metavar="DOING", required=True)
    for doing, help in DOINGS.items():
        one = add_doing(
            doings,
            doing,
            help,
            f"agvent link {doing} B1 B2",
            f"agvent link {doing} B1 B2 --at 127.0.0.1:4780,127.0.0.1:4781",
        )
        one.add_argument("broker", metavar="BROKER", help="one end, by its name")
        one.add_argument("neighbour", metavar="NEIGHBOUR", help="the other end")
        add_where(one)
        one.set_defaults(run=run, doing=doing)


def run(args: argparse.Namespace) -> int:
    reached, unreached = run_async(_said(args))
    if args.json:
        shown = {"link": [args.broker, args.neighbour], "done": args.doing, "reached": reached, "unreached": unreached}
        print(msgspec.json.encode(shown).decode())
    else:
        complaints = [_complaint(args.doing, *one) for one in unreached.items()]
        print("; ".join([f"{args.broker} - {args.neighbour}: {DONE[args.doing]}", *complaints]))
    return 1 if unreached and args.doing == "heal" else 0


def _complaint(doing: str, name: str, reason: str) -> str:
    return f"{name} was not reached" + (", and may keep it cut" if doing == "heal" else "") + f": {reason}"


async def _said(args: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """Sends it to both ends: which were reached, and why another was not. An end that answers that it has no such
    neighbour keeps nothing apart."""
    ends = {args.broker: args.neighbour, args.neighbour: args.broker}
    failed: dict[str, AgventError] = {}
    for end, other in ends.items():
        try:
            await _say(args, end, other)
        except (CallerError, NetworkFault) as error:
            failed[end] = error
    silent = {end: error for end, error in failed.items() if isinstance(error, NetworkFault)}
    if len(failed) == len(ends):
        raise next((error for end, error in failed.items() if end not in silent), failed[args.broker])
    return [end for end in ends if end not in failed], {end: error.message for end, error in silent.items()}


async def _say(args: argparse.Namespace, end: str, other: str) -> None:
    """Says it to one end, at whichever address of --at that is."""
    from agvent.net.link.dial import ask

    found = network(args)
    if end in found or (end == args.broker and not args.at):
        places = [named(args, end)]
    elif args.at:
        places = [(address, end) for address in found.values()]
    else:
        raise NetworkFault("its address is not known here")
    for at, (address, to) in enumerate(places, 1):
        try:
            await ask(address, args.doing, credentials=credentials(args), to=to, name=other)
        except NetworkFault:
            if at == len(places):
                raise
        else:
            return
