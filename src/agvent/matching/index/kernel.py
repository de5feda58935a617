"""The kernel: one batch of columns against one snapshot, compiled, without the interpreter's lock.

For each event it turns the event's values into keys, walks the posting lists that answer, and tests what the list has
not decided yet. Out come the subscriptions of one event after those of the other, and where each event's end. A match
that the oracle must confirm goes to `asked` instead, with its residual. A subscription with several rows, or a row that
several keys reach, goes to `shared` first and comes out once per event.

Output has a bound: before a list is walked there must be room for all of it, or the kernel returns what is done and
the event to go on with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from agvent.matching.columns.arrays import BORROWED, F64, I32, I64, U8, U64, Records, compiled_twice, read, write
from agvent.matching.columns.strings import ENTRY as STRING
from agvent.matching.columns.strings import code_of, hash_bytes
from agvent.matching.index.snapshot import BLOCK, BOX, SNAPSHOT_TYPES, Snapshot
from agvent.matching.rows.access_keys import ELEMENT, EQUAL, PREFIX, find_key, tag_of
from agvent.matching.rows.predicates import Tests, accepts


class Columns(NamedTuple):
    """A batch, as `ColumnBatch`."""

    values: F64
    texts: I64
    lists: I64
    data: U8
    elements: F64
    live: U8


class FoundArrays(NamedTuple):
    """Where matches go; `state` counts them."""

    subscription: I32
    ends: I64
    asked: Records
    shared: I32
    state: I64


class SearchView(NamedTuple):
    """What a search may see, and the destinations it has found; `bits` has no columns if nobody asks for them."""

    version: int
    ended: int
    until: I64
    destination: I32
    bits: U64


COLUMNS_TYPES = (
    read(np.float64, 2),
    read(np.int64, 3),
    read(np.int64, 3),
    read(np.uint8),
    read(np.float64),
    read(np.uint8),
)
ASKED = np.dtype([("event", np.int32), ("subscription", np.int32), ("residual", np.int32)])
FOUND_TYPES = (write(np.int32), write(np.int64), write(ASKED), write(np.int32), write(np.int64))
STRING_TYPES = (read(np.int32), read(STRING), read(np.uint8))
READER_TYPES = (types.int64, types.int64, read(np.int64), read(np.int32), write(np.uint64, 2))

EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""A word of 64 entries that all accept."""

COUNT, ASKED_COUNT, SHARED_COUNT, NEEDED = range(4)
"""Places in `Found.state`: matches so far, those to ask the oracle about, shared ones of this event, and the room that
was wanted when it ran out."""


@intrinsic
def trailing_zeros(_typing: Any, word: Any = None) -> Any:  # noqa: ARG001 - Numba passes the argument's type
    """The position of the lowest set bit of a word that is not zero."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(**BORROWED)
def _offer(snapshot, columns, found, reader, e, at):  # type: ignore[no-untyped-def]
    """Tests what is left of an entry and records the match."""
    entry = snapshot.entries[at]
    subscription = snapshot.owners[at]
    bits = reader.bits
    if bits.shape[1]:  # a destination that the event already has is not tested again (Narada §7)
        d = reader.destination[subscription]
        if bits[e, d >> 6] >> np.uint64(d & 63) & np.uint64(1):
            return
    tests = Tests(snapshot.alternatives, snapshot.sets, snapshot.patterns, snapshot.pattern_bytes)
    for i in range(entry.start, snapshot.entries[at + 1].start):
        if not accepts(
            snapshot.predicates[i], e, columns.values, columns.texts, columns.lists, columns.data,
            columns.elements, tests,
        ):  # fmt: skip
            return
    if not reader.ended or reader.until[subscription] > reader.version:
        record(found, reader, e, subscription, entry.residual, entry.shared)


@njit(**BORROWED)
def record(found, reader, e, subscription, residual, shared):  # type: ignore[no-untyped-def]
    """Adds a match to the output, to the shared ones of this event, or to those the oracle is asked about."""
    state = found.state
    if residual >= 0:
        asked = found.asked[state[ASKED_COUNT]]
        asked.event, asked.subscription, asked.residual = e, subscription, residual
        state[ASKED_COUNT] += 1
        return
    if reader.bits.shape[1]:
        d = reader.destination[subscription]
        reader.bits[e, d >> 6] |= np.uint64(1) << np.uint64(d & 63)
    if shared:
        found.shared[state[SHARED_COUNT]] = subscription
        state[SHARED_COUNT] += 1
    else:
        found.subscription[state[COUNT]] = subscription
        state[COUNT] += 1


@njit(**BORROWED)
def room(found, needed):  # type: ignore[no-untyped-def]
    """Is there room for `needed` more, wherever they go?"""
    state = found.state
    wanted = max(state[COUNT] + state[SHARED_COUNT], state[ASKED_COUNT]) + needed
    if wanted <= len(found.subscription):
        return True
    state[NEEDED] = wanted
    return False


@njit(types.void(write(np.int32), types.int64), **BORROWED)
def sort_first(numbers: I32, count: int) -> None:
    """Sorts the first numbers in place by shell sort: few, and NumPy's own would allocate."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            held, j = numbers[i], i
            while j >= gap and numbers[j - gap] > held:
                numbers[j] = numbers[j - gap]
                j -= gap
            numbers[j] = held
        gap //= 3


@njit(**BORROWED)
def end_event(found, e):  # type: ignore[no-untyped-def]
    """Moves the event's shared matches to the output, each once, and notes where its matches end."""
    state, shared = found.state, found.shared
    sort_first(shared, state[SHARED_COUNT])
    for i in range(state[SHARED_COUNT]):
        if i == 0 or shared[i] != shared[i - 1]:
            found.subscription[state[COUNT]] = shared[i]
            state[COUNT] += 1
    state[SHARED_COUNT] = 0
    found.ends[e] = state[COUNT]


@njit(types.int64(read(np.float64), types.int64, types.int64, types.float64), **BORROWED)
def first_above(numbers: F64, first: int, last: int, v: float) -> int:
    """The first place in the sorted numbers[first:last] that holds more than `v`, or `last`."""
    while first < last:
        middle = (first + last) >> 1
        if numbers[middle] <= v:
            first = middle + 1
        else:
            last = middle
    return first


@njit(**BORROWED)
def _walk_sorted(snapshot, columns, found, reader, e, one, v):  # type: ignore[no-untyped-def]
    """Entries whose sorted range holds `v`: those before the first higher low bound, in blocks that reach up to it."""
    last = first_above(snapshot.low, one.middle, one.end, v)
    at, block = one.middle, one.block
    while at < last:
        end = min(at + BLOCK, last)
        if snapshot.blocks[block] >= v:
            for i in range(at, end):
                if snapshot.high[i] >= v:
                    _offer(snapshot, columns, found, reader, e, i)
        at += BLOCK
        block += 1


@njit(**BORROWED)
def _cell(snapshot, columns, e, dimension):  # type: ignore[no-untyped-def]
    """The event's cell; the one after the last is for events without a value."""
    v = columns.values[e, dimension.slot]
    if v != v:
        return dimension.cells
    first = dimension.bound
    return first_above(snapshot.bounds, first, first + dimension.cells - 1, v) - first


@njit(**BORROWED)
def _walk_cells(snapshot, columns, found, reader, e, one, v):  # type: ignore[no-untyped-def]
    """Entries whose bits are set for the event's cell in every dimension; those inside of it need no test."""
    bits, boxes, words = snapshot.bits, snapshot.boxes, snapshot.dimensions[one.cells].words
    first = snapshot.dimensions[one.cells]
    cell = _cell(snapshot, columns, e, first)
    a, b, c = first.bits + cell * words, first.bits + cell * words, first.bits + cell * words
    x, y, z = first.inside + cell * words, first.inside + cell * words, first.inside + cell * words
    v1, v2 = np.nan, np.nan
    second, third = snapshot.dimensions[one.cells + 1], snapshot.dimensions[one.cells + 2]
    if second.slot >= 0:
        at = _cell(snapshot, columns, e, second) * words
        b, y, v1 = second.bits + at, second.inside + at, columns.values[e, second.slot]
    if third.slot >= 0:
        at = _cell(snapshot, columns, e, third) * words
        c, z, v2 = third.bits + at, third.inside + at, columns.values[e, third.slot]
    window = first.window + 2 * cell
    for w in range(snapshot.windows[window], snapshot.windows[window + 1] + 1):
        word = bits[a + w] & bits[b + w] & bits[c + w]
        if not word:
            continue
        inside = bits[x + w] & bits[y + w] & bits[z + w]
        base = one.middle + w * 64
        word &= ~inside
        if inside == EVERY and not reader.ended and not reader.bits.shape[1]:
            count = found.state[COUNT]
            for k in range(64):
                found.subscription[count + k] = snapshot.owners[base + k]
            found.state[COUNT] = count + 64
            continue
        while inside:
            _accept(snapshot, found, reader, e, base + np.int64(trailing_zeros(inside)))
            inside &= inside - np.uint64(1)
        while word:
            row = w * 64 + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            box = one.box + BOX * row
            if boxes[box] <= v and v <= boxes[box + 1]:
                # a missing value passes: the bits have only rows that do not ask for it
                if not (v1 < boxes[box + 2] or v1 > boxes[box + 3] or v2 < boxes[box + 4] or v2 > boxes[box + 5]):
                    _accept(snapshot, found, reader, e, one.middle + row)
            elif boxes[box] != boxes[box]:
                at = one.middle + row
                if snapshot.low[at] <= v and v <= snapshot.high[at]:
                    _offer(snapshot, columns, found, reader, e, at)


@njit(**BORROWED)
def _accept(snapshot, found, reader, e, at):  # type: ignore[no-untyped-def]
    """Records an entry that has nothing left to test: it has no residual and is not shared."""
    subscription = snapshot.owners[at]
    if reader.ended and reader.until[subscription] <= reader.version:
        return
    record(found, reader, e, subscription, -1, 0)


@njit(**BORROWED)
def _walk(snapshot, columns, found, reader, e, at):  # type: ignore[no-untyped-def]
    """All entries of a list that the event may match; False if there is no room."""
    one = snapshot.lists[at]
    if not room(found, one.end - one.start):
        return False
    for i in range(one.start, one.middle):
        _offer(snapshot, columns, found, reader, e, i)
    if one.slot >= 0:
        v = columns.values[e, one.slot]
        if v == v:
            if one.cells >= 0:
                _walk_cells(snapshot, columns, found, reader, e, one, v)
            else:
                _walk_sorted(snapshot, columns, found, reader, e, one, v)
    return True


@njit(**BORROWED)
def affix_code(columns, strings, e, group):  # type: ignore[no-untyped-def]
    """The dictionary's code of the first or last bytes of a text, or -1."""
    start, size = columns.texts[e, group.column, 0], columns.texts[e, group.column, 1]
    if size < group.size:
        return -1
    if group.op != PREFIX:
        start += size - group.size
    h = hash_bytes(columns.data, start, group.size)
    return code_of(strings[0], strings[1], strings[2], columns.data, start, group.size, h)


@njit(**BORROWED)
def _match_event(snapshot, strings, columns, found, reader, e):  # type: ignore[no-untyped-def]
    for group in snapshot.groups:
        tag = tag_of(group.op, group.column)
        if group.op == EQUAL:
            v = columns.values[e, group.column]
            if v == v:
                at = find_key(snapshot.key_table, snapshot.keys, tag, v)
                if at >= 0 and not _walk(snapshot, columns, found, reader, e, at):
                    return False
        elif group.op == ELEMENT:
            start, size = columns.lists[e, group.column, 0], columns.lists[e, group.column, 1]
            for i in range(start, start + size):
                at = find_key(snapshot.key_table, snapshot.keys, tag, columns.elements[i])
                if at >= 0 and not _walk(snapshot, columns, found, reader, e, at):
                    return False
        else:
            code = affix_code(columns, strings, e, group)
            if code >= 0:
                at = find_key(snapshot.key_table, snapshot.keys, tag, np.float64(code))
                if at >= 0 and not _walk(snapshot, columns, found, reader, e, at):
                    return False
    for at in snapshot.always:
        if not _walk(snapshot, columns, found, reader, e, at):
            return False
    return True


MATCH = types.int64(*SNAPSHOT_TYPES, *STRING_TYPES, *COLUMNS_TYPES, *FOUND_TYPES, *READER_TYPES, types.int64)


def _match(  # type: ignore[no-untyped-def]
    # the snapshot, as snapshot.Snapshot
    groups, key_table, keys, lists, always, owners, entries, low, high, blocks, predicates, dimensions, bounds,
    cell_bits, windows, boxes, alternatives, sets, patterns, pattern_bytes,
    # the dictionary, as strings.StringView
    string_table, string_entries, string_blob,
    # the batch, as Columns; the output, as Found; the reader
    values, texts, list_columns, data, elements, live,
    subscription, ends, asked, shared, state,
    version, ended, until, destination, bits,
    first,
):  # fmt: skip
    """Matches events from `first` on; returns the event to go on with, which is the last if all are done."""
    snapshot = Snapshot(
        groups, key_table, keys, lists, always, owners, entries, low, high, blocks, predicates, dimensions, bounds,
        cell_bits, windows, boxes, alternatives, sets, patterns, pattern_bytes,
    )  # fmt: skip
    strings = (string_table, string_entries, string_blob)
    columns = Columns(values, texts, list_columns, data, elements, live)
    found = FoundArrays(subscription, ends, asked, shared, state)
    reader = SearchView(version, ended, until, destination, bits)
    state[NEEDED] = 0
    for e in range(first, len(values)):
        done, done_asked = state[COUNT], state[ASKED_COUNT]
        if live[e]:
            if not _match_event(snapshot, strings, columns, found, reader, e):
                state[COUNT], state[ASKED_COUNT], state[SHARED_COUNT] = done, done_asked, 0
                return e
        end_event(found, e)
    return len(values)


match_snapshot, match_snapshot_at_once = compiled_twice(_match, MATCH)
