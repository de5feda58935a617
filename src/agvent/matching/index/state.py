"""The state of an index between two compactions: a snapshot, the tail behind it, and who the rows belong to.

An index has two parts. The *snapshot* is immutable and sorted, made for speed. The *tail* has the rows that came after
it, in chains under the same access keys, so that adding a subscription costs the same at any size. Every search looks
at both. A *compaction* builds the next snapshot from the live rows of both and begins an empty tail.

A subscription is an ordinal. It begins when rows with its ordinal are visible, and ends in version `until[ordinal]`.
`mark` says what is visible: a version, a number of rows, a number of groups. Changes happen in this order:

1. one writer at a time appends rows beyond `mark.row_limit` and sets `until` to `mark.version + 1`;
2. `publish` files the rows into the tail, then assigns `mark`.

A reader takes `mark` first and the arrays after, so the arrays are at least as new as its mark. It ignores rows and
groups beyond the mark, and ends in a later version than the mark's. Invariants:

- What a mark shows never changes: arrays are appended to or replaced by larger copies, never rewritten below a mark.
- A change is visible whole or not at all. A replacement is an end and new rows under one mark, so an event matches
  the old filter or the new one, never both or neither.
- An ordinal is given to another subscription only after a compaction. Before that, old rows of the ordinal are still
  in the snapshot or the tail, and would match for the new owner.

A lock around reads is the obvious alternative. Then a compaction, or a batch of many events, would stop all others.
Removing rows in place is another: a reader in the middle of a list would skip or repeat rows.

Cost: a change is a few array writes and one assignment; a reader pays no lock. Ended rows cost time and memory until
the next compaction, which happens when the tail outgrows half of the snapshot. So each row is moved a bounded number of
times on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from agvent.filters.subscription import Subscription
from agvent.matching.columns.arrays import I32, I64, Records, grown
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.index.build import build
from agvent.matching.index.snapshot import Snapshot, empty_snapshot
from agvent.matching.index.tail import Tail
from agvent.matching.rows.row_store import RowStore

FOREVER = np.iinfo(np.int64).max


class Mark(NamedTuple):
    """What a reader takes when it begins: whatever changes later lies beyond it."""

    version: int
    row_limit: int
    group_count: int


class IndexState:
    """`until[ordinal]` is the version in which a subscription ended. An ordinal whose subscription ended is used again
    only after a compaction, when no row of it is left."""

    def __init__(self, store: RowStore, snapshot: Snapshot, *, version: int = 0) -> None:
        self.store = store
        self.snapshot = snapshot
        self.snapshot_rows = store.row_count
        self.tail = Tail(snapshot)
        self.until: I64 = np.zeros(16, np.int64)
        self.destination: I32 = np.zeros(16, np.int32)
        self.destination_max = 0
        self.known: Sequence[Subscription] = []
        self.free: list[int] = []
        self.ended = 0
        """Ends since the snapshot: while there are none, nobody looks at `until`."""

        self.mark = Mark(version, store.row_count, 0)

    @classmethod
    def empty(cls) -> IndexState:
        return cls(RowStore(Slots(), Strings()), empty_snapshot())

    @property
    def strings(self) -> Strings:
        return self.store.strings

    @property
    def tail_rows(self) -> int:
        return self.store.row_count - self.snapshot_rows

    def own(self, subscription: Subscription, destination: int) -> int:
        """An ordinal for a subscription, whose rows the caller appends."""
        known = self.known
        assert isinstance(known, list)
        if self.free:
            ordinal = self.free.pop()
            known[ordinal] = subscription
        else:
            ordinal = len(known)
            known.append(subscription)
            self.until = grown(self.until, ordinal + 1)
            self.destination = grown(self.destination, ordinal + 1)
        self.until[ordinal] = FOREVER
        self.destination[ordinal] = destination
        self.destination_max = max(self.destination_max, destination)
        return ordinal

    def disown(self, ordinals: list[int]) -> None:
        """Takes `own` back; nobody has seen it."""
        self.until[ordinals] = 0
        self.free.extend(ordinals)

    def publish(self) -> None:
        """Files the rows appended since the last time and makes all changes visible, with one assignment."""
        if self.store.has_waiting or self.store.row_count > self.mark.row_limit:
            self.store.flush()
            self.tail.link(self.store, self.mark.row_limit, self.store.row_count)
        self.mark = Mark(self.mark.version + 1, self.store.row_count, self.tail.group_count)

    def end(self, ordinal: int) -> None:
        """The subscription is no longer in force from the next `publish` on."""
        self.until[ordinal] = self.mark.version + 1
        self.ended += 1


class Compaction:
    """Makes the successor of a state in three steps, so that only the short first and last need the writer's lock."""

    def __init__(self, state: IndexState) -> None:
        """Notes what is live now, rows that are not published yet included."""
        state.store.flush()
        self._old = state
        self._store = state.store
        self._version = state.mark.version
        self._row_limit = state.store.row_count
        self._until = state.until.copy()
        self._rows, self._predicates, self._tests = state.store.rows, state.store.predicates, state.store.tests
        self._slot_count = state.store.slots.value_count
        self._strings = state.strings.view.entries

    def build(self) -> None:
        """The long step: reads only what cannot change any more."""
        rows = self._rows[: self._row_limit]
        self._rows, self._predicates = _live(rows, self._predicates, self._until, self._version)
        self._snapshot = build(self._rows, self._predicates, self._tests, self._slot_count, self._strings)

    def successor(self) -> IndexState:
        """The new state, with everything that happened to the old one meanwhile."""
        old = self._old
        old.store.flush()
        new = IndexState(old.store.holding(self._rows, self._predicates), self._snapshot, version=old.mark.version)
        new.until, new.destination, new.known = old.until.copy(), old.destination.copy(), list(old.known)
        new.destination_max = old.destination_max
        new.free = np.flatnonzero(new.until[: len(new.known)] <= self._version).tolist()
        new.ended = int((self._until[: len(self._until)] != new.until[: len(self._until)]).sum())
        new.store.take(old.store, self._row_limit)
        new.publish()
        return new


@njit(nogil=True, cache=True)
def _live(rows: Records, predicates: Records, until: I64, version: int) -> tuple[Records, Records]:
    """The rows whose subscription is live, with their predicates moved together."""
    row_count, predicate_count = 0, 0
    for row in rows:
        if until[row.subscription] > version:
            row_count += 1
            predicate_count += row.end - row.start
    kept = np.empty(row_count, rows.dtype)
    moved = np.empty(predicate_count, predicates.dtype)
    r, p = 0, 0
    for row in rows:
        if until[row.subscription] > version:
            kept[r] = row
            kept[r].start = p
            for i in range(row.start, row.end):
                moved[p] = predicates[i]
                p += 1
            kept[r].end = p
            r += 1
    return kept, moved
