"""The snapshot: an immutable index over the rows there were when it was built.

Every row is filed in posting lists, one per access key. In a list, rows that have a range on the list's own value slot
are sorted by its low bound, with the largest high bound of every 32: an event's value then rules out most of the list
without looking at it. A long list has cell bitsets as well: for up to three slots and at most 256 cells each, which
rows reach into the cell, and which hold all of it. The intersection of the former leaves few rows to test exactly, that
of the latter rows that need no test at all.

`build.py` makes it, `kernel.py` reads it, `store/` saves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agvent.matching.columns.arrays import F64, I32, U8, U64, Records, read
from agvent.matching.rows.access_keys import GROUP, KEY
from agvent.matching.rows.predicates import PATTERN, PREDICATE, Tests

BLOCK = 32
"""Rows that share one largest high bound."""

LIST = np.dtype(
    [
        ("start", np.int64),  # entries start..middle have no range on `slot`, middle..end are sorted by `low`
        ("middle", np.int64),
        ("end", np.int64),
        ("slot", np.int64),  # -1: no slot divides this list
        ("block", np.int64),  # first of the largest high bounds
        ("cells", np.int64),  # -1: no bitsets; else its first of `dimensions`
        ("box", np.int64),  # first of its `boxes`
    ]
)

ENTRY = np.dtype([("residual", np.int32), ("start", np.int32), ("shared", np.int32)])
"""A row in a list; its predicates are start .. the next entry's start. Whose it is stands apart, in `owners`: most
matches in a long list need nothing else, and four bytes each stay in the cache."""

DIMENSIONS = 3
BOX = 2 * DIMENSIONS
"""Floats of a box: the low and high bound of a row in every dimension, in one cache line. A row that has other tests
has NaN there instead."""

DIMENSION = np.dtype(
    [
        ("slot", np.int64),  # -1: not used
        ("bound", np.int64),  # first of its cell bounds
        ("cells", np.int64),  # number of cells; one more row of bits is for events without a value
        ("bits", np.int64),  # first word of its bits
        ("inside", np.int64),  # the same bits, but only of rows whose range holds the whole cell
        ("words", np.int64),  # words in a row of bits
        ("window", np.int64),  # of the first dimension: its cells' first and last words with a bit
    ]
)


class Snapshot(NamedTuple):
    """Plain arrays and nothing else, so that it can be saved and memory-mapped as it is."""

    groups: Records
    key_table: I32
    keys: Records
    lists: Records
    always: I32
    owners: I32
    entries: Records
    low: F64
    high: F64
    blocks: F64
    predicates: Records
    dimensions: Records
    bounds: F64
    bits: U64
    windows: I32
    boxes: F64
    alternatives: Records
    sets: F64
    patterns: Records
    pattern_bytes: U8

    @property
    def tests(self) -> Tests:
        """What the predicates refer to."""
        return Tests(self.alternatives, self.sets, self.patterns, self.pattern_bytes)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


SNAPSHOT_TYPES = (
    read(GROUP),
    read(np.int32),
    read(KEY),
    read(LIST),
    read(np.int32),
    read(np.int32),
    read(ENTRY),
    read(np.float64),
    read(np.float64),
    read(np.float64),
    read(PREDICATE),
    read(DIMENSION),
    read(np.float64),
    read(np.uint64),
    read(np.int32),
    read(np.float64),
    read(PREDICATE),
    read(np.float64),
    read(PATTERN),
    read(np.uint8),
)


def empty_snapshot() -> Snapshot:
    """An index over no rows."""
    return Snapshot(
        groups=np.zeros(0, GROUP),
        key_table=np.full(16, -1, np.int32),
        keys=np.zeros(0, KEY),
        lists=np.zeros(0, LIST),
        always=np.zeros(0, np.int32),
        owners=np.zeros(0, np.int32),
        entries=np.zeros(1, ENTRY),
        low=np.zeros(0),
        high=np.zeros(0),
        blocks=np.zeros(0),
        predicates=np.zeros(0, PREDICATE),
        dimensions=np.zeros(0, DIMENSION),
        bounds=np.zeros(0),
        bits=np.zeros(0, np.uint64),
        windows=np.zeros(0, np.int32),
        boxes=np.zeros(0),
        alternatives=np.zeros(0, PREDICATE),
        sets=np.zeros(0),
        patterns=np.zeros(0, PATTERN),
        pattern_bytes=np.zeros(0, np.uint8),
    )
