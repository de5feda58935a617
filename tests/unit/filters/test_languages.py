"""The front door of the languages."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.errors import CallerError
from agvent.filters.languages import LANGUAGES, format_filter, parse
from agvent.filters.tree import Attribute, Compare, Literal


def test_sql_is_the_language_unless_another_is_named() -> None:
    """`parse(text)` reads SQL."""
    assert parse("a = 1") == parse("a = 1", "sql") == Compare("=", Attribute(("a",)), Literal(1))


def test_the_languages() -> None:
    """The languages there are, in the order help lists them."""
    assert list(LANGUAGES) == ["sql", "tags", "elvin", "topic", "pattern", "integer", "channel", "xpath"]


@pytest.mark.parametrize(
    ("name", "hint"), [("sqll", "did you mean 'sql'?"), ("tag", "did you mean 'tags'?"), ("", None), ([], None)]
)
def test_an_unknown_language_is_named_with_those_there_are(name: Any, hint: str | None) -> None:
    """The error lists the languages and hints at the nearest."""
    message = f"no filter language {name!r}, there are sql, tags, elvin, topic, pattern, integer, channel, xpath"
    for call in (lambda: parse("a = 1", name), lambda: format_filter(parse("a = 1"), name)):
        with pytest.raises(CallerError) as caught:
            call()
        assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize("text", [None, 42, b"a = 1"])
def test_a_filter_is_text(text: Any) -> None:
    """Anything else is the caller's mistake."""
    with pytest.raises(CallerError) as caught:
        parse(text)
    assert caught.value.message == f"a filter is a text, not {type(text).__name__}"


def test_known_names_are_for_languages_that_name_attributes() -> None:
    """A topic names no attribute, so any topic is fine."""
    assert parse("Sports", "topic", known=("price",)) == parse("Sports", "topic")
    with pytest.raises(CallerError):
        parse("Sports=x", "tags", known=("price",))


def test_a_filter_can_be_translated() -> None:
    """A tree is written in any language that has words for it."""
    assert format_filter(parse("Year=2003,Model=*", "tags"), "sql") == "Year IN ('2003', 2003) AND Model IS NOT NULL"
    assert format_filter(parse("$topic = 'Sports'"), "topic") == "Sports"
