"""What the kernel can test: predicates, patterns, and the rows they form, as records in arrays.

A predicate tests one column of an event:

| op | column | accepts |
|---|---|---|
| IN_RANGE | value slot | low <= v <= high (NaN never) |
| NOT_IN_RANGE | value slot | everything else, NaN included |
| IN_SET | value slot | v is one of sets[low:high], sorted |
| NOT_IN_SET | value slot | everything else, NaN included |
| MISSING | value slot | NaN |
| LIKE | text column | the string under patterns[low] |
| NOT_LIKE | text column | everything else, no string included |
| HAS | list column | an element equal to low |
| HAS_NOT | list column | everything else, no list included |
| ANY_OF | none | one of alternatives[low:high] accepts |

A row is a conjunction of predicates and accepts for one subscription; `residual` names what the oracle must add.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, F64, U8, Records, read
from agvent.matching.rows.like import like

IN_RANGE, NOT_IN_RANGE, IN_SET, NOT_IN_SET, MISSING, LIKE, NOT_LIKE, HAS, HAS_NOT, ANY_OF = range(10)

PREDICATE = np.dtype([("op", np.int32), ("column", np.int32), ("low", np.float64), ("high", np.float64)])

PATTERN = np.dtype(
    [
        ("start", np.int64),
        ("size", np.int64),
        ("prefix", np.int64),  # code of the text before the first wildcard, or -1
        ("suffix", np.int64),  # code of the text after the last wildcard, or -1
        ("whole", np.int64),  # the affix decides alone: PREFIX_ALONE, SUFFIX_ALONE or 0
    ]
)
PREFIX_ALONE, SUFFIX_ALONE = 1, 2

ROW = np.dtype(
    [
        ("subscription", np.int32),
        ("residual", np.int32),  # -1: the predicates decide
        ("start", np.int32),
        ("end", np.int32),
        ("shared", np.int32),  # 1: the subscription has other rows, which may accept the same event
    ]
)


class Tests(NamedTuple):
    """The arrays that predicates refer to."""

    alternatives: Records
    sets: F64
    patterns: Records
    pattern_bytes: U8


TESTS_TYPES = (read(PREDICATE), read(np.float64), read(PATTERN), read(np.uint8))


@njit(types.boolean(read(np.float64), types.int64, types.int64, types.float64), **BORROWED)
def in_set(sets: F64, low: int, high: int, v: float) -> bool:
    """Is `v` one of the sorted sets[low:high]?"""
    while low < high:
        middle = (low + high) >> 1
        if sets[middle] < v:
            low = middle + 1
        elif sets[middle] > v:
            high = middle
        else:
            return v == v
    return False


@njit(**BORROWED)
def accepts_one(p, e, values, texts, lists, data, elements, tests):  # type: ignore[no-untyped-def]
    """Does a predicate other than ANY_OF accept event `e`?"""
    op = p.op
    if op == IN_RANGE:
        v = values[e, p.column]
        return p.low <= v and v <= p.high
    if op == NOT_IN_RANGE:
        v = values[e, p.column]
        return not (p.low <= v and v <= p.high)
    if op == IN_SET or op == NOT_IN_SET:
        found = in_set(tests.sets, int(p.low), int(p.high), values[e, p.column])
        return found == (op == IN_SET)
    if op == MISSING:
        v = values[e, p.column]
        return v != v
    if op == LIKE or op == NOT_LIKE:
        start, size = texts[e, p.column, 0], texts[e, p.column, 1]
        if size < 0:
            return op == NOT_LIKE
        pattern = tests.patterns[np.int64(p.low)]
        at = pattern.start
        found = like(tests.pattern_bytes, at, at + pattern.size, data, start, start + size)
        return found == (op == LIKE)
    start, size = lists[e, p.column, 0], lists[e, p.column, 1]
    for i in range(start, start + size):
        if elements[i] == p.low:
            return op == HAS
    return op == HAS_NOT


@njit(**BORROWED)
def accepts(p, e, values, texts, lists, data, elements, tests):  # type: ignore[no-untyped-def]
    """Does a predicate accept event `e`?"""
    if p.op == IN_RANGE:
        v = values[e, p.column]
        return p.low <= v and v <= p.high
    if p.op != ANY_OF:
        return accepts_one(p, e, values, texts, lists, data, elements, tests)
    for i in range(np.int64(p.low), np.int64(p.high)):
        if accepts_one(tests.alternatives[i], e, values, texts, lists, data, elements, tests):
            return True
    return False
