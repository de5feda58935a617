"""Subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.errors import FilterError, SubscriptionError
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription, subscription_of
from agvent.filters.tree import (
    EVERYTHING,
    And,
    Attribute,
    Compare,
    Condition,
    In,
    IsA,
    Literal,
    Or,
    TopicPattern,
    Truth,
)

A, B = Truth(Attribute(("a",))), Truth(Attribute(("b",)))
TOPIC, CHANNEL = Attribute(("$topic",)), Attribute(("$channel",))


@pytest.mark.parametrize(
    ("source", "condition"),
    [
        ({}, EVERYTHING),
        ({"filter": "  "}, EVERYTHING),
        ({"filter": "a"}, A),
        ({"filter": "a AND b"}, And((A, B))),
        ({"filter": "a OR b"}, Or((A, B))),
        ({"type": "Book"}, IsA("Book")),
        ({"type": "Book", "filter": ""}, IsA("Book")),
        ({"type": "Book", "filter": "a AND b"}, And((IsA("Book"), A, B))),
        ({"type": "Book", "filter": "a OR b"}, And((IsA("Book"), Or((A, B))))),
        ({"topic": "Sports"}, Compare("=", TOPIC, Literal("Sports"))),
        ({"topic": 42}, Compare("=", TOPIC, Literal(42))),
        ({"topic": "42"}, Compare("=", TOPIC, Literal("42"))),
        ({"pattern": "Sports/#", "filter": "a"}, And((TopicPattern(TOPIC, "Sports/#"), A))),
        ({"channel": "news"}, Compare("=", CHANNEL, Literal("news"))),
        ({"channel": 42}, Compare("=", CHANNEL, Literal(42))),
        ({"channel": "42"}, In(CHANNEL, (Literal("42"), Literal(42)))),
        ({"language": "tags", "filter": "x=y"}, Compare("=", Attribute(("x",)), Literal("y"))),
        ({"language": "topic", "filter": "Sports"}, Compare("=", TOPIC, Literal("Sports"))),
        ({"language": "topic", "type": "Book"}, IsA("Book")),
        ({"type": None, "topic": None, "pattern": None, "channel": None, "context": None}, EVERYTHING),
    ],
)
def test_type_topic_and_filter_all_have_to_hold(source: dict[str, Any], condition: Condition) -> None:
    """The parts are joined flat, one part stands alone, and an empty filter asks for nothing more (Narada §7.1.2)."""
    assert subscription_of({"id": "s", **source}).condition() == condition


def test_a_subscription_receives_subtypes() -> None:
    """A subscription to a type is to its subtypes too."""
    wanted = Subscription(id="s", type="Publication", filter="pages > 200").condition()
    assert evaluate(wanted, {"$type": ["Book", "Publication"], "pages": 300}) is True
    assert evaluate(wanted, {"$type": "Song", "pages": 300}) is False


def test_keys_that_mean_nothing_are_ignored() -> None:
    """Other programs may put more on a line."""
    context = {"floor": 3}
    source = {"id": "s", "language": "sql", "filter": "a", "predicates": [], "context": context}
    assert subscription_of(source) == Subscription(id="s", filter="a", context=context)


LANGUAGES_LISTED = "sql, tags, elvin, topic, pattern, integer, channel, xpath"
TEXT_OR_INTEGER = "must be a text or an integer, not"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "the subscription has no id"),
        ({"id": ""}, "id must be a text that is not empty, not ''"),
        ({"id": 7}, "id must be a text that is not empty, not 7"),
        ({"id": "x" * 1_025}, "the id has 1025 characters, at most 1024 are allowed"),
        ({"id": "\ud800"}, "id: lone surrogate U+D800 in text"),
        ({"id": "s", "filter": None}, "filter must be a text, not None"),
        ({"id": "s", "filter": ["x" * 50]}, f"filter must be a text, not ['{'x' * 38}…"),
        ({"id": "s", "type": 1}, "type must be the name of a type, not 1"),
        ({"id": "s", "type": ""}, "type is empty"),
        ({"id": "s", "type": "\udfff"}, "type: lone surrogate U+DFFF in text"),
        ({"id": "s", "topic": 1.5}, f"topic {TEXT_OR_INTEGER} 1.5"),
        ({"id": "s", "topic": True}, f"topic {TEXT_OR_INTEGER} True"),
        ({"id": "s", "topic": 2**63}, "topic: 9223372036854775808 does not fit in 64 bits"),
        ({"id": "s", "channel": []}, f"channel {TEXT_OR_INTEGER} []"),
        ({"id": "s", "pattern": 1}, "pattern must be a text, not 1"),
        ({"id": "s", "topic": "a", "pattern": "a/#"}, "topic and pattern are given together"),
        ({"id": "s", "topic": "a", "channel": 0, "pattern": "b"}, "topic and pattern and channel are given together"),
        ({"id": "s", "context": 3}, "context must be an object, not 3"),
        ({"id": "s", "context": {"x": 2**64}}, "context.x: 18446744073709551616 does not fit in 64 bits"),
        ({"id": "s", "language": "sqll"}, f"language: no filter language 'sqll', there are {LANGUAGES_LISTED}"),
        ({"id": "s", "language": None}, f"language: no filter language None, there are {LANGUAGES_LISTED}"),
    ],
)
def test_a_malformed_subscription_is_refused(source: dict[str, Any], message: str) -> None:
    """The error names the key and what stands there."""
    with pytest.raises(SubscriptionError) as caught:
        subscription_of(source)
    assert caught.value.message == message


@pytest.mark.parametrize("source", [[], "s1", None, 3])
def test_a_subscription_is_an_object(source: Any) -> None:
    """Any other JSON is refused."""
    with pytest.raises(SubscriptionError) as caught:
        subscription_of(source)
    assert caught.value.message == f"a subscription is an object, not {source!r}"


@pytest.mark.parametrize(
    ("source", "message", "position"),
    [
        ({"pattern": "a/#/b"}, "pattern: # is not the last level", 2),
        ({"topic": ""}, "topic: expected a topic, found the end", 0),
        ({"channel": ""}, "channel: expected a channel, found the end", 0),
        ({"filter": "a ="}, "expected a value, found the end", 3),
    ],
)
def test_a_malformed_filter_is_told_with_its_place(source: dict[str, Any], message: str, position: int) -> None:
    """A pattern, topic or channel that does not parse names its key; the filter's own error stands as it is."""
    with pytest.raises(FilterError) as caught:
        subscription_of({"id": "s", **source}).condition()
    assert (caught.value.message, caught.value.position) == (message, position)


def test_known_names_reach_the_parser() -> None:
    """Where a type's attributes are known, a filter that names another is refused."""
    with pytest.raises(FilterError) as caught:
        Subscription(id="s", filter="pags > 1").condition(known=("pages",))
    assert (caught.value.message, caught.value.hint) == ("unknown attribute 'pags'", "did you mean 'pages'?")
