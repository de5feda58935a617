"""JSON of values: every kind has a form, and no object is taken for one."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agvent.errors import LogFileError
from agvent.event import Int32
from agvent.store.values import decode_value, decode_values, encode_value, encode_values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (5.0, "5.0"),
        (-0.0, "-0.0"),
        (2**63 - 1, "9223372036854775807"),
        (Int32(5), '{"$int32":5}'),
        (math.inf, '{"$float":"inf"}'),
        (b"\x00\x01", '{"$bytes":"AAE="}'),
        (datetime(2026, 3, 1, tzinfo=UTC), '{"$timestamp":"2026-03-01T00:00:00+00:00"}'),
        ({"$bytes": "no bytes"}, '{"$object":{"$bytes":"no bytes"}}'),
        ({"$object": {"a": 1}}, '{"$object":{"$object":{"a":1}}}'),
        ({"$a": 1, "b": [Int32(1), None]}, '{"$a":1,"b":[{"$int32":1},null]}'),
        ({}, "{}"),
    ],
)
def test_forms(value: Any, text: str) -> None:
    """A value has one text, and the text gives the value back with its type and sign."""
    assert encode_value(value) == text
    back = decode_value(text)
    assert (type(back), repr(back)) == (type(value), repr(value))


def test_nan_comes_back() -> None:
    """NaN, which equals nothing, comes back as NaN."""
    assert math.isnan(decode_values(encode_values({"a": math.nan}))["a"])


def test_a_time_that_utc_has_not_comes_back() -> None:
    """An instant before year 1 in UTC keeps its own zone."""
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    assert decode_value(encode_value(first)) == first


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a":{"$what":1}}', '{"a":{"$int32":4294967296}}', '{"a":{"$bytes":"?"}}']
)
def test_what_is_no_json_of_values(text: str) -> None:
    """Other text is a damaged file, and says so."""
    with pytest.raises(LogFileError, match="is not JSON of values"):
        decode_values(text)
