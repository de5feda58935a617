"""`agvent discover`: ask a network's librarians for documents and advertisements."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from agvent import limits
from agvent.cli.languages import add_language
from agvent.cli.numbers import above_zero
from agvent.cli.where import add_where, client, run_async

if TYPE_CHECKING:
    from agvent.net.client.connect import Connecting
    from agvent.net.client.discovery import Discovered

SUMMARY = "find documents and advertisements in a network"

DESCRIPTION = """\
Ask the librarians of a network (agvent librarian) for the documents and
advertisements that match a query, a line each. The query travels as an event,
within its realm: --realm eu is for librarians of eu and of what begins with eu/.

A query is XPath over the XML of documents and advertisements, or with --language
sql over source, name, version, owner, broker and realm.
"""

EPILOG = """\
examples:
  agvent discover "/advertisement[attribute/@name = 'price']"
  agvent discover "//drink[@price < 4]" --realm eu --json
  agvent discover "owner = 'acme'" --language sql

exit codes: 0 found, 1 nothing found, 2 a mistake in the query, 3 no broker, or no
librarian, answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="what to look for")
    parser.add_argument("--realm", default="", help="a path such as eu/ankara; all realms unless given")
    seconds = above_zero(limits.WAIT_SECONDS_MAX)
    parser.add_argument("--wait", type=seconds, default=5.0, metavar="SECONDS", help="for librarians to answer (5)")
    add_language(parser, whose="the query", default="xpath")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    answer = run_async(_discovered(client(args), args))
    for one in answer.found:
        shown = f"{one.source}  {one.name}  {one.version}  by {one.owner} at {one.broker}  {one.realm or '-'}"
        print(msgspec.json.encode(one).decode() if args.json else shown)
    if answer.pending:
        print(f"no answer in time from {', '.join(answer.pending)}", file=sys.stderr)
    return 0 if answer.found else 3 if answer.pending else 1


async def _discovered(connecting: Connecting, args: argparse.Namespace) -> Discovered:
    from agvent.net.client.discovery import discover

    async with connecting as asker:
        return await discover(asker, args.query, language=args.language, realm=args.realm, wait_s=args.wait)
