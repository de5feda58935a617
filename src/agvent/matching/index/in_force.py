"""Which subscription versions are in force for an event: from_epoch <= epoch < to_epoch at its entry broker.

The one definition that stream, replay and audit share. It is applied to the pairs that the kernel found: an event has
few of them, however many versions and brokers there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, types

from agvent.errors import SubscriptionError
from agvent.matching.columns.arrays import BORROWED, I32, I64, U8, read, write
from agvent.matching.index.search import SearchResult

FOREVER = np.iinfo(np.int64).max
"""The end of an interval that is still open."""

NOWHERE = -1
"""The code of a broker that no interval names: nothing is in force there."""


class Intervals(NamedTuple):
    """Intervals of epochs: those of ordinal n lie at starts[n]..starts[n + 1], ascending by broker, then by epoch.

    Cost of one pair: the logarithm of how many brokers its subscription has been at. 20 bytes for each interval.
    """

    starts: I64
    broker: I32
    from_epoch: I64
    to_epoch: I64


class InForce:
    """The intervals of all versions in an index. Brokers are codes: their places in `brokers`."""

    def __init__(self, intervals: Intervals, brokers: Sequence[str]) -> None:
        self.intervals = intervals
        self.brokers = list(brokers)
        self._codes = {name: code for code, name in enumerate(brokers)}

    @classmethod
    def of(cls, *, ordinals: I64, brokers: Sequence[str], from_epoch: I64, to_epoch: I64, count: int) -> InForce:
        """From one entry for each interval, in any order, over `count` ordinals."""
        names, codes = np.unique(np.asarray(brokers, dtype=object), return_inverse=True)
        order = np.lexsort((from_epoch, codes, ordinals))
        by_ordinal, broker = ordinals[order], codes[order].astype(np.int32)
        begin, end = from_epoch[order].astype(np.int64), to_epoch[order].astype(np.int64)
        _check(by_ordinal, broker, begin, end, names)
        starts = np.searchsorted(by_ordinal, np.arange(count + 1)).astype(np.int64)
        return cls(Intervals(starts, broker, begin, end), names.tolist())

    def codes(self, names: Sequence[str | None]) -> I32:
        """The codes of brokers' names."""
        known = self._codes
        return np.fromiter((known.get(name, NOWHERE) if name is not None else NOWHERE for name in names), np.int32)

    def kept(self, found: SearchResult, broker: I32, epoch: I64) -> SearchResult:
        """The matches whose subscription was in force at the event's broker and epoch."""
        keep = np.empty(len(found.subscriptions), np.uint8)
        ends = np.empty(len(found.ends), np.int64)
        _keep(*self.intervals, found.subscriptions, found.ends, broker, epoch, keep, ends)
        return SearchResult(found.subscriptions[keep.view(np.bool_)], ends)

    def holds(self, ordinals: I32, broker: I32, epoch: I64) -> npt.NDArray[np.bool_]:
        """The same of single pairs: was this ordinal in force at this broker and epoch?"""
        keep = np.empty(len(ordinals), np.uint8)
        ends = np.arange(1, len(ordinals) + 1)
        _keep(*self.intervals, ordinals, ends, broker, epoch, keep, ends.copy())
        return keep.view(np.bool_)


def _check(ordinals: I64, broker: I32, begin: I64, end: I64, names: Any) -> None:
    """Refuses an interval that ends before it begins, and two of one version at one broker that overlap."""
    wrong = np.flatnonzero(begin > end)
    same = (ordinals[1:] == ordinals[:-1]) & (broker[1:] == broker[:-1])
    overlap = np.flatnonzero(same & (end[:-1] > begin[1:]))
    for places, complaint in ((wrong, "ends before it begins"), (overlap, "overlaps the next one")):
        if len(places):
            at = places[0]
            raise SubscriptionError(
                f"an interval in force at {names[broker[at]]!r}, epochs {begin[at]} to {end[at]}, {complaint}"
            )


KEEP = types.void(
    *(read(np.int64), read(np.int32), read(np.int64), read(np.int64)),
    *(read(np.int32), read(np.int64), read(np.int32), read(np.int64)),
    *(write(np.uint8), write(np.int64)),
)


@njit(KEEP, nogil=True, **BORROWED)
def _keep(
    starts: I64,
    broker: I32,
    from_epoch: I64,
    to_epoch: I64,
    subscriptions: I32,
    ends: I64,
    event_broker: I32,
    event_epoch: I64,
    keep: U8,
    kept_ends: I64,
) -> None:
    pair = 0
    count = 0
    for event in range(len(ends)):
        at, epoch = event_broker[event], event_epoch[event]
        while pair < ends[event]:
            low, high = starts[subscriptions[pair]], starts[subscriptions[pair] + 1]
            first = low
            while low < high:  # the last interval that begins at this broker and not after this epoch
                middle = (low + high) // 2
                if broker[middle] < at or (broker[middle] == at and from_epoch[middle] <= epoch):
                    low = middle + 1
                else:
                    high = middle
            keep[pair] = low > first and broker[low - 1] == at and epoch < to_epoch[low - 1]
            count += keep[pair]
            pair += 1
        kept_ends[event] = count
