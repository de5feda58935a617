"""The scanner: lines of JSON to columns in one pass over the bytes, compiled.

It reads strictly and gives up early. What it accepts, `decode_event` accepts and reads the same; a line with anything
else in it (`$` keys it does not know, a key twice that is asked for, numbers out of range, deep nesting, bad UTF-8, no
JSON at all) is left blank and listed as slow, and the caller decodes it.

Lines of one stream have the same keys in the same order. So the scanner remembers, for each key of a line, where it
stood and which node it led to, and first compares the next line's bytes with that: a hit needs no hash and no check.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from agvent import limits
from agvent.event import Kind
from agvent.matching.columns.arrays import BORROWED, F64, I32, I64, INLINED, U8, Records, read, several, write
from agvent.matching.columns.column_batch import ABSENT
from agvent.matching.columns.strings import ENTRY, StringView, hash_bytes, mixed
from agvent.matching.encoders.json_tokens import FEED, QUOTE, UNREAD, plain_string, skip_space, unescape
from agvent.matching.encoders.json_trie import ROOT, TRIE_TYPES, TYPE, UNASKED, Trie
from agvent.matching.encoders.json_values import (
    COLLECTED,
    COLLECTING,
    ELEMENTS,
    FRAME,
    KEYS,
    MEMO,
    MEMO_KEYS,
    UNESCAPED,
    Into,
    Scratch,
    element,
    put_elements,
    put_size,
    put_stamp,
    scalar,
    stamp_at,
    type_list,
)

COMMA, COLON, DOLLAR, OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST = b",:${}[]"
LIST_BIT, OBJECT_BIT = 1 << Kind.LIST, 1 << Kind.OBJECT


@njit(**INLINED)
def _find(trie, parent, data, first, size, h):  # type: ignore[no-untyped-def]
    """The node a key of this node leads to, or UNASKED."""
    table = trie.key_table
    mask = len(table) - 1
    place = np.int64(mixed(h)) & mask
    while table[place] >= 0:
        key = trie.keys[table[place]]
        if key.hash == h and key.parent == parent and key.size == size:
            same = 0
            while same < size and trie.key_bytes[key.start + same] == data[first + same]:
                same += 1
            if same == size:
                return np.int64(key.child)
        place = (place + 1) & mask
    return UNASKED


@njit(**INLINED)
def _remembered(data, memo, parent, first):  # type: ignore[no-untyped-def]
    """Is this the key that stood here in the line before?"""
    if memo.parent != parent:
        return False
    same = 0
    while same < memo.size and data[memo.start + same] == data[first + same]:
        same += 1
    return same == memo.size


@njit(**BORROWED)
def _key(data, trie, into, scratch, parent, first):  # type: ignore[no-untyped-def]
    """Looks a key up: its closing quote, and the node it leads to."""
    end, h, _ = plain_string(data, first)
    if end != UNREAD:
        child = _find(trie, parent, data, first, end - first, h)
        reserved = child == UNASKED and data[first] == DOLLAR
    else:
        place = scratch.state[UNESCAPED]
        end, to, _ = unescape(data, first, into.unescaped, place)
        if end == UNREAD:
            return UNREAD, UNASKED
        h = hash_bytes(into.unescaped, place, to - place)
        child = _find(trie, parent, into.unescaped, place, to - place, h)
        reserved = child == UNASKED and to > place and into.unescaped[place] == DOLLAR
    return (UNREAD, UNASKED) if reserved else (end, child)


@njit(**INLINED)
def _member(data, trie, into, scratch, row, parent, at):  # type: ignore[no-untyped-def]
    """Reads a key and its colon: the position of the value, and the node it is for."""
    if data[at] != QUOTE:
        return UNREAD, UNASKED
    first = at + 1
    memo = scratch.memo[min(scratch.state[KEYS], MEMO_KEYS - 1)]
    scratch.state[KEYS] += 1
    if _remembered(data, memo, parent, first):
        child = memo.child
        at = first + memo.size
    else:
        end, child = _key(data, trie, into, scratch, parent, first)
        if end == UNREAD:
            return UNREAD, UNASKED
        at = end + 1
        memo.parent, memo.start, memo.size, memo.child = parent, first, at - first, child
    if child != UNASKED:
        if scratch.seen[child] == row:
            return UNREAD, UNASKED
        scratch.seen[child] = row
    at = skip_space(data, at)
    if data[at] != COLON:
        return UNREAD, UNASKED
    return skip_space(data, at + 1), child


@njit(**INLINED)
def _item(trie, parent, position):  # type: ignore[no-untyped-def]
    """The node of an element of a list."""
    node = trie.nodes[parent]
    for i in range(node.items, node.items_end):
        if trie.items[i].position == position:
            return np.int64(trie.items[i].child)
    return UNASKED


@njit(**INLINED)
def _open(data, trie, into, scratch, row, child, depth, at):  # type: ignore[no-untyped-def]
    """Enters an object or list at the given depth; False if that is left to the slow way."""
    node = trie.nodes[child]
    is_list = data[at] == OPEN_LIST
    if depth >= limits.EVENT_DEPTH_MAX or node.refuses & (LIST_BIT if is_list else OBJECT_BIT):
        return False
    frame = scratch.frames[depth]
    frame.node, frame.close, frame.count = child, CLOSE_LIST if is_list else CLOSE_OBJECT, 0
    slot = node.list if is_list else node.object
    if slot >= 0:
        into.values[row, slot] = 1.0
    if node.present >= 0:
        into.values[row, node.present] = 1.0
    if is_list and node.lists:
        if node.items < node.items_end:  # so no list within this one has columns
            return False
        scratch.state[COLLECTING] = depth
        scratch.state[COLLECTED] = 0
    return True


@njit(**INLINED)
def _close(trie, into, scratch, row, depth):  # type: ignore[no-untyped-def]
    """Leaves an object or list."""
    frame = scratch.frames[depth]
    if frame.close == CLOSE_LIST:
        put_size(into, row, trie.nodes[frame.node], frame.count)
        if scratch.state[COLLECTING] == depth:
            scratch.state[COLLECTING] = -1
            put_elements(trie, into, scratch, row, frame.node)


@njit(**INLINED)
def _whole(data, trie, strings, into, scratch, row, child, depth, at):  # type: ignore[no-untyped-def]
    """Reads a value in one step: a scalar, or what stands for one. UNREAD may also mean that it is to be opened."""
    collecting = scratch.state[COLLECTING] == depth
    if data[at] == OPEN_LIST:
        if trie.nodes[child].reads == TYPE:
            return type_list(data, trie, strings, into, scratch, row, child, at)
        return UNREAD
    if data[at] == OPEN_OBJECT:
        end, time = stamp_at(data, at)
        if end != UNREAD and not trie.nodes[child].refuses:
            put_stamp(trie, into, scratch, row, child, collecting, time)
            return end
        return UNREAD
    if collecting:
        return element(data, strings, into, scratch, at)
    return scalar(data, trie, strings, into, scratch, row, child, at)


@njit(**INLINED)
def _line(data, trie, strings, into, scratch, row, at):  # type: ignore[no-untyped-def]
    """Reads the event that starts here; the position of its line's end, or UNREAD."""
    state = scratch.state
    state[KEYS], state[COLLECTING] = 0, -1
    depth = np.int64(0)  # a literal here would compile everything below twice
    if data[at] != OPEN_OBJECT or not _open(data, trie, into, scratch, row, np.int64(ROOT), depth, at):
        return UNREAD
    at += 1
    opened = True
    while depth >= 0:
        frame = scratch.frames[depth]
        at = skip_space(data, at)
        if data[at] == frame.close:
            _close(trie, into, scratch, row, depth)
            depth -= 1
            at += 1
            opened = False
            continue
        if not opened:
            if data[at] != COMMA:
                return UNREAD
            at = skip_space(data, at + 1)
        opened = False
        if frame.close == CLOSE_OBJECT:
            at, child = _member(data, trie, into, scratch, row, frame.node, at)
            if at == UNREAD:
                return UNREAD
        else:
            child = _item(trie, frame.node, frame.count)
            frame.count += 1
        end = _whole(data, trie, strings, into, scratch, row, child, depth, at)
        if end != UNREAD:
            at = end
        elif data[at] == OPEN_OBJECT or data[at] == OPEN_LIST:
            depth += 1
            if not _open(data, trie, into, scratch, row, child, depth, at):
                return UNREAD
            at += 1
            opened = True
        else:
            return UNREAD
    at = skip_space(data, at)
    return at if data[at] == FEED else UNREAD


@njit(**INLINED)
def _clear(into, blank_values, blank_lists, row):  # type: ignore[no-untyped-def]
    for slot in range(len(blank_values)):
        into.values[row, slot] = blank_values[slot]
    for column in range(into.texts.shape[1]):
        into.texts[row, column, 1] = ABSENT
    for column in range(len(blank_lists)):
        into.lists[row, column, 0] = 0
        into.lists[row, column, 1] = blank_lists[column]


SCAN = several(types.int64, types.int64, types.int64)(
    read(np.uint8), *TRIE_TYPES, read(np.int32), read(ENTRY), read(np.uint8),
    write(np.float64, 2), write(np.int64, 3), write(np.int64, 3), write(np.float64), write(np.uint8),
    read(np.float64), read(np.int64), write(np.int64), write(np.uint8), write(np.int64),
    write(MEMO), write(np.int64), write(FRAME), write(np.float64), write(np.uint8), write(np.int64),
)  # fmt: skip


@njit(SCAN, nogil=True, **BORROWED)
def scan(
    data: U8,
    # the trie, as json_trie.Trie
    nodes: Records, list_columns: I32, items: Records, key_table: I32, keys: Records, key_bytes: U8,
    # the dictionary, as strings.StringView
    table: I32, entries: Records, blob: U8,
    # the columns, as Into; what a row holds before anything is read: its values, the sizes of its lists
    values: F64, texts: I64, lists: I64, elements: F64, unescaped: U8, blank_values: F64, blank_lists: I64,
    # the first byte of each line and the end of all; 1 for an event; the rows that were given up
    starts: I64, live: U8, slow: I64,
    # as Scratch
    memo: Records, seen: I64, frames: Records, collected: F64, collected_kind: U8, state: I64,
) -> tuple[int, int, int]:  # fmt: skip
    """Fills one row for each line of `data`; returns the number of elements and of slow into."""
    trie = Trie(nodes, list_columns, items, key_table, keys, key_bytes)
    strings = StringView(table, entries, blob)
    into = Into(values, texts, lists, elements, unescaped)
    scratch = Scratch(memo, seen, frames, collected, collected_kind, state)
    at = 0
    given_up = 0
    for row in range(len(live)):
        starts[row] = at
        _clear(into, blank_values, blank_lists, row)
        first = skip_space(data, at)
        if data[first] == FEED:
            live[row] = 0
            at = first + 1
            continue
        live[row] = 1
        end = _line(data, trie, strings, into, scratch, row, first)
        if end == UNREAD or end - at > limits.EVENT_BYTES_MAX:
            _clear(into, blank_values, blank_lists, row)
            slow[given_up] = row
            given_up += 1
            end = at
            while data[end] != FEED:
                end += 1
        at = end + 1
    starts[len(live)] = at
    return scratch.state[ELEMENTS], scratch.state[UNESCAPED], given_up


@njit(types.int64(read(np.uint8)), nogil=True, **BORROWED)
def count_lines(data: U8) -> int:
    """The number of line feeds."""
    count = 0
    for byte in data:
        count += byte == FEED
    return count
