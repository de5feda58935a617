"""Translations accept the same events, in the words of the other language."""

from __future__ import annotations

import pytest

from agvent.errors import TranslationError
from agvent.filters.languages import parse
from agvent.filters.translate import translate


@pytest.mark.parametrize(
    ("elvin", "sql"),
    [
        ("a == 1 && b != 'x'", "a = 1 AND b <> 'x'"),
        ("!(a == 1)", "a <> 1"),
        ("!(a < 1 && b >= 2.5)", "a >= 1 OR b < 2.5"),
        ("require(a)", "a IS NOT NULL"),
        ("!require(a)", "FALSE"),
        ("string(a)", "a LIKE '%'"),
        ("!string(a)", "a NOT LIKE '%'"),
        ("begins-with(a, 'x', '50%')", "a LIKE 'x%' OR a LIKE '50!%%' ESCAPE '!'"),
        ("!ends-with(a, 'x')", "a LIKE '%' AND a NOT LIKE '%x'"),
        ("contains(a, 'x')", "a LIKE '%x%'"),
        (r"wildcard(a, 'x?\\**')", "a LIKE 'x_*%'"),
        ("regex(a, '^x')", "regex(a, '^x')"),
        ("a == 1 ^^ b == 2", "a = 1 AND b <> 2 OR a <> 1 AND b = 2"),
        ("!(a == 1 ^^ b == 2)", "a = 1 AND b = 2 OR a <> 1 AND b <> 2"),
        ("size(a) + 1 > 3 && equals(b, 1, 2)", "size(a) + 1 > 3 AND (b = 1 OR b = 2)"),
        (r"\$topic == 'x' && two\ words == 1", "$topic = 'x' AND \"two words\" = 1"),
    ],
)
def test_elvin_to_sql(elvin: str, sql: str) -> None:
    """A negation is carried to the tests: what is undefined stays outside."""
    assert translate(parse(elvin, "elvin"), "sql") == sql


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("int32(a)", "OfType"),
        ("nan(a)", "OfType"),
        ("a & 1 == 1", "Arithmetic"),
        ("a % 2 == 1", "Arithmetic"),
        ("fold-case(a) == 'x'", "Function"),
    ],
)
def test_what_sql_cannot_say_is_named(text: str, part: str) -> None:
    """The refusal names the part."""
    with pytest.raises(TranslationError, match=rf"^SQL cannot express {part} "):
        translate(parse(text, "elvin"), "sql")


@pytest.mark.parametrize("text", ["a == 1 ^^ b == 1 ^^ c == 1", "a == 1 ^^ (b == 1 && (c == 1 ^^ d == 1))"])
def test_an_exclusive_or_of_more_than_two_is_refused(text: str) -> None:
    """Written out, each would double the text."""
    with pytest.raises(TranslationError, match="exclusive OR of more than two parts"):
        translate(parse(text, "elvin"), "sql")


@pytest.mark.parametrize(
    ("sql", "elvin"),
    [
        ("a = 1 AND b <> 'x'", 'a == 1L && b != "x"'),
        ("a BETWEEN 1 AND 2.5", "a >= 1L && a <= 2.5"),
        ("a IN ('x', 5)", 'a == "x" || a == 5L'),
        ("a IS NOT NULL", "require(a)"),
        ("a LIKE 'x_%!%*' ESCAPE '!'", r'wildcard(a, "x?*%\\*")'),
        ("starts_with(a, 'x') AND regex(b, 'y')", 'begins-with(a, "x") && regex(b, "y")'),
    ],
)
def test_sql_to_elvin(sql: str, elvin: str) -> None:
    """SQL's integers have 64 bits."""
    assert translate(parse(sql), "elvin") == elvin


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("NOT a = 1", "Compare"),
        ("a NOT LIKE 'x'", "Like"),
        ("a IS NULL", "IsNull"),
        ("contains(a, 'x')", "Truth"),
        ("order.price = 1", "Attribute"),
        ("a = TRUE", "Literal"),
        ("", "And"),
    ],
)
def test_what_elvin_cannot_say_is_named(sql: str, part: str) -> None:
    """A value of another kind makes SQL's NOT true and leaves Elvin's undefined."""
    with pytest.raises(TranslationError, match=rf"^Elvin cannot express {part} "):
        translate(parse(sql), "elvin")


def test_the_other_languages() -> None:
    """Tags, topics and patterns are written from whatever says the same."""
    assert translate(parse('Make == "Ford" && require(Model)', "elvin"), "tags") == "Make=Ford,Model=*"
    assert translate(parse("Make=Ford,Model=*", "tags"), "elvin") == 'Make == "Ford" && require(Model)'
    assert translate(parse(r'\$topic == "a/b"', "elvin"), "topic") == "a/b"
