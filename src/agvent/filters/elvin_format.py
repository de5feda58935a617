"""The tree as Elvin's text, with the fewest parentheses that keep its shape.

`parse_elvin(format_elvin(tree))` is the same tree for every tree the parser made. Elvin cannot express booleans,
timestamps, paths, behaviours, null as a condition, and comparisons in which unlike kinds are false.
"""

from __future__ import annotations

import math
import re
from typing import Final

from agvent.errors import TranslationError
from agvent.event import Int32, Path
from agvent.filters.elvin import COMPARISON, COMPARISONS, JOINS, LEVELS, TYPES, UNARY
from agvent.filters.elvin_tokens import NAME_FIRST, NAME_REST
from agvent.filters.functions import ELVIN_FUNCTIONS
from agvent.filters.sql_tokens import SELECTABLE_HEADERS
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Condition,
    Function,
    Literal,
    Negative,
    Node,
    Not,
    OfType,
    Or,
    TextTest,
    Xor,
)

OPERATORS: Final = {op: text for text, op in COMPARISONS.items()}
JOINERS: Final[dict[type, str]] = {join: text for text, join in JOINS.items()}
PREDICATES: Final = {type_name: name for name, type_name in TYPES.items()}
FIRST: Final = re.compile(NAME_FIRST)
REST: Final = re.compile(NAME_REST)
MINUS_ONE: Final = Literal(Int32(-1))


def format_elvin(tree: Condition) -> str:
    """The text of a subscription."""
    return _text(tree)


def _refused(node: Node) -> TranslationError:
    return TranslationError(f"Elvin cannot express {type(node).__name__} {node}"[:300])


def _text(node: Node) -> str:
    match node:
        case And(parts) | Or(parts) | Xor(parts) if parts:
            joiner = JOINERS[type(node)]
            return f" {joiner} ".join(_within(part, LEVELS[joiner] + 1 if len(parts) > 1 else 0) for part in parts)
        case Not(part):
            return f"!{_text(part)}" if isinstance(part, (Not, OfType, TextTest)) else f"!({_text(part)})"
        case Compare(op, left, right, None):
            return f"{_within(left, COMPARISON + 1)} {OPERATORS[op]} {_within(right, COMPARISON + 1)}"
        case OfType(Attribute(), name) if name in PREDICATES:
            return f"{PREDICATES[name]}({_text(node.operand)})"
        case TextTest(test, operand, texts) if texts:
            return f"{test}({', '.join((_text(operand), *map(_quoted, texts)))})"
        case Arithmetic("^", operand, minus_one) if minus_one == MINUS_ONE:
            return f"~{_within(operand, UNARY)}"
        case Arithmetic(op, left, right):
            return f"{_within(left, LEVELS[op])} {op} {_within(right, LEVELS[op] + 1)}"
        case Negative(operand):
            number = isinstance(operand, Literal)  # -5 is one literal, -(5) the negative of another
            return f"-({_text(operand)})" if number else f"-{_within(operand, UNARY)}"
        case Function("size", (Attribute() as attribute,)):
            return f"size({_text(attribute)})"
        case Function(name, (operand,)) if name in ELVIN_FUNCTIONS and name != "size":
            return f"{name}({_text(operand)})"
        case Attribute(path) if _is_name(path):
            return name_text(str(path[0]))
        case Literal():
            return _literal(node)
        case _:
            raise _refused(node)


def _within(node: Node, floor: int) -> str:
    """The node's text, in parentheses if it binds more loosely than the floor."""
    text = _text(node)
    return text if _precedence(node) >= floor else f"({text})"


def _precedence(node: Node) -> int:
    match node:
        case And(parts) | Or(parts) | Xor(parts):
            return LEVELS[JOINERS[type(node)]] if len(parts) > 1 else _precedence(parts[0])
        case Compare():
            return COMPARISON
        case Arithmetic("^", _, minus_one) if minus_one == MINUS_ONE:
            return UNARY
        case Arithmetic(op):
            return LEVELS[op]
        case _:
            return UNARY


def _literal(node: Literal) -> str:
    match node.value:
        case str(text):
            return _quoted(text)
        case Int32() as number:
            return str(number)
        case int(number) if not isinstance(number, bool):
            return f"{number}L"
        case float(number) if math.isfinite(number):
            mantissa, e, exponent = repr(number).partition("e")
            return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent
        case _:
            raise _refused(node)


def _is_name(path: Path) -> bool:
    name = path[0]
    if len(path) > 1 or not isinstance(name, str) or not name:
        return False
    return not name.startswith("$") or name in SELECTABLE_HEADERS


def name_text(name: str) -> str:
    """A name as Elvin writes it, with a backslash before each character that could not stand there otherwise."""
    first = name[0] if FIRST.match(name[0]) else f"\\{name[0]}"
    return first + "".join(letter if REST.match(letter) else f"\\{letter}" for letter in name[1:])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
