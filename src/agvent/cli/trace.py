"""`agvent trace`: the path of an event through the network, hop by hop."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from agvent.cli.where import add_where, ask_all, credentials, network, run_async
from agvent.errors import CallerError, NetworkFault

SUMMARY = "show an event's path through the network, hop by hop"

DESCRIPTION = """\
Show what each broker remembers of an event: where it entered, which neighbours
it came from and went to, at which homes it arrived and for whom. A broker
remembers its last 100,000 hops since it started. For an agvent it also shows its
life: created, admitted, executed, migrated, delivered, disposed. For a
self-routing agvent it also shows clones, each instance by its path.

EVENT is publisher:sequence, as `agvent publish` and `agvent tail` show it.
"""

EPILOG = """\
examples:
  agvent trace ada:17

exit codes: 0 found, 1 no broker remembers it, 3 no broker answers
"""

SEQUENCE_DIGITS_MAX = 18  # all of them fit into the 64 bits that a sequence has

UNKNOWN = "it was not published, is older than their last 100,000 hops, or they have restarted since"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("event", metavar="EVENT", help="publisher:sequence")
    parser.add_argument("--fast", action="store_true", help="a fast event: those have sequences of their own")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    publisher, _, sequence = args.event.rpartition(":")
    if not publisher or not sequence.isdecimal() or len(sequence) > SEQUENCE_DIGITS_MAX:
        raise CallerError(f"{args.event!r} is not an event", hint="write publisher:sequence, such as ada:17")
    facts = {"publisher": publisher, "sequence": int(sequence), "fast": args.fast}
    answers = run_async(ask_all(network(args), "trace", shown=credentials(args), **facts))
    if all(isinstance(answer, NetworkFault) for answer in answers.values()):
        raise next(iter(answers.values()))
    hops = [hop for answer in answers.values() if not isinstance(answer, NetworkFault) for hop in answer]
    hops.sort(key=lambda hop: hop["at"])
    for hop in hops:
        print(msgspec.json.encode(hop).decode() if args.json else line_of(hop, hops[0]["at"]))
    for name, answer in answers.items():
        if isinstance(answer, NetworkFault):
            print(f"{name} does not answer: {answer.message}", file=sys.stderr)
    if not hops:
        print(f"no broker remembers {args.event}: {UNKNOWN}", file=sys.stderr)
    return 0 if hops else 1


def line_of(hop: dict[str, Any], began: int) -> str:
    """A hop as a line: the time, how long after the first one, and what happened.

    >>> hop = {"at": 1_700_000_000_000_000, "what": "sent", "broker": "B1", "peer": "B2", "homes": ["B3"]}
    >>> line_of({**hop, "clients": [], "reason": ""}, hop["at"] - 1500)
    '22:13:20.000000  +1.500 ms  B1 sent it to B2, for B3'
    """
    time = datetime.fromtimestamp(hop["at"] / 1e6, UTC).strftime("%H:%M:%S.%f")
    broker, peer, homes = hop["broker"], hop["peer"], ", ".join(hop["homes"]) or "nobody"
    clients, reason = ", ".join(hop["clients"]) or "nobody", hop["reason"]
    if what := _stage(hop):
        return f"{time}  +{(hop['at'] - began) / 1000:.3f} ms  {what}"
    said = {
        "entered": f"entered at {broker}, for {homes}" + (f"; a behaviour gave no answer: {reason}" if reason else ""),
        "sent": f"{broker} sent it to {peer}, for {homes}",
        "came": f"{broker} has it from {peer}, for {homes}",
        "arrived": f"arrived at {broker}, for {clients}",
        "admitted": f"{clients} admitted it at {broker}",
        "rejected": f"{clients} rejected it at {broker}: {reason}",
    }
    return f"{time}  +{(hop['at'] - began) / 1000:.3f} ms  {said[hop['what']]}"


def _stage(hop: dict[str, Any]) -> str:
    """A stage in the life of an agvent; empty if it is something else."""
    broker, peer, homes, reason = hop["broker"], hop["peer"], ", ".join(hop["homes"]), hop["reason"]
    instance = f"{hop['path']} " if hop.get("path") else ""
    clients = f" for {', '.join(hop['clients'])}" if hop["clients"] else ""
    said = {
        "created": f"created, and published at {broker}",
        "admitted": f"{instance}admitted at {broker}" if not hop["clients"] else "",
        "executed": f"{instance}executed at {broker}{clients}" + (f": {reason}" if reason else ""),
        "delivered": f"{instance}delivered at {broker} to {', '.join(hop['clients'])}",
        "cloned": f"{instance}cloned at {broker}, goes to {peer} for {homes}",
        "migrated": f"{instance}migrated from {broker} to {peer}, for {homes}",
        "disposed": f"{instance}disposed at {broker}{clients}"
        + (f", declined {homes}" if homes else "")
        + (f": {reason}" if reason else ""),
    }
    return said.get(hop["what"], "")
