"""`agvent filter check`: every mistake in a file of subscriptions, at once."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from agvent.cli.chunks import open_input, shown_name
from agvent.cli.languages import add_language
from agvent.cli.subscription_file import Mistake, SubscriptionFile
from agvent.errors import FilterError

SUMMARY = "check a file of subscriptions"

DESCRIPTION = """\
Work on files of subscriptions.
"""

EPILOG = """\
examples:
  agvent filter check subscriptions.jsonl

exit codes: 0 every line is right, 1 some are not, 3 the file cannot be read
"""

CHECK_DESCRIPTION = """\
Check every line of a file of subscriptions: is it JSON, are its keys right, is
its id new, can its filter be read. Every mistake is reported with its line, and
one in a filter with a caret under the place.
"""

CHECK_EPILOG = """\
examples:
  agvent filter check subscriptions.jsonl
  agvent filter check --json - < subscriptions.jsonl

exit codes: 0 every line is right, 1 some are not, 3 the file cannot be read
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="report every mistake in a file of subscriptions",
        description=CHECK_DESCRIPTION,
        epilog=CHECK_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("file", metavar="FILE", help="file of subscriptions, or -")
    add_language(check, whose="subscriptions that name none")
    check.add_argument("--json", action="store_true", help="print one JSON object with all mistakes")
    check.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    source = shown_name(args.file)
    mistakes: list[Mistake] = []
    count = 0
    with open_input(args.file) as stream:
        file = SubscriptionFile(stream, language=args.language)
        for found in file:
            count += 1
            mistake = found if isinstance(found, Mistake) else file.mistake_in(found)
            if mistake:
                mistakes.append(mistake)
                if not args.json:
                    print(_text(mistake, source))
    if args.json:
        report = {"subscriptions": count, "errors": [_object(mistake) for mistake in mistakes]}
        print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())
    elif mistakes:
        print(f"{len(mistakes):,} of {count:,} subscriptions have errors")
    else:
        print(f"{count:,} subscriptions, no errors")
    return 1 if mistakes else 0


def _text(mistake: Mistake, source: str) -> str:
    error = mistake.located(source)
    hint = f"\nhint: {error.hint}" if error.hint and "\nhint: " not in error.message else ""
    return f"error: {error.message}{hint}"


def _object(mistake: Mistake) -> dict[str, Any]:
    error = mistake.error
    place = (error.line, error.column) if isinstance(error, FilterError) else (None, None)
    return {
        "line": mistake.line,
        "id": mistake.id,
        "message": error.message,
        "filter_line": place[0],
        "column": place[1],
        "hint": error.hint,
    }
