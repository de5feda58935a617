"""The texts that users read, in help, errors, hints and logs, use the words of the glossary and plain English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.test_rooms import SOURCE

TRANSLATED = re.compile(r"(?<!\b[Tt]here )\b(?:is|are) (?:no (?!longer\b|more\b)|none\b)")
""" "X is no Y" is "X is not a Y"; "there is no Y" is English."""


def docstrings(tree: ast.AST) -> set[ast.expr]:
    """The texts that stand alone as statements: docstrings, and those below a constant."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that the program uses, docstrings excepted, each with its line."""
    tree = ast.parse(source)
    said = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            yield node.lineno, node.value


def translated(source: str) -> list[int]:
    """The lines where texts begin that say "is no X" or "is none"."""
    return sorted(line for line, text in literals(source) if TRANSLATED.search(re.sub(r"\s+", " ", text)))


def test_texts_say_is_not_a() -> None:
    """No text of the package says that something "is no X" or "is none"."""
    found = {path: translated(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    assert {str(path.relative_to(SOURCE)): lines for path, lines in found.items() if lines} == {}


def test_a_text_that_says_is_no_is_seen() -> None:
    """Both phrases are found in plain and formatted texts; docstrings and good English are not."""
    source = (
        '"""It is no docstring\'s mistake."""\n'
        'a = "an empty line is no event"\n'
        'b = f"{a!r} is no grant"\n'
        'c = "1 is\\nnone: that is a proof"\n'
        'd = "there is no broker, it is no longer up, and there is none"\n'
    )
    assert translated(source) == [2, 3, 4]
