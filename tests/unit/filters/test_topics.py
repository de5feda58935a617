"""Channels, topics and patterns as filters."""

from __future__ import annotations

import pytest

from agvent.errors import FilterError, TranslationError
from agvent.filters.languages import format_filter, parse
from agvent.filters.tree import EVERYTHING, Attribute, Compare, Condition, In, Literal, TopicPattern

TOPIC, CHANNEL = Attribute(("$topic",)), Attribute(("$channel",))
AT_MOST = "at most 65535 are allowed"


@pytest.mark.parametrize(
    ("language", "text", "tree"),
    [
        ("topic", "Sports/NBA", Compare("=", TOPIC, Literal("Sports/NBA"))),
        ("topic", " 42 ", Compare("=", TOPIC, Literal(" 42 "))),
        ("topic", "a+b#", Compare("=", TOPIC, Literal("a+b#"))),
        ("integer", "42", Compare("=", TOPIC, Literal(42))),
        ("integer", "-9223372036854775808", Compare("=", TOPIC, Literal(-(2**63)))),
        ("integer", "+007", Compare("=", TOPIC, Literal(7))),
        ("pattern", "Sports/#", TopicPattern(TOPIC, "Sports/#")),
        ("pattern", "+/é", TopicPattern(TOPIC, "+/é")),
        ("channel", "news", Compare("=", CHANNEL, Literal("news"))),
        ("channel", "42", In(CHANNEL, (Literal("42"), Literal(42)))),
        ("channel", "042", Compare("=", CHANNEL, Literal("042"))),
        ("channel", "-0", Compare("=", CHANNEL, Literal("-0"))),
        ("channel", "9223372036854775808", Compare("=", CHANNEL, Literal("9223372036854775808"))),
    ],
)
def test_the_whole_text_is_the_topic(language: str, text: str, tree: Condition) -> None:
    """Nothing is trimmed; a channel written as an integer is the string or the number."""
    assert parse(text, language) == tree


@pytest.mark.parametrize(
    ("language", "text", "message", "position"),
    [
        ("topic", "", "expected a topic, found the end", 0),
        ("channel", "", "expected a channel, found the end", 0),
        ("pattern", "", "expected a topic pattern, found the end", 0),
        ("integer", "", "expected an integer topic, found the end", 0),
        ("integer", "4 2", "expected an integer topic", 0),
        ("integer", "٤", "expected an integer topic", 0),
        ("integer", "9223372036854775808", "9223372036854775808 does not fit in 64 bits", 0),
        ("integer", "1" * 60_000, f"{'1' * 40} does not fit in 64 bits", 0),
        ("pattern", "a/#/b", "# is not the last level", 2),
        ("topic", "a\ud800", "lone surrogate U+D800", 1),
        ("topic", "a" * 65_536, f"the topic has 65536 characters, {AT_MOST}", 65_535),
    ],
)
def test_what_is_no_topic_is_refused(language: str, text: str, message: str, position: int) -> None:
    """Empty, too long, out of range or badly encoded texts are errors at their place."""
    with pytest.raises(FilterError) as caught:
        parse(text, language)
    assert (caught.value.message, caught.value.position) == (message, position)


@pytest.mark.parametrize(
    ("language", "tree"),
    [
        ("topic", Compare("=", TOPIC, Literal(42))),
        ("topic", Compare("=", TOPIC, Literal(""))),
        ("topic", EVERYTHING),
        ("integer", Compare("=", TOPIC, Literal("42"))),
        ("integer", Compare("=", TOPIC, Literal(True))),
        ("pattern", TopicPattern(CHANNEL, "a/#")),
        ("channel", Compare("=", CHANNEL, Literal(42))),
        ("channel", Compare("=", CHANNEL, Literal("42"))),
        ("channel", In(CHANNEL, (Literal("1"), Literal(True)))),
        ("channel", In(CHANNEL, (Literal("42"), Literal(43)))),
    ],
)
def test_other_trees_have_no_topic(language: str, tree: Condition) -> None:
    """A tree that is not exactly what the language parses to is a TranslationError."""
    with pytest.raises(TranslationError):
        format_filter(tree, language)
