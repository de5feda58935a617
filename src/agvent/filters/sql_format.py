"""The tree as SQL text, with the fewest parentheses that keep its shape.

`parse_sql(format_sql(tree))` is the same tree for every tree a parser made; one made by hand that SQL writes in another
shape (an AND inside an AND, an AND of one part) comes back in that shape, with the same meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from agvent.errors import TranslationError
from agvent.event import Path
from agvent.filters.functions import FUNCTIONS
from agvent.filters.sql_operands import AND, COMPARISON, OR, PRODUCT, SUM, UNARY
from agvent.filters.sql_tokens import PLAIN_NAME, RESERVED
from agvent.filters.tree import (
    EVERYTHING,
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    Truth,
)

Foreign = Callable[[Node], str]
"""What to write for a node that SQL cannot express."""

PRECEDENCE: Final[dict[type, int]] = {
    Or: OR,
    And: AND,
    Not: COMPARISON,
    Compare: COMPARISON,
    In: COMPARISON,
    Like: COMPARISON,
    IsNull: COMPARISON,
}
LEVELS: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


def format_sql(tree: Condition) -> str:
    """The text of a filter; the empty text for the filter that accepts everything."""
    return "" if tree == EVERYTHING else write(tree, _refuse)


def format_expression(node: Node) -> str:
    """The text of a part of a filter.

    >>> format_expression(Call("wholesale_price", (Literal(1000), Literal("Istanbul"))))
    "wholesale_price(1000, 'Istanbul')"
    """
    return write(node, _refuse)


def _refuse(node: Node) -> str:
    raise TranslationError(f"SQL cannot express {type(node).__name__} {node}"[:300])


def write(node: Node, foreign: Foreign) -> str:
    """The text of any node; `foreign` is asked where SQL has none."""
    return _Writer(foreign).text(node)


class _Writer:
    def __init__(self, foreign: Foreign) -> None:
        self.foreign = foreign

    def within(self, node: Node, floor: int) -> str:
        """The node's text, in parentheses if it binds more loosely than the floor."""
        text = self.text(node)
        return text if _precedence(node) >= floor else f"({text})"

    def text(self, node: Node) -> str:
        match node:
            case And() | Or():
                return self.joined(node)
            case Not(part):
                return self.negated(part)
            case Truth(operand):
                return self.text(operand)
            case Compare(op, left, right, unlike) if unlike is False:
                return f"{self.within(left, SUM)} {op} {self.within(right, SUM)}"
            case In() | Like() | IsNull():
                return self.tested(node, "")
            case Arithmetic(op, left, right) if op in LEVELS:
                level = LEVELS[op]
                return f"{self.within(left, level)} {op} {self.within(right, level + 1)}"
            case Negative(operand):
                number = isinstance(operand, Literal)  # -5 is one literal, -(5) the negative of another
                return f"-({self.text(operand)})" if number else f"-{self.within(operand, UNARY)}"
            case Function(name, args) | Call(name, args) if _is_callable(node):
                return f"{name}({', '.join(map(self.text, args))})"
            case Attribute(path):
                return name_text(path)
            case Literal():
                return self.literal(node)
            case _:
                return self.foreign(node)

    def joined(self, node: And | Or) -> str:
        word, floor = ("AND", AND) if isinstance(node, And) else ("OR", OR)
        if not node.parts:
            return "TRUE" if word == "AND" else "FALSE"
        return f" {word} ".join(self.ranges(node.parts, floor))

    def ranges(self, parts: Sequence[Condition], floor: int) -> list[str]:
        """The parts' texts; `x >= 1 AND x <= 2` is a BETWEEN."""
        texts: list[str] = []
        position = 0
        while position < len(parts):
            pair = parts[position : position + 2]
            if floor == AND and _is_between(pair):
                texts.append(self.between(pair, ""))
                position += 2
            else:
                texts.append(self.within(parts[position], floor))
                position += 1
        return texts

    def between(self, pair: Sequence[Condition], word: str) -> str:
        low, high = pair
        assert isinstance(low, Compare)
        assert isinstance(high, Compare)
        bounds = f"{self.within(low.right, SUM)} AND {self.within(high.right, SUM)}"
        return f"{self.within(low.left, SUM)} {word}BETWEEN {bounds}"

    def negated(self, part: Condition) -> str:
        if isinstance(part, In | Like | IsNull):
            return self.tested(part, "NOT ")
        if isinstance(part, And) and len(part.parts) == 2 and _is_between(part.parts):
            return self.between(part.parts, "NOT ")
        return f"NOT {self.within(part, COMPARISON)}"

    def tested(self, node: In | Like | IsNull, word: str) -> str:
        operand = self.within(node.operand, SUM)
        match node:
            case IsNull():
                return f"{operand} IS {word}NULL"
            case In(_, values):
                return f"{operand} {word}IN ({', '.join(map(self.literal, values))})"
            case Like(_, pattern, escape):
                tail = f" ESCAPE {quoted(escape)}" if escape is not None else ""
                return f"{operand} {word}LIKE {quoted(pattern)}{tail}"

    def literal(self, node: Literal) -> str:
        match node.value:
            case bool(truth):
                return "TRUE" if truth else "FALSE"
            case str(text):
                return quoted(text)
            case int(number):
                return str(number)
            case float(number) if math.isfinite(number):
                return repr(number)
            case datetime() as time:
                return f"TIMESTAMP '{time.isoformat()}'"
            case _:
                return self.foreign(node)


def _precedence(node: Node) -> int:
    """How tightly the node's text binds."""
    if isinstance(node, Arithmetic):
        return LEVELS.get(node.op, OR)  # another language's operator: always in parentheses
    if isinstance(node, And | Or) and len(node.parts) < 2:
        return _precedence(node.parts[0]) if node.parts else UNARY
    return PRECEDENCE.get(type(node), UNARY)


def _is_between(pair: Sequence[Condition]) -> bool:
    if len(pair) != 2 or not all(isinstance(part, Compare) and part.unlike is False for part in pair):
        return False
    low, high = pair
    return (low.op, high.op) == (">=", "<=") and low.left == high.left  # type: ignore[union-attr]


def _is_callable(node: Function | Call) -> bool:
    """Is the name one that the parser reads as this node?"""
    plain = PLAIN_NAME.fullmatch(node.name) and not node.name.startswith("$") and node.name not in RESERVED
    return bool(plain) and (node.name in FUNCTIONS) == isinstance(node, Function)


def name_text(path: Path) -> str:
    """A path as SQL writes it: plain names as they are, others in double quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            plain = PLAIN_NAME.fullmatch(step) and step not in RESERVED
            text += ("." if text else "") + (step if plain else '"' + step.replace('"', '""') + '"')
    return text


def quoted(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"
