"""What primitives say about each other."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import product
from typing import Any

from agvent.event import Kind
from agvent.filters.patterns import MANY, ONE
from agvent.filters.primitive_relations import accepts, implies, negation
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
)
from agvent.filters.tree import Attribute, Literal

A = Attribute(("a",))
NOON = datetime(2002, 1, 1, 12, tzinfo=UTC)

VALUES: list[Any] = [
    None, math.nan, True, False, 0, 1, 2, 2.5, 3, -1, 2**53 + 1, math.inf, "", "a", "ab", "b", b"a", NOON, [], ["a"],
    [1, 2], {"x": 1},
]  # fmt: skip

POSITIVE: list[Simple] = [
    Present(A),
    Range(A, Kind.NUMBER),
    Range(A, Kind.NUMBER, low=1),
    Range(A, Kind.NUMBER, low=1, low_open=True),
    Range(A, Kind.NUMBER, low=1, high=2.5),
    Range(A, Kind.NUMBER, low=2, high=2),
    Range(A, Kind.STRING),
    Range(A, Kind.BOOL),
    Range(A, Kind.TIME, high=NOON),
    OneOf(A, (Literal(1), Literal("a"))),
    OneOf(A, (Literal(1.0),)),
    OneOf(A, (Literal(None), Literal(math.nan))),
    MatchesPattern(A, ("a", MANY)),
    MatchesPattern(A, ("a",)),
    MatchesPattern(A, (ONE,)),
    Has(A, Literal("a")),
    Has(A, Literal(1)),
]
ALL = [*POSITIVE, *map(negation, POSITIVE)]


def accepted(primitive: Simple) -> set[int]:
    return {number for number, value in enumerate(VALUES) if accepts(primitive, value)}


def test_a_negation_accepts_the_rest() -> None:
    """Each primitive and its negation share out every value, null included."""
    everything = set(range(len(VALUES)))
    assert all(accepted(negation(one)) == everything - accepted(one) for one in ALL)
    assert all(negation(negation(one)) == one for one in ALL)


def test_implications_hold_for_every_value() -> None:
    """Where one primitive implies another, no value passes the one and not the other."""
    wrong = [(a, b) for a, b in product(ALL, ALL) if implies(a, b) and not accepted(a) <= accepted(b)]
    assert wrong == []


def test_the_plain_implications_are_seen() -> None:
    """Kinds apart, bounds inside, members inside, patterns inside, and what follows for their negations."""
    number, text = Range(A, Kind.NUMBER, low=1), MatchesPattern(A, ("a", MANY))
    seen: list[tuple[Simple, Simple]] = [
        (number, Present(A)),
        (number, Range(A, Kind.NUMBER, low=0)),
        (number, NotRange(Range(A, Kind.STRING))),
        (number, NotRange(Range(A, Kind.NUMBER, high=0))),
        (number, NoneOf(A, (Literal("a"), Literal(0)))),
        (number, NotMatches(A, ("a",))),
        (number, HasNot(A, Literal(1))),
        (text, Range(A, Kind.STRING)),
        (text, NoneOf(A, (Literal("b"), Literal(1)))),
        (text, HasNot(A, Literal("a"))),
        (MatchesPattern(A, ("a",)), OneOf(A, (Literal("a"),))),
        (Range(A, Kind.NUMBER, low=2, high=2), OneOf(A, (Literal(2.0),))),
        (OneOf(A, (Literal("a"), Literal("ab"))), text),
        (Has(A, Literal(1)), Has(A, Literal(1.0))),
        (Has(A, Literal(1)), NotRange(number)),
        (Absent(A), NotRange(number)),
        (Absent(A), HasNot(A, Literal(1))),
        (NoneOf(A, (Literal(1), Literal(2))), NoneOf(A, (Literal(1),))),
        (NotMatches(A, ("a", MANY)), NoneOf(A, (Literal("ab"),))),
        (NotRange(number), NotRange(Range(A, Kind.NUMBER, low=2))),
        (NotRange(number), NoneOf(A, (Literal(5),))),
    ]
    assert [pair for pair in seen if not implies(*pair)] == []
