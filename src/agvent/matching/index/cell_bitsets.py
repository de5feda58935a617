"""Cell bitsets of long lists: which rows reach into which part of a slot's values.

For each of up to three slots the finite bounds are cut into at most 256 cells with about equally many bounds. A row's
bit is set in every cell its range touches, and in all of them if it has no range there; one more row of bits, for
events without a value, holds only the latter. A second set of bits is for the cells a range holds entirely. A plain
row, one that is decided by its ranges on these slots, accepts without being looked at where it has those bits in every
dimension, and elsewhere by its box. Other rows never get any in the first dimension, and are tested.

Cost: (2 x cells + 2) x rows / 8 bytes a slot and 48 bytes a row; two ANDs of words an event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from agvent.matching.columns.arrays import F64, I32, U64, Records
from agvent.matching.index.snapshot import BOX, DIMENSION, DIMENSIONS
from agvent.matching.rows.predicates import IN_RANGE, IN_SET

LONG_MIN = 128
"""Sorted rows from which a list has bitsets."""

CELLS_MAX = 256


def cell_bitsets(
    lists: Records, slots_of_list: I32, order: I32, rows: Records, predicates: Records, access: I32
) -> tuple[Records, F64, U64, I32, F64]:
    """Dimensions, cell bounds, bits, windows and boxes of all lists that are long enough; sets `lists.cells`."""
    long = np.flatnonzero(lists["end"] - lists["middle"] >= LONG_MIN)
    made: tuple[Records, F64, U64, I32, F64] = _cell_bitsets(
        lists, long, slots_of_list, order, rows, predicates, access
    )
    return made


@njit(nogil=True, cache=True)
def _cell_bitsets(lists, long, slots_of_list, order, rows, predicates, access):  # type: ignore[no-untyped-def]
    """One compiled call for all lists: a thread that gives up the interpreter's lock waits to get it back."""
    dimensions, bounds, words_total, windows_total, rows_total = _dimensions(
        lists, long, slots_of_list, order, rows, predicates, access
    )
    bits = np.zeros(words_total, np.uint64)
    windows = np.zeros(windows_total, np.int32)
    boxes = np.full(BOX * rows_total, np.nan)
    for n in range(len(long)):
        one = lists[long[n]]
        part = order[one.middle : one.end]
        used = dimensions[n * DIMENSIONS : (n + 1) * DIMENSIONS]
        plain = _plain(part, rows, predicates, access, used)
        for k in range(DIMENSIONS):
            if used[k].slot >= 0:
                _set_bits(part, rows, predicates, access, used[k], bounds, bits, plain, k)
        _set_windows(used[0], bits, windows)
        _set_boxes(part, rows, predicates, access, used, plain, boxes[one.box : one.box + BOX * len(part)])
    return dimensions, bounds, bits, windows, boxes


@njit(nogil=True, cache=True)
def _dimensions(lists, long, slots_of_list, order, rows, predicates, access):  # type: ignore[no-untyped-def]
    """The dimensions and their cell bounds, and how many words, windows and rows there are; notes places in `lists`."""
    dimensions = np.zeros(len(long) * DIMENSIONS, DIMENSION)
    bounds = np.empty(len(long) * DIMENSIONS * CELLS_MAX)
    bounds_total, words_total, windows_total, rows_total = 0, 0, 0, 0
    for n in range(len(long)):
        at = long[n]
        lists[at].cells = n * DIMENSIONS
        lists[at].box = BOX * rows_total
        size = lists[at].end - lists[at].middle
        rows_total += size
        for k in range(DIMENSIONS):
            one = dimensions[n * DIMENSIONS + k]
            one.slot = slots_of_list[at, k]
            one.window = -1
            if one.slot < 0:
                continue
            cuts = _cuts(order[lists[at].middle : lists[at].end], rows, predicates, access, one.slot)
            bounds[bounds_total : bounds_total + len(cuts)] = cuts
            one.bound, one.cells, one.words = bounds_total, len(cuts) + 1, (size + 63) // 64
            one.bits = words_total
            one.inside = words_total + (one.cells + 1) * one.words
            bounds_total += len(cuts)
            words_total += 2 * (one.cells + 1) * one.words
            if k == 0:
                one.window = windows_total
                windows_total += 2 * one.cells
    return dimensions, bounds[:bounds_total].copy(), words_total, windows_total, rows_total


@njit(nogil=True, cache=True)
def _plain(part, rows, predicates, access, used):  # type: ignore[no-untyped-def]
    """1 for each row that is decided by its ranges on the given slots and the key it is filed by."""
    plain = np.ones(len(part), np.uint8)
    for k in range(len(part)):
        row = rows[part[k]]
        if row.residual >= 0 or row.shared:
            plain[k] = 0
        filed_by = access[part[k]]
        if filed_by >= 0 and predicates[filed_by].op != IN_RANGE and predicates[filed_by].op != IN_SET:
            plain[k] = 0
        for i in range(row.start, row.end):
            p = predicates[i]
            if i == filed_by:
                continue
            if p.op != IN_RANGE or (p.column != used[0].slot and p.column != used[1].slot and p.column != used[2].slot):
                plain[k] = 0
    return plain


@njit(nogil=True, cache=True)
def _cuts(part: I32, rows: Records, predicates: Records, access: I32, slot: int) -> Any:
    """Distinct bounds that cut the list's own into equal shares: a cell for every four rows, at most CELLS_MAX."""
    ends = np.sort(_bounds_on(part, rows, predicates, access, slot))
    count = min(CELLS_MAX, len(part) // 4) - 1
    if len(ends) > count:
        chosen = np.empty(count)
        for i in range(count):
            chosen[i] = ends[i * (len(ends) - 1) // max(1, count - 1)]
        ends = chosen
    return np.unique(ends)


@njit(nogil=True, cache=True)
def _bounds_on(part: I32, rows: Records, predicates: Records, access: I32, slot: int) -> F64:
    ends = np.empty(2 * len(part))
    n = 0
    for r in part:
        for i in range(rows[r].start, rows[r].end):
            p = predicates[i]
            if p.op == IN_RANGE and p.column == slot and i != access[r]:
                for bound in (p.low, p.high):
                    if np.isfinite(bound) and n < len(ends):
                        ends[n] = bound
                        n += 1
    return ends[:n].copy()


@njit(nogil=True, cache=True)
def _set_bits(part, rows, predicates, access, one, bounds, bits, plain, dimension):  # type: ignore[no-untyped-def]
    """Cell c holds values from bound c - 1 up to, not including, bound c."""
    cuts = bounds[one.bound : one.bound + one.cells - 1]
    for k in range(len(part)):
        r = part[k]
        first, last, missing = 0, one.cells - 1, True
        inside_first, inside_last = first, last
        for i in range(rows[r].start, rows[r].end):
            p = predicates[i]
            if p.op == IN_RANGE and p.column == one.slot and i != access[r]:
                missing = False
                first = max(first, np.searchsorted(cuts, p.low, side="right"))
                last = min(last, np.searchsorted(cuts, p.high, side="right"))
                # the first cell is held from its own lower bound on, the last never up to its upper bound
                inside_first = max(inside_first, np.searchsorted(cuts, p.low, side="left") + 1)
                inside_last = min(inside_last, np.searchsorted(cuts, p.high, side="right") - 1)
                if p.low == -np.inf:
                    inside_first = 0
                if p.high == np.inf:
                    inside_last = one.cells - 1
        word, bit = k >> 6, np.uint64(1) << np.uint64(k & 63)
        for c in range(first, last + 1):
            bits[one.bits + c * one.words + word] |= bit
        if dimension > 0 or plain[k]:
            for c in range(inside_first, inside_last + 1):
                bits[one.inside + c * one.words + word] |= bit
        if missing:
            bits[one.bits + one.cells * one.words + word] |= bit
            if dimension > 0 or plain[k]:
                bits[one.inside + one.cells * one.words + word] |= bit


@njit(nogil=True, cache=True)
def _set_boxes(part, rows, predicates, access, used, plain, boxes):  # type: ignore[no-untyped-def]
    for k in range(len(part)):
        if not plain[k]:
            continue
        r = part[k]
        box = boxes[BOX * k : BOX * (k + 1)]
        for d in range(DIMENSIONS):
            box[2 * d], box[2 * d + 1] = -np.inf, np.inf
        for i in range(rows[r].start, rows[r].end):
            p = predicates[i]
            if p.op == IN_RANGE and i != access[r]:
                for d in range(DIMENSIONS):
                    if p.column == used[d].slot:
                        box[2 * d] = max(box[2 * d], p.low)
                        box[2 * d + 1] = min(box[2 * d + 1], p.high)


@njit(nogil=True, cache=True)
def _set_windows(one, bits, windows):  # type: ignore[no-untyped-def]
    """Rows are sorted by the first dimension, so the bits of one of its cells lie close together."""
    for c in range(one.cells):
        first, last = one.words, -1
        for w in range(one.words):
            if bits[one.bits + c * one.words + w]:
                first = min(first, w)
                last = w
        windows[one.window + 2 * c] = first
        windows[one.window + 2 * c + 1] = last
