"""What `--help` shows."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from agvent.cli import main


def test_every_command_has_an_example() -> None:
    """`--help` of each, and of what each does, ends with one that names it."""

    def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
        below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        if not below or parser.prog == "agvent broker":
            yield parser
        for action in below:
            for one in action.choices.values():
                yield from leaves(one)

    without = [one.prog for one in leaves(main.parser()) if f"\n  {one.prog}" not in (one.epilog or "")]
    assert without == []
