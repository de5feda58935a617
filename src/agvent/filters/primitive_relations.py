"""What one primitive of the normal form says about another on the same term, and about a value."""

from __future__ import annotations

from typing import Any

from agvent.event import Kind, equal, kind_of
from agvent.filters.pattern_relations import contains, intersect
from agvent.filters.patterns import matches
from agvent.filters.primitives import (
    Absent,
    Has,
    HasNot,
    MatchesPattern,
    NoneOf,
    NotMatches,
    NotRange,
    OneOf,
    Present,
    Range,
    Simple,
    Term,
    is_empty,
    joined,
)

LOOSE = (NoneOf, NotRange, NotMatches, HasNot)
"""The primitives that a missing value passes."""


def term_of(primitive: Simple) -> Term:
    return primitive.range.term if isinstance(primitive, NotRange) else primitive.term


def accepts(primitive: Simple, value: Any) -> bool:
    """Does the primitive accept this value of its term?"""
    match primitive:
        case Present():
            return kind_of(value) is not Kind.NULL
        case Range():
            return kind_of(value) is primitive.kind and _is_within(primitive, value)
        case OneOf(_, values):
            return any(equal(value, member.value) for member in values)
        case MatchesPattern(_, tokens):
            return isinstance(value, str) and matches(tokens, value)
        case Has(_, member):
            return kind_of(value) is Kind.LIST and any(equal(item, member.value) for item in value)
        case _:
            return not accepts(negation(primitive), value)


def _is_within(bounds: Range, value: Any) -> bool:
    above = bounds.low is None or (value > bounds.low if bounds.low_open else value >= bounds.low)
    return above and (bounds.high is None or bool(value < bounds.high if bounds.high_open else value <= bounds.high))


def negation(primitive: Simple) -> Simple:
    """The primitive that accepts exactly what this one does not."""
    match primitive:
        case Present(term):
            return Absent(term)
        case Absent(term):
            return Present(term)
        case Range():
            return NotRange(primitive)
        case NotRange(bounds):
            return bounds
        case OneOf(term, values):
            return NoneOf(term, values)
        case NoneOf(term, values):
            return OneOf(term, values)
        case MatchesPattern(term, tokens):
            return NotMatches(term, tokens)
        case NotMatches(term, tokens):
            return MatchesPattern(term, tokens)
        case Has(term, value):
            return HasNot(term, value)
        case HasNot(term, value):
            return Has(term, value)


def implies(known: Simple, wanted: Simple) -> bool:
    """True is a proof that whatever `known` accepts, `wanted` accepts; both are about one term."""
    if known == wanted:
        return True
    match known:
        case Absent():
            return isinstance(wanted, LOOSE)
        case Range() | MatchesPattern() | Has() | OneOf():
            return isinstance(wanted, Present) or _positive_implies(known, wanted)
        case NotRange() | NoneOf() | NotMatches() | HasNot():
            # not K implies not W exactly if W implies K
            return isinstance(wanted, LOOSE) and implies(negation(wanted), negation(known))
        case _:
            return False


def _positive_implies(known: Range | MatchesPattern | Has | OneOf, wanted: Simple) -> bool:
    match wanted:
        case Range() | MatchesPattern() | Has() | OneOf():
            return _is_inside(known, wanted)
        case NotRange() | NotMatches() | HasNot() | NoneOf():
            return _are_apart(known, negation(wanted))
        case _:
            return False


def _is_inside(narrow: Range | MatchesPattern | Has | OneOf, wide: Simple) -> bool:
    match narrow, wide:
        case OneOf(_, values), _:
            return all(accepts(wide, member.value) for member in values if accepts(narrow, member.value))
        case MatchesPattern(_, tokens), OneOf() if all(isinstance(token, str) for token in tokens):
            return accepts(wide, "".join(map(str, tokens)))
        case Range(), OneOf():
            return narrow.low is not None and narrow.low == narrow.high and accepts(wide, narrow.low)
        case Range(), Range():
            return narrow.kind is wide.kind and joined(narrow, wide) == narrow
        case MatchesPattern(_, special), MatchesPattern(_, general):
            return contains(general, special)
        case MatchesPattern(), Range():
            return wide.kind is Kind.STRING
        case Has(_, member), Has(_, other):
            return equal(member.value, other.value)
        case _:
            return False


def _are_apart(a: Range | MatchesPattern | Has | OneOf, b: Simple) -> bool:
    """True is a proof that no value is accepted by both."""
    match a, b:
        case (OneOf(_, values), other) | (other, OneOf(_, values)):
            return not any(accepts(other, member.value) for member in values)
        case Range(), Range():
            return a.kind is not b.kind or is_empty(joined(a, b))
        case MatchesPattern(_, tokens), MatchesPattern(_, other):
            return not intersect(tokens, other)
        case (MatchesPattern(), Range(kind=kind)) | (Range(kind=kind), MatchesPattern()):
            return kind is not Kind.STRING
        case (Has(), Range(kind=kind)) | (Range(kind=kind), Has()):
            return kind is not Kind.LIST
        case (Has(), MatchesPattern()) | (MatchesPattern(), Has()):
            return True
        case _:
            return False
