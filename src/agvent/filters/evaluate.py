"""The oracle: what a filter says of one event, computed from the tree as the rules are written.

Everything faster is tested against it, so nothing here is done for speed. Conditions are True, False or None
(unknown), joined by Kleene's three-valued logic; a value that is missing, or NaN, is null.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from agvent.event import NULL, TYPES, Event, Int32, Kind, Value, checked, equal, event_of, kind_of
from agvent.filters import functions
from agvent.filters.arithmetic import computed
from agvent.filters.memo import memoised
from agvent.filters.patterns import like_tokens, matches, topic_tokens, wildcard_tokens
from agvent.filters.sql_format import format_sql
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
    OfType,
    Or,
    TextTest,
    TopicPattern,
    Truth,
    Xor,
    XPath,
    walk,
)
from agvent.filters.xpath_evaluate import holds

Behaviours = Callable[[str, tuple[Value, ...]], Value]
"""The agvent's behaviours: a name and arguments to a value.

One that has the attribute `opaque`, a set of names, is not asked for the values of those: a condition on one is put to
it whole, as the text of `holds`, and only its truth comes out.
"""

HOLDS: Final = "holds"
"""The behaviour that every agvent with opaque attributes has: the text of a condition to its truth."""

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
        case Xor(parts):
            return _odd([_condition(part, event, behaviours) for part in parts])
        case IsA(name):
            return name in event.lookup((TYPES,))  # type: ignore[operator]
        case XPath():
            return holds(node, event)
        case _ if behaviours is not None and _is_opaque(node, getattr(behaviours, "opaque", None)):
            outcome = behaviours(HOLDS, (format_sql(node),))
            return outcome if isinstance(outcome, bool) else None
        case OfType(operand, name):
            return _of_type(name, _found(operand, event, behaviours))
        case Compare(op, left, right, unlike):
            return compared(op, _value(left, event, behaviours), _value(right, event, behaviours), unlike)
        case _:
            return _tested(node, _value(node.operand, event, behaviours))


def _is_opaque(node: Condition, opaque: Collection[str] | None) -> bool:
    """Does the condition name a field that nobody outside a sandbox reads?"""
    return opaque is not None and not called(node).isdisjoint(opaque)


@memoised
def called(node: Condition) -> frozenset[str]:
    """The behaviours that a condition calls. Kept, because it is asked of the same conditions for every event."""
    return frozenset(part.name for part in walk(node) if isinstance(part, Call))


def _tested(node: In | Like | IsNull | Truth | TextTest | TopicPattern, operand: Value) -> bool | None:
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
        case TextTest(test, _, texts):
            return any(TEXT_TESTS[test](operand, text) for text in texts) if isinstance(operand, str) else None
        case TopicPattern(_, pattern):
            return isinstance(operand, str) and any(matches(tokens, operand) for tokens in topic_tokens(pattern))


def _all(outcomes: Iterable[bool | None]) -> bool | None:
    """Kleene's AND: false if one is false, else unknown if one is unknown."""
    found = set(outcomes)
    if False in found:
        return False
    return None if None in found else True


def _odd(outcomes: list[bool | None]) -> bool | None:
    """Łukasiewicz's exclusive OR: unknown if one is unknown."""
    return None if None in outcomes else sum(map(bool, outcomes)) % 2 == 1


def _negated(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome


def _of_type(name: str, found: Value) -> bool | None:
    """A type predicate of Elvin's; `found` is the value as it stands, NaN included."""
    if name == "nan":
        return found != found if isinstance(found, float) else None
    kind = kind_of(found)
    if kind is NULL:
        return None
    match name:
        case "int32":
            return isinstance(found, Int32)
        case "int64":
            return kind is Kind.NUMBER and not isinstance(found, (Int32, float))
        case "real64":
            return isinstance(found, float)
        case "string":
            return kind is Kind.STRING
        case "opaque":
            return kind is Kind.BYTES
        case _:
            return True


TEXT_TESTS: dict[str, Callable[[str, str], bool]] = {
    "begins-with": lambda whole, text: whole.startswith(text),
    "ends-with": lambda whole, text: whole.endswith(text),
    "contains": lambda whole, text: text in whole,
    "wildcard": lambda whole, text: matches(wildcard_tokens(text), whole),
    "regex": lambda whole, text: functions.compiled(text).search(whole) is not None,
}


def compared(op: str, left: Any, right: Any, unlike: bool | None) -> bool | None:
    """What a comparison says of two values, neither of them NaN."""
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
    return None if kind_of(found) is NULL else found


def _found(node: Expression, event: Event, behaviours: Behaviours | None) -> Value:
    match node:
        case Literal(constant):
            return constant  # type: ignore[no-any-return]
        case Attribute(path):
            return event.lookup(path)
        case Arithmetic(op, left, right):
            return computed(op, _value(left, event, behaviours), _value(right, event, behaviours))
        case Negative(operand):
            return computed("-", Int32(0), _value(operand, event, behaviours))
        case Function(name, args):
            return functions.apply(name, tuple(_value(arg, event, behaviours) for arg in args))
        case Call(name, args):
            values = tuple(_value(arg, event, behaviours) for arg in args)
            return checked(behaviours(name, values), (f"{name}()",)) if behaviours else None
