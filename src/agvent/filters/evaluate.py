"""The oracle: what a filter says of one event, computed from the tree as the rules are written.

Everything faster is tested against it, so nothing here is done for speed. Conditions are True, False or None
(unknown), joined by Kleene's three-valued logic; a value that is missing, or NaN, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agvent import limits
from agvent.event import TYPES, Event, Kind, Value, checked, equal, event_of, kind_of
from agvent.filters import functions
from agvent.filters.patterns import like_tokens, matches, topic_tokens
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Expression,
    Function,
    In,
    IsA,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    TopicPattern,
    Truth,
)

Behaviours = Callable[[str, tuple[Value, ...]], Value]
"""The agvent's behaviours: a name and arguments to a value."""

EQUALITY = ("=", "<>")
ORDERED = (Kind.NUMBER, Kind.TIME)
SCALARS = (Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.TIME, Kind.BYTES)


def evaluate(
    condition: Condition, event: Event | Mapping[str, Any], behaviours: Behaviours | None = None
) -> bool | None:
    """Is the condition true of the event, false, or unknown?

    >>> from agvent.filters.sql import parse_sql
    >>> evaluate(parse_sql("price > 100 OR halted"), {"price": 12.5}) is None
    True
    """
    return _condition(condition, event_of(event), behaviours)


def value(expression: Expression, event: Event | Mapping[str, Any], behaviours: Behaviours | None = None) -> Value:
    """The value of an expression for the event; null where there is none."""
    return _value(expression, event_of(event), behaviours)


def _condition(node: Condition, event: Event, behaviours: Behaviours | None) -> bool | None:
    match node:
        case And(parts):
            return _all(_condition(part, event, behaviours) for part in parts)
        case Or(parts):
            return _negated(_all(_negated(_condition(part, event, behaviours)) for part in parts))
        case Not(part):
            return _negated(_condition(part, event, behaviours))
        case Compare(op, left, right, unlike):
            return _compared(op, _value(left, event, behaviours), _value(right, event, behaviours), unlike)
        case IsA(name):
            return name in event.lookup((TYPES,))  # type: ignore[operator]
        case _:
            return _tested(node, _value(node.operand, event, behaviours))


def _tested(node: In | Like | IsNull | Truth | TopicPattern, operand: Value) -> bool | None:
    """A condition on one operand; but for IS NULL, null makes it unknown."""
    if isinstance(node, IsNull):
        return operand is None
    if operand is None:
        return None
    match node:
        case In(_, values):
            return any(equal(operand, member.value) for member in values)
        case Truth():
            return operand if isinstance(operand, bool) else None
        case Like(_, pattern, escape):
            return isinstance(operand, str) and matches(like_tokens(pattern, escape), operand)
        case TopicPattern(_, pattern):
            return isinstance(operand, str) and any(matches(tokens, operand) for tokens in topic_tokens(pattern))


def _all(outcomes: Iterable[bool | None]) -> bool | None:
    """Kleene's AND: false if one is false, else unknown if one is unknown."""
    found = set(outcomes)
    if False in found:
        return False
    return None if None in found else True


def _negated(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome


def _compared(op: str, left: Any, right: Any, unlike: bool | None) -> bool | None:
    if left is None or right is None:
        return None
    kind = kind_of(left)
    if kind is not kind_of(right) or kind not in (SCALARS if op in EQUALITY else ORDERED):
        return unlike
    match op:
        case "=":
            return bool(left == right)
        case "<>":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)


def _value(node: Expression, event: Event, behaviours: Behaviours | None) -> Value:
    found = _found(node, event, behaviours)
    return None if kind_of(found) is Kind.NULL else found


def _found(node: Expression, event: Event, behaviours: Behaviours | None) -> Value:
    match node:
        case Literal(constant):
            return constant  # type: ignore[no-any-return]
        case Attribute(path):
            return event.lookup(path)
        case Arithmetic(op, left, right):
            return _computed(op, _value(left, event, behaviours), _value(right, event, behaviours))
        case Negative(operand):
            return _computed("-", 0, _value(operand, event, behaviours))
        case Function(name, args):
            return functions.apply(name, tuple(_value(arg, event, behaviours) for arg in args))
        case Call(name, args):
            values = tuple(_value(arg, event, behaviours) for arg in args)
            return checked(behaviours(name, values), (f"{name}()",)) if behaviours else None


def _computed(op: str, left: Any, right: Any) -> int | float | None:
    """Numbers only; integers stay integers and leave no result beyond 64 bits; nothing is divided by zero."""
    if kind_of(left) is not Kind.NUMBER or kind_of(right) is not Kind.NUMBER or (op == "/" and right == 0):
        return None
    if isinstance(left, int) and isinstance(right, int):
        exact = INTEGER_OPS[op](left, right)
        return exact if limits.INT_MIN <= exact <= limits.INT_MAX else None
    return FLOAT_OPS[op](float(left), float(right))


def _java_divided(a: int, b: int) -> int:
    """Java's integer division drops the fraction; Python's rounds down."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


INTEGER_OPS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _java_divided,
}
FLOAT_OPS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
