"""Tag=value filters (Narada §7.1.3)."""

from __future__ import annotations

import pytest

from agvent.errors import FilterError, TranslationError
from agvent.filters.evaluate import evaluate
from agvent.filters.tags import format_tags, parse_tags
from agvent.filters.tree import (
    EVERYTHING,
    And,
    Attribute,
    Compare,
    Condition,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)

A = Attribute(("a",))


def equals(tag: str, text: str) -> Condition:
    return Compare("=", Attribute((tag,)), Literal(text))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", EVERYTHING),
        ("  ", EVERYTHING),
        ("Make=Ford", equals("Make", "Ford")),
        (
            "Make=Ford,Model=*,Color=Red",
            And((equals("Make", "Ford"), Not(IsNull(Attribute(("Model",)))), equals("Color", "Red"))),
        ),
        (" a = b c ,\td=\n*", And((equals("a", "b c"), Not(IsNull(Attribute(("d",))))))),
        ("a=", equals("a", "")),
        (r"a=x\,y\=z\*\\", equals("a", r"x,y=z*" + "\\")),
        (r"a\=b=\*", equals("a=b", "*")),
        ("order.price=x", equals("order.price", "x")),
        ("$topic=x", equals("$topic", "x")),
        ("a=2003", In(A, (Literal("2003"), Literal(2003)))),
        ("a=-1.50", In(A, (Literal("-1.50"), Literal(-1.5)))),
        ("a=1e3", In(A, (Literal("1e3"), Literal(1000.0)))),
        ("a=True", In(A, (Literal("True"), Literal(True)))),
        ("a=false", In(A, (Literal("false"), Literal(False)))),
        ("a=007", equals("a", "007")),
        ("a=1.", equals("a", "1.")),
        ("a=1e999", equals("a", "1e999")),
        ("a=9223372036854775808", equals("a", "9223372036854775808")),
    ],
)
def test_a_value_is_text_and_the_literal_it_spells(text: str, tree: Condition) -> None:
    """Blanks around tags and values are dropped; a value that spells a number or boolean also equals that."""
    assert parse_tags(text) == tree


def test_the_seeds_example_matches() -> None:
    """Narada §7.1.3: Make=Ford,Model=*,Color=Red matches a Taurus and a Mustang, if they are red Fords."""
    tree = parse_tags("Make=Ford,Model=*,Color=Red")
    assert evaluate(tree, {"Make": "Ford", "Model": "Taurus", "Color": "Red"}) is True
    assert evaluate(tree, {"Make": "Ford", "Model": "Mustang", "Color": "Red", "Year": 2003}) is True
    assert evaluate(tree, {"Make": "Ford", "Model": "Mustang", "Color": "Blue"}) is False
    assert evaluate(tree, {"Make": "Ford", "Color": "Red"}) is False


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("Make", "expected tag=value", 0, None),
        ("a=b,", "expected tag=value", 4, None),
        ("a=b,, c=d", "expected tag=value", 4, None),
        ("a=b, c", "expected tag=value", 5, None),
        ("=b", "expected a tag before the =", 0, None),
        ("a=1, =b", "expected a tag before the =", 5, None),
        ("*=b", "expected a tag before the =", 0, None),
        ("a=b=c", "a second = in one pair", 3, r"write \= if it is part of the value"),
        ("a=b*", "* stands for a whole value", 3, r"write \* if it is part of the value"),
        (r"a=\**", "* stands for a whole value", 4, r"write \* if it is part of the value"),
        (r"a=\b", "a backslash stands before no special character", 2, r"write \\"),
        ("a=b\\", "a backslash stands before no special character", 3, r"write \\"),
        ("a=1, a=2", "the tag 'a' stands twice", 5, None),
        ("$topics=x", "unknown header '$topics'", 0, "did you mean '$topic'?"),
        ("a=\ud800", "lone surrogate U+D800", 2, "no event carries one"),
    ],
)
def test_a_malformed_pair(text: str, message: str, position: int, hint: str | None) -> None:
    """Each pair is one tag, one = and one value, at most once for a tag."""
    with pytest.raises(FilterError) as caught:
        parse_tags(text)
    assert (caught.value.message, caught.value.position, caught.value.hint) == (message, position, hint)


def test_an_unknown_tag_has_a_hint() -> None:
    """Where the attributes are known, another tag is an error with the nearest of them."""
    with pytest.raises(FilterError) as caught:
        parse_tags("Make=Ford,Colour=Red", known=("Make", "Color"))
    error = caught.value
    assert (error.message, error.position, error.hint) == ("unknown attribute 'Colour'", 10, "did you mean 'Color'?")


def test_the_number_of_pairs_is_bounded() -> None:
    """A filter has at most 4,096 predicates in every language."""
    with pytest.raises(FilterError) as caught:
        parse_tags(",".join(f"t{n}=x" for n in range(4_097)))
    assert caught.value.message == "the filter has 4097 predicates, at most 4096 are allowed"


@pytest.mark.parametrize(
    ("text", "formatted"),
    [("", ""), (" a = b , c = * ", "a=b,c=*"), (r"a\,=\*,n=1.0", r"a\,=\*,n=1.0"), ("a=TRUE", "a=TRUE")],
)
def test_tags_are_written_without_blanks(text: str, formatted: str) -> None:
    """A value keeps its spelling, and what is special is escaped."""
    assert format_tags(parse_tags(text)) == formatted
    assert parse_tags(formatted) == parse_tags(text)


@pytest.mark.parametrize(
    "tree",
    [
        Or((equals("a", "x"), equals("b", "x"))),
        Compare("<>", A, Literal("x")),
        Compare("=", A, Literal(2003)),
        Compare("=", A, Literal("2003")),
        Compare("=", A, Literal(" x")),
        Compare("=", Attribute(("o", "x")), Literal("x")),
        Compare("=", Attribute(("$types",)), Literal("x")),
        In(A, (Literal("2003"), Literal(2004))),
        IsNull(A),
        And((equals("a", "x"), equals("a", "y"))),
    ],
)
def test_other_trees_have_no_tags(tree: Condition) -> None:
    """Tag=value says only that attributes equal texts or are there."""
    with pytest.raises(TranslationError):
        format_tags(tree)
