"""`agvent explain`: why a filter matches an event, or why not."""

from __future__ import annotations

import argparse

import msgspec

import agvent
from agvent.cli.languages import add_language
from agvent.event_json import BYTE_ORDER_MARK
from agvent.store.line_chunks import STANDARD_INPUT, open_input

SUMMARY = "say why a filter matches an event, or why not"

DESCRIPTION = """\
Say why a filter matches an event, or why not: every part of the filter, what
it found in the event, and whether it holds.

EVENT is a JSON object, @FILE for a file that holds one, or - for standard input.
"""

EPILOG = """\
examples:
  agvent explain "price > 100 AND symbol = 'IBM'" '{"symbol": "IBM", "price": 99.5}'
  agvent explain --language tags "Make=Ford,Color=*" @car.json
  head -1 events.jsonl | agvent explain --json "price > 100" -

exit codes: 0 it matches, 1 it does not, 2 a bad filter or event, 3 a file cannot be read
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("filter", metavar="FILTER", help="the filter's text")
    parser.add_argument("event", metavar="EVENT", help="a JSON object, @FILE or -")
    add_language(parser, whose="FILTER")
    parser.add_argument("--json", action="store_true", help="print the explanation as a JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    event = agvent.decode_event(_event_text(args.event))
    explanation = agvent.explain(agvent.parse(args.filter, args.language), event)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(explanation.to_dict()), indent=2).decode())
    else:
        print(explanation)
    return 0 if explanation.outcome else 1


def _event_text(argument: str) -> bytes:
    if argument != STANDARD_INPUT and not argument.startswith("@"):
        return argument.encode(errors="surrogateescape")
    with open_input(argument.removeprefix("@")) as stream:
        return stream.readall().removeprefix(BYTE_ORDER_MARK)
