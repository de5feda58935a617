"""Events and values: what may stand in an event, what a path finds, and when two values are equal."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from agvent import limits
from agvent.errors import EventError
from agvent.event import TYPES, Event, EventId, Kind, equal, event_of, kind_of, microseconds, name_of, time_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def complaint(source: Any) -> str:
    with pytest.raises(EventError) as caught:
        event_of(source)
    return caught.value.message


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Kind.NULL),
        (math.nan, Kind.NULL),
        (True, Kind.BOOL),
        (1, Kind.NUMBER),
        (1.5, Kind.NUMBER),
        (math.inf, Kind.NUMBER),
        ("", Kind.STRING),
        (b"", Kind.BYTES),
        (NOON, Kind.TIME),
        ([], Kind.LIST),
        ((), Kind.LIST),
        ({}, Kind.OBJECT),
        (MappingProxyType({}), Kind.OBJECT),
        (Kind.NUMBER, Kind.NUMBER),
    ],
)
def test_kinds(value: object, kind: Kind) -> None:
    """Each value has one kind: bool is not a number, NaN is null, a subclass is of its parent's kind."""
    assert kind_of(value) is kind


@pytest.mark.parametrize("value", [Decimal(1), date(2026, 3, 1), {1}, object(), 1j])
def test_other_types_are_refused(value: object) -> None:
    """A value of a type that no kind covers is no event's, and the message names the type."""
    assert complaint({"a": value}) == f"a value of type {type(value).__name__} cannot be an event's"


@pytest.mark.parametrize("value", [limits.INT_MIN, limits.INT_MAX])
def test_integers_have_64_bits(value: int) -> None:
    """The smallest and the largest 64-bit integer are values, their neighbours outside are not."""
    assert event_of({"a": [value]}).lookup(("a", 0)) == value
    outside = value + (1 if value > 0 else -1)
    assert complaint({"a": [outside]}) == f"a[0]: {outside} does not fit in 64 bits"


def test_a_lone_surrogate_is_refused_in_values_and_names() -> None:
    """Text is Unicode scalar values, wherever it stands."""
    assert complaint({"a": {"b": "x\ud800"}}) == "a.b: lone surrogate U+D800 in text"
    assert complaint({"a": {"\udc00": 1}}) == "a.\\udc00: lone surrogate U+DC00 in text"
    assert complaint({"\udc00": 1}).endswith("lone surrogate U+DC00 in text")
    assert complaint({"$topic": "\ud800"}) == "$topic: lone surrogate U+D800 in text"


def test_a_timestamp_needs_a_zone() -> None:
    """A datetime without a zone names no instant."""
    assert complaint({"a": datetime(2026, 3, 1)}) == "timestamp 2026-03-01T00:00:00 has no time zone"  # noqa: DTZ001


@pytest.mark.parametrize(("time", "hours"), [("0001-01-01T00:00:00", 14), ("9999-12-31T23:59:59", -14)])
def test_a_timestamp_has_a_date_in_utc(time: str, hours: int) -> None:
    """One that UTC has no year for is refused where it stands, not where it is written."""
    outside = datetime.fromisoformat(time).replace(tzinfo=timezone(timedelta(hours=hours)))
    said = f"{outside.isoformat()} is outside the years 1 to 9999 of UTC"
    assert complaint({"a": [outside]}) == f"a[0]: {said}"
    assert complaint({"$time": outside}) == f"$time: {said}"


def test_names_are_strings_without_a_leading_dollar() -> None:
    """Attribute names are strings, and $ is kept for reserved keys."""
    assert complaint({1: 2}) == "1 cannot name an attribute"
    assert complaint({"a": {1: 2}}) == "a: the key 1 is not a string"
    assert complaint({"$price": 2}) == "$price is not a reserved key"
    with pytest.raises(EventError):
        Event(attributes={"$topic": "x"})


def test_depth_is_bounded() -> None:
    """Nesting ends at the limit, also for a value that contains itself."""
    endless: list[Any] = []
    endless.append(endless)
    assert complaint({"a": endless}).endswith(f"nested deeper than {limits.EVENT_DEPTH_MAX} levels")


def test_reserved_keys_become_headers() -> None:
    """`$type`, `$topic`, `$channel`, `$time` and `$xml` carry what their names say; the rest are attributes."""
    source = {
        "$type": ["Book", "Item"],
        "$topic": 3,
        "$channel": "c",
        "$time": "2026-03-01T12:00Z",
        "$xml": "<a/>",
        "b": 1,
    }
    assert event_of(source) == Event(
        attributes={"b": 1}, type="Book", ancestors=("Item",), topic=3, channel="c", time=NOON, xml="<a/>"
    )


@pytest.mark.parametrize(
    "header",
    [{"$type": 1}, {"$type": []}, {"$type": ["a", 1]}, {"$topic": True}, {"$topic": 1.5}, {"$time": 5}, {"$xml": b""}],
)
def test_reserved_keys_have_their_kinds(header: dict[str, Any]) -> None:
    """A reserved key with a value of another kind is refused."""
    [(name, value)] = header.items()
    assert complaint(header) == f"{name} cannot be {value!r}"


def test_a_reserved_key_may_be_null() -> None:
    """A null header is a missing one."""
    assert event_of({"$type": None, "$topic": None, "$time": None}) == Event()


def test_an_event_stays_itself() -> None:
    """An Event is given back as it is; what is neither event nor mapping is refused."""
    event = Event(attributes={"a": 1}, id=EventId("p", 1))
    assert event_of(event) is event
    assert complaint([1]) == "an event is an object of attributes, not list"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a",), 1),
        (("o", "l", 1, "p"), 2.5),
        (("o", "l", 2), None),
        (("o", "l", "p"), None),
        (("o", 0), None),
        (("a", "b"), None),
        (("a", 0), None),
        (("s", 0), None),
        (("nothing",), None),
        (("nothing", "below"), None),
        (("$topic",), "Sports/NBA"),
        (("$type",), "Book"),
        ((TYPES,), ("Book", "Item")),
        ((TYPES, 1), "Item"),
        (("$channel",), None),
        (("$time",), NOON),
        (("$xml",), None),
        (("a.b",), 7),
    ],
)
def test_lookup(path: tuple[str | int, ...], value: object) -> None:
    """A path steps into objects by name and lists by position, and finds null where there is nothing."""
    attributes = {"a": 1, "o": {"l": [None, {"p": 2.5}]}, "s": "text", "a.b": 7}
    event = Event(attributes=attributes, topic="Sports/NBA", type="Book", ancestors=("Item",), time=NOON)
    assert event.lookup(path) == value


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (9007199254740993, 9007199254740992.0, False),
        (9007199254740992, 9007199254740992.0, True),
        (0.0, -0.0, True),
        (1, True, False),
        (0, False, False),
        (None, None, False),
        (math.nan, math.nan, False),
        (math.inf, math.inf, True),
        ("1", 1, False),
        ("a", b"a", False),
        ("é", "e\u0301", False),
        (NOON, NOON.astimezone(timezone(timedelta(hours=3))), True),
        ([1], [1], False),
        ({}, {}, False),
    ],
)
def test_equality(a: object, b: object, same: bool) -> None:
    """Values of one kind are equal by exact value; unlike kinds, nulls, lists and objects never are."""
    assert equal(a, b) is same
    assert equal(b, a) is same


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00:00", NOON),
        ("2026-03-01 12:00:00Z", NOON),
        ("2026-03-01T14:00:00+02:00", NOON),
        ("2026-03-01T12:00:00.000001Z", NOON + timedelta(microseconds=1)),
    ],
)
def test_timestamp_text(text: str, time: datetime) -> None:
    """ISO 8601; without a zone it is UTC, without a time of day midnight."""
    assert time_of(text) == time


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "2026-02-30", "0001-01-01T00:00:00+05:00"])
def test_what_is_no_timestamp_is_refused(text: str) -> None:
    """Text that names no instant between the years 1 and 9999 in UTC is refused."""
    with pytest.raises(EventError, match="is not a timestamp"):
        time_of(text)


def test_microseconds_are_exact() -> None:
    """A timestamp is a whole number of microseconds, before 1970 too."""
    assert microseconds(datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)) == 253402300799999999
    assert microseconds(datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)) == -1


def test_a_path_is_named_as_filters_write_it() -> None:
    """Names are joined by dots, positions stand in brackets, and the whole is `event`."""
    assert name_of(("order", "lines", 0, "price")) == "order.lines[0].price"
    assert name_of(()) == "event"
