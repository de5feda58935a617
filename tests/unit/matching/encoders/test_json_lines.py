"""JSON lines as columns: what a line gives, which lines are no events, and which the scanner reads by itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event, Kind, Path
from agvent.event_json import decode_event
from agvent.matching.columns.column_batch import ColumnBatch
from agvent.matching.columns.slots import Slots
from agvent.matching.encoders.events import encode_events
from agvent.matching.encoders.json_lines import JsonLayout, encode_json, scanned
from agvent.matching.encoders.json_scan import count_lines
from tests.columns import attribute, dictionary, everything, rows_of

PATHS: tuple[Path, ...] = (
    ("a",), ("b",), ("b", "c"), ("b", "c", "d"), ("list",), ("items", 0), ("items", 1, "price"), ("ü",),
    ("$type",), ("$topic",), ("$channel",), ("$time",), ("$xml",),
)  # fmt: skip
EVERYTHING = everything(*PATHS)
STRINGS = dictionary(["x", "X", "xyz", "", "é", "É", "Book", "Item", "a/b", '"', "\\", "\n", "😀", "<a/>"])


def encoded(*lines: str | bytes, slots: Slots = EVERYTHING) -> ColumnBatch:
    return encode_json(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines), slots, STRINGS)


def is_slow(line: str | bytes, slots: Slots = EVERYTHING) -> bool:
    """Does the scanner give the line up?"""
    data = (line.encode() if isinstance(line, str) else line) + b"\n"
    return len(scanned(np.frombuffer(data, np.uint8), slots.derived(JsonLayout), STRINGS.view).slow) == 1


FAST = [
    '{"a": 1}',
    "{}",
    ' { "a" : 1 , "b" : { } , "list" : [ ] } \r',
    '{"a":"x","b":{"c":{"d":true,"e":null},"c2":[{}]},"unasked":{"b":{"c":[1,{"d":2}]}}}',
    '{"a": null, "b": null, "list": null}',
    '{"a": 9223372036854775807, "b": -9223372036854775808}',
    '{"a": -0, "b": -0.0, "ü": 0e5}',
    '{"a": 0.1, "b": 37.807807921694092, "ü": 1.7976931348623157e308}',
    '{"a": 2.2250738585072014e-308, "b": 123456789012345678E-9, "ü": 5e+22}',
    '{"a": 0.0000000000000000000000000012345678901234567}',
    '{"list": [1, "x", true, false, null, 2.5, "é", [3], {"x": [4]}, {"$timestamp": "2026-03-01"}]}',
    '{"items": [7, {"price": 2, "x": 3}], "list": []}',
    '{"items": {"0": 5}, "b": [1]}',
    '{"a": "É", "b": "日本", "ü": "@AZ[`az{"}',
    '{"a": "\\u00e9 \\ud83d\\ude00 \\" \\\\ \\/ \\b\\f\\n\\r\\t \\u0000", "unasked": "\\ud83d\\ude00"}',
    '{"\\u00fc": 5, "\\u0061": "x"}',
    '{"unasked": [true, -1.5e3, "\\n", {"list": [{}, []]}], "unasked": 12}',
    '{"$topic": "a/b", "$channel": 7, "$type": "Book"}',
    '{"$topic": 12, "$channel": "x", "$type": null, "$time": null}',
    '{"$type": ["Book", "Item", "It\\u0065m"]}',
    '{"$time": "2026-03-01", "a": {"$timestamp": "1969-12-31T23:59:59.999999+23:59"}}',
    '{"$time": "2024-02-29 12:30:59.5Z", "unasked": { "$timestamp" : "0002-01-01T00:00:00-01:00" } }',
    '{"": 1, "a": ""}',
    '{"unasked": ' + "[" * 31 + "]" * 31 + "}",
    '{"a": {"x": 1}, "b": {"x": 1}, "x": 1, "x": 2}',
]
SLOW = [
    '{"$xml": "<a/>"}',
    '{"$xml": null}',
    '{"a": 1, "a": "x"}',
    '{"a": 1, "\\u0061": null}',
    '{"b": {"c": 1}, "b": {}}',
    '{"a": {"$bytes": "AAEC"}}',
    '{"unasked": {"$bytes": "AAEC"}}',
    '{"a": {"$timestamp": "2026-03-01", "x": 1}}',
    '{"a": {"$timestamp": "2026-W10-1"}}',
    '{"a": {"\\u0024timestamp": "2026-03-01"}}',
    '{"b": {"c": {"$d": 1}}}',
    '{"$time": "2026-03-01T12:00:00.1234567Z"}',
    '{"$time": "0001-01-01"}',
    '{"a": 1234567890.12345678901234567890}',
    '{"a": 4.9e-324}',
    '{"a": 1e-400, "unasked": 1e-400}',
]
REFUSED = [
    "5",
    "[1]",
    '"x"',
    "{",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1 "b":2}',
    '{"a":1}}',
    '{"a":1} x',
    "{a:1}",
    "{'a':1}",
    '{"a":[1,]}',
    '{"a":[1 2]}',
    '{"a":[1}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":1e}',
    '{"a":-}',
    '{"a":0x10}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":nul}',
    '{"a":TRUE}',
    '{"a":"x}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":"\\ud800"}',
    '{"a":"\\udc00"}',
    '{"a":"\\udc00\\udc00"}',
    '{"a":"\\ud800\\u0041"}',
    '{"a":"\t"}',
    '{"unasked":"\x01"}',
    b'{"a":"\xff"}',
    b'{"a":"\xc0\x80"}',
    b'{"unasked":"\xed\xa0\x80"}',
    b'{"unasked":"\xf4\x90\x80\x80"}',
    b'{"unasked":"\xe0\x80\x80"}',
    b'{"\xe2\x82":1}',
    '{"a":9223372036854775808}',
    '{"unasked":-9223372036854775809}',
    '{"a":1e309}',
    '{"unasked":1e309}',
    '{"unasked":100000000000000000000}',
    '{"$topic":true}',
    '{"$topic":1.5}',
    '{"$topic":["a"]}',
    '{"$channel":{"$timestamp":"2026-03-01"}}',
    '{"$type":5}',
    '{"$type":[]}',
    '{"$type":["Book",5]}',
    '{"$type":["Book",]}',
    '{"$time":5}',
    '{"$time":"yesterday"}',
    '{"$time":"2026-02-29"}',
    '{"$time":"2026-03-01T12:60:00"}',
    '{"$xml":5}',
    '{"$foo":1}',
    '{"$types":["Book"]}',
    '{"a":{"$timestamp":5}}',
    '{"a":{"$timestamp":"2026-03-01"]}',
    '{"a":{"$bytes":"?"}}',
    '{"unasked":' + "[" * 32 + "]" * 32 + "}",
    '{"a":' + "[" * 100_000 + "}",
]


@pytest.mark.parametrize("line", FAST + SLOW)
def test_a_line_is_encoded_as_the_event_it_says(line: str) -> None:
    """The columns of a line are those of decode_event's event."""
    assert rows_of(encoded(line)) == rows_of(encode_events([decode_event(line.encode())], EVERYTHING, STRINGS))


@pytest.mark.parametrize("line", FAST)
def test_the_scanner_reads_what_programs_write(line: str) -> None:
    """Ordinary lines, escapes, Unicode, nesting, headers and timestamps included, are read without Python."""
    assert not is_slow(line)


@pytest.mark.parametrize("line", SLOW)
def test_the_scanner_gives_up_what_is_rare(line: str) -> None:
    """What would make the scanner larger than it is worth is left to decode_event."""
    assert is_slow(line)


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_no_event_is_rejected_with_its_reason(line: str | bytes) -> None:
    """A line that decode_event refuses is not live, says why, and leaves nothing in the columns."""
    batch = encoded('{"a": 1}', line, '{"a": 2}')
    data = line.encode() if isinstance(line, str) else line
    with pytest.raises(EventError) as caught:
        decode_event(data)
    assert [(one.event, one.message) for one in batch.rejected] == [(1, caught.value.message)]
    assert batch.live.tolist() == [1, 0, 1]
    assert rows_of(batch)[1] == rows_of(encoded("\n"))[0]


def test_blank_lines_are_rows_that_are_not_live() -> None:
    """A line of spaces, tabs and returns holds its number and nothing else."""
    batch = encoded("", '{"a": 1}', " \t\r", '{"a": 2}', "")
    assert batch.live.tolist() == [0, 1, 0, 1]
    assert batch.rejected == []
    assert batch.event(3) == Event(attributes={"a": 2})


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"", 0), (b"\n", 1), (b"{}", 1), (b"{}\n", 1), (b"{}\n\n", 2), (b"{}\r\n{}", 2), (b"\n{}\n ", 3)],
)
def test_a_line_ends_at_a_line_feed_or_with_the_data(data: bytes, count: int) -> None:
    """The last line need not be ended; an end makes no further line."""
    assert len(encode_json(data, EVERYTHING, STRINGS)) == count
    assert len(encode_json(memoryview(bytearray(data)), EVERYTHING, STRINGS)) == count


def test_lines_are_counted_by_their_ends() -> None:
    """count_lines counts line feeds."""
    assert count_lines(np.frombuffer(b"a\n\nb\nc", np.uint8)) == 3


def test_a_line_says_the_same_whatever_came_before() -> None:
    """The scanner remembers keys from line to line; order, nesting and other keys in between change nothing."""
    lines = [*FAST, *SLOW, *(line for line in REFUSED if isinstance(line, str) and len(line) < 1000)] * 2
    lines = lines + lines[::-1] + [line for pair in zip(FAST, FAST[5:], strict=False) for line in pair * 2]
    alone = [rows_of(encoded(line))[0] for line in lines]
    assert rows_of(encoded(*lines)) == alone


def test_more_keys_than_are_remembered() -> None:
    """Keys beyond those the scanner remembers are looked up each time."""
    wide = {f"k{i}": i for i in range(300)} | {"a": "x"}
    lines = [json.dumps(wide), json.dumps(wide), json.dumps({**dict(list(wide.items())[::-1])})]
    expected = encode_events([{"a": "x"}] * 3, EVERYTHING, STRINGS)
    assert rows_of(encoded(*lines)) == rows_of(expected)


def test_nothing_asked_for_is_still_checked() -> None:
    """Without any slot a line is an event or rejected all the same."""
    batch = encoded('{"a": 1}', '{"a": 1', slots=Slots())
    assert batch.live.tolist() == [1, 0]
    assert batch.values.shape == (2, 0)


def test_types_and_their_ancestors_are_one_list() -> None:
    """$types is the type and its ancestors, and an empty list for an event that has none."""
    slots = Slots()
    column = slots.list(attribute("$types"), Kind.STRING)
    slots.value(attribute("$types"), Kind.NULL)
    lines = ('{"$type": "Book"}', '{"$type": ["Item", "Book", "?"]}', '{"a": 1}', '{"$type": null}')
    assert not any(is_slow(line, slots) for line in lines)
    batch = encoded(*lines, slots=slots)
    book, item = float(STRINGS.find(b"Book")), float(STRINGS.find(b"Item"))
    found = [batch.elements[start : start + size].tolist() for start, size in batch.lists[:, column].tolist()]
    assert found == [[book], [item, book, -1.0], [], []]
    assert batch.values.tolist() == [[1.0]] * 4


def test_more_asked_of_the_types_is_left_to_python() -> None:
    """size() and elements of $types are right too."""
    slots = everything(("$types",), ("$types", 0))
    lines = ['{"$type": ["Book", "Item"]}', "{}", '{"$type": "Item"}']
    expected = encode_events([decode_event(line.encode()) for line in lines], slots, STRINGS)
    assert rows_of(encoded(*lines, slots=slots)) == rows_of(expected)


def test_paths_below_the_top_may_have_names_with_a_dollar() -> None:
    """They are attributes like others, but for the objects that stand for bytes and timestamps."""
    slots = everything(("a", "$bytes"), ("a", "$x"))
    lines = ['{"a": {"$bytes": "AAEC"}}', '{"a": {"$bytes": "x", "$x": 1}}', '{"a": {"$x": "x"}}']
    expected = encode_events([decode_event(line.encode()) for line in lines], slots, STRINGS)
    assert rows_of(encoded(*lines, slots=slots)) == rows_of(expected)


def test_lists_in_lists_that_both_have_columns() -> None:
    """A list whose element is asked for as a list is right too."""
    slots = everything(("list",), ("list", 0))
    lines = ['{"list": [[1, "x"], 2]}', '{"list": [["x"]]}', '{"list": 5}']
    expected = encode_events([decode_event(line.encode()) for line in lines], slots, STRINGS)
    assert rows_of(encoded(*lines, slots=slots)) == rows_of(expected)


def test_a_line_may_not_be_longer_than_the_bound() -> None:
    """A line of EVENT_BYTES_MAX is read, one with a byte more is rejected though its JSON is good."""
    line = b'{"a":1}' + b" " * (limits.EVENT_BYTES_MAX - 7)
    assert encode_json(line + b"\n" + line + b" ", EVERYTHING, STRINGS).live.tolist() == [1, 0]


def test_the_event_of_a_line_can_be_had_again() -> None:
    """event(row) decodes the line, and only then."""
    batch = encoded('{"a": {"$bytes": "AAEC"}}', '{"$type": ["Book", "Item"], "b": [1]}\r')
    events: list[Any] = [batch.event(0), batch.event(1)]
    assert events == [
        Event(attributes={"a": b"\0\1\2"}),
        Event(attributes={"b": [1]}, type="Book", ancestors=("Item",)),
    ]
