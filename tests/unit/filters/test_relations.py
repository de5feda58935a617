"""Covering and overlap of filters, on the ordinary cases."""

from __future__ import annotations

import pytest

from agvent.filters.languages import parse
from agvent.filters.relations import covers, overlaps
from agvent.filters.subscription import Subscription

MANY_RANGES = " OR ".join(f"a{n} > {n}" for n in range(30))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("", "a = 1"),
        ("price > 10", "price > 20"),
        ("price >= 10", "price > 10"),
        ("price > 10", "price BETWEEN 20 AND 30 AND halted IS NULL"),
        ("price > 4 AND price < 6", "price = 5"),
        ("price >= 5", "price = 5.0"),
        ("t > TIMESTAMP '2002-01-01'", "t >= TIMESTAMP '2003-01-01'"),
        ("a IN (1, 2, 3)", "a = 2"),
        ("a IN (1, 2, 3)", "a IN (3, 1.0)"),
        ("a < 2 OR a > 5", "a IN (1, 7)"),
        ("a <= 9", " OR ".join(f"a = {n}" for n in range(10))),
        ("a LIKE 'x%'", "a = 'xyz'"),
        ("a LIKE 'x%'", "a LIKE 'xy%'"),
        ("a LIKE 'x%'", "starts_with(a, 'xy')"),
        ("contains(a, 'x')", "starts_with(a, 'x')"),
        ("a LIKE '%'", "a LIKE 'x%'"),
        ("a IS NOT NULL", "a <> 'x'"),
        ("a IS NOT NULL", "a NOT LIKE 'x%'"),
        ("a IS NOT NULL", "lower(a) = 'x'"),
        ("a <> 'x'", "a = 'y'"),
        ("NOT a = 'x'", "a = 5"),
        ("NOT a = 'x'", "a <> 'x'"),
        ("a NOT IN (1, 2)", "a > 5"),
        ("a NOT IN (1, 2)", "a NOT IN (1, 2, 3)"),
        ("a NOT LIKE 'x%'", "a LIKE 'y%'"),
        ("a NOT LIKE 'xy%'", "a NOT LIKE 'x%'"),
        ("a NOT BETWEEN 3 AND 4", "a NOT BETWEEN 1 AND 9"),
        ("a IS NULL", "a IS NULL AND b = 1"),
        ("a > 5 OR b = 1", "b = 1 AND c = 2"),
        ("a = 1 OR a = 2 AND b = 1", "a = 2 AND b = 1 OR a = 1"),
        ("(a > 5 OR b > 5) AND c = 1", "b > 6 AND c = 1"),
        ("(a > 5 OR b > 5) AND c = 1", "(a > 6 OR b > 7) AND c = 1"),
        (MANY_RANGES, "a7 > 9"),
        (MANY_RANGES, f"({MANY_RANGES}) AND b = 1"),
        ("halted = TRUE OR halted = FALSE", "NOT halted"),
        ("halted", "halted AND a = 1"),
        ("f(1)", "f(1) AND a = 2"),
        ("a + b > 3", "a + b > 3 AND c = 1"),
        ("size(a) = 3", "a = 'abc'"),
        ("a = 'abc'", "a IN ('ab', 'abc') AND size(a) = 3"),
        ("NOT halted", "halted <> TRUE"),
        ("contains(tags, 'x')", "contains(tags, 'x') AND b = 1"),
        ("a = 1", "b = 1 AND b = 2"),
        ("a = 1", "b > 5 AND b < 3"),
    ],
)
def test_covers_proves_the_ordinary_cases(wide: str, narrow: str) -> None:
    """Ranges, IN, equality, prefixes, NOT, IS NULL, OR and identical opaque parts are seen through."""
    assert covers(parse(wide), parse(narrow)) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1", ""),
        ("price > 20", "price > 10"),
        ("price > 10", "price >= 10"),
        ("a <> 'x'", "a = 5"),
        ("a <> 'x'", "NOT a = 'x'"),
        ("a IN (1, 2)", "a IN (2, 3)"),
        ("a LIKE 'xy%'", "a LIKE 'x%'"),
        ("a IS NOT NULL", "b = 1"),
        ("f(1)", "f(2)"),
        ("a = 1 AND b = 1", "a = 1"),
        ("a NOT IN (1, 2, 3)", "a NOT IN (1, 2)"),
    ],
)
def test_covers_claims_nothing_false(one: str, other: str) -> None:
    """A filter that accepts less does not cover one that accepts more."""
    assert covers(parse(one), parse(other)) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > 5", "a < 3"),
        ("a > 5", "a <= 5"),
        ("a = 'x'", "a = 'y'"),
        ("a IN (1, 2)", "a IN (3, 4)"),
        ("a IN (1, 2)", "a > 2"),
        ("a LIKE 'x%'", "a LIKE 'y%'"),
        ("a LIKE 'x%'", "a = 'yx'"),
        ("a LIKE '%x'", "a LIKE '%y'"),
        ("a IS NULL", "a = 1"),
        ("a > 5", "a = 'x'"),
        ("a > 5", "contains(a, 'x')"),
        ("a BETWEEN 1 AND 5", "a NOT BETWEEN 0 AND 9"),
        ("a BETWEEN 1 AND 9 AND b = 1", "a BETWEEN 5 AND 20 AND a NOT BETWEEN 4 AND 10"),
        ("halted", "NOT halted"),
        ("f(1)", "NOT f(1)"),
        ("a > 1 OR b > 1", "a IS NULL AND b IS NULL"),
        ("(a > 1 OR b > 1) AND c = 1", "a IS NULL AND b IS NULL"),
        (MANY_RANGES, " AND ".join(f"a{n} IS NULL" for n in range(30))),
        ("contains(t, 'x')", "NOT contains(t, 'x')"),
        ("size(a) > 5", "a = 'abc'"),
        ("a = 1 AND a = 2", "a = 1"),
        ("a = 1 OR a = 2", "a <> 1 AND a <> 2"),
    ],
)
def test_overlaps_disproves_the_ordinary_cases(one: str, other: str) -> None:
    """Ranges apart, different values, prefixes apart, unlike kinds and negations have no event in common."""
    assert overlaps(parse(one), parse(other)) is overlaps(parse(other), parse(one)) is False


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", ""),
        ("a > 5", "a < 7"),
        ("a > 5", "b < 3"),
        ("a >= 5", "a <= 5"),
        ("a IN (1, 2)", "a IN (2, 3)"),
        ("a LIKE 'x%'", "a LIKE '%y'"),
        ("a IS NULL", "NOT contains(b, 'x')"),
        ("a <> 1", "a <> 2"),
        ("(a = 1 OR b = 1) AND c = 1", "a = 2 AND c = 1"),
        ("f(1)", "f(2)"),
    ],
)
def test_filters_with_an_event_in_common_overlap(one: str, other: str) -> None:
    """Where both could accept one event, overlap is never denied."""
    assert overlaps(parse(one), parse(other)) is True


@pytest.mark.parametrize(
    ("one", "other", "covered", "overlapping"),
    [
        ("Sports/#", "Sports/NBA", True, True),
        ("Sports/#", "Sports", True, True),
        ("Sports/#", "Sports/+", True, True),
        ("Sports/#", "Sports/NBA/#", True, True),
        ("#", "a/b/#", True, True),
        ("+/+", "Sports/+", True, True),
        ("Sports/+", "Sports/#", False, True),
        ("a/+/c", "a/b/+", False, True),
        ("a/#", "b/#", False, False),
        ("a/+", "a/b/c", False, False),
        ("Sports/#", "Sportsmen", False, False),
    ],
)
def test_topic_patterns(one: str, other: str, covered: bool, overlapping: bool) -> None:
    """A grant must contain the whole pattern (ABDES §2.2)."""
    a, b = parse(one, "pattern"), parse(other, "pattern")
    assert (covers(a, b), overlaps(a, b)) == (covered, overlapping)


def test_patterns_against_topics() -> None:
    """A pattern covers the topics under it, and no numbers."""
    pattern = parse("Sports/+", "pattern")
    assert covers(pattern, parse("Sports/NBA", "topic")) is True
    assert overlaps(pattern, parse("Sports", "topic")) is False
    assert overlaps(pattern, parse("42", "integer")) is False


def test_tags() -> None:
    """Fewer tags cover more; a star covers a value."""
    fords = parse("Make=Ford,Model=*", "tags")
    assert covers(fords, parse("Make=Ford,Model=Taurus,Color=Red", "tags")) is True
    assert covers(parse("Year=2003", "tags"), parse("Year = 2003")) is True
    assert overlaps(fords, parse("Make=VW", "tags")) is False


def test_types() -> None:
    """The same type covers; two types may have a subtype in common, so they overlap."""
    book = Subscription(id="a", type="Book").condition()
    long_book = Subscription(id="b", type="Book", filter="pages > 200").condition()
    assert covers(book, long_book) is True
    assert covers(long_book, book) is False
    assert overlaps(book, Subscription(id="c", type="Film").condition()) is True
