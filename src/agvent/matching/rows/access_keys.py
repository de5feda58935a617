"""Access keys: under what a row is filed, so that an event finds it without looking at the others.

A key is an operation on a column and a payload: EQUAL (value slot, image), PREFIX and SUFFIX (text column, code of the
affix), HAS (list column, image). ALWAYS is for rows that no key fits: they are filed by the value slot of their most
selective range instead. Cost: one probe per event for each group, a group being an operation, a column and, for an
affix, its length in bytes.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from agvent import limits
from agvent.matching.columns.arrays import BORROWED, I32, read
from agvent.matching.columns.strings import mixed
from agvent.matching.rows.predicates import ANY_OF, HAS, IN_RANGE, IN_SET, LIKE

EQUAL, PREFIX, SUFFIX, ELEMENT, ALWAYS = range(5)

KEYS_MAX = limits.ACCESS_KEYS_MAX
NO_COLUMN = 1 << 20
"""The column of an ALWAYS key for rows without any range."""

KEY = np.dtype([("tag", np.int64), ("payload", np.float64)])

GROUP = np.dtype([("op", np.int64), ("column", np.int64), ("size", np.int64)])
"""How an event is turned into keys; `size` is the affix length in bytes."""


@njit(types.int64(types.int64, types.int64), **BORROWED)
def tag_of(op: int, column: int) -> int:
    """A key's operation and column in one integer."""
    return column * 8 + op


@njit(types.int64(read(np.int32), read(KEY), types.int64, types.float64), **BORROWED)
def find_key(table: I32, keys, tag, payload):  # type: ignore[no-untyped-def]
    """The number of a key in an open-addressing table, or -1 - place where it would go."""
    mask = len(table) - 1
    bits = np.float64(payload).view(np.uint64)
    place = np.int64(mixed(bits ^ (np.uint64(tag) * np.uint64(0xD6E8FEB86659FD93)))) & mask
    while True:
        at = table[place]
        if at < 0:
            return -1 - place
        if keys[at].tag == tag and keys[at].payload == payload:
            return np.int64(at)
        place = (place + 1) & mask


@njit(**BORROWED)
def _keys_of_one(p, tests, found, count):  # type: ignore[no-untyped-def]
    """Appends the keys of a predicate to `found`; -1 if it has none or too many."""
    if p.op == IN_RANGE:
        if p.low != p.high or count >= KEYS_MAX:
            return -1
        found[count].tag = tag_of(EQUAL, p.column)
        found[count].payload = p.low
        return count + 1
    if p.op == IN_SET:
        if count + p.high - p.low > KEYS_MAX:
            return -1
        for i in range(np.int64(p.low), np.int64(p.high)):
            found[count].tag = tag_of(EQUAL, p.column)
            found[count].payload = tests.sets[i]
            count += 1
        return count
    if p.op == LIKE and count < KEYS_MAX:
        pattern = tests.patterns[np.int64(p.low)]
        if pattern.prefix >= 0:
            found[count].tag = tag_of(PREFIX, p.column)
            found[count].payload = np.float64(pattern.prefix)
            return count + 1
        if pattern.suffix >= 0:
            found[count].tag = tag_of(SUFFIX, p.column)
            found[count].payload = np.float64(pattern.suffix)
            return count + 1
        return -1
    if p.op == HAS and count < KEYS_MAX:
        found[count].tag = tag_of(ELEMENT, p.column)
        found[count].payload = p.low
        return count + 1
    return -1


@njit(**BORROWED)
def keys_of(p, tests, found):  # type: ignore[no-untyped-def]
    """Fills `found` with the keys one of which every accepted event has; how many, 0 if the predicate has none."""
    if p.op != ANY_OF:
        return max(0, _keys_of_one(p, tests, found, 0))
    count = 0
    for i in range(np.int64(p.low), np.int64(p.high)):
        count = _keys_of_one(tests.alternatives[i], tests, found, count)
        if count < 0:
            return 0
    return count


@njit(**BORROWED)
def decides(p, tests):  # type: ignore[no-untyped-def]
    """Does having the key already mean that the predicate accepts?"""
    if p.op == LIKE:
        return tests.patterns[np.int64(p.low)].whole != 0
    return p.op != ANY_OF


@njit(**BORROWED)
def repeats(p):  # type: ignore[no-untyped-def]
    """Can one event reach the row through this predicate twice? Lists are distinct, alternatives are not exclusive."""
    return p.op == ANY_OF
