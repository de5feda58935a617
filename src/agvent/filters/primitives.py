"""The primitives: two-valued tests of one term, which an engine can index. Rows of them are the normal form.

The negative primitives (NoneOf, NotRange, NotMatches, HasNot) are loose: they accept a missing or unlike value.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.event import Kind
from agvent.filters.patterns import Tokens
from agvent.filters.tree import Attribute, Expression, Function, Literal

Term = Attribute | Function
"""What a primitive tests: an attribute, or `lower` or `size` of one."""

TERM_FUNCTIONS = frozenset({"lower", "size"})


class Present(msgspec.Struct, frozen=True, gc=False):
    term: Term


class Absent(msgspec.Struct, frozen=True, gc=False):
    term: Term


class Range(msgspec.Struct, frozen=True, gc=False):
    """A number or timestamp between bounds; with neither bound, any value of that kind."""

    term: Term
    kind: Kind
    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False


class NotRange(msgspec.Struct, frozen=True, gc=False):
    """Everything that the range does not accept."""

    range: Range


class OneOf(msgspec.Struct, frozen=True, gc=False):
    term: Term
    values: tuple[Literal, ...]


class NoneOf(msgspec.Struct, frozen=True, gc=False):
    term: Term
    values: tuple[Literal, ...]


class MatchesPattern(msgspec.Struct, frozen=True, gc=False):
    """A string under a pattern."""

    term: Term
    tokens: Tokens


class NotMatches(msgspec.Struct, frozen=True, gc=False):
    term: Term
    tokens: Tokens


class Has(msgspec.Struct, frozen=True, gc=False):
    """A list with an element equal to the value."""

    term: Term
    value: Literal


class HasNot(msgspec.Struct, frozen=True, gc=False):
    term: Term
    value: Literal


Simple = Present | Absent | Range | NotRange | OneOf | NoneOf | MatchesPattern | NotMatches | Has | HasNot


class AnyOf(msgspec.Struct, frozen=True, gc=False):
    """Accepted if one of the parts accepts; the parts are no disjunctions themselves."""

    parts: tuple[Simple, ...]


def is_term(node: Expression) -> bool:
    if isinstance(node, Attribute):
        return True
    return isinstance(node, Function) and node.name in TERM_FUNCTIONS and isinstance(node.args[0], Attribute)


def term_in(node: Expression) -> Term | None:
    return node if is_term(node) else None  # type: ignore[return-value]


def joined(a: Range, b: Range) -> Range:
    """The range both accept."""
    low, low_open, high, high_open = a.low, a.low_open, a.high, a.high_open
    if b.low is not None and (low is None or b.low > low or (b.low == low and b.low_open)):
        low, low_open = b.low, b.low_open
    if b.high is not None and (high is None or b.high < high or (b.high == high and b.high_open)):
        high, high_open = b.high, b.high_open
    return Range(a.term, a.kind, low, high, low_open, high_open)


def is_empty(one: Range) -> bool:
    if one.low is None or one.high is None:
        return False
    return bool(one.low > one.high or (one.low == one.high and (one.low_open or one.high_open)))
