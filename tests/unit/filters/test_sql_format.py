"""The tree as SQL text."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from agvent.errors import TranslationError
from agvent.filters.sql import parse_sql
from agvent.filters.sql_format import format_sql
from agvent.filters.tree import (
    EVERYTHING,
    NOTHING,
    And,
    Attribute,
    Call,
    Compare,
    Condition,
    Function,
    IsA,
    IsNull,
    Literal,
    Not,
    Or,
    TopicPattern,
    Truth,
)

A = Attribute(("a",))


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("", ""),
        ("a=1 and(b<>'it''s')", "a = 1 AND b <> 'it''s'"),
        ("(a or b) and not (c or d)", "(a OR b) AND NOT (c OR d)"),
        ("(a and b) or (c and d)", "a AND b OR c AND d"),
        ("not (a = 1)", "NOT a = 1"),
        ("not (not a)", "NOT NOT a"),
        ("not (x between 1 and 2)", "x NOT BETWEEN 1 AND 2"),
        ("not (a is null)", "a IS NOT NULL"),
        ("not (a in (1))", "a NOT IN (1)"),
        ("not (a like 'b')", "a NOT LIKE 'b'"),
        ("not (a not like 'b')", "NOT a NOT LIKE 'b'"),
        ("x >= 1 and x <= 2 and y = 3", "x BETWEEN 1 AND 2 AND y = 3"),
        ("x <= 2 and x >= 1", "x <= 2 AND x >= 1"),
        ("x >= 1 and y <= 2", "x >= 1 AND y <= 2"),
        ("x >= 1 or x <= 2", "x >= 1 OR x <= 2"),
        ("a - (b - c) * -d > - -5 + -(5)", "a - (b - c) * -d > -(-5) + -(5)"),
        ("((a + b)) * 2 = -(c + 1)", "(a + b) * 2 = -(c + 1)"),
        ("a - (b + c) = (a - b) + c", "a - (b + c) = a - b + c"),
        ("a / (b * c) = 1", "a / (b * c) = 1"),
        ("0x1F = 7. and 7E30 = .5", "31 = 7.0 AND 7e+30 = 0.5"),
        ("a in ('x',-1,2.5,true)", "a IN ('x', -1, 2.5, TRUE)"),
        ("a > timestamp '2002-01-01'", "a > TIMESTAMP '2002-01-01T00:00:00+00:00'"),
        ("a like '!%' escape '!'", "a LIKE '!%' ESCAPE '!'"),
        ("f( 1 , a+2 ) and contains(a,'b')", "f(1, a + 2) AND contains(a, 'b')"),
        ('order."unit price"[0]."in" is null', 'order."unit price"[0]."in" IS NULL'),
        ('"price" is null', "price IS NULL"),
    ],
)
def test_text_has_the_fewest_parentheses(text: str, formatted: str) -> None:
    """A filter comes out laid out the same way always, with parentheses only where the shape needs them."""
    assert format_sql(parse_sql(text)) == formatted
    assert parse_sql(formatted) == parse_sql(text)


@pytest.mark.parametrize(
    ("tree", "formatted"),
    [
        (And((Truth(A),)), "a"),
        (And((Truth(A), And((Truth(A), Truth(A))))), "a AND a AND a"),
        (Not(Or((Truth(A),))), "NOT a"),
        (NOTHING, "FALSE"),
        (Not(EVERYTHING), "NOT TRUE"),
        (And((IsNull(A), EVERYTHING)), "a IS NULL AND TRUE"),
    ],
)
def test_shapes_no_parser_makes_keep_their_meaning(tree: Condition, formatted: str) -> None:
    """A hand-made tree is written as SQL would have it."""
    assert format_sql(tree) == formatted


@pytest.mark.parametrize(
    ("tree", "named"),
    [
        (IsA("Book"), "IsA IsA(type='Book')"),
        (And((Truth(A), IsA("Book"))), "IsA IsA(type='Book')"),
        (TopicPattern(A, "x/#"), "TopicPattern TopicPattern(operand=Attribute(path=('a',)), pattern='x/#')"),
        (
            Compare("=", A, Literal(1), None),
            "Compare Compare(op='=', left=Attribute(path=('a',)), right=Literal(value=1), unlike=None)",
        ),
        (Truth(Call("and", ())), "Call Call(name='and', args=())"),
        (Truth(Call("size", (A,))), "Call Call(name='size', args=(Attribute(path=('a',)),))"),
        (Truth(Function("f", ())), "Function Function(name='f', args=())"),
    ],
)
def test_a_part_sql_has_no_words_for_is_named(tree: Condition, named: str) -> None:
    """What SQL cannot say is a TranslationError that names the part."""
    with pytest.raises(TranslationError) as caught:
        format_sql(tree)
    assert caught.value.message == f"SQL cannot express {named}"


@pytest.mark.parametrize("value", [b"x", None, math.nan, math.inf, -math.inf])
def test_literals_sql_cannot_write_are_refused(value: Any) -> None:
    """SQL has no literal for bytes, null, NaN and infinities."""
    with pytest.raises(TranslationError):
        format_sql(Compare("=", A, Literal(value)))


def test_a_time_of_any_zone_is_the_same_instant() -> None:
    """A timestamp is written with its zone and read as the same instant."""
    tree = Compare(">", A, Literal(datetime(2002, 1, 1, 12, 30, 0, 5, tzinfo=UTC)))
    assert format_sql(tree) == "a > TIMESTAMP '2002-01-01T12:30:00.000005+00:00'"
    assert parse_sql(format_sql(tree)) == tree
