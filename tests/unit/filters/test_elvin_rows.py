"""The normal form of Elvin's nodes: what is indexed, what narrows the search, and what is asked of the oracle."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.event import Int32, Kind
from agvent.filters.elvin import parse_elvin
from agvent.filters.explain import explain
from agvent.filters.normal import Opaque, Rows, normal
from agvent.filters.patterns import MANY, ONE
from agvent.filters.primitives import Absent, MatchesPattern, NoneOf, NotMatches, NotRange, OneOf, Present, Range
from agvent.filters.relations import covers, overlaps
from agvent.filters.tree import Attribute, Literal

A = Attribute(("a",))
IS_STRING, IS_NUMBER = Range(A, Kind.STRING), Range(A, Kind.NUMBER)
ONE_32, TWO_32 = Literal(Int32(1)), Literal(Int32(2))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a == 1", ((OneOf(A, (ONE_32,)),),)),
        ("equals(a, 1, 2)", ((OneOf(A, (ONE_32, TWO_32)),),)),
        ("a != 1", ((IS_NUMBER, NoneOf(A, (ONE_32,))),)),
        ("!(a < 1)", ((IS_NUMBER, NotRange(Range(A, Kind.NUMBER, high=Int32(1), high_open=True))),)),
        ("a >= 1 + 1", ((Range(A, Kind.NUMBER, low=Int32(2)),),)),
        ("require(a)", ((Present(A),),)),
        ("!require(a)", ()),
        ("string(a)", ((IS_STRING,),)),
        ("!string(a)", ((Present(A), NotRange(IS_STRING)),)),
        ("opaque(a)", ((Range(A, Kind.BYTES),),)),
        ("begins-with(a, 'x', 'y')", ((MatchesPattern(A, ("x", MANY)),), (MatchesPattern(A, ("y", MANY)),))),
        ("ends-with(a, 'x')", ((MatchesPattern(A, (MANY, "x")),),)),
        ("contains(a, 'x')", ((MatchesPattern(A, (MANY, "x", MANY)),),)),
        ("wildcard(a, 'x?y*')", ((MatchesPattern(A, ("x", ONE, "y", MANY)),),)),
        ("wildcard(a, 'x', 'y')", ((OneOf(A, (Literal("x"), Literal("y"))),),)),
        ("!contains(a, 'x')", ((IS_STRING, NotMatches(A, (MANY, "x", MANY))),)),
    ],
)
def test_what_is_indexed(text: str, rows: Rows) -> None:
    """Nothing of these is left to the oracle."""
    assert normal(parse_elvin(text)) == rows


@pytest.mark.parametrize(
    ("text", "guards"),
    [
        ("int32(a)", (IS_NUMBER,)),
        ("nan(a)", (Absent(A),)),
        ("regex(a, 'x')", (IS_STRING,)),
        ("fold-case(a) == 'x'", (IS_STRING,)),
        ("contains(decompose(fold-case(a)), 'x')", (IS_STRING,)),
        ("a & 4 == 4", (IS_NUMBER,)),
        ("-a > 4", (IS_NUMBER,)),
        ("a == b", (Present(A), Present(Attribute(("b",))))),
        ("size(a) + 1 > 4", (Present(A),)),
    ],
)
def test_what_narrows_the_search(text: str, guards: tuple[object, ...]) -> None:
    """The oracle is asked only about events that can have a result at all."""
    tree = parse_elvin(text)
    assert normal(tree) == ((*guards, Opaque(tree, True)),)


def test_many_texts_are_one_row() -> None:
    """More texts than a filter may have rows are asked of strings only."""
    texts = ", ".join(f"'{n}'" for n in range(limits.DISJUNCTS_MAX + 1))
    tree = parse_elvin(f"begins-with(a, {texts})")
    assert normal(tree) == ((IS_STRING, Opaque(tree, True)),)


def test_an_exclusive_or_is_taken_apart_once() -> None:
    """Two parts become rows; three, or one inside another, are left whole."""
    assert len(normal(parse_elvin("a == 1 ^^ b == 2"))) == 2
    for text in ("a == 1 ^^ b == 2 ^^ c == 3", "a == 1 ^^ (b == 2 && !(c == 3 ^^ d == 4))"):
        tree = parse_elvin(text)
        assert normal(tree) == ((Opaque(tree, True),),)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("a > 10", "a > 20 && b == 1"),
        ("require(a)", "a == 5"),
        ("require(a)", "fold-case(a) == 'x'"),
        ("string(a)", "regex(a, 'x')"),
        ("string(a)", "!contains(a, 'x')"),
        ("begins-with(a, 'x', 'y')", "a == 'xyz'"),
        ("contains(a, 'x')", "begins-with(a, 'x', 'yx')"),
        ("wildcard(a, 'x*')", "begins-with(a, 'xy')"),
        ("a != 5L", "a == 6"),
        ("int32(a)", "int32(a) && a > 3"),
    ],
)
def test_covering(wide: str, narrow: str) -> None:
    """Proved, and never the other way round."""
    assert covers(parse_elvin(wide), parse_elvin(narrow))
    assert not covers(parse_elvin(narrow), parse_elvin(wide))


@pytest.mark.parametrize(
    ("a", "b"), [("string(a)", "int32(a)"), ("opaque(a)", "a == 'x'"), ("nan(a)", "require(a)"), ("a < 1", "a > 1L")]
)
def test_overlap(a: str, b: str) -> None:
    """No event is accepted by both."""
    assert not overlaps(parse_elvin(a), parse_elvin(b))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("require(a)", "does not match because a is there is unknown: a is missing"),
        ("int32(b)", "does not match because b is an int32 is false: b is 5"),
        ("begins-with(c, 'x', 'y')", "does not match because c begins with 'x' or 'y' is false: c is 'abc'"),
        ("b & (1 << 2) != b", "does not match because (b & (1 << 2)) <> b is false: b is 4"),
        ("fold-case(c) == 'x'", "does not match because fold-case(c) = 'x' is false: c is 'abc'"),
        ("b == 5 ^^ c == 'abc'", "does not match because b = 5 XOR c = 'abc' is false: b is 5, c is 'abc'"),
    ],
)
def test_explanations(text: str, reason: str) -> None:
    """Elvin's tests are told in words of our own where SQL has none."""
    event = {"b": 4 if "&" in text else 5, "c": "abc"}
    assert explain(parse_elvin(text), event).reason() == reason
