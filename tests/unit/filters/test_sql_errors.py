"""What a bad SQL selector says: message, place and hint."""

from __future__ import annotations

import pytest

from agvent.errors import FilterError
from agvent.filters.sql import parse_sql

KNOWN = ("price", "volume", "references_contain")
OPERATOR = "expected an operator or the end, found"
DANGLING = "the escape character '!' stands at the end of the pattern, expected _, % or ! after it"
NUMBER_HINT = "write 12, 0x1F, 017, 12L, 7., .5 or 7E3"


def complaint(text: str, known: tuple[str, ...] | None = None) -> tuple[str, int, str | None]:
    with pytest.raises(FilterError) as caught:
        parse_sql(text, known)
    return caught.value.message, caught.value.position, caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("a != 1", f"{OPERATOR} '!='", 2, "SQL writes <>"),
        ("a == 1", f"{OPERATOR} '=='", 2, "SQL writes ="),
        ("a && b", f"{OPERATOR} '&&'", 2, "SQL writes AND"),
        ("a || b", f"{OPERATOR} '||'", 2, "SQL writes OR"),
        ("! a", "expected a value, found '!'", 0, "SQL writes NOT"),
        ("a BETWEN 1 AND 2", f"{OPERATOR} 'BETWEN'", 2, "did you mean 'BETWEEN'?"),
        ("a lik 'x'", f"{OPERATOR} 'lik'", 2, "did you mean 'LIKE'?"),
        ("a = 1 2", f"{OPERATOR} '2'", 6, None),
        ("a = 1)", f"{OPERATOR} ')'", 5, None),
        ("a = 1 ?", f"{OPERATOR} '?'", 6, None),
        ("a =", "expected a value, found the end", 3, None),
        ("a =   ", "expected a value, found the end", 3, None),
        ("a AND", "expected a value, found the end", 5, None),
        ("a = AND", "expected a value, found 'AND'", 4, 'AND is a reserved word; write "AND" if it is a name'),
        ("(a = 1", "expected an operator or ), found the end", 6, None),
        ("a BETWEEN 1 OR 2", "expected AND, found 'OR'", 12, 'OR is a reserved word; write "OR" if it is a name'),
        ("a IS 3", "expected NULL or NOT NULL, found '3'", 5, None),
        ("a IS NOT 3", "expected NULL, found '3'", 9, None),
        ("a NOT 3", "expected BETWEEN, LIKE or IN after NOT, found '3'", 6, None),
        ("a LIKE b", "expected a pattern in quotes, found 'b'", 7, None),
        ("f(a = 1)", "expected ), found '='", 4, None),
        ("f(1,", "expected a value, found the end", 4, None),
        ("f(1,)", "expected a value, found ')'", 4, None),
    ],
)
def test_a_token_out_of_place(text: str, message: str, position: int, hint: str | None) -> None:
    """The error names what was expected and what stands there, with a hint where one is near."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("a = NULL", "a value cannot be compared with NULL", 4, "use IS NULL or IS NOT NULL"),
        ("a IN ('x', null)", "a value cannot be compared with NULL", 11, "use IS NULL or IS NOT NULL"),
        ("a IN ()", "expected a literal, found ')'", 6, None),
        ("a IN (b)", "expected a literal", 6, "IN takes strings, numbers, booleans and timestamps"),
        ("a < 'x'", "a string has no order", 4, "strings and booleans compare with = and <> only"),
        ("TRUE >= a", "a boolean has no order", 0, "strings and booleans compare with = and <> only"),
        ("a BETWEEN 'x' AND 'y'", "a string has no order", 10, "strings and booleans compare with = and <> only"),
        ("a = 'x' + 1", "expected a number, found a string", 4, "arithmetic is for numbers"),
        ("a = -TRUE", "expected a number, found a boolean", 5, "arithmetic is for numbers"),
        ("a = 1 - TIMESTAMP '2002-01-01'", "expected a number, found a timestamp", 8, "arithmetic is for numbers"),
        ("a = b = c", "expected a value, found a condition", 0, "join conditions with AND and OR"),
        ("a = (b = c)", "expected a value, found a condition", 4, "join conditions with AND and OR"),
        ("f(NOT a)", "expected a value, found a condition", 2, "join conditions with AND and OR"),
        ("a + 1", "expected a condition, found a number", 0, "compare it with something"),
        ("a OR 'x'", "expected a condition, found a string", 5, "compare it with something"),
        ("a AND size(b)", "expected a condition, found the value of size()", 6, "compare it with something"),
        ("NOT 3", "expected a condition, found a number", 4, "compare it with something"),
    ],
)
def test_a_value_of_the_wrong_sort(text: str, message: str, position: int, hint: str | None) -> None:
    """Conditions and values, and numbers and strings, are told apart at parse time (JMS: syntax is checked then)."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("a = 'abc", "a string without its closing quote", 4, "write '' for a quote inside a string"),
        ('"abc = 1', "a quoted name without its closing quote", 0, 'write "" for a quote inside a name'),
        ("a = 08", "'08' is not a number", 4, NUMBER_HINT),
        ("a = 0x", "'0x' is not a number", 4, NUMBER_HINT),
        ("a = 1.2.3", "'1.2.3' is not a number", 4, NUMBER_HINT),
        ("a = 1.5f", "'1.5f' is not a number", 4, NUMBER_HINT),
        ("a = 1.5L", "'1.5L' is not a number", 4, NUMBER_HINT),
        ("a = 1_000", "'1_000' is not a number", 4, NUMBER_HINT),
        ("a = 12abc", "'12abc' is not a number", 4, NUMBER_HINT),
        ("a = " + "1" * 5000, "1" * 40 + "… does not fit in 64 bits", 4, None),
        ("a = 9223372036854775808", "9223372036854775808 does not fit in 64 bits", 4, None),
        ("a = -9223372036854775809", "-9223372036854775809 does not fit in 64 bits", 5, None),
        ("a = 0xFFFFFFFFFFFFFFFF", "18446744073709551615 does not fit in 64 bits", 4, None),
        ("a = 1e999", "1e999 is beyond the largest float", 4, None),
        ("a = -1e999", "1e999 is beyond the largest float", 5, None),
        ("a[9223372036854775808] = 1", "9223372036854775808 does not fit in 64 bits", 0, None),
        ("a LIKE 'x!' ESCAPE '!'", DANGLING, 7, "write !! for the character itself"),
        ("a LIKE 'x' ESCAPE '!!'", "expected one character after ESCAPE", 18, None),
        ("a LIKE 'x' ESCAPE ''", "expected one character after ESCAPE", 18, None),
        ("a > TIMESTAMP 'soon'", "'soon' is not a timestamp", 14, "write it as 2026-03-01 or 2026-03-01T12:00:00Z"),
        ("a = '\ud800'", "lone surrogate U+D800", 5, "no event carries one"),
    ],
)
def test_a_malformed_literal(text: str, message: str, position: int, hint: str | None) -> None:
    """Numbers out of range, strings without an end and escapes before nothing are errors at their place."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("contains(a)", "contains() takes 2 arguments, found 1", 0, None),
        ("size() = 1", "size() takes 1 argument, found 0", 0, None),
        ("lower(a, b) = 'x'", "lower() takes 1 argument, found 2", 0, None),
        ("regex(a, b)", "expected the expression of regex() as a string in quotes", 0, None),
        ("b AND regex(a, '(x')", "the regular expression does not compile: missing ): (x", 15, "the dialect is RE2's"),
        ("a.b(1)", "a.b cannot name a behaviour", 0, "a behaviour's name is one plain name"),
        ("$type(1)", "$type cannot name a behaviour", 0, "a behaviour's name is one plain name"),
        ("$topics = 'x'", "unknown header '$topics'", 0, "did you mean '$topic'?"),
        ("in.x = 1", "IN is a reserved word", 0, 'write "in" if it is a name'),
    ],
)
def test_names_and_calls(text: str, message: str, position: int, hint: str | None) -> None:
    """The number of arguments, regular expressions and header names are checked at parse time."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("volume > 1 AND pric < 2", "unknown attribute 'pric'", 15, "did you mean 'price'?"),
        (
            "refrences_contain('x')",
            "unknown behaviour or function 'refrences_contain'",
            0,
            "did you mean 'references_contain'?",
        ),
        ("zzz = 1", "unknown attribute 'zzz'", 0, None),
    ],
)
def test_an_unknown_name_has_a_hint(text: str, message: str, position: int, hint: str | None) -> None:
    """Where the names are known, another is an error with the nearest of them."""
    assert complaint(text, KNOWN) == (message, position, hint)


def test_known_names_headers_and_functions_are_accepted() -> None:
    """A known attribute may have a path below it; headers and built-in functions are always known."""
    text = "price.low[0] > 1 AND $topic = 'x' AND size(volume) = 2 AND references_contain('x')"
    assert parse_sql(text, KNOWN) == parse_sql(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 60_000,
        "NOT " * 15_000 + "a",
        "- " * 30_000 + "a = 1",
        "a = " + "1+" * 30_000 + "1",
        "a = " + "f(" * 20_000,
        "a OR b AND 1 = 1 + 1 * (" * 2_000,
        "(" * 200 + "a" + ")" * 200,
        "NOT " * 63 + "a",
        "a = " + "(1 + " * 63 + "1" + ")" * 63,
    ],
)
def test_depth_is_bounded(text: str) -> None:
    """Nesting beyond the bound is a FilterError that names it, never a RecursionError."""
    message, _, hint = complaint(text)
    assert (message, hint) == ("the filter nests deeper than 64 levels", None)


def test_a_long_sum_is_refused_where_it_goes_too_deep() -> None:
    """Each operator of a sum puts what stands left of it one level deeper."""
    assert complaint("a = " + "1+" * 30_000 + "1") == ("the filter nests deeper than 64 levels", 259, None)


def test_the_deepest_filters_within_the_bound_are_read() -> None:
    """The bound itself is allowed: 62 NOTs, the condition and its attribute are 64 levels."""
    parse_sql("NOT " * 62 + "a")
    parse_sql("a = " + "(1 + " * 62 + "1" + ")" * 62)


@pytest.mark.parametrize("escape", ["", " ESCAPE '!'"])
def test_a_part_of_a_pattern_is_bounded(escape: str) -> None:
    """Told at the pattern; without a `_`, or at an end of the pattern, it may be longer."""
    message = "a part of the pattern has 300 characters and a wildcard for one character, at most 256 are allowed"
    assert complaint(f"a LIKE '%_{'a' * 299}%'{escape}") == (message, 7, None)
    for pattern in (f"%{'a' * 300}%", f"{'_' * 300}%", f"%{'_' * 300}"):
        parse_sql(f"a LIKE '{pattern}'{escape}")


def test_length_and_predicates_are_bounded() -> None:
    """A filter has at most 65,536 characters and 4,096 predicates, members of IN included."""
    assert complaint("a" * 65_537)[:2] == ("the filter has 65537 characters, at most 65536 are allowed", 65_536)
    too_many = "the filter has 4097 predicates, at most 4096 are allowed"
    assert complaint(" OR ".join(["a"] * 4_097))[:2] == (too_many, 0)
    assert complaint(f"b AND a IN ({','.join(['1'] * 4_096)})")[:2] == (too_many, 0)


def test_an_error_shows_the_line_and_a_caret() -> None:
    """The text of an error has line, column, the line itself, a caret below the place, and the hint."""
    with pytest.raises(FilterError) as caught:
        parse_sql("price > 10\n\tAND volume != 3")
    assert str(caught.value) == (
        "line 2, column 13: expected an operator or the end, found '!='\n"
        "   AND volume != 3\n"
        "              ^\n"
        "hint: SQL writes <>"
    )


def test_an_error_with_a_lone_surrogate_can_be_printed() -> None:
    """What cannot be encoded is not shown."""
    with pytest.raises(FilterError) as caught:
        parse_sql("a = '\ud800'")
    assert str(caught.value).encode() == (
        b"line 1, column 6: lone surrogate U+D800\n  a = ' '\n       ^\nhint: no event carries one"
    )
