"""Building a snapshot from the rows that are live.

Four passes, each compiled and without the interpreter's lock, so that a reader in another thread goes on:
count how many rows each key would hold; file every row under its rarest key (the bound on what an event pays for it);
sort each list by its most selective slot; lay out entries, predicates and cell bitsets in that order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from agvent.matching.columns.arrays import F64, I32, I64, Records
from agvent.matching.index.cell_bitsets import cell_bitsets
from agvent.matching.index.selectivity import add_scores, bound_samples, fraction, pick_slots
from agvent.matching.index.snapshot import BLOCK, ENTRY, LIST, Snapshot, empty_snapshot
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
    decides,
    find_key,
    keys_of,
    repeats,
    tag_of,
)
from agvent.matching.rows.predicates import IN_RANGE, PREDICATE, Tests

DIVIDED_MIN = 4
"""A list of fewer rows is not worth a binary search."""


def build(rows: Records, predicates: Records, tests: Tests, slot_count: int, strings: Records) -> Snapshot:
    """The snapshot of the given rows; `strings` are the dictionary's entries, for the length of affixes."""
    if not len(rows):
        return empty_snapshot()._replace(**tests._asdict())
    samples, offsets = bound_samples(rows, predicates, slot_count)
    key_total = _count_keys(rows, predicates, tests)
    table = np.full(_table_size(key_total + slot_count + 1), -1, np.int32)
    keys = np.zeros(key_total + slot_count + 1, KEY)
    counts = np.zeros(len(keys), np.int64)
    key_count = _count_rows(rows, predicates, tests, table, keys, counts)
    access, entry_total, key_count = _choose(rows, predicates, tests, table, keys, counts, key_count, samples, offsets)
    entry_key, entry_row = _file(rows, predicates, tests, table, keys, access, entry_total)
    lists, list_keys, order = _lists(entry_key, entry_row, keys, key_count)
    slots_of_list = _divide(lists, order, rows, predicates, access, samples, offsets, slot_count)
    return _lay_out(lists, list_keys, order, slots_of_list, rows, predicates, tests, access, strings)


def _table_size(count: int) -> int:
    return 1 << max(4, (2 * count).bit_length())


@njit(nogil=True, cache=True)
def _count_keys(rows: Records, predicates: Records, tests: Tests) -> int:
    found = np.empty(KEYS_MAX, KEY)
    total = 0
    for row in rows:
        for i in range(row.start, row.end):
            total += keys_of(predicates[i], tests, found)
    return total


@njit(nogil=True, cache=True)
def _numbered(table: I32, keys: Records, count: int, tag: Any, payload: float) -> tuple[int, int]:
    """The number of a key, given the next one if it is new, and how many there are now."""
    at = find_key(table, keys, tag, payload)
    if at >= 0:
        return at, count
    table[-1 - at] = count
    keys[count].tag = tag
    keys[count].payload = payload
    return count, count + 1


@njit(nogil=True, cache=True)
def _count_rows(rows: Records, predicates: Records, tests: Tests, table: I32, keys: Records, counts: I64) -> int:
    """How many rows have each key; returns how many keys there are."""
    found = np.empty(KEYS_MAX, KEY)
    key_count = 0
    for row in rows:
        for i in range(row.start, row.end):
            for j in range(keys_of(predicates[i], tests, found)):
                at, key_count = _numbered(table, keys, key_count, found[j].tag, found[j].payload)
                counts[at] += 1
    return key_count


@njit(nogil=True, cache=True)
def _choose(
    rows: Records,
    predicates: Records,
    tests: Tests,
    table: I32,
    keys: Records,
    counts: I64,
    key_count: int,
    samples: F64,
    offsets: I64,
) -> tuple[I32, int, int]:
    """For each row the predicate to file it by: the one whose keys hold the fewest rows. -2 - slot files it under
    ALWAYS, by the slot of its most selective range (-1 if it has none)."""
    found = np.empty(KEYS_MAX, KEY)
    access = np.full(len(rows), -1, np.int32)
    entry_total = 0
    for r in range(len(rows)):
        best, best_cost, best_entries = -1, np.int64(1 << 62), 0
        for i in range(rows[r].start, rows[r].end):
            n = keys_of(predicates[i], tests, found)
            cost = np.int64(0)
            for j in range(n):
                cost += counts[find_key(table, keys, found[j].tag, found[j].payload)]
            if n and cost < best_cost:
                best, best_cost, best_entries = i, cost, n
        if best < 0:
            best, best_share = -1, 2.0
            for i in range(rows[r].start, rows[r].end):
                if predicates[i].op == IN_RANGE:
                    share = fraction(predicates[i], samples, offsets)
                    if share < best_share:
                        best, best_share = -2 - predicates[i].column, share
            best_entries = 1
            column = NO_COLUMN if best == -1 else -2 - best
            _, key_count = _numbered(table, keys, key_count, tag_of(ALWAYS, column), 0.0)
        access[r] = best
        entry_total += best_entries
    return access, entry_total, key_count


@njit(nogil=True, cache=True)
def _file(
    rows: Records, predicates: Records, tests: Tests, table: I32, keys: Records, access: I32, entry_total: int
) -> tuple[I32, I32]:
    """Every (key, row) pair under which an event may find the row."""
    found = np.empty(KEYS_MAX, KEY)
    entry_key = np.empty(entry_total, np.int32)
    entry_row = np.empty(entry_total, np.int32)
    n = 0
    for r in range(len(rows)):
        if access[r] < 0:
            column = NO_COLUMN if access[r] == -1 else -2 - access[r]
            found[0].tag = tag_of(ALWAYS, column)
            found[0].payload = 0.0
            key_count = 1
        else:
            key_count = keys_of(predicates[access[r]], tests, found)
        for j in range(key_count):
            entry_key[n] = find_key(table, keys, found[j].tag, found[j].payload)
            entry_row[n] = r
            n += 1
    return entry_key, entry_row


@njit(nogil=True, cache=True)
def _lists(entry_key: I32, entry_row: I32, keys: Records, key_count: int) -> tuple[Records, Records, I32]:
    """Entries gathered by key: the lists, the key of each, and the rows in list order."""
    sizes = np.zeros(key_count + 1, np.int64)
    for key in entry_key:
        sizes[key] += 1
    list_count = 0
    for key in range(key_count):
        list_count += sizes[key] > 0
    lists = np.zeros(list_count, LIST)
    list_keys = np.zeros(list_count, KEY)
    list_of_key = np.empty(key_count, np.int64)
    at, start = 0, 0
    for key in range(key_count):
        if sizes[key] > 0:
            list_of_key[key] = at
            list_keys[at] = keys[key]
            lists[at].start = start
            lists[at].middle = start
            start += sizes[key]
            lists[at].end = start
            lists[at].slot = -1
            lists[at].cells = -1
            at += 1
    order = np.empty(len(entry_key), np.int32)
    for i in range(len(entry_key)):
        one = list_of_key[entry_key[i]]
        order[lists[one].middle] = entry_row[i]
        lists[one].middle += 1
    return lists, list_keys, order


@njit(nogil=True, cache=True)
def _range_on(row: Any, predicates: Records, slot: int, access: int) -> int:
    """The row's range on a slot, other than the predicate it is filed by, or -1."""
    for i in range(row.start, row.end):
        if predicates[i].op == IN_RANGE and predicates[i].column == slot and i != access:
            return i
    return -1


@njit(nogil=True, cache=True)
def _divide(
    lists: Records,
    order: I32,
    rows: Records,
    predicates: Records,
    access: I32,
    samples: F64,
    offsets: I64,
    slot_count: int,
) -> I32:
    """Picks each list's slots (the one it is sorted by first) and sorts its part of `order`."""
    scores = np.zeros(slot_count + 1)
    picked = np.full((len(lists), 3), -1, np.int32)
    for at in range(len(lists)):
        start, end = lists[at].start, lists[at].end
        lists[at].middle = end
        if end - start < DIVIDED_MIN:
            continue
        add_scores(order[start:end], rows, predicates, access, samples, offsets, scores)
        pick_slots(order[start:end], rows, predicates, scores, end - start, picked[at])
        slot = picked[at, 0]
        if slot >= 0:
            lists[at].slot = slot
            lists[at].middle = start + _sort_by(order[start:end], rows, predicates, access, slot)
    return picked


@njit(nogil=True, cache=True)
def _sort_by(part: I32, rows: Records, predicates: Records, access: I32, slot: int) -> int:
    """Puts rows without a range on the slot first, the others by its low bound; how many stand first."""
    lows = np.empty(len(part))
    for k in range(len(part)):
        i = _range_on(rows[part[k]], predicates, slot, access[part[k]])
        lows[k] = predicates[i].low if i >= 0 else -np.inf
        if i >= 0 and lows[k] == -np.inf:
            lows[k] = -1.7976931348623157e308  # below every bound, above "no range"
    by_low = np.argsort(lows)
    part[:] = part[by_low]
    free = 0
    while free < len(part) and lows[by_low[free]] == -np.inf:
        free += 1
    return free


def _lay_out(
    lists: Records,
    list_keys: Records,
    order: I32,
    slots_of_list: I32,
    rows: Records,
    predicates: Records,
    tests: Tests,
    access: I32,
    strings: Records,
) -> Snapshot:
    owners, entries, low, high, laid = _entries(lists, order, rows, predicates, tests, access)
    blocks = _blocks(lists, high)
    dimensions, bounds, bits, windows, boxes = cell_bitsets(lists, slots_of_list, order, rows, predicates, access)
    key_table = np.full(_table_size(len(list_keys)), -1, np.int32)
    _index_keys(key_table, list_keys)
    groups = _groups(list_keys, strings)
    always = np.flatnonzero(list_keys["tag"] % 8 == ALWAYS).astype(np.int32)
    return Snapshot(
        groups, key_table, list_keys, lists, always, owners, entries, low, high, blocks, laid,
        dimensions, bounds, bits, windows, boxes, *tests,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _entries(
    lists: Records, order: I32, rows: Records, predicates: Records, tests: Tests, access: I32
) -> tuple[I32, Records, F64, F64, Records]:
    """Entries in list order with the predicates that are left to test: not the key's, not the sorted range."""
    total = 0
    for r in order:
        total += rows[r].end - rows[r].start
    laid = np.empty(total, PREDICATE)
    owners = np.empty(len(order), np.int32)
    entries = np.zeros(len(order) + 1, ENTRY)
    low = np.full(len(order), -np.inf)
    high = np.full(len(order), np.inf)
    n = 0
    for one in lists:
        for at in range(one.start, one.end):
            row = rows[order[at]]
            filed_by = int(access[order[at]])
            sorted_by = -1
            if at >= one.middle:
                sorted_by = _range_on(row, predicates, one.slot, filed_by)
                low[at] = predicates[sorted_by].low
                high[at] = predicates[sorted_by].high
            owners[at] = row.subscription
            entries[at].residual = row.residual
            entries[at].shared = row.shared
            entries[at].start = n
            if filed_by >= 0:
                entries[at].shared |= repeats(predicates[filed_by])
            for i in range(row.start, row.end):
                if i != sorted_by and not (i == filed_by and decides(predicates[i], tests)):
                    laid[n] = predicates[i]
                    n += 1
    entries[len(order)].start = n
    return owners, entries, low, high, laid[:n].copy()


@njit(nogil=True, cache=True)
def _blocks(lists: Records, high: F64) -> F64:
    """The largest high bound of every BLOCK sorted rows."""
    total = 0
    for at in range(len(lists)):
        lists[at].block = total
        total += (lists[at].end - lists[at].middle + BLOCK - 1) // BLOCK
    blocks = np.full(total, -np.inf)
    for one in lists:
        for at in range(one.middle, one.end):
            block = one.block + (at - one.middle) // BLOCK
            blocks[block] = max(blocks[block], high[at])
    return blocks


@njit(nogil=True, cache=True)
def _index_keys(table: I32, keys: Records) -> None:
    for at in range(len(keys)):
        table[-1 - find_key(table, keys, keys[at].tag, keys[at].payload)] = at


def _groups(keys: Records, strings: Records) -> Records:
    """The distinct (operation, column, affix length) of the keys: what each event is asked."""
    op, column = keys["tag"] % 8, keys["tag"] // 8
    size = np.zeros(len(keys), np.int64)
    affix = (op == PREFIX) | (op == SUFFIX)
    size[affix] = strings["size"][keys["payload"][affix].astype(np.int64)]
    probed = (op == EQUAL) | (op == ELEMENT) | affix
    groups = np.zeros(int(probed.sum()), GROUP)
    groups["op"], groups["column"], groups["size"] = op[probed], column[probed], size[probed]
    return np.unique(groups)
