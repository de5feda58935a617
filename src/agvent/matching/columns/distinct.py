"""Lists without repeats: an event reaches a row through a list's element once, however often the list has it."""

from __future__ import annotations

from numba import njit, types
from numpy import float64, int64

from agvent.matching.columns.arrays import BORROWED, F64, I64, write

FEW = 16
"""Elements that are compared with each other; more are sorted first."""


@njit(types.void(write(float64), types.int64, types.int64), **BORROWED)
def _sort(elements: F64, start: int, end: int) -> None:
    """Shell sort, in place: NumPy's own would allocate."""
    gap = 1
    while gap < (end - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            held, j = elements[i], i
            while j >= start + gap and elements[j - gap] > held:
                elements[j] = elements[j - gap]
                j -= gap
            elements[j] = held
        gap //= 3


@njit(types.void(write(int64, 3), write(float64)), **BORROWED)
def make_distinct(lists: I64, elements: F64) -> None:
    """Drops what a list has already had; the order of elements means nothing here."""
    for e in range(lists.shape[0]):
        for column in range(lists.shape[1]):
            start, size = lists[e, column, 0], lists[e, column, 1]
            if size < 2:
                continue
            if size > FEW:
                _sort(elements, start, start + size)
            kept = start
            for i in range(start, start + size):
                first = kept - 1 if size > FEW else start
                repeated = False
                for j in range(max(first, start), kept):
                    repeated = repeated or elements[j] == elements[i]
                if not repeated:
                    elements[kept] = elements[i]
                    kept += 1
            lists[e, column, 1] = kept - start
