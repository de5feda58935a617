"""The parts of a replay that need no Spark."""

from __future__ import annotations

from datetime import UTC, datetime

from agvent import Subscription, parse
from agvent.filters.tree import Attribute, Compare, Literal
from agvent.spark.replays.log_replay import addressing
from agvent.spark.replays.table_replay import Window
from agvent.spark.replays.verifiers import names_read

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_window_is_conditions() -> None:
    """Its start is in it, its end is not, and no bound is no condition."""
    time = Attribute(("at",))
    assert Window(NOON, NOON).tests(time) == (Compare(">=", time, Literal(NOON)), Compare("<", time, Literal(NOON)))
    assert Window().tests(time) == ()


def test_a_window_says_what_it_is() -> None:
    """In the words of the command line."""
    assert str(Window(NOON)) == "since 2026-03-01T12:00:00+00:00"
    assert str(Window(None, NOON)) == "since the beginning until 2026-03-01T12:00:00+00:00"


def test_what_a_filter_reads() -> None:
    """Attributes by their first step, the type for a type, the document for an XPath."""
    assert names_read(parse("a.b > 1 AND $topic = 'x' AND contains(c, d)")) == {"a", "$topic", "c", "d"}
    assert names_read(Subscription(id="s", type="Book", language="xpath", filter="/a").condition()) == {"$type", "$xml"}


def test_addressing_is_of_headers_alone() -> None:
    """A conjunct that also reads an attribute is none, whatever else it reads."""
    subscription = Subscription(id="s", type="Book", pattern="a/#", filter="price > 1 AND ($topic = 'a' OR price < 2)")
    whole = Subscription(id="s", type="Book", pattern="a/#").condition()
    assert addressing(subscription.condition()) == whole
