"""The tail: rows newer than the snapshot, in chains under their access keys, so that adding costs the same at any size.

It is written in place while readers walk it. A row and what it refers to are complete before a chain points to it, and
a reader ignores rows, groups and columns beyond the mark it took when it began, so it never sees half a change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types

from agvent.matching.columns.arrays import BORROWED, I32, Records, compiled_twice, grown, read, write
from agvent.matching.columns.strings import ENTRY as STRING
from agvent.matching.index.kernel import (
    ASKED_COUNT,
    COLUMNS_TYPES,
    COUNT,
    FOUND_TYPES,
    NEEDED,
    READER_TYPES,
    SHARED_COUNT,
    STRING_TYPES,
    Columns,
    FoundArrays,
    SearchView,
    affix_code,
    end_event,
    record,
    room,
)
from agvent.matching.index.snapshot import Snapshot
from agvent.matching.rows.access_keys import (
    ALWAYS,
    ELEMENT,
    EQUAL,
    GROUP,
    KEY,
    KEYS_MAX,
    NO_COLUMN,
    PREFIX,
    SUFFIX,
    find_key,
    keys_of,
    repeats,
    tag_of,
)
from agvent.matching.rows.predicates import PREDICATE, ROW, TESTS_TYPES, Tests, accepts
from agvent.matching.rows.row_store import RowStore

LINK = np.dtype([("row", np.int32), ("next", np.int32), ("shared", np.int32)])
KEY_COUNT, LINK_COUNT, GROUP_COUNT, UNKEYED = range(4)


class TailView(NamedTuple):
    """Arrays of the tail: an open-addressing table of keys, the first link of each, and the links."""

    table: I32
    keys: Records
    heads: I32
    links: Records
    groups: Records


VIEW_TYPES = (read(np.int32), read(KEY), read(np.int32), read(LINK), read(GROUP))


class Tail:
    """The writer's side."""

    def __init__(self, snapshot: Snapshot) -> None:
        tags, counts = np.unique(snapshot.keys["tag"], return_counts=True)
        self._tags, self._tag_counts = tags, counts.astype(np.int64)
        self._counts = np.zeros(4, np.int64)
        self.view = TailView(
            np.full(256, -1, np.int32),
            np.zeros(128, KEY),
            np.full(128, -1, np.int32),
            np.zeros(128, LINK),
            np.zeros(16, GROUP),
        )

    @property
    def group_count(self) -> int:
        return int(self._counts[GROUP_COUNT])

    @property
    def unkeyed_count(self) -> int:
        """Rows that every event must be tested against."""
        return int(self._counts[UNKEYED])

    def link(self, store: RowStore, first: int, last: int) -> None:
        """Files the store's rows first..last, which are flushed."""
        while first < last:
            first = _link(
                first, last, store.rows, store.predicates, *store.tests, store.strings.view.entries, self._tags,
                self._tag_counts, *self.view, self._counts,
            )  # fmt: skip
            if first < last:
                self._make_room(max(2 * KEYS_MAX, len(self.view.links)))

    def _make_room(self, more: int) -> None:
        table, keys, heads, links, groups = self.view
        key_count = int(self._counts[KEY_COUNT])
        keys = grown(keys, key_count + more)
        heads = grown(heads, key_count + more)
        links = grown(links, int(self._counts[LINK_COUNT]) + more)
        groups = grown(groups, int(self._counts[GROUP_COUNT]) + more)
        if 2 * len(keys) > len(table):
            table = np.full(1 << (2 * len(keys)).bit_length(), -1, np.int32)
            _index(table, keys, key_count)
        self.view = TailView(table, keys, heads, links, groups)


@njit(types.void(write(np.int32), read(KEY), types.int64), **BORROWED)
def _index(table: I32, keys: Records, count: int) -> None:
    for at in range(count):
        table[-1 - find_key(table, keys, keys[at].tag, keys[at].payload)] = at


@njit(cache=True)
def _best(row, predicates, tests, tags, tag_counts, found):  # type: ignore[no-untyped-def]
    """The predicate to file by: the one whose operation and column had the most lists in the snapshot."""
    best, best_count = -1, -1
    for i in range(row.start, row.end):
        if keys_of(predicates[i], tests, found):
            at = np.searchsorted(tags, found[0].tag)
            count = tag_counts[at] if at < len(tags) and tags[at] == found[0].tag else 0
            if count > best_count:
                best, best_count = i, count
    return best


@njit(cache=True)
def _add_group(groups, counts, tag, payload, strings):  # type: ignore[no-untyped-def]
    op, column = tag % 8, tag // 8
    size = strings[np.int64(payload)].size if op == PREFIX or op == SUFFIX else 0
    for i in range(counts[GROUP_COUNT]):
        if groups[i].op == op and groups[i].column == column and groups[i].size == size:
            return
    at = counts[GROUP_COUNT]
    groups[at].op, groups[at].column, groups[at].size = op, column, size
    counts[GROUP_COUNT] = at + 1


LINK_ROWS = types.int64(
    types.int64, types.int64, read(ROW), read(PREDICATE), *TESTS_TYPES, read(STRING), read(np.int64), read(np.int64),
    write(np.int32), write(KEY), write(np.int32), write(LINK), write(GROUP), write(np.int64),
)  # fmt: skip


@njit(LINK_ROWS, cache=True)
def _link(  # type: ignore[no-untyped-def]
    first, last, rows, predicates, alternatives, sets, patterns, pattern_bytes, strings, tags, tag_counts,
    table, keys, heads, links, groups, counts,
):  # fmt: skip
    """Files rows until there is no room for one more; returns the next to file."""
    tests = Tests(alternatives, sets, patterns, pattern_bytes)
    found = np.empty(KEYS_MAX, KEY)
    for r in range(first, last):
        fullest = max(counts[KEY_COUNT], counts[LINK_COUNT], counts[GROUP_COUNT])
        if fullest + KEYS_MAX > min(len(keys), len(links)) or counts[GROUP_COUNT] + KEYS_MAX > len(groups):
            return r
        best = _best(rows[r], predicates, tests, tags, tag_counts, found)
        shared = rows[r].shared
        if best >= 0:
            key_count = keys_of(predicates[best], tests, found)
            shared |= repeats(predicates[best])
        else:
            found[0].tag, found[0].payload, key_count = tag_of(ALWAYS, NO_COLUMN), 0.0, 1
            counts[UNKEYED] += 1
        for j in range(key_count):
            at = find_key(table, keys, found[j].tag, found[j].payload)
            if at < 0:
                place, at = -1 - at, counts[KEY_COUNT]
                keys[at] = found[j]
                heads[at] = -1
                counts[KEY_COUNT] = at + 1
                table[place] = at
                _add_group(groups, counts, found[j].tag, found[j].payload, strings)
            link = counts[LINK_COUNT]
            links[link].row, links[link].next, links[link].shared = r, heads[at], shared
            counts[LINK_COUNT] = link + 1
            heads[at] = link
    return last


@njit(**BORROWED)
def _walk(view, rows, predicates, tests, columns, found, reader, row_limit, e, tag, payload):  # type: ignore[no-untyped-def]
    """Tests the rows of one chain; False if there is no room."""
    at = find_key(view.table, view.keys, tag, payload)
    link = view.heads[at] if at >= 0 else -1
    while link >= 0:
        r, shared = view.links[link].row, view.links[link].shared
        link = view.links[link].next
        if r >= row_limit:
            continue
        row = rows[r]
        subscription = row.subscription
        if reader.until[subscription] <= reader.version:
            continue
        if reader.bits.shape[1]:
            d = reader.destination[subscription]
            if reader.bits[e, d >> 6] >> np.uint64(d & 63) & np.uint64(1):
                continue
        accepted = True
        for i in range(row.start, row.end):
            if not accepts(
                predicates[i], e, columns.values, columns.texts, columns.lists, columns.data, columns.elements, tests
            ):
                accepted = False
                break
        if accepted:
            if not room(found, 1):
                return False
            record(found, reader, e, subscription, row.residual, shared)
    return True


@njit(**BORROWED)
def _match_event(view, rows, predicates, tests, strings, columns, found, reader, row_limit, group_count, e):  # type: ignore[no-untyped-def]
    for g in range(group_count):
        group = view.groups[g]
        tag = tag_of(group.op, group.column)
        if group.op == EQUAL:
            v = columns.values[e, group.column]
            if v == v and not _walk(view, rows, predicates, tests, columns, found, reader, row_limit, e, tag, v):
                return False
        elif group.op == ELEMENT:
            start, size = columns.lists[e, group.column, 0], columns.lists[e, group.column, 1]
            for i in range(start, start + size):
                v = columns.elements[i]
                if not _walk(view, rows, predicates, tests, columns, found, reader, row_limit, e, tag, v):
                    return False
        elif group.op == ALWAYS:
            if not _walk(view, rows, predicates, tests, columns, found, reader, row_limit, e, tag, 0.0):
                return False
        else:
            code = np.float64(affix_code(columns, strings, e, group))
            if code >= 0 and not _walk(view, rows, predicates, tests, columns, found, reader, row_limit, e, tag, code):
                return False
    return True


MATCH_TAIL = types.int64(
    *VIEW_TYPES, read(ROW), read(PREDICATE), *TESTS_TYPES, *STRING_TYPES, *COLUMNS_TYPES, *FOUND_TYPES, *READER_TYPES,
    types.int64, types.int64, types.int64,
)  # fmt: skip


def _match(  # type: ignore[no-untyped-def]
    table, keys, heads, links, groups,
    rows, predicates, alternatives, sets, patterns, pattern_bytes,
    string_table, string_entries, string_blob,
    values, texts, lists, data, elements, live,
    subscription, ends, asked, shared, state,
    version, ended, until, destination, bits,
    row_limit, group_count, first,
):  # fmt: skip
    """Matches events from `first` on; returns the event to go on with, as `kernel.match_snapshot`."""
    view = TailView(table, keys, heads, links, groups)
    tests = Tests(alternatives, sets, patterns, pattern_bytes)
    strings = (string_table, string_entries, string_blob)
    columns = Columns(values, texts, lists, data, elements, live)
    found = FoundArrays(subscription, ends, asked, shared, state)
    reader = SearchView(version, ended, until, destination, bits)
    state[NEEDED] = 0
    for e in range(first, len(values)):
        done, done_asked = state[COUNT], state[ASKED_COUNT]
        if live[e]:
            if not _match_event(
                view, rows, predicates, tests, strings, columns, found, reader, row_limit, group_count, e
            ):
                state[COUNT], state[ASKED_COUNT], state[SHARED_COUNT] = done, done_asked, 0
                return e
        end_event(found, e)
    return len(values)


match_tail, match_tail_at_once = compiled_twice(_match, MATCH_TAIL)
