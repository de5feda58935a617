"""Timestamps in JSON strings: the ISO 8601 forms that programs write, to microseconds since 1970 UTC.

`2026-03-01`, or that with `T12:00:00` or ` 12:00:00`, up to six digits of a fraction, and `Z` or `+01:00`. The other
forms that `time_of` reads, and the two years at the ends of its range, are UNREAD.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, INLINED, U8, read, several
from agvent.matching.encoders.json_tokens import QUOTE, UNREAD

DASH, COLON, POINT, PLUS, SPACE, LARGE_T, LARGE_Z, ZERO = b"-:.+ TZ0"
DAYS_BEFORE_MONTH = np.array([0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365])
DAYS_BEFORE_1970: Final = 719_162
YEAR_MIN, YEAR_MAX = 2, 9998
SECOND: Final = 1_000_000
NO_NUMBER: Final = -1_000_000


@njit(types.int64(read(np.uint8), types.int64), **INLINED)
def two_digits(data: U8, at: int) -> int:
    """A number of two digits; far below zero if they are none."""
    tens = np.uint8(data[at] - ZERO)
    if tens > 9:
        return NO_NUMBER
    ones = np.uint8(data[at + 1] - ZERO)
    return int(tens) * 10 + int(ones) if ones < 10 else NO_NUMBER


@njit(types.int64(types.int64, types.int64, types.int64), **INLINED)
def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date, NO_NUMBER if there is no such date."""
    if not (YEAR_MIN <= year <= YEAR_MAX and 1 <= month <= 12):
        return NO_NUMBER
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = DAYS_BEFORE_MONTH[month + 1] - DAYS_BEFORE_MONTH[month] + (leap and month == 2)
    if not 1 <= day <= length:
        return NO_NUMBER
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - DAYS_BEFORE_1970
    return int(days + DAYS_BEFORE_MONTH[month] + (leap and month > 2) + day - 1)


@njit(several(types.int64, types.int64)(read(np.uint8), types.int64), **INLINED)
def fraction_at(data: U8, at: int) -> tuple[int, int]:
    """The position after a fraction of a second, and its microseconds."""
    first = at
    fraction = 0
    while at - first < 7 and np.uint8(data[at] - ZERO) < 10:
        fraction = fraction * 10 + int(data[at] - ZERO)
        at += 1
    if at == first or at - first > 6:
        return UNREAD, 0
    for _ in range(6 - (at - first)):
        fraction *= 10
    return at, fraction


@njit(several(types.int64, types.int64)(read(np.uint8), types.int64), **INLINED)
def zone_at(data: U8, at: int) -> tuple[int, int]:
    """The position after a zone, and its seconds east of UTC; none is UTC."""
    if data[at] == LARGE_Z:
        return at + 1, 0
    if data[at] != PLUS and data[at] != DASH:
        return at, 0
    hours = two_digits(data, at + 1)
    if not 0 <= hours <= 23 or data[at + 3] != COLON:
        return UNREAD, 0
    minutes = two_digits(data, at + 4)
    if not 0 <= minutes <= 59:
        return UNREAD, 0
    seconds = hours * 3600 + minutes * 60
    return at + 6, seconds if data[at] == PLUS else -seconds


@njit(several(types.int64, types.int64)(read(np.uint8), types.int64), **INLINED)
def clock_at(data: U8, at: int) -> tuple[int, int]:
    """The position after a time of day, and its microseconds since midnight in UTC."""
    hours = two_digits(data, at)
    if not 0 <= hours <= 23 or data[at + 2] != COLON:
        return UNREAD, 0
    minutes = two_digits(data, at + 3)
    if not 0 <= minutes <= 59 or data[at + 5] != COLON:
        return UNREAD, 0
    seconds = two_digits(data, at + 6)
    if not 0 <= seconds <= 59:
        return UNREAD, 0
    at += 8
    fraction = 0
    if data[at] == POINT:
        at, fraction = fraction_at(data, at + 1)
        if at == UNREAD:
            return UNREAD, 0
    at, east = zone_at(data, at)
    return at, (hours * 3600 + minutes * 60 + seconds - east) * SECOND + fraction


@njit(several(types.int64, types.int64)(read(np.uint8), types.int64), **BORROWED)
def time_at(data: U8, at: int) -> tuple[int, int]:
    """The closing quote of a string that is a timestamp, and its microseconds since 1970 UTC."""
    century = two_digits(data, at)
    if century < 0:
        return UNREAD, 0
    year = century * 100 + two_digits(data, at + 2)
    if year < 0 or data[at + 4] != DASH:
        return UNREAD, 0
    month = two_digits(data, at + 5)
    if month < 0 or data[at + 7] != DASH:
        return UNREAD, 0
    days = days_of(year, month, two_digits(data, at + 8))
    if days == NO_NUMBER:
        return UNREAD, 0
    at += 10
    clock = 0
    if data[at] == LARGE_T or data[at] == SPACE:
        at, clock = clock_at(data, at + 1)
        if at == UNREAD:
            return UNREAD, 0
    return (at, days * 86_400 * SECOND + clock) if data[at] == QUOTE else (UNREAD, 0)
