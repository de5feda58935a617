"""LIKE in the kernel: text under a pattern, both as UTF-8.

What stands before the first ANY_MANY is compared at the beginning, what stands behind the last at the end, and each
part between two of them is looked for once, from the left. Cost: pattern + text, as a part of literal text that is not
found cheaply is looked for by the two-way algorithm (Crochemore and Perrin 1991), which needs no memory. A part with an
ANY_ONE in it is tried at each place, which costs part x text; `limits.PATTERN_PART_CHARS_MAX` bounds such a part.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, U8, read, several

ANY_MANY, ANY_ONE, ANY_LEVEL = 0xFF, 0xFE, 0xFD
"""Wildcards inside a pattern's bytes: none of them occurs in UTF-8. ANY_LEVEL never stands behind an ANY_MANY."""

SLASH = 0x2F
PATIENCE = 8
"""Comparisons for each place of the text, after which looking place by place is given up: most texts are short, and
the analysis of a part would cost more than it saves."""

BYTES = read(np.uint8)
PLACE = types.int64


@njit(PLACE(BYTES, PLACE, PLACE), **BORROWED)
def _next_character(data: U8, i: int, end: int) -> int:
    i += 1
    while i < end and (data[i] & 0xC0) == 0x80:
        i += 1
    return i


@njit(PLACE(BYTES, PLACE, PLACE, BYTES, PLACE, PLACE), **BORROWED)
def _with_wildcards(pattern: U8, start: int, stop: int, data: U8, first: int, end: int) -> int:
    """Where the first occurrence of a part with ANY_ONEs ends, or -1."""
    while first < end:
        at, i = start, first
        while at < stop and i < end and (pattern[at] == ANY_ONE or pattern[at] == data[i]):
            i = _next_character(data, i, end) if pattern[at] == ANY_ONE else i + 1
            at += 1
        if at == stop:
            return i
        first += 1
    return -1


@njit(several(PLACE, PLACE)(BYTES, PLACE, PLACE, types.boolean), **BORROWED)
def _largest_suffix(pattern: U8, start: int, size: int, backwards: bool) -> tuple[int, int]:
    """Where the largest suffix begins, less one, and its period; `backwards` turns the order of the bytes around."""
    suffix, at, k, period = -1, 0, 1, 1
    while at + k < size:
        one, other = pattern[start + at + k], pattern[start + suffix + k]
        if one == other:
            if k == period:
                at += period
                k = 1
            else:
                k += 1
        elif (one < other) != backwards:
            at += k
            k = 1
            period = at - suffix
        else:
            suffix = at
            at += 1
            k, period = 1, 1
    return suffix, period


@njit(PLACE(BYTES, PLACE, PLACE, BYTES, PLACE, PLACE), **BORROWED)
def _two_way(pattern: U8, start: int, stop: int, data: U8, first: int, end: int) -> int:
    """Where the first occurrence of a literal part begins, or -1, in at most 2 x text + 5 x part comparisons."""
    size = stop - start
    cut, period = _largest_suffix(pattern, start, size, False)
    other_cut, other_period = _largest_suffix(pattern, start, size, True)
    if other_cut > cut:
        cut, period = other_cut, other_period
    repeats = True
    for k in range(cut + 1):
        repeats = repeats and pattern[start + k] == pattern[start + period + k]
    if not repeats:
        period = max(cut + 1, size - cut - 1) + 1
    known = -1  # of a part that repeats itself, how much is known to fit already
    while first <= end - size:
        k = max(cut, known) + 1
        while k < size and pattern[start + k] == data[first + k]:
            k += 1
        if k < size:
            first += k - cut
            known = -1
            continue
        k = cut
        while k > known and pattern[start + k] == data[first + k]:
            k -= 1
        if k <= known:
            return first
        first += period
        known = size - period - 1 if repeats else -1
    return -1


@njit(PLACE(BYTES, PLACE, PLACE, BYTES, PLACE, PLACE), **BORROWED)
def _literal(pattern: U8, start: int, stop: int, data: U8, first: int, end: int) -> int:
    """Where the first occurrence of a literal part ends, or -1."""
    size = stop - start
    patience = PATIENCE * size
    while first <= end - size:
        k = 0
        while k < size and pattern[start + k] == data[first + k]:
            k += 1
        if k == size:
            return first + size
        first += 1
        patience += PATIENCE - k
        if patience < 0:
            first = _two_way(pattern, start, stop, data, first, end)
            return first + size if first >= 0 else -1
    return -1


@njit(types.boolean(BYTES, PLACE, PLACE, BYTES, PLACE, PLACE), **BORROWED)
def _parts(pattern: U8, at: int, pattern_end: int, data: U8, i: int, end: int) -> bool:
    """Do the parts, each with an ANY_MANY behind it, occur in this order?"""
    while at < pattern_end:
        stop, is_literal = at, True
        while pattern[stop] != ANY_MANY:
            is_literal = is_literal and pattern[stop] != ANY_ONE
            stop += 1
        if is_literal:
            i = _literal(pattern, at, stop, data, i, end)
        else:
            i = _with_wildcards(pattern, at, stop, data, i, end)
        if i < 0:
            return False
        at = stop + 1
    return True


@njit(types.boolean(BYTES, PLACE, PLACE, BYTES, PLACE, PLACE), **BORROWED)
def like(pattern: U8, at: int, pattern_end: int, data: U8, i: int, end: int) -> bool:
    """Does the text data[i:end] lie under the pattern?"""
    while at < pattern_end and pattern[at] != ANY_MANY:
        if pattern[at] == ANY_LEVEL:
            while i < end and data[i] != SLASH:
                i += 1
        elif i == end:
            return False
        elif pattern[at] == ANY_ONE:
            i = _next_character(data, i, end)
        elif pattern[at] == data[i]:
            i += 1
        else:
            return False
        at += 1
    if at == pattern_end:
        return i == end
    while pattern[pattern_end - 1] != ANY_MANY:
        if i == end:
            return False
        pattern_end -= 1
        end -= 1
        if pattern[pattern_end] == ANY_ONE:
            while end > i and (data[end] & 0xC0) == 0x80:
                end -= 1
        elif pattern[pattern_end] != data[end]:
            return False
    return _parts(pattern, at + 1, pattern_end, data, i, end)
