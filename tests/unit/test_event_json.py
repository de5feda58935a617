"""What a line of JSON says: every decision of event_json.py, one test each."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event
from agvent.event_json import decode_event, encode_event


def decoded(line: bytes | str) -> Any:
    """The attribute `a` of the event."""
    return decode_event(line.encode() if isinstance(line, str) else line).attributes["a"]


def complaint(line: bytes | str) -> str:
    with pytest.raises(EventError) as caught:
        decode_event(line.encode() if isinstance(line, str) else line)
    return caught.value.message


def test_members_are_attributes_and_reserved_keys_are_headers() -> None:
    """A line gives the whole event: attributes, type with ancestors, topic, channel, time and XML."""
    line = b"""{"$type": ["Book", "Product"], "$topic": "books/new", "$channel": 7, "$time": "2026-03-01T12:00:00Z",
        "$xml": "<a/>", "pages": 301, "order": {"lines": [{"price": 1.5}]}, "none": null, "yes": true}"""
    assert decode_event(line) == Event(
        attributes={"pages": 301, "order": {"lines": [{"price": 1.5}]}, "none": None, "yes": True},
        type="Book",
        ancestors=("Product",),
        topic="books/new",
        channel=7,
        time=datetime(2026, 3, 1, 12, tzinfo=UTC),
        xml="<a/>",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", limits.INT_MAX),
        ("-9223372036854775808", limits.INT_MIN),
        ("9007199254740993", 9007199254740993),
        ("37.807807921694092", 37.807807921694092),
        ("1.0", 1.0),
        ("1E5", 100000.0),
        ("1e-400", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
def test_numbers_are_exact(text: str, value: float) -> None:
    """A number without fraction and exponent is an int, to the last digit; every other one the nearest float."""
    found = decoded(f'{{"a": {text}}}')
    assert (type(found), found) == (type(value), value)


def test_minus_zero_is_an_int_without_a_fraction_and_keeps_its_sign_with_one() -> None:
    """`-0` is the integer 0 and `-0.0` the float -0.0; the two compare equal."""
    assert type(decoded('{"a": -0}')) is int
    assert math.copysign(1.0, decoded('{"a": -0.0}')) == -1.0


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "123456789012345678901234567890"])
def test_an_integer_beyond_64_bits_is_refused_by_name(text: str) -> None:
    """An integer that does not fit is not rounded to a float."""
    assert complaint(f'{{"a": {text}}}') == f"a: {text} does not fit in 64 bits"


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1" * 5000, "1e99999999999999999999"])
def test_a_number_beyond_the_largest_float_is_refused(text: str) -> None:
    """A number that would become infinite is refused, and so is an integer of thousands of digits."""
    assert complaint(f'{{"a": {text}}}') == "a number does not fit: integers have 64 bits, floats reach to 1.8e308"


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "nan", "01", "1.", ".5", "+1", "'x'", "0x1"])
def test_what_is_not_json_is_refused(text: str) -> None:
    """NaN and infinities have no JSON; neither have the number forms of other languages."""
    assert complaint(f'{{"a": {text}}}').startswith("JSON is malformed: ")


def test_the_last_of_two_members_with_one_name_stands() -> None:
    """A duplicate key is not an error: the last value counts, for attributes and for reserved keys."""
    assert decode_event(b'{"a": 1, "$topic": "x", "a": 2, "$topic": "y"}') == Event(attributes={"a": 2}, topic="y")


@pytest.mark.parametrize("text", [r"\ud800", r"\udc00", r"\udc00x", r"\ud800\ud800", r"\ud800\u0041", r"\uD800 "])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    """Half of a surrogate pair is no character, wherever in a string it stands."""
    assert complaint(f'{{"a": "{text}"}}') == "lone surrogate at byte 7"


def test_a_surrogate_pair_is_one_character() -> None:
    """An escaped pair is the character it stands for, and an escaped backslash before `ud800` is no escape."""
    assert decoded(r'{"a": "\ud83d\ude00"}') == "\N{GRINNING FACE}"
    assert decoded(r'{"a": "\\ud800"}') == r"\ud800"


@pytest.mark.parametrize(
    ("line", "position"), [(b'{"a": "\xff"}', 7), (b'{"a": "\xed\xa0\x80"}', 7), (b'{"\xc3": 1}', 2), (b"\xff\xfe{", 0)]
)
def test_bytes_that_are_not_utf8_are_refused(line: bytes, position: int) -> None:
    """Text is UTF-8, names included; an encoded surrogate is not UTF-8."""
    assert complaint(line) == f"byte {position} is not UTF-8"


def test_empty_strings_and_names_are_values_and_names() -> None:
    """An empty string is a string and an empty name a name; neither is null."""
    assert decode_event(b'{"a": "", "": 1}').attributes == {"a": "", "": 1}


@pytest.mark.parametrize("line", ['{"a": "\t"}', '{"a": "\x00"}', "{'a': 1}", '{"a": 1,}', '{"a": 1} x', "\ufeff{}"])
def test_text_around_and_inside_must_be_strict_json(line: str) -> None:
    """Raw control characters, single quotes, trailing commas, trailing text and a byte order mark are refused."""
    assert complaint(line).startswith("JSON is malformed: ")


def test_a_line_may_end_in_a_carriage_return() -> None:
    """White space around the object is JSON's own, so files with CRLF line ends read as they are."""
    assert decoded(b' {"a": 1} \r') == 1


@pytest.mark.parametrize(
    ("line", "name"), [("[1]", "an array"), ("1", "a number"), ('"x"', "a string"), ("null", "null")]
)
def test_an_event_is_an_object(line: str, name: str) -> None:
    """Other JSON values are no events."""
    assert complaint(line) == f"an event is a JSON object, not {name}"


@pytest.mark.parametrize("line", ["", " ", "\r"])
def test_an_empty_line_is_no_event(line: str) -> None:
    """There is nothing to match in an empty line."""
    assert complaint(line) == "an empty line is not an event"


def test_a_cut_line_says_so() -> None:
    """A line without its end, as a crashed writer leaves it, is named as that."""
    assert complaint('{"a": [1, 2') == "the line ends before its JSON does"


def test_depth_is_bounded() -> None:
    """The deepest nesting allowed reads; one level more is refused, and so is one that would exhaust the stack."""
    deepest = limits.EVENT_DEPTH_MAX - 1
    decode_event(b'{"a": ' + b"[" * deepest + b"]" * deepest + b"}")
    too_deep = f"nested deeper than {limits.EVENT_DEPTH_MAX} levels"
    assert complaint(b'{"a": ' + b"[" * (deepest + 1) + b"]" * (deepest + 1) + b"}").endswith(too_deep)
    assert complaint(b'{"a": ' + b'{"b":' * 500 + b"1" + b"}" * 500 + b"}").endswith(too_deep)
    assert complaint(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}") == too_deep


def test_length_is_bounded() -> None:
    """A line longer than an event may be is refused without reading it."""
    line = b'{"a": 1}'.ljust(limits.EVENT_BYTES_MAX)
    assert decode_event(line).attributes == {"a": 1}
    assert complaint(line + b" ") == f"the line has {len(line) + 1} bytes, at most {len(line)} are read"


def test_timestamps_and_bytes_have_their_own_forms() -> None:
    """`$timestamp` and `$bytes` are read at every depth, in lists too; a time without a zone is UTC."""
    line = b'{"a": {"$timestamp": "2026-03-01T13:00:00+01:00"}, "b": [{"$bytes": "AAEC"}], "c": {"d": {"$bytes": ""}}}'
    assert decode_event(line).attributes == {
        "a": datetime(2026, 3, 1, 12, tzinfo=UTC),
        "b": [b"\x00\x01\x02"],
        "c": {"d": b""},
    }
    assert decoded('{"a": {"$timestamp": "2026-03-01"}}') == datetime(2026, 3, 1, tzinfo=UTC)
    assert decode_event(b'{"$time": {"$timestamp": "2026-03-01"}}').time == datetime(2026, 3, 1, tzinfo=UTC)


def test_text_that_looks_like_a_timestamp_is_text() -> None:
    """No string becomes a timestamp by its looks."""
    assert decoded('{"a": "2026-03-01T12:00:00Z"}') == "2026-03-01T12:00:00Z"


def test_a_form_is_an_object_of_one_member() -> None:
    """An object with more members than `$timestamp` is an ordinary object."""
    assert decoded('{"a": {"$timestamp": "x", "b": 1}}') == {"$timestamp": "x", "b": 1}
    assert decoded('{"a": {"$other": 1}}') == {"$other": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"$timestamp": "yesterday"}', "a.b: 'yesterday' is not a timestamp"),
        ('{"$timestamp": 5}', "a.b: $timestamp holds ISO 8601 text, not a number"),
        ('{"$timestamp": null}', "a.b: $timestamp holds ISO 8601 text, not null"),
        ('{"$bytes": [1]}', "a.b: $bytes holds base64 text, not an array"),
        ('{"$bytes": "A"}', "a.b: $bytes is not base64"),
        ('{"$bytes": "AA EC"}', "a.b: $bytes is not base64"),
        ('{"$bytes": "\\u00e9"}', "a.b: $bytes is not base64"),
    ],
)
def test_a_malformed_form_is_refused_by_name(value: str, message: str) -> None:
    """A timestamp or bytes value that cannot be read is an error that names its path."""
    assert complaint(f'{{"a": {{"b": {value}}}}}').startswith(message)


@pytest.mark.parametrize("line", ['{"$timestamp": "2026-03-01"}', '{"$id": 1}', '{"$": 1}'])
def test_unknown_reserved_keys_are_refused(line: str) -> None:
    """At the top, a name that begins with $ is reserved, and one without a meaning is a mistake."""
    assert complaint(line).endswith("is not a reserved key")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (math.inf, "a: no line of JSON has an infinite number"),
        ([{"b": -math.inf}], "a[0].b: no line of JSON has an infinite number"),
        ({"$bytes": "AAEC"}, "a: no line of JSON has an object with the one member $bytes"),
    ],
)
def test_a_value_that_no_line_can_say_is_refused(value: Any, complaint: str) -> None:
    """It is named; nothing else is written in its place."""
    with pytest.raises(EventError) as caught:
        encode_event(Event(attributes={"a": value}))
    assert caught.value.message == complaint
