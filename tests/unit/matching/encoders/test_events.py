"""Python events as columns: what each slot, text and list column holds, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event, Kind
from agvent.matching.columns.column_batch import ABSENT, ColumnBatch
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.encoders.events import encode_events
from agvent.matching.encoders.json_lines import encode_json
from tests.columns import attribute, dictionary, everything, lower, rows_of, size

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MICROSECONDS = 1_772_366_400_000_000.0


def kinds_of(value: Any) -> dict[Kind, float]:
    """What the value slots of an attribute hold, by kind; kind NULL is presence."""
    slots = Slots()
    places = {kind: slots.value(attribute("a"), kind) for kind in Kind}
    batch = encode_events([{"a": value}], slots, dictionary(["x", b"\0"]))
    found = batch.values[0].tolist()
    return {kind: found[place] for kind, place in places.items() if found[place] == found[place]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {}),
        (float("nan"), {}),
        (True, {Kind.NULL: 1.0, Kind.BOOL: 1.0}),
        (False, {Kind.NULL: 1.0, Kind.BOOL: 0.0}),
        (7, {Kind.NULL: 1.0, Kind.NUMBER: 7.0}),
        (2**63 - 1, {Kind.NULL: 1.0, Kind.NUMBER: 2.0**63}),
        (float("-inf"), {Kind.NULL: 1.0, Kind.NUMBER: float("-inf")}),
        ("x", {Kind.NULL: 1.0, Kind.STRING: 0.0}),
        ("unknown", {Kind.NULL: 1.0, Kind.STRING: -1.0}),
        (b"\0", {Kind.NULL: 1.0, Kind.BYTES: 1.0}),
        (NOON, {Kind.NULL: 1.0, Kind.TIME: NOON_MICROSECONDS}),
        ([], {Kind.NULL: 1.0, Kind.LIST: 1.0}),
        ({}, {Kind.NULL: 1.0, Kind.OBJECT: 1.0}),
    ],
)
def test_a_value_stands_in_the_slot_of_its_kind_and_no_other(value: Any, expected: dict[Kind, float]) -> None:
    """Each kind has its slot, presence is 1 for every value but null and NaN, and all else is NaN."""
    assert kinds_of(value) == expected


def test_minus_zero_is_zero_to_the_last_bit() -> None:
    """-0.0 is encoded as 0.0, also where a number takes the shortest way."""
    slots = Slots()
    slots.value(attribute("a"), Kind.NUMBER)
    assert not np.signbit(encode_events([{"a": -0.0}], slots, Strings()).values[0, 0])
    slots.value(attribute("a"), Kind.LIST)
    assert not np.signbit(encode_events([Event(attributes={"a": -0.0})], slots, Strings()).values[0, 0])


def texts_of(batch: ColumnBatch, column: int) -> list[bytes | None]:
    return [row["texts"][column] for row in rows_of(batch)]


def test_a_text_column_holds_the_bytes_of_strings_only() -> None:
    """A string's UTF-8 is found at its place; an empty one is not an absent one."""
    slots = Slots()
    column = slots.text(attribute("a"))
    batch = encode_events([{"a": "né"}, {"a": ""}, {"a": 5}, {}], slots, Strings())
    assert texts_of(batch, column) == ["né".encode(), b"", None, None]
    assert batch.texts[:, column, 1].tolist() == [3, 0, ABSENT, ABSENT]


def test_a_list_column_holds_the_elements_of_its_kind() -> None:
    """Elements of other kinds are left out; a list without any is empty, what is no list is absent."""
    slots = Slots()
    columns = {kind: slots.list(attribute("a"), kind) for kind in (Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.NULL)}
    batch = encode_events([{"a": [1, "x", None, -0.0, True, [2]]}, {"a": ["x"]}, {"a": "x"}], slots, dictionary(["x"]))
    found = {
        kind: [
            None if count == ABSENT else batch.elements[start : start + count].tolist()
            for start, count in batch.lists[:, column].tolist()
        ]
        for kind, column in columns.items()
    }
    assert found == {
        Kind.NUMBER: [[1.0, 0.0], [], None],
        Kind.STRING: [[0.0], [0.0], None],
        Kind.BOOL: [[1.0], [], None],
        Kind.NULL: [[], [], None],
    }


def test_lower_is_the_lowered_string_and_null_for_what_is_none() -> None:
    """lower() fills its own slots and text, by Unicode's rules."""
    slots = Slots()
    code, present = slots.value(lower("a"), Kind.STRING), slots.value(lower("a"), Kind.NULL)
    column = slots.text(lower("a"))
    batch = encode_events([{"a": "İX"}, {"a": "X"}, {"a": 5}], slots, dictionary(["x"]))
    assert texts_of(batch, column) == ["i̇x".encode(), b"x", None]
    np.testing.assert_array_equal(batch.values[:, code], [-1.0, 0.0, np.nan])
    np.testing.assert_array_equal(batch.values[:, present], [1.0, 1.0, np.nan])


def test_size_counts_characters_elements_and_bytes() -> None:
    """size() is a number for strings, lists and bytes, null for everything else."""
    slots = Slots()
    slot = slots.value(size("a"), Kind.NUMBER)
    events: list[Mapping[str, Any]] = [{"a": "né"}, {"a": [None, 1]}, {"a": b"ab"}, {"a": 5}, {"a": {}}, {}]
    values = encode_events(events, slots, Strings()).values[:, slot]
    np.testing.assert_array_equal(values, [2.0, 2.0, 2.0, np.nan, np.nan, np.nan])


def test_paths_lead_through_objects_and_lists() -> None:
    """A step that leads nowhere is null, as Event.lookup says."""
    slots = Slots()
    for path in (("order", "price"), ("items", 1, "price"), ("order", 0), ("items", "price")):
        slots.value(attribute(*path), Kind.NUMBER)
    event = {"order": {"price": 1}, "items": [{}, {"price": 2}]}
    np.testing.assert_array_equal(encode_events([event], slots, Strings()).values, [[1.0, 2.0, np.nan, np.nan]])


def test_a_path_deeper_than_any_event_is_null() -> None:
    """The deepest value that an event can have is found; a path of ten thousand steps costs nothing."""
    slots = Slots()
    slots.value(attribute(*["a"] * limits.EVENT_DEPTH_MAX), Kind.NUMBER)
    slots.value(attribute(*["a"] * 10_000), Kind.NUMBER)
    event: Any = 5
    for _ in range(limits.EVENT_DEPTH_MAX):
        event = {"a": event}
    for batch in (
        encode_events([Event(attributes=event)], slots, Strings()),
        encode_json(json.dumps(event).encode(), slots, Strings()),
    ):
        np.testing.assert_array_equal(batch.values, [[5.0, np.nan]])


def test_headers_are_attributes_with_reserved_names() -> None:
    """Type, ancestors, topic, channel, time and XML are found under their reserved paths, in an Event and in a dict."""
    slots = everything(("$type",), ("$types",), ("$topic",), ("$channel",), ("$time",), ("$xml",))
    strings = dictionary(["Book", "Item", "a/b", "<a/>"])
    event = Event(type="Book", ancestors=("Item",), topic="a/b", channel=7, time=NOON, xml="<a/>")
    reserved = {
        "$type": ["Book", "Item"], "$topic": "a/b", "$channel": 7, "$time": "2026-03-01T12:00:00Z", "$xml": "<a/>",
    }  # fmt: skip
    one, other = rows_of(encode_events([event, reserved], slots, strings))
    assert one == other
    assert one["lists"][8 + Kind.STRING] == ["0.0 0000000000000000", "1.0 3ff0000000000000"]


def test_an_event_without_a_type_has_an_empty_list_of_types() -> None:
    """$types is a list for every event, so that NOT of a type test is true of an untyped one."""
    slots = Slots()
    column = slots.list(attribute("$types"), Kind.STRING)
    batch = encode_events([{}, Event(), {"$type": "x"}], slots, Strings())
    assert batch.lists[:, column, 1].tolist() == [0, 0, 1]


def test_a_dict_an_event_and_a_mapping_are_encoded_alike() -> None:
    """How an event is given makes no difference."""
    slots = everything(("a",), ("b",), ("b", "c"))
    strings = dictionary(["x", "y"])
    attributes = {"a": "x", "b": {"c": 5}, "unasked": object}
    checked = {"a": "x", "b": {"c": 5}}
    batch = encode_events([attributes, Event(attributes=checked), MappingProxyType(checked)], slots, strings)
    one, two, three = rows_of(batch)
    assert one == two == three


def test_one_event_is_encoded_as_it_is_among_others() -> None:
    """A batch of one holds the same row, and does not share memory with the next batch of one."""
    slots = everything(("a",), ("$types",))
    strings = dictionary(["x"])
    first = encode_events([{"a": "x"}], slots, strings)
    second = encode_events([{"a": [1]}], slots, strings)
    assert rows_of(first) + rows_of(second) == rows_of(encode_events([{"a": "x"}, {"a": [1]}], slots, strings))


def test_new_slots_are_filled_from_the_next_batch_on() -> None:
    """The paths are made again when the slots have grown."""
    slots = Slots()
    slots.value(attribute("a"), Kind.NUMBER)
    assert encode_events([{"a": 1, "b": 2}], slots, Strings()).values.tolist() == [[1.0]]
    slots.value(attribute("b"), Kind.NUMBER)
    assert encode_events([{"a": 1, "b": 2}], slots, Strings()).values.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"a": 2**63}, "a: 9223372036854775808 does not fit in 64 bits"),
        ({"a": "\ud800"}, "a: lone surrogate U+D800 in text"),
        ({"a": datetime(2026, 1, 1)}, "timestamp 2026-01-01T00:00:00 has no time zone"),  # noqa: DTZ001
        ({"a": object()}, "a value of type object cannot be an event's"),
        ({"a": [object()]}, "a value of type object cannot be an event's"),
        ({"$foo": 1}, "$foo is not a reserved key"),
        ({1: 1}, "1 cannot name an attribute"),
        (5, "an event is an object of attributes, not int"),
    ],
)
def test_what_cannot_be_an_events_is_refused(event: Any, message: str) -> None:
    """A foreign value that something asks for raises EventError."""
    with pytest.raises(EventError) as caught:
        encode_events([event], everything(("a",)), Strings())
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-(2**63) - 1, "a: -9223372036854775809 does not fit in 64 bits"),
        ("x\udfff", "a: lone surrogate U+DFFF in text"),
        (object(), "a value of type object cannot be an event's"),
    ],
)
def test_the_shortest_way_refuses_the_same(value: Any, message: str) -> None:
    """Where only a number or a string's code is asked for, what cannot be an event's is refused too."""
    slots = Slots()
    slots.value(attribute("a"), Kind.NUMBER)
    slots.value(attribute("a"), Kind.STRING)
    with pytest.raises(EventError) as caught:
        encode_events([{"a": value}], slots, Strings())
    assert caught.value.message == message


def test_the_event_itself_can_be_had_again() -> None:
    """event(row) is the whole event, with what nobody asked for."""
    batch = encode_events([{"a": 1}, {"$topic": "t"}], Slots(), Strings())
    assert [batch.event(0), batch.event(1)] == [Event(attributes={"a": 1}), Event(topic="t")]
    assert batch.live.tolist() == [1, 1]
