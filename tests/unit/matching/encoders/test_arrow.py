"""Arrow record batches as columns: what each Arrow type means, which are refused, slices and headers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from agvent.errors import EventError
from agvent.event import Event, Kind, Path
from agvent.matching.columns.slots import Slots
from agvent.matching.encoders.arrow import encode_arrow
from agvent.matching.encoders.events import encode_events
from tests.columns import attribute, dictionary, everything, rows_of

STRINGS = dictionary(["x", "é", "xyz", "", "Book", "Item", b"\0\1"])
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
MICROSECONDS = 1_772_366_400_000_000


def check(batch: pa.RecordBatch, events: list[Any], *paths: Path) -> None:
    """The batch is encoded as these events are, also in slices, and gives them back."""
    slots = everything(*paths)
    for first, last in ((0, len(events)), (1, len(events)), (1, 2), (len(events), len(events))):
        part = batch.slice(first, last - first)
        encoded = encode_arrow(part, slots, STRINGS)
        assert rows_of(encoded) == rows_of(encode_events(events[first:last], slots, STRINGS))
        for row, event in enumerate(events[first:last]):
            assert encode_events([encoded.event(row)], slots, STRINGS).event(0) == encode_events(
                [event], slots, STRINGS
            ).event(0)


def check_column(array: pa.Array, values: list[Any], *paths: Path) -> None:
    check(pa.record_batch({"a": array}), [{"a": value} for value in values], ("a",), *paths)


@pytest.mark.parametrize(
    "type_",
    [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    ids=str,
)
def test_integers_of_every_width_are_numbers(type_: pa.DataType) -> None:
    """An integer column gives integers, nulls stay nulls."""
    check_column(pa.array([1, None, 127, 0], type_), [1, None, 127, 0])


def test_large_integers_are_the_nearest_float_and_the_exact_event() -> None:
    """64-bit integers keep all their digits in the event."""
    values = [2**53 + 1, -(2**63), 2**63 - 1, None]
    check_column(pa.array(values, pa.int64()), values)


@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_floats_are_numbers_and_nan_is_null(type_: pa.DataType) -> None:
    """NaN counts as no value, -0.0 as 0.0, infinity as itself."""
    found = pa.array([np.float16(value) for value in (1.5, -0.0, float("inf"), float("nan"))], pa.float16()).cast(type_)
    found = pa.concat_arrays([found, pa.nulls(1, type_)])
    slots = everything(("a",))
    encoded = encode_arrow(pa.record_batch({"a": found}), slots, STRINGS)
    events = [{"a": value} for value in (1.5, 0.0, float("inf"), None, None)]
    assert rows_of(encoded) == rows_of(encode_events(events, slots, STRINGS))


@pytest.mark.parametrize(
    "type_",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)
def test_strings_of_every_layout_are_strings(type_: pa.DataType) -> None:
    """Codes, texts, lower() and size() are the same whatever the layout."""
    values = ["xyz", "É", None, "", "nobody's and longer than twelve bytes", "x"]
    check_column(pa.array(values, pa.string()).cast(type_), values)


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_bytes_of_every_layout_are_bytes(type_: pa.DataType) -> None:
    """Bytes have codes and a size, but no text."""
    values = [b"\0\1", None, b"", b"x"]
    check_column(pa.array(values, type_), values)


def test_bytes_of_one_size_are_bytes() -> None:
    """fixed_size_binary is bytes."""
    check_column(pa.array([b"\0\1", None, b"ab"], pa.binary(2)), [b"\0\1", None, b"ab"])


def test_booleans_are_booleans() -> None:
    """A boolean is not a number."""
    check_column(pa.array([True, None, False]), [True, None, False])


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Istanbul"])
@pytest.mark.parametrize(("unit", "ticks"), [("s", 10**6), ("ms", 10**3), ("us", 1)])
def test_timestamps_name_an_instant(unit: str, ticks: int, zone: str | None) -> None:
    """Whatever the unit and the zone, a timestamp is its instant; without a zone it is UTC."""
    array = pa.array([MICROSECONDS // ticks, None, -1], pa.timestamp(unit, zone))
    before = datetime.fromtimestamp(-ticks / 1e6, UTC)
    check_column(array, [NOON, None, before])


def test_nanoseconds_are_cut_to_the_microsecond_below() -> None:
    """A remainder below a microsecond is dropped towards the past."""
    array = pa.array([MICROSECONDS * 1000 + 999, None, -1], pa.timestamp("ns"))
    check_column(array, [NOON, None, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)])


def test_dates_are_their_midnight() -> None:
    """A date is a timestamp at its start in UTC."""
    check_column(pa.array([MIDNIGHT.date(), None], pa.date32()), [MIDNIGHT, None])
    check_column(pa.array([MIDNIGHT.date(), None], pa.date64()), [MIDNIGHT, None])


@pytest.mark.parametrize("layout", [pa.list_, pa.large_list], ids=["list", "large_list"])
def test_lists_have_elements_a_size_and_members(layout: Any) -> None:
    """Nulls among the elements are left out of the list column and counted in the size."""
    values: list[Any] = [[1, None, 2], [], None, [7]]
    check_column(pa.array(values, layout(pa.int64())), values, ("a", 0), ("a", 2))
    values = [["x", "é"], [None], None, []]
    check_column(pa.array(values, layout(pa.string())), values, ("a", 0))
    values = [[NOON], [], None]
    check_column(pa.array(values, layout(pa.timestamp("ms", "UTC"))), values, ("a", 0))


def test_lists_of_one_size_are_lists() -> None:
    """fixed_size_list is a list."""
    check_column(pa.array([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, None]], ("a", 1))


def test_a_null_list_may_cover_elements() -> None:
    """What lies under a null list is not its elements."""
    array = pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array([1, 2, 3]), mask=pa.array([True, False]))
    check_column(array, [None, [3]], ("a", 0))


def test_structs_are_objects_with_dotted_paths() -> None:
    """A field of a null struct is null, however deep."""
    values: list[Any] = [{"b": {"c": 1}, "d": "x"}, {"b": None, "d": None}, None, {"b": {"c": None}, "d": "é"}]
    check_column(pa.array(values), values, ("a", "b"), ("a", "b", "c"), ("a", "d"), ("a", "missing"), ("a", 0))


def test_lists_of_structs_are_reached_by_position() -> None:
    """items[0].price is found in a list of structs."""
    values: list[Any] = [[{"price": 1}, {"price": 2}], [], None, [None, {"price": 3}]]
    check_column(pa.array(values), values, ("a", 0), ("a", 1, "price"))


def test_dictionaries_of_anything_are_what_they_stand_for() -> None:
    """A dictionary of integers is integers, nulls on either side are null."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array([5, 6, None]))
    check_column(array, [5, 6, None, None])


def test_a_column_of_nothing_is_null() -> None:
    """Arrow's null type has no values; a column that is missing has none either."""
    check_column(pa.nulls(2), [None, None])
    check(pa.record_batch({"b": [1, 2]}), [{"b": 1}, {"b": 2}], ("a",))


REFUSED = [
    (pa.array([Decimal(1)]), "decimal128(1, 0)"),
    (pa.array([5], pa.duration("s")), "duration[s]"),
    (pa.array([5], pa.time32("s")), "time32[s]"),
    (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "map<string, int64>"),
]


@pytest.mark.parametrize(("array", "name"), REFUSED, ids=[name for _, name in REFUSED])
def test_a_type_without_a_kind_is_refused_where_it_is_asked_for(array: pa.Array, name: str) -> None:
    """The error names the column and the type; a column nobody asks for may have any type."""
    batch = pa.record_batch({"a": array, "b": [5]})
    with pytest.raises(EventError) as caught:
        encode_arrow(batch, everything(("a",)), STRINGS)
    assert caught.value.message == f"column a: Arrow's {name} is not a kind of value"
    slots = Slots()
    slots.value(attribute("b"), Kind.NUMBER)
    encoded = encode_arrow(batch, slots, STRINGS)
    assert encoded.values.tolist() == [[5.0]]
    with pytest.raises(EventError):
        encoded.event(0)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pa.array([1, None, 2**63], pa.uint64()), "column a, value 2: a number does not fit in 64 bits with a sign"),
        (pa.array([2**60], pa.timestamp("s")), "column a, value 0: a timestamp lies outside the years 1 to 9999"),
        (pa.array([[[Decimal(1)]]]), None),
    ],
)
def test_a_value_beyond_what_events_hold_is_refused(array: pa.Array, message: str | None) -> None:
    """The error names the column and the value."""
    slots = Slots()
    slots.value(attribute("a"), Kind.NUMBER)
    slots.value(attribute("a"), Kind.TIME)
    batch = pa.record_batch({"a": array})
    if message is None:
        assert np.isnan(encode_arrow(batch, slots, STRINGS).values).all()
        return
    with pytest.raises(EventError) as caught:
        encode_arrow(batch, slots, STRINGS)
    assert caught.value.message == message


HEADERS: tuple[Path, ...] = (("$type",), ("$types",), ("$topic",), ("$channel",), ("$time",), ("$xml",))


def test_reserved_columns_are_headers() -> None:
    """Type, topic, channel, time and XML come from the columns with those names."""
    columns = {
        "$type": ["Book", None, "Item"],
        "$topic": ["x", "a/b", None],
        "$channel": [1, None, 3],
        "$time": pa.array([NOON, None, MIDNIGHT], pa.timestamp("us", "UTC")),
        "$xml": ["<a/>", None, "<b>x</b>"],
    }
    events = [
        Event(type="Book", topic="x", channel=1, time=NOON, xml="<a/>"),
        Event(topic="a/b"),
        Event(type="Item", channel=3, time=MIDNIGHT, xml="<b>x</b>"),
    ]
    check(pa.record_batch(columns), events, *HEADERS)


def test_a_type_may_come_with_its_ancestors() -> None:
    """A list of names in $type is the type and its ancestors; text in $time is read as ISO 8601."""
    columns = {"$type": [["Book", "Item"], None, ["Item"]], "$time": ["2026-03-01T12:00:00Z", None, "2026-03-01"]}
    events = [Event(type="Book", ancestors=("Item",), time=NOON), Event(), Event(type="Item", time=MIDNIGHT)]
    check(pa.record_batch(columns), events, *HEADERS)


def test_without_a_type_column_every_event_is_untyped() -> None:
    """$types is then an empty list, not a missing one."""
    check(pa.record_batch({"a": [1, 2]}), [{"a": 1}, {"a": 2}], *HEADERS)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"$foo": [1]}, "$foo is not a reserved name"),
        ({"$topic": [1.5]}, "column $topic cannot be Arrow's double"),
        ({"$topic": [True]}, "column $topic cannot be Arrow's bool"),
        ({"$type": [[1]]}, "column $type cannot be Arrow's list<item: int64>"),
        ({"$time": [5]}, "column $time cannot be Arrow's int64"),
        ({"$type": [["Book", None]]}, "column $type: a list of types is empty or has a null in it"),
        (
            {"$type": pa.array([[]], pa.list_(pa.string()))},
            "column $type: a list of types is empty or has a null in it",
        ),
        ({"$time": ["yesterday"]}, "'yesterday' is not a timestamp"),
    ],
)
def test_a_header_that_cannot_be_one_is_refused(columns: dict[str, Any], message: str) -> None:
    """Unknown reserved names, and types and values that the header cannot have, raise EventError."""
    with pytest.raises(EventError) as caught:
        encode_arrow(pa.record_batch(columns), everything(*HEADERS), STRINGS)
    assert caught.value.message == message


def test_two_columns_of_one_name_are_refused() -> None:
    """Which of them is meant nobody can say."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(EventError) as caught:
        encode_arrow(batch, Slots(), STRINGS)
    assert caught.value.message == "two columns have the name a"
    fields = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["b", "b"])
    with pytest.raises(EventError) as caught:
        encode_arrow(pa.record_batch({"a": fields}), everything(("a", "b")), STRINGS)
    assert caught.value.message == "column a.b stands there 2 times"
