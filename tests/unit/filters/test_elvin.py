"""Elvin's subscription language: what each rule of it reads as, and means."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agvent.errors import TranslationError
from agvent.event import Int32
from agvent.filters.elvin import parse_elvin
from agvent.filters.elvin_format import format_elvin
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import format_filter, parse
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Expression,
    Function,
    Literal,
    Negative,
    Not,
    OfType,
    Or,
    TextTest,
    Xor,
)

A, B, C = (Attribute((name,)) for name in "abc")
T, F, U = "1 == 1", "1 == 2", "missing == 1"
STATES = {T: True, F: False, U: None}


def of(text: str, **attributes: Any) -> bool | None:
    """What the subscription says of a notification."""
    return evaluate(parse_elvin(text), attributes)


def value(text: str) -> Expression:
    """The expression on the left of a comparison."""
    tree = parse_elvin(f"{text} == x")
    assert isinstance(tree, Compare)
    return tree.left


def int32(number: int) -> Literal:
    return Literal(Int32(number))


# Logic


@pytest.mark.parametrize(
    ("a", "b", "both", "either", "odd"),
    [
        (T, T, True, True, False),
        (T, U, None, True, None),
        (T, F, False, True, True),
        (U, T, None, True, None),
        (U, U, None, None, None),
        (U, F, False, None, None),
        (F, T, False, True, True),
        (F, U, False, None, None),
        (F, F, False, False, False),
    ],
)
def test_logic_has_three_values(a: str, b: str, both: bool | None, either: bool | None, odd: bool | None) -> None:
    """AND, OR and XOR follow Łukasiewicz's tables."""
    assert (of(f"{a} && {b}"), of(f"{a} || {b}"), of(f"{a} ^^ {b}")) == (both, either, odd)


@pytest.mark.parametrize(("text", "outcome"), [(f"!({T})", False), (f"!({F})", True), (f"!({U})", None)])
def test_not_leaves_undefined_undefined(text: str, outcome: bool | None) -> None:
    """The negation of undefined is undefined."""
    assert of(text) is outcome


def test_xor_of_three_is_true_of_an_odd_number() -> None:
    """A chain of ^^ is one node and counts."""
    assert parse_elvin(f"{T} ^^ {T} ^^ {T}") == Xor((parse_elvin(T),) * 3)
    assert [of(f"{T} ^^ {T} ^^ {T}"), of(f"{T} ^^ {T} ^^ {F}"), of(f"{T} ^^ {U} ^^ {F}")] == [True, False, None]


# Precedence


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a == 1 || b == 1 ^^ c == 1", "a == 1 || (b == 1 ^^ c == 1)"),
        ("a == 1 ^^ b == 1 && c == 1", "a == 1 ^^ (b == 1 && c == 1)"),
        ("! a == 1 && b == 1", "(!(a == 1)) && b == 1"),
        ("a | b == c", "(a | b) == c"),
        ("a | b ^ c == 1", "a | (b ^ c) == 1"),
        ("a ^ b & c == 1", "a ^ (b & c) == 1"),
        ("a & b << c == 1", "a & (b << c) == 1"),
        ("a << b + c == 1", "a << (b + c) == 1"),
        ("a + b * c == 1", "a + (b * c) == 1"),
        ("a - b + c == 1", "(a - b) + c == 1"),
        ("a * b / c % a == 1", "((a * b) / c) % a == 1"),
        ("-a * ~b == 1", "(-a) * (~b) == 1"),
        ("a >> b >>> c == 1", "(a >> b) >>> c == 1"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    """Loosest first: || ^^ && ! comparisons | ^ & shifts sums products signs; equal ones from the left."""
    assert parse_elvin(text) == parse_elvin(same)


# Comparison


@pytest.mark.parametrize("a", [Int32(32), 32, 32.0])
@pytest.mark.parametrize("literal", ["32", "32L", "32.0"])
def test_numbers_of_all_types_compare(a: float, literal: str) -> None:
    """int32, int64 and real64 are mixed freely, and compare by their value."""
    outcomes = [of(f"a {op} {literal}", a=a) for op in ("==", "!=", "<", "<=", ">", ">=")]
    assert outcomes == [True, False, False, True, False, True]


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("found", [None, "32", b"32", True, [32]])
def test_a_missing_attribute_and_an_unlike_one_are_undefined(op: str, found: Any) -> None:
    """So their negation is undefined too."""
    assert of(f"a {op} 32", a=found) is None
    assert of(f"!(a {op} 32)", a=found) is None


def test_strings_are_equal_or_not() -> None:
    """By code points, with case; strings have no order, so two under < are undefined."""
    assert [of("a == 'x'", a="x"), of('a == "X"', a="x"), of("a != 'y'", a="x")] == [True, False, True]
    assert [of(f"a {op} b", a="x", b="y") for op in ("<", "<=", ">", ">=")] == [None] * 4


def test_not_equal_is_the_negation_of_equal() -> None:
    """`a != b` and `!(a == b)` say the same of everything."""
    for a in (None, 1, Int32(1), 2.0, "1", b"1", math.nan):
        assert of("a != 1", a=a) is of("!(a == 1)", a=a)


def test_equals_takes_several_values_of_any_type() -> None:
    """`equals` is true if one of them is equal, undefined if none can be."""
    assert parse_elvin('equals(a, "x", 42)') == parse_elvin('a == "x" || a == 42')
    assert parse_elvin("equals(a, 1 + 2)") == parse_elvin("a == 1 + 2")
    outcomes = [of('equals(a, "foobar", 42)', a=a) for a in ("foobar", 42, b"x", None)]
    assert outcomes == [True, True, None, None]


# Arithmetic


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("20 - 30", Int32(-10)),
        ("20L - 30", -10),
        ("10 - 20.25", -10.25),
        ("7 / 2", Int32(3)),
        ("-7 / 2", Int32(-3)),
        ("7 / 2.0", 3.5),
        ("-7 % 3", Int32(-1)),
        ("7 % -3L", 1),
        ("10.5 % 4", 2.5),
        ("2147483647 + 1", 2147483648),
        ("-(5)", Int32(-5)),
        ("+a", Int32(6)),
        ("a * 2 + 1", Int32(13)),
    ],
)
def test_arithmetic(text: str, result: float) -> None:
    """real64 before int64 before int32; division drops the fraction, a remainder has the sign of what was divided."""
    event = {"a": Int32(6), "result": result}
    assert of(f"{text} == result", **event) is True
    assert of(f"({text}) & result == result", **event) is (None if isinstance(result, float) else True)


def test_the_type_of_a_result_shows_in_its_bits() -> None:
    """Two int32 give an int32, so a shift of the result has 32 bits; with an int64 it has 64."""
    assert of("(a - 1) >>> 28 == 15", a=Int32(0)) is True
    assert of("(a - 1L) >>> 60 == 15", a=Int32(0)) is True
    assert of("-a >>> 28 == 15", a=Int32(1)) is True


@pytest.mark.parametrize(
    "text",
    ["1 / 0", "1L % 0", "1.5 / 0.0", "1.5 % 0.0", "9223372036854775807L + 1", "missing + 1", "s + 1", "-s"],
)
def test_arithmetic_without_a_result_is_undefined(text: str) -> None:
    """Division by zero, an overflow of 64 bits, a missing attribute, a string."""
    assert [of(f"{text} {op} 1", s="x") for op in ("==", "!=")] == [None, None]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("20 & 30", 20 & 30),
        ("20L | 30", 20 | 30),
        ("20 ^ 30L", 20 ^ 30),
        ("~10", ~10),
        ("~1234567890123L", ~1234567890123),
        ("1 << 31", -(2**31)),
        ("1L << 31", 2**31),
        ("1 << 33", 2),
        ("1L << 63", -(2**63)),
        ("-16 >> 2", -4),
        ("-1 >>> 28", 15),
        ("-1L >>> 60", 15),
        ("0xFF & 0xF0", 240),
    ],
)
def test_bitwise_operators_have_the_width_of_their_integers(text: str, result: int) -> None:
    """32 bits if both sides are int32, else 64; a shift's distance counts modulo the width."""
    assert of(f"{text} == result", result=result) is True


@pytest.mark.parametrize("op", ["&", "|", "^", "<<", ">>", ">>>"])
def test_bitwise_operators_are_for_integers(op: str) -> None:
    """A real64 or a string has no bits."""
    assert [of(f"a {op} 1 == 1", a=1.0), of(f"a {op} 1 == 1", a="1"), of("~a == 1", a=1.0)] == [None] * 3


# Predicates

TYPED: dict[str, Any] = {"int32": Int32(1), "int64": 2, "real64": 42.0, "string": "hello", "opaque": b"123"}


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("found", TYPED)
def test_type_predicates(name: str, found: str) -> None:
    """True of a value of that type, false of another."""
    assert of(f"{name}(a)", a=TYPED[found]) is (name == found)


@pytest.mark.parametrize("name", TYPED)
def test_type_predicates_of_what_elvin_does_not_have(name: str) -> None:
    """A missing value is undefined; a boolean, list or object is of no type of Elvin's."""
    assert [of(f"{name}(a)", a=found) for found in (None, True, [1], {"x": 1})] == [None, False, False, False]


def test_require_is_true_or_undefined() -> None:
    """Whatever the value is; an attribute that is missing is not false."""
    there: list[Any] = [0, "", b"", False, []]
    assert [of("require(a)", a=found) for found in there] == [True] * 5
    assert [of("require(a)"), of("!require(a)")] == [None, None]


def test_nan_is_for_real64() -> None:
    """True of NaN, false of another real64, undefined of the rest. Nothing else sees a NaN: it is null."""
    assert [of("nan(a)", a=found) for found in (math.nan, 42.0, 42, "x", None)] == [True, False, None, None, None]
    assert [of(text, a=math.nan) for text in ("require(a)", "real64(a)", "a == a", "a < 1")] == [None] * 4


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("begins-with(a, 'foo')", "foobar", "frob"),
        ("ends-with(a, 'bar')", "foobar", "barn"),
        ("contains(a, 'oob')", "foobar", "fobar"),
        ("wildcard(a, 'fo*a?')", "foobar", "foobarr"),
        ("wildcard(a, 'fo?')", "foé", "fo"),
        (r"wildcard(a, 'fo\\*a')", "fo*a", "foxa"),
        (r"wildcard(a, 'fo\\')", "fo\\", "fo"),
        ("regex(a, 'o+b')", "foobar", "fbar"),
        ("begins-with(a, 'x', 'foo')", "foobar", "bar"),
        ("wildcard(a, 'x*', '*r')", "foobar", "foobaz"),
        ("regex(a, '^x', 'r$')", "foobar", "foobaz"),
    ],
)
def test_string_predicates(text: str, matching: str, other: str) -> None:
    """True if one of the arguments fits, false if none does, undefined of what is no string."""
    assert [of(text, a=found) for found in (matching, other, 5, b"foobar", None)] == [True, False, None, None, None]


def test_the_empty_string_is_part_of_every_string() -> None:
    """At its beginning, its end and within."""
    assert [of(f"{name}(a, '')", a="x") for name in ("begins-with", "ends-with", "contains")] == [True] * 3


def test_string_functions() -> None:
    """Unicode's case folding, canonical and compatible decomposition; undefined of what is no string."""
    assert of("fold-case(a) == 'strasse'", a="STRAẞE") is True
    assert of("decompose(a) == b", a="Äﬃn", b="A\u0308ﬃn") is True
    assert of("decompose-compat(a) == b", a="Äﬃn", b="A\u0308ffin") is True
    assert [of(f"{name}(a) == 'x'", a=5) for name in ("fold-case", "decompose", "decompose-compat")] == [None] * 3
    assert of("contains(fold-case(Groups), '|dsto|', '|elvin|')", Groups="|DSTO|") is True
    assert value("fold-case(decompose(a))") == Function("fold-case", (Function("decompose", (A,)),))


def test_size() -> None:
    """Characters of a string and bytes of opaque data; undefined of a number."""
    assert [of("size(a) == 4", a=a) for a in ("日本12", b"1234", "", 1234, None)] == [True, True, False, None, None]


# Words


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("_1", "_1"),
        ("Presence-Protocol", "Presence-Protocol"),
        ("a.b", "a.b"),
        ("tricky<=id", "tricky<=id"),
        ("a&&b", "a&&b"),
        ("naïve", "naïve"),
        (r"two\ words", "two words"),
        (r"\1st", "1st"),
        (r"a\(b\)", "a(b)"),
        (r"back\\slash", "back\\slash"),
        (r"\$topic", "$topic"),
        ("begins-with", "begins-with"),
        ("int32", "int32"),
        ("require", "require"),
    ],
)
def test_names(text: str, name: str) -> None:
    """A name goes on to the next blank or delimiter, a backslash puts any character in; functions' names are names."""
    assert parse_elvin(f"{text} == 1") == Compare("=", Attribute((name,)), int32(1), None)
    assert of(f"string({text})", **({} if name == "$topic" else {name: "x"})) is (None if name == "$topic" else True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", Int32(0)),
        ("2147483647", Int32(2**31 - 1)),
        ("-2147483648", Int32(-(2**31))),
        ("2147483648L", 2**31),
        ("5l", 5),
        ("-9223372036854775808L", -(2**63)),
        ("0x1F", Int32(31)),
        ("0X1fL", 31),
        ("017", Int32(15)),
        ("3.40", 3.4),
        ("1.2e10", 1.2e10),
        ("1.2E+10", 1.2e10),
        ("-1.2e-10", -1.2e-10),
    ],
)
def test_numbers(text: str, number: float) -> None:
    """int32, int64 with L, real64 with a fraction; a sign before a number is part of it."""
    assert value(text) == Literal(number)


@pytest.mark.parametrize(
    ("text", "string"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        (r"'a\n'", "an"),
        (r"'a\\'", "a\\"),
        (r'"a\""', 'a"'),
        (r"'it\'s'", "it's"),
        ("\"'abc'\"", "'abc'"),
        ("'&& ) \n'", "&& ) \n"),
        ("''", ""),
    ],
)
def test_strings(text: str, string: str) -> None:
    """Single or double quotes; a backslash stands for nothing but the character after it."""
    assert value(text) == Literal(string)


def test_the_tree() -> None:
    """Each form has its node."""
    assert value("-a") == Negative(A)
    assert value("~a") == Arithmetic("^", A, int32(-1))
    assert parse_elvin("require(a) && !int32(b) || nan(c)") == Or(
        (And((OfType(A, "any"), Not(OfType(B, "int32")))), OfType(C, "nan"))
    )
    assert parse_elvin("wildcard(a, 'x', 'y')") == TextTest("wildcard", A, ("x", "y"))
    assert parse_elvin("a == 1 && (b == 1 && c == 1)") == parse_elvin("a == 1 && b == 1 && c == 1")


def test_examples_of_real_clients() -> None:
    """What ticker clients of the Avis router subscribe to."""
    text = (
        "Presence-Protocol < 2000 && string (Groups) && string (User) && equals (Presence-Info, 'initial', 'update') &&"
        ' fold-case (User) != "matthew@home" && (contains (fold-case (Groups), "|dsto|", "|elvin|") ||'
        ' (equals (fold-case (User), "foobar@dsto", "frodo@home")))'
    )
    notification = {"Presence-Protocol": Int32(1000), "Groups": "|DSTO|", "User": "Jane", "Presence-Info": "update"}
    assert of(text, **notification) is True
    assert of(text, **{**notification, "User": "Matthew@Home"}) is False
    assert of(text, **{**notification, "Groups": b""}) is False


# Format


@pytest.mark.parametrize(
    "text",
    [
        'require(chat) && begins-with(user, "al")',
        "(a == 1 || b == 2L) && !(c < 3.5)",
        "a == 1 ^^ (b == 1 || c == 1)",
        r'\$topic == "it\"s \\" && two\ words != -5',
        "~flags & 240 == 14 || -x + 3 * (y - 2) >>> 1 > 0",
        "a - (b - c) == -(5) && x == 1.0e+300",
        '!!regex(fold-case(a), "x", "y") && size(a) > 3',
    ],
)
def test_format_writes_what_it_reads(text: str) -> None:
    """These are written as they were read."""
    assert format_elvin(parse_elvin(text)) == text


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("a = 1", "Compare"),
        ("a IS NULL", "IsNull"),
        ("a", "Truth"),
        ("a LIKE 'x'", "Like"),
        ("", "And"),
    ],
)
def test_what_elvin_has_no_words_for_is_named(sql: str, part: str) -> None:
    """`format_filter` writes a tree as it stands, or names the part."""
    with pytest.raises(TranslationError, match=f"^Elvin cannot express {part} "):
        format_filter(parse(sql), "elvin")


@pytest.mark.parametrize(
    ("tree", "part"),
    [
        (Compare("=", Attribute(("o", "x")), int32(1), None), "Attribute"),
        (Compare("=", Attribute(("",)), int32(1), None), "Attribute"),
        (Compare("=", A, Literal(True), None), "Literal"),
        (Compare("=", A, Literal(math.inf), None), "Literal"),
        (Compare("=", Function("lower", (A,)), Literal("x"), None), "Function"),
    ],
)
def test_what_elvin_cannot_name(tree: Compare, part: str) -> None:
    """Paths, booleans, infinities and SQL's functions."""
    with pytest.raises(TranslationError, match=f"^Elvin cannot express {part} "):
        format_elvin(tree)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a == 1", "Compare"),
        ("require(a)", "OfType"),
        ("contains(a, 'x')", "TextTest"),
        ("a == 1 ^^ b == 1", "Xor"),
    ],
)
def test_what_sql_has_no_words_for_is_named(text: str, part: str) -> None:
    """Elvin's nodes are not SQL's, though a translation may exist."""
    with pytest.raises(TranslationError, match=f"^SQL cannot express {part} "):
        format_filter(parse(text, "elvin"), "sql")
