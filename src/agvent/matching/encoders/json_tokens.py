"""The tokens of JSON text that are not numbers: space, strings and their UTF-8, escapes, the three words.

All reading relies on one thing: the data ends with a line feed, which no token contains, so no loop looks for the end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, INLINED, U8, read, several, write

UNREAD: Final = -1
"""The position that says: not read here."""

SPACE, TAB, RETURN, FEED, QUOTE, BACKSLASH = b' \t\r\n"\\'
SMALL_U: Final = 0x75

PLAIN, END, ESCAPE, WIDE, CONTROL = range(5)


def _classes() -> U8:
    """What a byte is inside a string."""
    classes = np.zeros(256, np.uint8)
    classes[:0x20] = CONTROL
    classes[0x80:] = WIDE
    classes[QUOTE] = END
    classes[BACKSLASH] = ESCAPE
    return classes


def _hex_digits() -> U8:
    """The value of a hexadecimal digit, 255 for what is none."""
    digits = np.full(256, 255, np.uint8)
    for digit in range(16):
        digits[ord(f"{digit:x}")] = digits[ord(f"{digit:X}")] = digit
    return digits


def _escaped() -> U8:
    """What a byte after a backslash stands for, 0 for what may not stand there."""
    escaped = np.zeros(256, np.uint8)
    for name, byte in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
        escaped[name] = byte
    return escaped


CLASSES = _classes()
ESCAPED = _escaped()
HEX_DIGITS = _hex_digits()
NO_HEX: Final = 1 << 16

AT = types.int64(read(np.uint8), types.int64)


@njit(AT, **INLINED)
def skip_space(data: U8, at: int) -> int:
    """The position of the next byte that is not space within a line."""
    while data[at] == SPACE or data[at] == TAB or data[at] == RETURN:
        at += 1
    return at


@njit(AT, **INLINED)
def hex_at(data: U8, at: int) -> int:
    """Four hexadecimal digits, or NO_HEX."""
    value = 0
    for i in range(at, at + 4):
        digit = int(HEX_DIGITS[data[i]])
        if digit > 15:
            return NO_HEX
        value = value << 4 | digit
    return value


@njit(AT, **BORROWED)
def escape_size(data: U8, at: int) -> int:
    """The bytes of an escape, a surrogate pair being one; 0 for none or half a pair."""
    byte = data[at + 1]
    if byte == SMALL_U:
        unit = hex_at(data, at + 2)
        if unit == NO_HEX or 0xDC00 <= unit < 0xE000:
            return 0
        if unit < 0xD800 or unit >= 0xE000:
            return 6
        if data[at + 6] != BACKSLASH or data[at + 7] != SMALL_U:
            return 0
        return 12 if 0xDC00 <= hex_at(data, at + 8) < 0xE000 else 0
    return 2 if ESCAPED[byte] else 0


@njit(AT, **BORROWED)
def wide_size(data: U8, at: int) -> int:
    """The bytes of a UTF-8 character that has more than one; 0 if it is none (Unicode 15, table 3-7)."""
    first = data[at]
    if first < 0xC2 or first > 0xF4:
        return 0
    second = data[at + 1]
    if first < 0xE0:
        return 2 if second & 0xC0 == 0x80 else 0
    low, high = 0x80, 0xBF
    if first == 0xE0:
        low = 0xA0
    elif first == 0xED:
        high = 0x9F
    elif first == 0xF0:
        low = 0x90
    elif first == 0xF4:
        high = 0x8F
    if second < low or second > high or data[at + 2] & 0xC0 != 0x80:
        return 0
    if first < 0xF0:
        return 3
    return 4 if data[at + 3] & 0xC0 == 0x80 else 0


@njit(AT, **INLINED)
def string_end(data: U8, at: int) -> int:
    """The position of the closing quote of a string whose content starts here, escapes and UTF-8 checked."""
    while True:
        of = CLASSES[data[at]]
        if of == PLAIN:
            at += 1
        elif of == END:
            return at
        elif of == CONTROL:
            return UNREAD
        else:
            size = escape_size(data, at) if of == ESCAPE else wide_size(data, at)
            if size == 0:
                return UNREAD
            at += size


PRIME = np.uint64(0x100000001B3)
SEED = np.uint64(0xCBF29CE484222325)


@njit(several(types.int64, types.uint64, types.int64)(read(np.uint8), types.int64), **INLINED)
def plain_string(data: U8, at: int) -> tuple[int, np.uint64, int]:
    """The closing quote of a string without escapes, the hash_bytes of its content, and its number of characters."""
    h = SEED
    first = at
    within = 0
    while True:
        byte = data[at]
        of = CLASSES[byte]
        if of == PLAIN:
            h = (h ^ np.uint64(byte)) * PRIME
            at += 1
        elif of == END:
            return at, h, at - first - within
        elif of != WIDE:
            return UNREAD, h, 0
        else:
            size = wide_size(data, at)
            if size == 0:
                return UNREAD, h, 0
            for i in range(at, at + size):
                h = (h ^ np.uint64(data[i])) * PRIME
            at += size
            within += size - 1


@njit(types.int64(write(np.uint8), types.int64, types.int64), **INLINED)
def put_character(out: U8, to: int, character: int) -> int:
    """Writes a character in UTF-8; the position after it."""
    if character < 0x80:
        out[to] = character
        return to + 1
    if character < 0x800:
        out[to] = 0xC0 | character >> 6
    else:
        if character < 0x10000:
            out[to] = 0xE0 | character >> 12
        else:
            out[to] = 0xF0 | character >> 18
            to += 1
            out[to] = 0x80 | character >> 12 & 0x3F
        to += 1
        out[to] = 0x80 | character >> 6 & 0x3F
    out[to + 1] = 0x80 | character & 0x3F
    return to + 2


@njit(
    several(types.int64, types.int64, types.int64)(read(np.uint8), types.int64, write(np.uint8), types.int64),
    **BORROWED,
)
def unescape(data: U8, at: int, out: U8, to: int) -> tuple[int, int, int]:
    """Writes a string's content without its escapes; its closing quote, the end of what was written, its characters."""
    characters = 0
    while True:
        of = CLASSES[data[at]]
        if of == END:
            return at, to, characters
        if of == CONTROL:
            return UNREAD, to, 0
        characters += 1
        if of == PLAIN:
            out[to] = data[at]
            at, to = at + 1, to + 1
            continue
        size = escape_size(data, at) if of == ESCAPE else wide_size(data, at)
        if size == 0:
            return UNREAD, to, 0
        if of == WIDE:
            for i in range(size):
                out[to + i] = data[at + i]
            to += size
        elif size == 2:
            out[to] = ESCAPED[data[at + 1]]
            to += 1
        else:
            character = hex_at(data, at + 2)
            if size == 12:
                character = 0x10000 + ((character - 0xD800) << 10) + hex_at(data, at + 8) - 0xDC00
            to = put_character(out, to, character)
        at += size


@njit(types.boolean(read(np.uint8), types.int64, read(np.uint8)), **INLINED)
def word_at(data: U8, at: int, word: U8) -> bool:
    """Do these bytes stand here?"""
    same = 0
    while same < len(word) and data[at + same] == word[same]:
        same += 1
    return same == len(word)
