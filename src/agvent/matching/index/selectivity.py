"""How selective ranges are, judged by the bounds that subscriptions give: a value of an event is taken to fall where
their bounds do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from agvent.matching.columns.arrays import F64, I32, I64, Records
from agvent.matching.rows.predicates import IN_RANGE

SAMPLE_MAX = 1024
"""Bounds kept per slot to estimate how selective a range is."""


@njit(nogil=True, cache=True)
def bound_samples(rows: Records, predicates: Records, slot_count: int) -> tuple[F64, I64]:
    """Sorted samples of the finite bounds of each slot, and where each slot's begin."""
    counts = np.zeros(slot_count + 1, np.int64)
    for row in rows:
        for i in range(row.start, row.end):
            p = predicates[i]
            if p.op == IN_RANGE:
                counts[p.column] += np.isfinite(p.low)
                counts[p.column] += np.isfinite(p.high)
    offsets = np.zeros(slot_count + 1, np.int64)
    for slot in range(slot_count):
        offsets[slot + 1] = offsets[slot] + min(counts[slot], SAMPLE_MAX)
    samples = np.empty(offsets[slot_count])
    seen = np.zeros(slot_count + 1, np.int64)
    for row in rows:
        for i in range(row.start, row.end):
            p = predicates[i]
            if p.op == IN_RANGE:
                slot = p.column
                room = offsets[slot + 1] - offsets[slot]
                for bound in (p.low, p.high):
                    if np.isfinite(bound):
                        place = seen[slot] * room // counts[slot]
                        samples[offsets[slot] + place] = bound
                        seen[slot] += 1
    for slot in range(slot_count):
        samples[offsets[slot] : offsets[slot + 1]].sort()
    return samples, offsets


@njit(nogil=True, cache=True)
def fraction(p: Any, samples: F64, offsets: I64) -> Any:
    """The share of the slot's bounds that a range holds: how likely it is to accept."""
    first, last = offsets[p.column], offsets[p.column + 1]
    if first == last:
        return 1.0
    part = samples[first:last]
    below = np.searchsorted(part, p.low, side="left")
    above = np.searchsorted(part, p.high, side="right")
    return max(1, above - below) / len(part)


@njit(nogil=True, cache=True)
def add_scores(
    part: I32, rows: Records, predicates: Records, access: I32, samples: F64, offsets: I64, scores: F64
) -> None:
    """Adds up, per slot, how many of the list's rows a value on that slot rules out."""
    for r in part:
        for i in range(rows[r].start, rows[r].end):
            if predicates[i].op == IN_RANGE and i != access[r]:
                scores[predicates[i].column] += 1.0 - fraction(predicates[i], samples, offsets)


@njit(nogil=True, cache=True)
def pick_slots(part: I32, rows: Records, predicates: Records, scores: F64, size: int, picked: I32) -> None:
    """The three slots with the best scores, if they rule out a fifth of the list; the scores are zero again after."""
    for r in part:
        for i in range(rows[r].start, rows[r].end):
            if predicates[i].op != IN_RANGE:
                continue
            slot, score = predicates[i].column, scores[predicates[i].column]
            if score < 0.2 * size or slot == picked[0] or slot == picked[1] or slot == picked[2]:
                continue
            for k in range(3):
                if picked[k] < 0 or score > scores[picked[k]]:
                    for m in range(2, k, -1):
                        picked[m] = picked[m - 1]
                    picked[k] = slot
                    break
    for r in part:
        for i in range(rows[r].start, rows[r].end):
            if predicates[i].op == IN_RANGE:
                scores[predicates[i].column] = 0.0
