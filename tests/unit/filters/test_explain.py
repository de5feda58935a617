"""Explanations."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agvent.event import Value
from agvent.filters.explain import Explanation, explain
from agvent.filters.languages import parse
from agvent.filters.tree import EVERYTHING, NOTHING, And, Attribute, Compare, IsA, Literal, TopicPattern


def test_a_part_that_fails_is_the_reason() -> None:
    """The first line names the part to blame and the values it saw; the lines below show every part."""
    filter_text = "symbol = 'ACME' AND (price > 100 OR NOT halted) AND volume > 5"
    event = {"symbol": "ACME", "price": 12.5, "halted": True}
    assert str(explain(parse(filter_text), event)) == (
        "does not match because price > 100 OR NOT halted is false: price is 12.5, halted is TRUE\n"
        "  ✗ AND is false\n"
        "    ✓ symbol = 'ACME'   (symbol is 'ACME')\n"
        "    ✗ OR is false\n"
        "      ✗ price > 100   (price is 12.5)\n"
        "      ✗ NOT is false\n"
        "        ✓ halted   (halted is TRUE)\n"
        "    ? volume > 5   (volume is missing)"
    )


def test_a_match_says_so() -> None:
    """A filter that is true matches, whatever its parts."""
    assert str(explain(parse("a = 1 OR b"), {"a": 1})) == (
        "matches\n  ✓ OR is true\n    ✓ a = 1   (a is 1)\n    ? b   (b is missing)"
    )


def test_an_explanation_as_data() -> None:
    """For JSON: the parts nested, outcomes as words, values with the tests."""
    assert explain(parse("a = 1 AND b"), {"a": 1}).to_dict() == {
        "text": "a = 1 AND b",
        "outcome": "unknown",
        "joined_by": "AND",
        "parts": [
            {"text": "a = 1", "outcome": "true", "values": ["a is 1"]},
            {"text": "b", "outcome": "unknown", "values": ["b is missing"]},
        ],
    }


@pytest.mark.parametrize(
    ("text", "event", "reason"),
    [
        ("a > 1", {"a": math.nan}, "a > 1 is unknown: a is NaN, which is not a value"),
        ("a > 1", {"a": None}, "a > 1 is unknown: a is missing"),
        ("a = b + a", {"a": 1, "b": "x"}, "a = b + a is unknown: a is 1, b is 'x'"),
        ("f(1, 'x')", {}, "f(1, 'x') is unknown: f(1, 'x') has no value"),
        ("contains(a, 3)", {"a": [1, "it's", None]}, "contains(a, 3) is false: a is [1, 'it''s', None]"),
        ("size(a) > 1", {"a": b"\x00"}, r"size(a) > 1 is false: a is b'\x00'"),
        ("a = 1 OR a = 2", {"a": 3}, "a = 1 OR a = 2 is false: a is 3"),
        ("1 > 2", {}, "1 > 2 is false"),
        ("FALSE", {}, "FALSE is false"),
        ("NOT a IN ('x')", {"a": "x"}, "a NOT IN ('x') is false: a is 'x'"),
        ("a = 'x'", {"a": "y" * 100}, f"a = 'x' is false: a is '{'y' * 79}…"),
        (
            "$time IS NULL",
            {"$time": "2001-01-01"},
            "$time IS NULL is false: $time is TIMESTAMP '2001-01-01T00:00:00+00:00'",
        ),
    ],
)
def test_values_are_shown_as_sql_writes_them(text: str, event: dict[str, Value], reason: str) -> None:
    """A value is shown once, cut if it is long, and a missing one is called missing."""
    assert explain(parse(text), event).reason() == f"does not match because {reason}"


@pytest.mark.parametrize(
    ("condition", "event", "explanation"),
    [
        (EVERYTHING, {}, Explanation(text="everything", outcome=True, joined_by="AND")),
        (NOTHING, {}, Explanation(text="nothing", outcome=False, joined_by="OR")),
        (
            IsA("Book"),
            {"$type": ["Novel", "Publication"]},
            Explanation(text="$type is a 'Book'", outcome=False, values=("$type is Novel < Publication",)),
        ),
        (IsA("Book"), {}, Explanation(text="$type is a 'Book'", outcome=False, values=("$type is missing",))),
        (
            TopicPattern(Attribute(("$topic",)), "a/#"),
            {"$topic": "b"},
            Explanation(text="$topic is under 'a/#'", outcome=False, values=("$topic is 'b'",)),
        ),
        (
            Compare("=", Attribute(("a",)), Literal(1), None),
            {"a": "1"},
            Explanation(text="a = 1", outcome=None, values=("a is '1'",)),
        ),
        (
            Compare("=", Attribute(("a",)), Literal(b"x")),
            {"a": b"x"},
            Explanation(text="a = b'x'", outcome=True, values=("a is b'x'",)),
        ),
    ],
)
def test_what_sql_has_no_words_for_is_told_in_ours(condition: Any, event: dict[str, Value], explanation: Any) -> None:
    """Types, topics, other languages' comparisons and bytes are explained too."""
    assert explain(condition, event) == explanation


def test_a_reason_is_found_inside_nested_conjunctions() -> None:
    """The part to blame is the smallest whose failure is the whole's."""
    condition = And((parse("a = 1"), And((parse("b = 1"), parse("c = 1")))))
    assert explain(condition, {"a": 1, "b": 2}).reason() == "does not match because b = 1 is false: b is 2"
