"""`agvent filter`: check a file of subscriptions, translate a filter, prove that one filter covers another."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

import agvent
from agvent.cli.languages import LISTED, add_language
from agvent.errors import FilterError
from agvent.filters.languages import LANGUAGES
from agvent.filters.translate import translate
from agvent.store.line_chunks import open_input, shown_name
from agvent.store.subscription_file import Mistake, SubscriptionFile

SUMMARY = "check subscriptions, translate a filter, compare two"

DESCRIPTION = """\
Work on filters without events.
"""

EPILOG = """\
examples:
  agvent filter check subscriptions.jsonl
  agvent filter translate 'require(user) && age > 20' --from elvin --to sql
  agvent filter covers "price > 10" "price > 20 AND symbol = 'IBM'"

exit codes: 0 done, 1 a subscription is wrong, or covering is not proven,
2 a bad filter, or one that the other language cannot express, 3 the file cannot be read
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


TRANSLATE_DESCRIPTION = """\
Write a filter in another language. The text that is printed accepts exactly the
events that FILTER accepts. Where the other language cannot express a part, the
part is named.
"""

TRANSLATE_EPILOG = """\
examples:
  agvent filter translate 'begins-with(user, "al")' --from elvin --to sql
  agvent filter translate "Make=Ford,Year=2003" --from tags

exit codes: 0 done, 2 a bad filter, or no words for it
"""

COVERS_DESCRIPTION = """\
Does A accept every event that B accepts? Exit code 0 is a proof. Exit code 1 is not a
proof of the contrary: A may cover B and the proof may not be found.
"""

COVERS_EPILOG = """\
examples:
  agvent filter covers "price > 10" "price > 20 AND symbol = 'IBM'"
  agvent filter covers --language pattern "Sports/#" "Sports/+"

exit codes: 0 it covers, 1 not proven, 2 a bad filter
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    formatter = argparse.RawDescriptionHelpFormatter
    check = actions.add_parser(
        "check",
        help="report every mistake in a file of subscriptions",
        description=CHECK_DESCRIPTION,
        epilog=CHECK_EPILOG,
        formatter_class=formatter,
    )
    _configure_check(check)
    translated = actions.add_parser(
        "translate",
        help="write a filter in another language",
        description=TRANSLATE_DESCRIPTION,
        epilog=TRANSLATE_EPILOG,
        formatter_class=formatter,
    )
    _configure_translate(translated)
    covers = actions.add_parser(
        "covers",
        help="prove that one filter accepts all that another does",
        description=COVERS_DESCRIPTION,
        epilog=COVERS_EPILOG,
        formatter_class=formatter,
    )
    _configure_covers(covers)


def _configure_check(check: argparse.ArgumentParser) -> None:
    check.add_argument("file", metavar="FILE", help="file of subscriptions, or -")
    add_language(check, whose="subscriptions that name none")
    check.add_argument("--json", action="store_true", help="print one JSON object with all mistakes")
    check.set_defaults(run=run_check)


def _configure_translate(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{LISTED}\n\n{parser.epilog}"
    parser.add_argument("filter", metavar="FILTER", help="the filter's text")
    for option, whose in (("--from", "FILTER"), ("--to", "the text that is printed")):
        parser.add_argument(
            option,
            dest=option.strip("-") + "_language",
            default="sql",
            choices=LANGUAGES,
            metavar="NAME",
            help=f"the language of {whose}; sql unless given",
        )
    parser.add_argument("--json", action="store_true", help="print a JSON object with both texts")
    parser.set_defaults(run=run_translate)


def _configure_covers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("wide", metavar="A", help="the filter that may cover the other")
    parser.add_argument("narrow", metavar="B", help="the filter that may be covered")
    add_language(parser, whose="A and B")
    parser.add_argument("--json", action="store_true", help="print a JSON object with the answer")
    parser.set_defaults(run=run_covers)


def run_check(args: argparse.Namespace) -> int:
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
        _print_json(report)
    elif mistakes:
        print(f"{len(mistakes):,} of {count:,} subscriptions have errors")
    else:
        print(f"{count:,} subscriptions, no errors")
    return 1 if mistakes else 0


def run_translate(args: argparse.Namespace) -> int:
    source, target = args.from_language, args.to_language
    text = translate(agvent.parse(args.filter, source), target)
    if args.json:
        _print_json({"from": source, "to": target, "filter": args.filter, "translation": text})
    else:
        print(text)
    return 0


def run_covers(args: argparse.Namespace) -> int:
    wide, narrow = (agvent.parse(text, args.language) for text in (args.wide, args.narrow))
    proven = agvent.covers(wide, narrow)
    if args.json:
        _print_json({"covers": proven})
    else:
        print("A covers B" if proven else "not proven: A may accept less than B")
    return 0 if proven else 1


def _print_json(report: dict[str, Any]) -> None:
    print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())


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
