"""Elvin notifications as events, and back."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agvent.elvin import ElvinValue, event_of_notification, notification_of
from agvent.errors import EventError
from agvent.event import Event, Int32, Kind, kind_of
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.matching.subscriptions import Subscriptions

NOTIFICATION = {
    "least": ElvinValue("int32", -(2**31)),
    "greatest": ElvinValue("int32", 2**31 - 1),
    "small": ElvinValue("int64", 1),
    "large": ElvinValue("int64", -(2**63)),
    "real": ElvinValue("real64", 1.0),
    "zero": ElvinValue("real64", -0.0),
    "endless": ElvinValue("real64", math.inf),
    "text": ElvinValue("string", ""),
    "two words": ElvinValue("string", "日本"),
    "data": ElvinValue("opaque", b"\x00\xff"),
}


def test_a_notification_survives_the_way_there_and_back() -> None:
    """Names, values and types are the same; int32 and int64 stay apart, 1 and 1.0 too, and -0.0 keeps its sign."""
    back = notification_of(event_of_notification(NOTIFICATION))
    assert back == NOTIFICATION
    assert {name: (repr(value), type(value.value)) for name, value in back.items()} == {
        name: (repr(value), type(value.value)) for name, value in NOTIFICATION.items()
    }


def test_nan_survives() -> None:
    """NaN equals nothing, but it is still there."""
    event = event_of_notification({"n": ElvinValue("real64", math.nan)})
    assert evaluate(parse("nan(n)", "elvin"), event) is True
    assert math.isnan(notification_of(event)["n"].value)  # type: ignore[arg-type]


def test_an_int32_is_a_number_like_any_other() -> None:
    """Kind, equality, oracle and index do not tell it from an int; only the type predicates do."""
    event = event_of_notification({"n": ElvinValue("int32", 7), "m": ElvinValue("int64", 7)})
    assert kind_of(event.attributes["n"]) is Kind.NUMBER
    index = Subscriptions()
    index.add("sql", "n = 7 AND n BETWEEN 6 AND 7.5 AND n IN (7)")
    index.add("elvin", "n == m && int32(n) && int64(m)", language="elvin")
    index.add("other", "int64(n) || int32(m)", language="elvin")
    assert index.match(event) == index.match(dict(event.attributes)) == ["elvin", "sql"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (ElvinValue("int32", 2**31), "n: 2147483648 does not fit in 32 bits"),
        (ElvinValue("int64", 2**63), "n: 9223372036854775808 does not fit in 64 bits"),
        (ElvinValue("int32", 1.0), "n: float is not int32"),
        (ElvinValue("int32", True), "n: bool is not int32"),
        (ElvinValue("real64", 1), "n: int is not real64"),
        (ElvinValue("opaque", "x"), "n: str is not opaque"),
        (ElvinValue("string", "a\x00"), "n: a string of Elvin's has no NUL"),
        (ElvinValue("int16", 1), "n: 'int16' is not a type of Elvin"),
    ],
)
def test_what_is_no_notification_is_refused(value: ElvinValue, message: str) -> None:
    """The error names the attribute."""
    with pytest.raises(EventError) as caught:
        event_of_notification({"n": value})
    assert caught.value.message == message


def test_a_name_may_not_be_a_header() -> None:
    """Elvin's names begin with a letter or underscore; the event's headers have the dollar."""
    with pytest.raises(EventError, match=r"'\$topic' cannot name an attribute"):
        event_of_notification({"$topic": ElvinValue("int32", 1)})


@pytest.mark.parametrize("value", [None, True, [1], {"x": 1}])
def test_what_elvin_has_no_type_for_is_refused(value: Any) -> None:
    """Null, booleans, lists and objects do not go into a notification."""
    with pytest.raises(EventError, match=rf"^n: Elvin has no type for {type(value).__name__}$"):
        notification_of(Event(attributes={"n": value}))


def test_headers_do_not_go_into_a_notification() -> None:
    """An event's topic would be lost, so it is refused."""
    with pytest.raises(EventError, match=r"^\$topic: a notification has attributes and no headers$"):
        notification_of(Event(attributes={"n": Int32(1)}, topic="x"))
    with pytest.raises(EventError, match=r"^n: a string of Elvin's has no NUL$"):
        notification_of(Event(attributes={"n": "\x00"}))
