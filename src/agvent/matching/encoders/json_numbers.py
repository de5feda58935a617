"""Numbers in JSON text, read exactly: an integer of 64 bits, or the nearest float64.

A float with a small mantissa and exponent is one exact division or product (Clinger, "How to read floating point
numbers accurately"). Others take Eisel and Lemire's way: the mantissa times a 128-bit power of five ("Number parsing at
a gigabyte per second"; that no fallback is needed within 19 digits is Mushtak and Lemire's proof). What neither covers
(more than 19 digits, subnormal or out of range) is UNREAD, and the caller takes the slow way.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, F64, INLINED, U8, U64, read, several

UNREAD: Final = -1
"""The position that says: not read here."""

DOT, MINUS, PLUS, ZERO, SMALL_E, LARGE_E = b".-+0eE"
DIGITS_MAX: Final = 19
"""Every integer of 19 digits fits in 64 bits without a sign."""
EXACT_POWER_MAX: Final = 22
"""10**22 is the largest power of ten that float64 holds exactly."""
EXACT_MANTISSA_MAX: Final = np.uint64(1 << 53)
POWER_MIN, POWER_MAX = -342, 308
SAFE_POWER_MAX: Final = 280
"""A number of 19 digits times ten to at most this is neither infinite nor subnormal: known without reading it."""

INT_MAX_WORD: Final = np.uint64((1 << 63) - 1)
TEN, FOUR, THREE, ONE, NO_BITS = np.uint64(10), np.uint64(4), np.uint64(3), np.uint64(1), np.uint64(0)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
HIDDEN_BIT = np.uint64(1 << 52)
ROUNDING_MASK = np.uint64(0x1FF)

POWERS_OF_TEN: F64 = np.array([10.0**power for power in range(EXACT_POWER_MAX + 1)])


def _power_of_five(power: int) -> int:
    """5**power in exactly 128 bits: its first ones, the reciprocals down to 5**-27 rounded up, as the proof wants."""
    five: int = 5 ** abs(power)
    if power >= 0:
        shift = 128 - five.bit_length()
        return five << shift if shift >= 0 else five >> -shift
    if power >= -27:
        return (1 << (five.bit_length() + 127)) // five + 1
    reciprocal = (1 << (2 * five.bit_length() + 128)) // five + 1
    return reciprocal >> (reciprocal.bit_length() - 128)


def _powers_of_five() -> U64:
    words = []
    for power in range(POWER_MIN, POWER_MAX + 1):
        five = _power_of_five(power)
        words += [five >> 64, five & (1 << 64) - 1]
    return np.array(words, np.uint64)


POWERS_OF_FIVE = _powers_of_five()


@njit(several(types.uint64, types.uint64)(types.uint64, types.uint64), **INLINED)
def product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The high and low words of a product of two words."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW_HALF, b >> HALF, b & LOW_HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> HALF)
    other = a_low * b_high + (middle & LOW_HALF)
    return a_high * b_high + (middle >> HALF) + (other >> HALF), (other << HALF) | (low & LOW_HALF)


@njit(types.int64(types.uint64), **INLINED)
def leading_zeros(word: np.uint64) -> int:
    """Of a word that is not zero."""
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == NO_BITS:
            word <<= np.uint64(step)
            count += step
    return count


@njit(types.float64(types.uint64, types.int64), **BORROWED)
def scaled(mantissa: np.uint64, power: int) -> float:
    """mantissa x 10**power rounded to the nearest float64, or NaN if that is subnormal or infinite."""
    if mantissa == NO_BITS:
        return 0.0
    if power < POWER_MIN or power > POWER_MAX:
        return math.nan
    shift = leading_zeros(mantissa)
    mantissa <<= np.uint64(shift)
    at = 2 * (power - POWER_MIN)
    high, low = product(mantissa, POWERS_OF_FIVE[at])
    if high & ROUNDING_MASK == ROUNDING_MASK:  # the second word of the power may carry into what is rounded
        carry, _ = product(mantissa, POWERS_OF_FIVE[at + 1])
        low += carry
        if low < carry:
            high += ONE
    upper = high >> np.uint64(63)
    drop = upper + np.uint64(9)
    rounded = high >> drop
    exponent = ((217706 * power) >> 16) + 63 + int(upper) - shift
    if exponent < -1022:
        return math.nan
    if low <= ONE and -4 <= power <= 23 and rounded & THREE == ONE and rounded << drop == high:
        rounded &= ~ONE  # exactly half way: to even
    rounded = (rounded + (rounded & ONE)) >> ONE
    if exponent >= 1023 and (exponent > 1023 or rounded >= HIDDEN_BIT << ONE):
        return math.nan
    return math.ldexp(np.float64(rounded), exponent - 52)


@njit(types.float64(types.uint64, types.int64), **INLINED)
def _nearest(mantissa: np.uint64, power: int) -> float:
    if mantissa <= EXACT_MANTISSA_MAX and -EXACT_POWER_MAX <= power <= EXACT_POWER_MAX:
        exact, ten = float(mantissa), float(POWERS_OF_TEN[abs(power)])
        return exact / ten if power < 0 else exact * ten
    return scaled(mantissa, power)


@njit(several(types.int64, types.int64)(read(np.uint8), types.int64), **INLINED)
def exponent_at(data: U8, at: int) -> tuple[int, int]:
    """The exponent after an E, and the position after it; UNREAD if there is none or it has more than four digits."""
    negative = data[at] == MINUS
    if negative or data[at] == PLUS:
        at += 1
    first = at
    exponent = 0
    while at - first < 5 and np.uint8(data[at] - ZERO) < 10:
        exponent = exponent * 10 + int(data[at] - ZERO)
        at += 1
    if at == first or at - first > 4:
        return 0, UNREAD
    return -exponent if negative else exponent, at


@njit(several(types.int64, types.float64, types.boolean)(read(np.uint8), types.int64, types.boolean), **INLINED)
def number_at(data: U8, at: int, wanted: bool) -> tuple[int, float, bool]:
    """The position after the number that starts here, its value (0.0 unless wanted), and whether it is an integer."""
    negative = data[at] == MINUS
    if negative:
        at += 1
    first = at
    mantissa = NO_BITS
    while np.uint8(data[at] - ZERO) < 10:
        mantissa = mantissa * TEN + np.uint64(data[at] - ZERO)
        at += 1
    digits = at - first
    if digits == 0 or digits > DIGITS_MAX or (data[first] == ZERO and digits > 1):
        return UNREAD, 0.0, False
    byte = data[at]
    if byte != DOT and byte != SMALL_E and byte != LARGE_E:
        if mantissa > INT_MAX_WORD + np.uint64(negative):
            return UNREAD, 0.0, True
        value = float(mantissa)
        return at, 0.0 - value if negative else value, True
    power = 0
    if byte == DOT:
        at += 1
        point = at
        if mantissa == NO_BITS:  # zeros before the first other digit are no digits of the mantissa
            while data[at] == ZERO:
                at += 1
            digits = 0
        significant = at
        while np.uint8(data[at] - ZERO) < 10:
            mantissa = mantissa * TEN + np.uint64(data[at] - ZERO)
            at += 1
        digits += at - significant
        power = point - at
        if power == 0 or digits > DIGITS_MAX:
            return UNREAD, 0.0, False
    if data[at] == SMALL_E or data[at] == LARGE_E:
        exponent, at = exponent_at(data, at + 1)
        if at == UNREAD:
            return UNREAD, 0.0, False
        power += exponent
    if not wanted and -SAFE_POWER_MAX < power < SAFE_POWER_MAX:
        return at, 0.0, False
    value = _nearest(mantissa, power)
    if value != value:
        return UNREAD, 0.0, False
    return at, 0.0 - value if negative else value, False
