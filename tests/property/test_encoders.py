"""Every encoder gives what the Python one gives of the same events, to the last bit."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agvent.errors import EventError
from agvent.event import Event, Kind, Path, event_of
from agvent.event_json import decode_event, encode_event
from agvent.matching.columns.slots import Slots
from agvent.matching.encoders.arrow import encode_arrow
from agvent.matching.encoders.events import encode_events
from agvent.matching.encoders.json_lines import JsonLayout, encode_json, scanned
from tests import strategies
from tests.columns import attribute, dictionary, everything, row_of, rows_of

CHECKED = settings(max_examples=200, deadline=None)

PATHS: tuple[Path, ...] = (
    ("a",), ("b",), ("b", "c"), ("b", "c", "a"), ("list",), ("items", 0), ("items", 1, "a"), ("é",),
    ("$type",), ("$topic",), ("$channel",), ("$time",), ("$xml",),
)  # fmt: skip
EVERYTHING = everything(*PATHS)
TYPES = Slots()
TYPES.list(attribute("$types"), Kind.STRING)
TYPES.value(attribute("a"), Kind.NUMBER)
TYPES.value(attribute("b", "c"), Kind.STRING)
STRINGS = dictionary(["", "x", "X", "é", "É", "日本", "😀", 'a"b', "a\\b", "\n", "Book", "Item", b"\0\1"])

names = st.sampled_from(["a", "b", "c", "é", "list", "items", "unasked", 'q"q', ""])
texts = st.one_of(st.sampled_from(["", "x", "X", "É", "日本", "😀", 'a"b', "a\\b", "\n"]), st.text(max_size=6))
numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6).map(lambda number: round(number, 2)),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
stamps = st.sampled_from([{"$timestamp": "2026-03-01T12:00:00Z"}, {"$bytes": "AAE="}, {"$timestamp": "2026-W10"}])
values = st.recursive(
    st.one_of(scalars, scalars, stamps),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "$type": st.sampled_from(["Book", "Item", None, ["Book", "Item"], ["?"]]),
        "$topic": st.one_of(texts, st.integers(-9, 9), st.none()),
        "$channel": st.one_of(texts, st.integers(-9, 9)),
        "$time": st.sampled_from(["2026-03-01", "2026-03-01T12:00:00.25+01:00", "20260301"]),
        "$xml": st.sampled_from(["<a/>", "<a>É</a>", "<a", "", "x", None]),
    },
)
objects = st.tuples(st.dictionaries(names, values, max_size=6), headers).map(lambda parts: {**parts[0], **parts[1]})

separators = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "  : ")])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """An event as JSON, in one of the ways that programs write it; sometimes with a key twice."""
    event = draw(objects)
    text = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=draw(separators))
    if draw(st.integers(0, 7)) == 0:
        again = json.dumps({draw(names): draw(values)})
        text = again if text == "{}" else f"{text[:-1]},{again[1:]}"
    return (draw(st.sampled_from(["", " "])) + text + draw(st.sampled_from(["", "\t\r"]))).encode()


BYTES = st.one_of(st.integers(0, 255), st.sampled_from(list(b'{}[],:"\\0123456789.eE+- \tutrfn$')))


@st.composite
def broken_lines(draw: st.DrawFn) -> bytes:
    """A line with some bytes changed, left out or put in."""
    data = bytearray(draw(lines()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = bytes(draw(st.lists(BYTES, max_size=2)))
    return bytes(data).replace(b"\n", b" ")


def check_lines(found: list[bytes], slots: Slots) -> None:
    """Each line gives the row of its event, or is rejected as decode_event rejects it, or is blank."""
    batch = encode_json(b"".join(line + b"\n" for line in found), slots, STRINGS)
    complaints = {one.event: one.message for one in batch.rejected}
    assert len(batch) == len(found)
    for row, line in enumerate(found):
        complaint, event = None, None
        if line.strip(b" \t\r"):
            try:
                event = decode_event(line)
            except EventError as error:
                complaint = error.message
        assert complaints.get(row) == complaint, line
        if event is None:
            assert not batch.live[row], line
        else:
            assert row_of(batch, row) == row_of(encode_events([event], slots, STRINGS), 0), line
            assert batch.event(row) == event or "nan" in repr(event)


@CHECKED
@given(st.lists(lines(), max_size=6))
def test_json_lines_say_what_decode_event_says(found: list[bytes]) -> None:
    """Whatever the style, the escapes, the numbers, the nesting and the headers."""
    check_lines(found, EVERYTHING)
    check_lines(found, TYPES)


@CHECKED
@given(st.lists(st.one_of(broken_lines(), lines()), max_size=6))
def test_broken_json_lines_are_read_or_refused_as_decode_event_does(found: list[bytes]) -> None:
    """A changed byte never lets the scanner accept, or read otherwise, what decode_event would not."""
    check_lines(found, EVERYTHING)
    check_lines(found, TYPES)


digits = st.text("0123456789", min_size=1, max_size=22)


@st.composite
def number_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", "-"])) + draw(digits).lstrip("0")
    text += "" if text[-1:].isdigit() else "0"
    if draw(st.booleans()):
        text += "." + draw(digits)
    if draw(st.booleans()):
        text += draw(st.sampled_from("eE")) + draw(st.sampled_from(["", "+", "-"])) + str(draw(st.integers(0, 330)))
    return text


@settings(max_examples=500, deadline=None)
@given(st.lists(st.one_of(number_texts(), st.floats(allow_nan=False, allow_infinity=False).map(repr)), min_size=1))
@example(["9007199254740993", "37.807807921694092", "5e-324", "1.7976931348623158e308", "8.5e22", "1e23", "-0.0"])
@example(["9007199254740992.5", "9007199254740993.5", "4503599627370496.5", "4503599627370497.5"])
@example(
    ["2.2250738585072011e-308", "2.2250738585072014e-308", "6929495644600920000e0", "0.500000000000000166533453694"]
)
def test_numbers_are_exact(texts: list[str]) -> None:
    """An integer is its nearest float, a float the nearest one to its decimal digits, or the line is refused."""
    slots = Slots()
    slots.value(attribute("a"), Kind.NUMBER)
    batch = encode_json("\n".join(f'{{"a":{text}}}' for text in texts).encode(), slots, STRINGS)
    for row, text in enumerate(texts):
        exact = float(text) if any(mark in text for mark in ".eE") else int(text)
        fits = math.isfinite(exact) if isinstance(exact, float) else -(2**63) <= exact < 2**63
        assert bool(batch.live[row]) == fits, text
        if fits:
            assert batch.values[row, 0].hex() == (float(exact) + 0.0).hex(), text


zones: st.SearchStrategy[Any] = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=3)), timezone(-timedelta(hours=11, minutes=30))]
)
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)  # noqa: DTZ001 - the zone is drawn


@CHECKED
@given(st.lists(st.tuples(instants, st.sampled_from("T "), st.sampled_from(["auto", "seconds", "milliseconds"]))))
def test_the_scanner_reads_timestamps_as_python_does(drawn: list[tuple[datetime, str, Any]]) -> None:
    """Every instant that isoformat writes in these ways is read by the scanner, to the microsecond."""
    slots = Slots()
    slots.value(attribute("$time"), Kind.TIME)
    slots.value(attribute("a"), Kind.TIME)
    found = [time.isoformat(mark, style) for time, mark, style in drawn]
    found += [text.replace("+00:00", "Z") for text in found] + [text[:10] for text in found]
    data = "".join(f'{{"$time":"{text}","a":{{"$timestamp":"{text}"}}}}\n' for text in found).encode()
    made = scanned(np.frombuffer(data, np.uint8), slots.derived(JsonLayout), STRINGS.view)
    assert len(made.slow) == 0
    expected = encode_events([decode_event(line) for line in data.splitlines()], slots, STRINGS)
    assert made.columns[0].tolist() == expected.values.tolist()


ARROW_TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "a": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "b": (pa.struct({"c": pa.struct({"a": pa.float64()})}), st.fixed_dictionaries(
        {"c": st.one_of(st.none(), st.fixed_dictionaries({"a": st.floats(allow_nan=False) | st.none()}))}
    )),
    "é": (pa.string(), texts),
    "list": (pa.list_(pa.string()), st.lists(texts | st.none(), max_size=3)),
    "items": (pa.large_list(pa.struct({"a": pa.bool_()})), st.lists(
        st.one_of(st.none(), st.fixed_dictionaries({"a": st.none() | st.booleans()})), max_size=3
    )),
    "$type": (pa.string(), texts),
    "$topic": (pa.large_string(), texts),
    "$channel": (pa.int16(), st.integers(-9, 9)),
    "$time": (pa.timestamp("us", "UTC"), st.datetimes(datetime(1, 1, 2), timezones=st.just(UTC))),  # noqa: DTZ001
    "unasked": (pa.binary(), st.binary(max_size=3)),
}  # fmt: skip
arrow_rows = st.lists(
    st.fixed_dictionaries({name: st.none() | found for name, (_, found) in ARROW_TYPES.items()}), max_size=6
)


@CHECKED
@given(arrow_rows, st.sets(st.sampled_from(sorted(ARROW_TYPES))), st.integers(0, 6), st.integers(0, 6))
def test_arrow_says_what_its_rows_say(rows: list[dict[str, Any]], columns: set[str], first: int, count: int) -> None:
    """Any columns, nulls anywhere, any slice: the rows are encoded as the same events in Python, and are given back."""
    rows = [{name: row[name] for name in columns} for row in rows]
    schema = pa.schema([(name, ARROW_TYPES[name][0]) for name in sorted(columns)])
    batch = pa.RecordBatch.from_pylist(rows, schema) if columns else pa.record_batch({"a": pa.nulls(len(rows))})
    batch = batch.slice(first, count)
    events: list[Event] = [event_of(row) for row in rows[first : first + count]]
    for slots in (EVERYTHING, everything(("$types",), ("b", "c", "a"))):
        encoded = encode_arrow(batch, slots, STRINGS)
        assert rows_of(encoded) == rows_of(encode_events(events, slots, STRINGS))
        assert not columns or [encoded.event(row) for row in range(len(events))] == events


def told(value: Any) -> Any:
    """A value as a line says it, with the type of a number: NaN is null, a tuple a list, an integer has no width."""
    if isinstance(value, dict):
        return {key: told(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value]
    if isinstance(value, (int, float)) and value == value:
        return (isinstance(value, bool), isinstance(value, int), repr(value + 0))
    return None if value != value else value


HEADER_FIELDS = ("type", "ancestors", "topic", "channel", "time", "xml")


def facts(event: Event) -> Any:
    return told(dict(event.attributes)), [told(getattr(event, name)) for name in HEADER_FIELDS]


@CHECKED
@given(event=strategies.events())
def test_an_event_comes_back_from_its_line(event: Event) -> None:
    """Headers and attributes are as they were, to the type of each number; an infinite one has no line."""
    if re.search(r"\binf\b", repr(event.attributes)):
        with pytest.raises(EventError, match="no line of JSON has an infinite number"):
            encode_event(event)
    else:
        assert facts(decode_event(encode_event(event))) == facts(event)
