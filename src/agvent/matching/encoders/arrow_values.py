"""Arrow arrays of one type as the floats of one kind: vectorised, NaN where there is no value.

Integers are 64-bit with a sign, as everywhere: an unsigned one beyond that is refused. A timestamp without a zone is
UTC, one in nanoseconds is cut to the microsecond below, a date is its midnight in UTC. Decimals, durations, times of
day, maps and unions have no kind: a column of them is refused where something asks for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numba import njit, types

from agvent import limits
from agvent.errors import EventError
from agvent.event import EPOCH, Kind, Path, microseconds, name_of
from agvent.matching.columns.arrays import BORROWED, F64, I32, I64, U8, Records, read, write
from agvent.matching.columns.strings import ENTRY, StringView, code_of, hash_bytes

Array = Any
"""A pyarrow.Array; pyarrow publishes no types."""
Flags = np.ndarray[Any, np.dtype[np.bool_]]

FIRST_MICROSECOND: Final = microseconds(datetime.min.replace(tzinfo=EPOCH.tzinfo))
LAST_MICROSECOND: Final = microseconds(datetime.max.replace(tzinfo=EPOCH.tzinfo))


KINDS_OF_TYPES: tuple[tuple[Any, Kind], ...] = (
    (pt.is_null, Kind.NULL),
    (pt.is_integer, Kind.NUMBER),
    (pt.is_floating, Kind.NUMBER),
    (pt.is_string, Kind.STRING),
    (pt.is_large_string, Kind.STRING),
    (pt.is_string_view, Kind.STRING),
    (pt.is_boolean, Kind.BOOL),
    (pt.is_timestamp, Kind.TIME),
    (pt.is_date, Kind.TIME),
    (pt.is_binary, Kind.BYTES),
    (pt.is_large_binary, Kind.BYTES),
    (pt.is_binary_view, Kind.BYTES),
    (pt.is_fixed_size_binary, Kind.BYTES),
    (pt.is_list, Kind.LIST),
    (pt.is_large_list, Kind.LIST),
    (pt.is_fixed_size_list, Kind.LIST),
    (pt.is_struct, Kind.OBJECT),
)


def kind_of_type(type_: Any, path: Path) -> Kind:
    """The kind of all values of an Arrow type."""
    if pt.is_dictionary(type_):
        return kind_of_type(type_.value_type, path)
    for test, kind in KINDS_OF_TYPES:
        if test(type_):
            return kind
    raise EventError(
        f"column {name_of(path)}: Arrow's {type_} is not a kind of value",
        hint="cast it to an integer, float, string, binary, timestamp, list or struct, or leave the column out",
    )


def plain(array: Array) -> Array:
    """The array without dictionary, view or fixed size: fewer layouts with the same values."""
    type_ = array.type
    if pt.is_dictionary(type_):
        return plain(array.dictionary_decode())
    if pt.is_string_view(type_):
        return array.cast(pa.large_string())
    if pt.is_binary_view(type_) or pt.is_fixed_size_binary(type_):
        return array.cast(pa.large_binary())
    if pt.is_fixed_size_list(type_):
        return array.cast(pa.large_list(type_.value_field))
    return array


def validity(array: Array) -> Flags:
    """True where there is a value; a NaN counts as one here."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return array.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def floats_of(array: Array, kind: Kind, view: StringView, path: Path) -> F64:
    """The values as the column of their kind holds them."""
    if kind in (Kind.STRING, Kind.BYTES):
        return codes_of(array, view)
    if kind is Kind.NULL:
        return np.full(len(array), np.nan)
    valid = validity(array)
    if kind is Kind.NUMBER:
        found = _numbers(array, valid, path)
    elif kind is Kind.TIME:
        found = _microseconds(array, valid, path).astype(np.float64)
    elif kind is Kind.BOOL:
        found = array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.float64)
    else:
        found = np.ones(len(array))
    return np.where(valid, found, np.nan)


def _numbers(array: Array, valid: Flags, path: Path) -> F64:
    numbers = _primitive(array)
    if pt.is_uint64(array.type):
        _check(numbers > np.uint64(limits.INT_MAX), valid, path, "a number does not fit in 64 bits with a sign")
    found: F64 = numbers.astype(np.float64)
    return found + 0.0  # -0.0 becomes 0.0


def _microseconds(array: Array, valid: Flags, path: Path) -> I64:
    """Timestamps as Python has them: from year 1 to 9999."""
    ticks: I64 = _primitive(array.view(pa.int32() if pt.is_date32(array.type) else pa.int64())).astype(np.int64)
    numerator, denominator = _microseconds_per_tick(array.type)
    if denominator > 1:
        return ticks // denominator  # 64 bits of nanoseconds reach from 1677 to 2262
    outside = (ticks < -(-FIRST_MICROSECOND // numerator)) | (ticks > LAST_MICROSECOND // numerator)
    _check(outside, valid, path, "a timestamp lies outside the years 1 to 9999")
    return np.where(outside, 0, ticks) * numerator


def _microseconds_per_tick(type_: Any) -> tuple[int, int]:
    """As a fraction."""
    if pt.is_date32(type_):
        return 86_400_000_000, 1
    unit = "ms" if pt.is_date64(type_) else type_.unit
    return {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}[unit]


def _primitive(array: Array) -> Any:
    """A fixed-width array as NumPy's, anything where it is null."""
    return (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)


def _check(wrong: Flags, valid: Flags, path: Path, complaint: str) -> None:
    rows = np.flatnonzero(wrong & valid)
    if len(rows):
        raise EventError(f"column {name_of(path)}, value {rows[0]}: {complaint}")


def offsets_of(array: Array) -> I64:
    """Where strings, bytes or lists begin, and where the last one ends."""
    width = np.int64 if pt.is_large_string(array.type) or pt.is_large_binary(array.type) else np.int32
    if pt.is_large_list(array.type):
        width = np.int64
    offsets = array.buffers()[1]
    if offsets is None or offsets.size == 0:  # an array without values need not have any
        return np.zeros(1, np.int64)
    return np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)


def bytes_of(array: Array) -> U8:
    """What the offsets of strings or bytes point into."""
    data = array.buffers()[2]
    return np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def element(array: Array, position: int) -> Array:
    """The element of each list at a position, null where a list has none there."""
    offsets = offsets_of(array)
    found = validity(array) & (np.diff(offsets) > position)
    return array.values.take(pa.array(np.where(found, offsets[:-1] + position, 0), mask=~found))


def codes_of(array: Array, view: StringView) -> F64:
    """The dictionary's codes of strings or bytes."""
    codes = np.empty(len(array))
    _file_codes(offsets_of(array), bytes_of(array), validity(array).view(np.uint8), *view, codes)
    return codes


CODES = types.void(
    read(np.int64), read(np.uint8), read(np.uint8), read(np.int32), read(ENTRY), read(np.uint8), write(np.float64)
)


@njit(CODES, nogil=True, **BORROWED)
def _file_codes(offsets: I64, data: U8, valid: U8, table: I32, entries: Records, blob: U8, codes: F64) -> None:
    for row in range(len(codes)):
        codes[row] = np.nan
        if valid[row]:
            start, size = offsets[row], offsets[row + 1] - offsets[row]
            h = hash_bytes(data, start, size)
            codes[row] = code_of(table, entries, blob, data, start, size, h)


def sizes_of(array: Array, kind: Kind) -> F64:
    """What size() gives, for strings, bytes and lists."""
    count = {Kind.STRING: pc.utf8_length, Kind.BYTES: pc.binary_length, Kind.LIST: pc.list_value_length}[kind]
    sizes = _primitive(count(array)).astype(np.float64)
    return np.where(validity(array), sizes, np.nan)


def value_of(scalar: Any, path: Path) -> Any:
    """A scalar as an event's value."""
    kind = kind_of_type(scalar.type, path)
    if not scalar.is_valid:
        return None
    if pt.is_dictionary(scalar.type):
        return value_of(scalar.value, path)
    if kind is Kind.OBJECT:
        return {key: value_of(item, (*path, key)) for key, item in scalar.items()}
    if kind is Kind.LIST:
        return [value_of(item, path) for item in scalar]
    if kind is Kind.TIME:
        numerator, denominator = _microseconds_per_tick(scalar.type)
        return EPOCH + timedelta(microseconds=scalar.value * numerator // denominator)
    return scalar.as_py()
