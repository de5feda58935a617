"""One search of a batch: snapshot and tail through the kernels, the residuals through the oracle, one result."""

from __future__ import annotations

import threading
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from agvent.event import Event
from agvent.filters.evaluate import Behaviours, evaluate
from agvent.filters.tree import Condition
from agvent.filters.xpath_evaluate import excesses
from agvent.matching.columns.arrays import I32, I64, U64, Records
from agvent.matching.columns.column_batch import ColumnBatch, Unanswered
from agvent.matching.index.kernel import ASKED, match_snapshot, match_snapshot_at_once
from agvent.matching.index.state import IndexState, Mark
from agvent.matching.index.tail import match_tail, match_tail_at_once

NOTHING: I32 = np.zeros(0, np.int32)
NO_BITS: U64 = np.zeros((0, 0), np.uint64)
ROOM_MIN = 1 << 12
ROOM_MAX = 1 << 20
"""Matches there is room for in one run of a kernel, unless a single event has more: a batch with more takes several."""
ROOM_SPARE = 1.1
"""How much more is made room for than the events so far suggest for the whole batch."""
AT_ONCE_MAX = 16
"""Events of a batch that is matched without giving up the interpreter's lock."""


EVENTS_KEPT = 64
"""Events made again for the oracle that are kept while the others are: their questions mostly come in a row."""


class SearchResult(NamedTuple):
    """The matches of a batch: event e's are subscriptions[ends[e - 1] : ends[e]]."""

    subscriptions: I32
    ends: I64


class Buffers:
    """Room for matches, one per thread, kept between searches."""

    def __init__(self) -> None:
        self.state = np.zeros(4, np.int64)
        self.one_end = np.zeros(1, np.int64)
        self.grow(ROOM_MIN)

    def grow(self, needed: int) -> None:
        size = 1 << (needed - 1).bit_length()
        self.subscription = np.empty(size, np.int32)
        self.asked = np.empty(size, ASKED)
        self.shared = np.empty(size, np.int32)


class _SearchLocal(threading.local):
    def __init__(self) -> None:
        self.buffers = Buffers()


_local = _SearchLocal()


def search(
    state: IndexState, mark: Mark, batch: ColumnBatch, behaviours: Behaviours | None, bits: U64 = NO_BITS
) -> SearchResult:
    """All matches of the batch, none twice. With `bits`, fills them and finds one match at least for each."""
    ends = np.empty(len(batch), np.int64)
    found: list[SearchResult] = []
    asked: list[Records] = []
    for kernel, before, after in _kernels(state, mark, batch, bits, at_once=len(batch) <= AT_ONCE_MAX):
        matches = NOTHING
        done, total = 0, 0
        while done < len(batch):
            first = done
            done, more, questions = _run(kernel, before, after, ends, first)
            asked += [questions.copy()] if len(questions) else []
            ends[first:done] += total
            if total + len(more) > len(matches):
                share = done / len(batch) if done > first else 1.0
                matches = _larger(matches, total, int((total + len(more)) / share * ROOM_SPARE))
            matches[total : total + len(more)] = more
            total += len(more)
        found.append(SearchResult(matches[:total], ends.copy()))
    if asked:
        pairs = _confirmed(state, batch, behaviours, np.concatenate(asked), bits)
        found.append(_found(pairs[:, 0], pairs[:, 1].astype(np.int32), len(batch)))
    return found[0] if len(found) == 1 else _merged(found, len(batch), unique=bool(asked))


def _larger(matches: I32, used: int, size: int) -> I32:
    """The matches so far with room for `size`: memory is touched once, whatever the number of runs."""
    larger = np.empty(size, np.int32)
    larger[:used] = matches[:used]
    return larger


def search_one(state: IndexState, mark: Mark, batch: ColumnBatch, behaviours: Behaviours | None) -> list[int]:
    """The ordinals that the only event of a batch matches: the same search, without what only batches need."""
    ordinals: list[int] = []
    asked: list[Records] = []
    ends = _local.buffers.one_end
    for kernel, before, after in _kernels(state, mark, batch, NO_BITS, at_once=True):
        done, matches, questions = _run(kernel, before, after, ends, 0)
        while not done:
            done, matches, questions = _run(kernel, before, after, ends, 0)
        ordinals += matches.tolist()
        asked += [questions.copy()] if len(questions) else []
    if asked:
        pairs = _confirmed(state, batch, behaviours, np.concatenate(asked), NO_BITS)
        return list({*ordinals, *pairs[:, 1].tolist()})
    return ordinals


def _kernels(
    state: IndexState, mark: Mark, batch: ColumnBatch, bits: U64, *, at_once: bool
) -> list[tuple[Any, Any, Any]]:
    """The kernels to run, each with what it takes before and after the room for its matches."""
    columns = (batch.values, batch.texts, batch.lists, batch.data, batch.elements, batch.live)
    reader = (mark.version, state.ended, state.until, state.destination, bits)
    strings = state.strings.view
    runs: list[tuple[Any, Any, Any]] = []
    if len(state.snapshot.lists):
        kernel = match_snapshot_at_once if at_once else match_snapshot
        runs.append((kernel, (*state.snapshot, *strings, *columns), reader))
    if mark.row_limit > state.snapshot_rows:
        kernel = match_tail_at_once if at_once else match_tail
        store = state.store
        rows = (*state.tail.view, store.rows, store.predicates, *store.tests)
        runs.append((kernel, (*rows, *strings, *columns), (*reader, mark.row_limit, mark.group_count)))
    return runs


def _run(kernel: Any, before: Any, after: Any, ends: I64, first: int) -> tuple[int, I32, Records]:
    """Runs a kernel from an event on; the event it came to, and what it found, valid until the next run. If it ran out
    of room, there is more the next time."""
    buffers = _local.buffers
    buffers.state[:] = 0
    done: int = kernel(*before, buffers.subscription, ends, buffers.asked, buffers.shared, buffers.state, *after, first)
    matches, questions, _, needed = buffers.state.tolist()
    result = done, buffers.subscription[:matches], buffers.asked[:questions]
    if needed and (done == first or len(buffers.subscription) < ROOM_MAX):
        buffers.grow(min(4 * needed, max(needed, ROOM_MAX)))
    return result


def _confirmed(state: IndexState, batch: ColumnBatch, behaviours: Behaviours | None, asked: Records, bits: U64) -> I64:
    """The pairs of event and subscription that the oracle confirms, ascending; it is asked once for each residual of an
    event."""
    answers: dict[tuple[int, int], bool | None] = {}
    kept: list[tuple[int, int]] = []
    made = lru_cache(EVENTS_KEPT)(batch.event)
    is_ready = getattr(behaviours, "is_ready", None)  # while answers are collected, what lacks some waits
    judged = getattr(behaviours, "judged", None) or partial(_judged, behaviours)
    for event, ordinal, residual in asked.tolist():
        destination = int(state.destination[ordinal])
        if bits.shape[1] and int(bits[event, destination >> 6]) >> (destination & 63) & 1:
            continue
        key = (event, residual)
        if is_ready is not None and not is_ready(state.store.residuals[residual]):
            continue
        if key not in answers:
            answers[key] = judged(state.store.residuals[residual], made(event))
        if answers[key] is None:
            reasons = excesses(state.store.residuals[residual], made(event))
            batch.unanswered += [Unanswered(event, state.known[ordinal].id, reason) for reason in reasons]
        if answers[key]:
            kept.append((event, ordinal))
            if bits.shape[1]:
                bits[event, destination >> 6] |= np.uint64(1 << (destination & 63))
    return np.array(sorted(kept), np.int64).reshape(-1, 2)


def _judged(behaviours: Behaviours | None, condition: Condition, event: Event) -> bool | None:
    return evaluate(condition, event, behaviours)


def _found(events: I64, subscriptions: I32, count: int) -> SearchResult:
    """Matches whose events ascend."""
    return SearchResult(subscriptions, np.cumsum(np.bincount(events, minlength=count)))


def _merged(found: list[SearchResult], count: int, *, unique: bool) -> SearchResult:
    """The matches of several sources, event by event. Rows of one subscription may be in different sources only if the
    oracle was asked: then what was found twice is dropped."""
    if not found:
        return SearchResult(np.zeros(0, np.int32), np.zeros(count, np.int64))
    events = np.concatenate([np.repeat(np.arange(count), np.diff(one.ends, prepend=0)) for one in found])
    subscriptions = np.concatenate([one.subscriptions for one in found])
    both = np.sort(events << 32 | subscriptions)
    if unique and len(both):
        both = both[np.r_[True, both[1:] != both[:-1]]]
    return _found(both >> 32, (both & 0xFFFFFFFF).astype(np.int32), count)
