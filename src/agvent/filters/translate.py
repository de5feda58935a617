"""From one language to another: a tree that accepts the same events, in nodes that the other language has words for.

`format_filter` writes a tree as it stands. Languages differ in what is false and what is unknown, and an event is
accepted by neither: so only truth has to be kept. A negation is carried down to the tests, because under it the
difference counts. Where a language has no words a TranslationError names the part.
"""

from __future__ import annotations

from typing import Final

from agvent.errors import TranslationError
from agvent.filters.languages import format_filter
from agvent.filters.patterns import Tokens, Wild, like_tokens, text_tokens
from agvent.filters.tree import (
    NOTHING,
    And,
    Compare,
    Condition,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    OfType,
    Or,
    TextTest,
    Truth,
    Xor,
    walk,
)

OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
ESCAPE: Final = "!"
TESTS: Final = {"starts_with": "begins-with", "ends_with": "ends-with", "regex": "regex"}
"""The functions of SQL that say of a string what Elvin's tests say. `contains` does not: SQL's is also for lists."""


def translate(tree: Condition, language: str) -> str:
    """The text, in that language, of a filter that accepts exactly the events this tree accepts.

    >>> from agvent.filters.languages import parse
    >>> translate(parse('!(price > 100) && require(symbol)', "elvin"), "sql")
    'price <= 100 AND symbol IS NOT NULL'
    """
    return format_filter(_elvin(tree, True) if language == "elvin" else _plain(tree, True), language)


def _joined(node: Condition, want: bool, *, elvin: bool) -> Condition | None:
    """AND, OR, NOT and XOR with their negation carried down; None for a test."""
    below = _elvin if elvin else _plain
    match node:
        case Not(part):
            return below(part, not want)
        case And(parts) | Or(parts):
            made = [below(part, want) for part in parts]
            return And(tuple(made)) if isinstance(node, And) is want else Or(tuple(made))
        case Xor((a, b)) if not any(isinstance(inner, Xor) for part in (a, b) for inner in walk(part)):
            odd = And((below(a, True), below(b, not want)))
            return Or((odd, And((below(a, False), below(b, want)))))
        case Xor():
            raise TranslationError("an exclusive OR of more than two parts would double with each; write it out")
        case _:
            return None


def _plain(node: Condition, want: bool) -> Condition:
    """True where the node is `want`, without Elvin's nodes."""
    joined = _joined(node, want, elvin=False)
    if joined is not None:
        return joined
    match node:
        case Compare(op, left, right, None):
            return Compare(op if want else OPPOSITE[op], left, right)
        case OfType(operand, "any"):
            return Not(IsNull(operand)) if want else NOTHING
        case OfType(operand, "string"):
            return Like(operand, "%") if want else Not(Like(operand, "%"))
        case TextTest(test, operand, texts):
            found = [_like(node, test, text) for text in texts]
            if want:
                return found[0] if len(found) == 1 else Or(tuple(found))
            return And((Like(operand, "%"), *map(Not, found)))
        case _:
            return node if want else Not(node)


def _like(node: TextTest, test: str, text: str) -> Condition:
    tokens = text_tokens(test, text)
    if tokens is None:
        return Truth(Function("regex", (node.operand, Literal(text))))
    pattern = "".join(_like_piece(token) if isinstance(token, str) else token.value for token in tokens)
    return Like(node.operand, pattern, ESCAPE if ESCAPE in pattern else None)


def _like_piece(text: str) -> str:
    return "".join(ESCAPE + letter if letter in (ESCAPE, "%", "_") else letter for letter in text)


def _elvin(node: Condition, want: bool) -> Condition:
    """True where the node is `want`, in Elvin's nodes; what they cannot say is left for `format_filter` to refuse."""
    joined = _joined(node, want, elvin=True)
    if joined is not None:
        return joined
    match node:
        case Compare(op, left, right, None) if not want:
            return Compare(OPPOSITE[op], left, right, None)
        case Compare(op, left, right) if want:
            return Compare(op, left, right, None)
        case In(operand, values) if want and values:
            parts = tuple(Compare("=", operand, member, None) for member in values)
            return parts[0] if len(parts) == 1 else Or(parts)
        case IsNull(operand) if not want:
            return OfType(operand, "any")
        case Like(operand, pattern, escape) if want:
            return TextTest("wildcard", operand, (_wildcard(like_tokens(pattern, escape)),))
        case Truth(Function(name, (operand, Literal(str() as text)))) if want and name in TESTS:
            return TextTest(TESTS[name], operand, (text,))
        case _:
            return node if want else Not(node)


def _wildcard(tokens: Tokens) -> str:
    wilds = {Wild.ONE: "?", Wild.MANY: "*"}
    return "".join(_wildcard_piece(token) if isinstance(token, str) else wilds[token] for token in tokens)


def _wildcard_piece(text: str) -> str:
    return "".join("\\" + letter if letter in "\\*?" else letter for letter in text)
