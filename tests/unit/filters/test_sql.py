"""The SQL selector, rule by rule (JMS 1.1 §3.8.1.1), and our additions to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from agvent.errors import FilterError
from agvent.event import Value
from agvent.filters.evaluate import evaluate
from agvent.filters.sql import parse_sql
from agvent.filters.tree import (
    EVERYTHING,
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    Truth,
)

A, B, C = Attribute(("a",)), Attribute(("b",)), Attribute(("c",))
ONE, TWO = Literal(1), Literal(2)


def is_one(attribute: Attribute) -> Condition:
    return Compare("=", attribute, ONE)


@pytest.mark.parametrize("text", ["", " ", "\t\n "])
def test_an_empty_selector_accepts_everything(text: str) -> None:
    """JMS: an empty selector is no selector."""
    assert parse_sql(text) == EVERYTHING


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("''", ""),
        ("'literal'", "literal"),
        ("'literal''s'", "literal's"),
        ("''''", "'"),
        ("'日本 \n'", "日本 \n"),
        ("57", 57),
        ("-957", -957),
        ("+62", 62),
        ("0", 0),
        ("62L", 62),
        ("62l", 62),
        ("0x1F", 31),
        ("0XffL", 255),
        ("017", 15),
        ("-017", -15),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-0x8000000000000000", -(2**63)),
        ("9007199254740993", 9007199254740993),
        ("7E3", 7000.0),
        ("-57.9E2", -5790.0),
        ("7.", 7.0),
        (".5", 0.5),
        ("-95.7", -95.7),
        ("+6.2", 6.2),
        ("1e-3", 0.001),
        ("09.5", 9.5),
        ("TRUE", True),
        ("false", False),
        ("TIMESTAMP '2002-01-01'", datetime(2002, 1, 1, tzinfo=UTC)),
        ("timestamp '2002-01-01 12:30:00.25'", datetime(2002, 1, 1, 12, 30, 0, 250_000, tzinfo=UTC)),
        ("TIMESTAMP '2002-01-01T12:00:00+02:00'", datetime(2002, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))),
    ],
)
def test_literals(text: str, value: Value) -> None:
    """Strings double their quotes; exact numbers are Java's; approximate ones may begin or end with the point."""
    assert parse_sql(f"a = {text}") == Compare("=", A, Literal(value))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("_a$1", ("_a$1",)),
        ("größe", ("größe",)),
        ("order.price", ("order", "price")),
        ("dims[0]", ("dims", 0)),
        ("items[0].price", ("items", 0, "price")),
        ("grid[1][2]", ("grid", 1, 2)),
        ('"a.b-c"', ("a.b-c",)),
        ('"say ""hi"""', ('say "hi"',)),
        ('order."unit price"[0]', ("order", "unit price", 0)),
        ('""', ("",)),
        ('"AND"', ("AND",)),
        ("$type", ("$type",)),
        ("$topic", ("$topic",)),
        ("$channel", ("$channel",)),
        ("$time", ("$time",)),
        ("timestamp", ("timestamp",)),
        ("contains", ("contains",)),
        ("android", ("android",)),
    ],
)
def test_identifiers(text: str, path: tuple[str | int, ...]) -> None:
    """Identifiers are Java's; dots, elements and quoted names are ours."""
    assert parse_sql(f"{text} IS NULL") == IsNull(Attribute(path))


def test_identifiers_are_case_sensitive() -> None:
    """JMS: identifiers are case-sensitive."""
    assert parse_sql("price = PRICE") == Compare("=", Attribute(("price",)), Attribute(("PRICE",)))


@pytest.mark.parametrize("word", ["NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"])
def test_reserved_words_are_not_identifiers(word: str) -> None:
    """JMS: identifiers cannot be NULL, TRUE, FALSE, NOT, AND, OR, BETWEEN, LIKE, IN, IS or ESCAPE, in any case."""
    for spelling in (word, word.lower(), word.capitalize()):
        with pytest.raises(FilterError):
            parse_sql(f"{spelling}.x = 1")
        with pytest.raises(FilterError):
            parse_sql(f"1 < {spelling} + 1")


def test_keywords_ignore_case() -> None:
    """JMS: predefined selector literals and operator names are case-insensitive."""
    mixed = "a iS nOt NuLl aNd b Not Between 1 and 2 oR nOT c LiKe '%' EscapE '!'"
    assert parse_sql(mixed) == parse_sql("a IS NOT NULL AND b NOT BETWEEN 1 AND 2 OR NOT c LIKE '%' ESCAPE '!'")


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_comparison_operators(op: str) -> None:
    """JMS: =, >, >=, <, <=, <> (not equal)."""
    assert parse_sql(f"a {op} 1") == parse_sql(f"a{op}1") == Compare(op, A, ONE)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1 OR b = 1 AND c = 1", Or((is_one(A), And((is_one(B), is_one(C)))))),
        ("(a = 1 OR b = 1) AND c = 1", And((Or((is_one(A), is_one(B))), is_one(C)))),
        ("NOT a = 1 AND b = 1", And((Not(is_one(A)), is_one(B)))),
        ("NOT (a = 1 AND b = 1)", Not(And((is_one(A), is_one(B))))),
        ("NOT NOT a = 1", Not(Not(is_one(A)))),
        ("a = 1 AND (b = 1 AND c = 1)", And((is_one(A), is_one(B), is_one(C)))),
        ("(a = 1 AND b = 1) AND c = 1", And((is_one(A), is_one(B), is_one(C)))),
        ("a = 1 OR (b = 1 OR c = 1)", Or((is_one(A), is_one(B), is_one(C)))),
        ("(a = 1 OR b = 1) OR c = 1", Or((is_one(A), is_one(B), is_one(C)))),
    ],
)
def test_logical_precedence(text: str, tree: Condition) -> None:
    """JMS: NOT before AND before OR, left to right, parentheses change it; nested ANDs and ORs are one."""
    assert parse_sql(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * a", Arithmetic("+", ONE, Arithmetic("*", TWO, A))),
        ("(1 + 2) * a", Arithmetic("*", Arithmetic("+", ONE, TWO), A)),
        ("a - 1 - 2", Arithmetic("-", Arithmetic("-", A, ONE), TWO)),
        ("a - (1 - 2)", Arithmetic("-", A, Arithmetic("-", ONE, TWO))),
        ("a / 1 * 2", Arithmetic("*", Arithmetic("/", A, ONE), TWO)),
        ("-a * 2", Arithmetic("*", Negative(A), TWO)),
        ("a - -1", Arithmetic("-", A, Literal(-1))),
        ("a -1", Arithmetic("-", A, ONE)),
        ("-(1)", Negative(ONE)),
        ("+a", A),
        ("--1", Negative(Literal(-1))),
    ],
)
def test_arithmetic_precedence(text: str, tree: Condition) -> None:
    """JMS: unary + and -, then * and /, then + and -; a sign before a number literal belongs to it."""
    assert parse_sql(f"b = {text}") == Compare("=", B, tree)  # type: ignore[arg-type]


def test_between_is_two_comparisons() -> None:
    """JMS: `age BETWEEN 15 AND 19` is `age >= 15 AND age <= 19`; NOT BETWEEN is the negation."""
    assert parse_sql("a BETWEEN 1 AND 2") == parse_sql("a >= 1 AND a <= 2")
    assert parse_sql("a NOT BETWEEN 1 AND 2") == Not(parse_sql("a BETWEEN 1 AND 2"))


def test_between_takes_its_own_and() -> None:
    """The AND of BETWEEN is not a conjunction."""
    between = (Compare(">=", A, ONE), Compare("<=", A, TWO))
    assert parse_sql("a BETWEEN 1 AND 2 AND b = 1") == And((*between, is_one(B)))
    assert parse_sql("a BETWEEN b - 1 AND -b") == And(
        (Compare(">=", A, Arithmetic("-", B, ONE)), Compare("<=", A, Negative(B)))
    )


def test_in_takes_literals() -> None:
    """JMS: IN takes strings; ours takes numbers, booleans and timestamps too."""
    values = (Literal("UK"), Literal(-1), Literal(2.5), Literal(True), Literal(datetime(2002, 1, 1, tzinfo=UTC)))
    assert parse_sql("a IN ('UK', -1, 2.5, TRUE, TIMESTAMP '2002-01-01')") == In(A, values)
    assert parse_sql("a NOT IN ('UK')") == Not(In(A, (Literal("UK"),)))


def test_like_has_an_escape() -> None:
    """JMS: identifier [NOT] LIKE pattern [ESCAPE character]."""
    assert parse_sql("a LIKE '12%3'") == Like(A, "12%3")
    assert parse_sql(r"a LIKE '\_%' ESCAPE '\'") == Like(A, r"\_%", "\\")
    assert parse_sql("a NOT LIKE '_'") == Not(Like(A, "_"))
    assert parse_sql("lower(a) LIKE 'x%'") == Like(Function("lower", (A,)), "x%")


def test_null_is_tested_with_is() -> None:
    """JMS: IS NULL and IS NOT NULL."""
    assert parse_sql("a IS NULL") == IsNull(A)
    assert parse_sql("a IS NOT NULL") == Not(IsNull(A))


def test_a_boolean_stands_alone() -> None:
    """A boolean attribute, call, function or literal is a condition of itself."""
    assert parse_sql("a AND NOT b") == And((Truth(A), Not(Truth(B))))
    assert parse_sql("TRUE OR f()") == Or((Truth(Literal(True)), Truth(Call("f", ()))))
    assert parse_sql("contains(a, 'x')") == Truth(Function("contains", (A, Literal("x"))))


def test_calls_are_behaviours() -> None:
    """A name before a parenthesis is a behaviour, unless it is a built-in function in lower case (seed 002 fig. 6)."""
    assert parse_sql("wholesale_price(1000, 'Istanbul') < 150000") == Compare(
        "<", Call("wholesale_price", (Literal(1000), Literal("Istanbul"))), Literal(150_000)
    )
    assert parse_sql("f(a + 1, g(b)) = 1") == Compare("=", Call("f", (Arithmetic("+", A, ONE), Call("g", (B,)))), ONE)
    assert parse_sql("SIZE(a) = 1") == Compare("=", Call("SIZE", (A,)), ONE)


@pytest.mark.parametrize(
    ("text", "event", "outcome"),
    [
        ("a = 1", {"a": "1"}, False),
        ("a <> 1", {"a": "1"}, False),
        ("NOT a = 1", {"a": "1"}, True),
        ("a = TRUE", {"a": 1}, False),
        ("a < b", {"a": "x", "b": "y"}, False),
        ("a < 1", {"a": "0"}, False),
        ("a = 1", {"a": 1.0}, True),
        ("a = 9007199254740993", {"a": float(2**53)}, False),
        ("a BETWEEN 37 AND 38", {"a": 37.807807921694092}, True),
    ],
)
def test_unlike_kinds_compare_to_false(text: str, event: dict[str, Value], outcome: bool) -> None:
    """JMS: only like types compare, and comparing unlike types is false; int and float are like, and exact."""
    assert evaluate(parse_sql(text), event) is outcome


def test_long_flat_filters_are_read() -> None:
    """A chain of ANDs or ORs or a long IN is one level, whatever its length."""
    assert parse_sql(" AND ".join(["a = 1"] * 4_096)) == And((is_one(A),) * 4_096)
    assert parse_sql(" OR ".join(["a = 1"] * 4_096)) == Or((is_one(A),) * 4_096)
    assert parse_sql(f"a IN ({', '.join(['1'] * 4_096)})") == In(A, (ONE,) * 4_096)


@pytest.mark.parametrize(
    ("text", "tree"),
    [("(" * 120 + "a = 1" + ")" * 120, is_one(A)), ("a = " + "(" * 100 + "1" + ")" * 100, is_one(A))],
)
def test_parentheses_that_nest_nothing_cost_no_depth(text: str, tree: Condition) -> None:
    """Depth is the tree's: redundant parentheses add none until reading itself would go too deep."""
    assert parse_sql(text) == tree
