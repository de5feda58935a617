"""The option --language, which several commands have."""

from __future__ import annotations

import argparse

from agvent.filters.languages import LANGUAGES

LISTED = "languages:\n" + "\n".join(f"  {name:8} {language.doc}" for name, language in LANGUAGES.items())


def add_language(parser: argparse.ArgumentParser, *, whose: str, default: str = "sql") -> None:
    """Adds the option, and the list of languages to the help."""
    parser.epilog = f"{LISTED}\n\n{parser.epilog}"
    parser.add_argument(
        "--language",
        default=default,
        choices=LANGUAGES,
        metavar="NAME",
        help=f"the language of {whose}; {default} unless given",
    )
