"""The scanner's values: a token at its place in the text to its place in the columns, compiled.

Each function reads the value that starts at a position and returns the position after it, or UNREAD: then the line is
given up, and what is half written is cleared.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numba import njit

from agvent import limits
from agvent.event import Kind
from agvent.matching.columns.arrays import BORROWED, F64, I64, INLINED, U8, Records
from agvent.matching.columns.strings import code_of, hash_bytes
from agvent.matching.encoders.json_numbers import MINUS, ZERO, number_at
from agvent.matching.encoders.json_times import time_at
from agvent.matching.encoders.json_tokens import QUOTE, UNREAD, plain_string, skip_space, string_end, unescape, word_at
from agvent.matching.encoders.json_trie import FRACTION, NOT_READ, TIMESTAMP, Trie

COMMA, COLON, CLOSE_OBJECT, CLOSE_LIST = b",:}]"
TRUE, FALSE, NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
STAMP = np.frombuffer(b'"$timestamp"', np.uint8)
NUMBER, STRING, BOOL, TIME = (np.int64(kind) for kind in (Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.TIME))
BOOL_BIT, NUMBER_BIT = 1 << Kind.BOOL, 1 << Kind.NUMBER

MEMO_KEYS: Final = 256
"""Keys of a line that are remembered; those after are looked up."""
MEMO = np.dtype([("parent", np.int64), ("start", np.int64), ("size", np.int64), ("child", np.int64)])
FRAME = np.dtype([("node", np.int64), ("close", np.int64), ("count", np.int64)])
"""An open object or list: its node, the byte that closes it, its elements so far."""

ELEMENTS, COLLECTED, COLLECTING, KEYS, UNESCAPED = range(5)
"""Places in `Scratch.state`: elements written; elements of the open list with columns, and its depth or -1; keys of
this line so far; bytes written without their escapes."""


class Into(NamedTuple):
    """What is filled. `unescaped` goes on after the data: a text there starts at len(data) or beyond."""

    values: F64
    texts: I64
    lists: I64
    elements: F64
    unescaped: U8


class Scratch(NamedTuple):
    """What is remembered within a call. `seen[node]` is the last row in which its key stood."""

    memo: Records
    seen: I64
    frames: Records
    collected: F64
    collected_kind: U8
    state: I64


def scratch_for(trie: Trie, elements: int) -> Scratch:
    """Memory for a call that meets at most so many list elements."""
    memo = np.zeros(MEMO_KEYS, MEMO)
    memo["parent"] = -1
    return Scratch(
        memo=memo,
        seen=np.full(len(trie.nodes), -1, np.int64),
        frames=np.zeros(limits.EVENT_DEPTH_MAX, FRAME),
        collected=np.empty(elements),
        collected_kind=np.empty(elements, np.uint8),
        state=np.zeros(5, np.int64),
    )


@njit(**BORROWED)
def _unescaped_at(data, strings, into, scratch, at):  # type: ignore[no-untyped-def]
    """The same as `text_at`, of a string with escapes."""
    start = scratch.state[UNESCAPED]
    end, to, characters = unescape(data, at, into.unescaped, start)
    if end == UNREAD:
        return UNREAD, -1, 0, 0, 0
    scratch.state[UNESCAPED] = to
    size = to - start
    h = hash_bytes(into.unescaped, start, size)
    code = code_of(strings.table, strings.entries, strings.blob, into.unescaped, start, size, h)
    return end, code, len(data) + start, size, characters


@njit(**INLINED)
def text_at(data, strings, into, scratch, at):  # type: ignore[no-untyped-def]
    """A string's content: its closing quote, code, place, bytes and characters."""
    end, h, characters = plain_string(data, at)
    if end == UNREAD:
        return _unescaped_at(data, strings, into, scratch, at)
    size = end - at
    return end, code_of(strings.table, strings.entries, strings.blob, data, at, size, h), at, size, characters


@njit(**INLINED)
def put_size(into, row, node, size):  # type: ignore[no-untyped-def]
    """What size() gives."""
    if node.size >= 0:
        into.values[row, node.size] = np.float64(size)
    if node.sized >= 0:
        into.values[row, node.sized] = 1.0


@njit(**INLINED)
def _string(data, strings, into, scratch, row, node, at):  # type: ignore[no-untyped-def]
    if node.reads == NOT_READ:
        end = string_end(data, at)
    elif node.reads == TIMESTAMP:
        end, time = time_at(data, at)
        if node.time >= 0:
            into.values[row, node.time] = np.float64(time)
    else:
        end, code, start, size, characters = text_at(data, strings, into, scratch, at)
        if node.string >= 0:
            into.values[row, node.string] = np.float64(code)
        if node.text >= 0:
            into.texts[row, node.text, 0] = start
            into.texts[row, node.text, 1] = size
        put_size(into, row, node, characters)
        if node.types >= 0:
            into.lists[row, node.types, 0] = scratch.state[ELEMENTS]
            into.lists[row, node.types, 1] = 0
            _add_type(into, scratch, row, node, code)
    if end == UNREAD:
        return UNREAD
    if node.present >= 0:
        into.values[row, node.present] = 1.0
    return end + 1


@njit(**INLINED)
def _add_type(into, scratch, row, node, code):  # type: ignore[no-untyped-def]
    into.elements[scratch.state[ELEMENTS]] = np.float64(code)
    scratch.state[ELEMENTS] += 1
    into.lists[row, node.types, 1] += 1


@njit(**BORROWED)
def type_list(data, trie, strings, into, scratch, row, child, at):  # type: ignore[no-untyped-def]
    """Reads `["Book", "Product"]`, an event's type and its ancestors."""
    node = trie.nodes[child]
    at = skip_space(data, at + 1)
    if data[at] != QUOTE:
        return UNREAD
    at = _string(data, strings, into, scratch, row, node, at + 1)
    while at != UNREAD:
        at = skip_space(data, at)
        if data[at] == CLOSE_LIST:
            return at + 1
        if data[at] != COMMA:
            return UNREAD
        at = skip_space(data, at + 1)
        if data[at] != QUOTE:
            return UNREAD
        end, code, _, _, _ = text_at(data, strings, into, scratch, at + 1)
        if end == UNREAD:
            return UNREAD
        if node.types >= 0:
            _add_type(into, scratch, row, node, code)
        at = end + 1
    return UNREAD


@njit(**INLINED)
def scalar(data, trie, strings, into, scratch, row, child, at):  # type: ignore[no-untyped-def]
    """Reads a value that is no object and no list."""
    byte = data[at]
    node = trie.nodes[child]
    if byte == QUOTE:
        return _string(data, strings, into, scratch, row, node, at + 1)
    if byte == MINUS or np.uint8(byte - ZERO) < 10:
        end, value, whole = number_at(data, at, node.number >= 0)
        if end == UNREAD or node.refuses & NUMBER_BIT or (not whole and node.refuses & FRACTION):
            return UNREAD
        if node.number >= 0:
            into.values[row, node.number] = value
    elif word_at(data, at, NULL):
        return at + 4
    else:
        truth = word_at(data, at, TRUE)
        if not (truth or word_at(data, at, FALSE)) or node.refuses & BOOL_BIT:
            return UNREAD
        if node.boolean >= 0:
            into.values[row, node.boolean] = 1.0 if truth else 0.0
        end = at + 4 if truth else at + 5
    if node.present >= 0:
        into.values[row, node.present] = 1.0
    return end


@njit(**INLINED)
def _collect(scratch, kind, value):  # type: ignore[no-untyped-def]
    place = scratch.state[COLLECTED]
    scratch.collected[place] = value
    scratch.collected_kind[place] = kind
    scratch.state[COLLECTED] = place + 1


@njit(**BORROWED)
def element(data, strings, into, scratch, at):  # type: ignore[no-untyped-def]
    """Reads an element, no object and no list, of a list that has columns."""
    byte = data[at]
    if byte == QUOTE:
        end, code, _, _, _ = text_at(data, strings, into, scratch, at + 1)
        if end == UNREAD:
            return UNREAD
        _collect(scratch, STRING, np.float64(code))
        return end + 1
    if byte == MINUS or np.uint8(byte - ZERO) < 10:
        end, value, _ = number_at(data, at, True)
        _collect(scratch, NUMBER, value)
        return end
    if word_at(data, at, NULL):
        return at + 4
    truth = word_at(data, at, TRUE)
    if not (truth or word_at(data, at, FALSE)):
        return UNREAD
    _collect(scratch, BOOL, 1.0 if truth else 0.0)
    return at + 4 if truth else at + 5


@njit(**BORROWED)
def stamp_at(data, at):  # type: ignore[no-untyped-def]
    """Reads `{"$timestamp": "2026-03-01T12:00:00Z"}`: the position after it, and its microseconds."""
    at = skip_space(data, at + 1)
    if not word_at(data, at, STAMP):
        return UNREAD, 0
    at = skip_space(data, at + len(STAMP))
    if data[at] != COLON:
        return UNREAD, 0
    at = skip_space(data, at + 1)
    if data[at] != QUOTE:
        return UNREAD, 0
    end, time = time_at(data, at + 1)
    if end == UNREAD:
        return UNREAD, 0
    at = skip_space(data, end + 1)
    return (at + 1, time) if data[at] == CLOSE_OBJECT else (UNREAD, 0)


@njit(**INLINED)
def put_stamp(trie, into, scratch, row, child, collecting, time):  # type: ignore[no-untyped-def]
    """Writes a timestamp to its place, or among the elements of the open list."""
    node = trie.nodes[child]
    if collecting:
        _collect(scratch, TIME, np.float64(time))
    if node.time >= 0:
        into.values[row, node.time] = np.float64(time)
    if node.present >= 0:
        into.values[row, node.present] = 1.0


@njit(**INLINED)
def put_elements(trie, into, scratch, row, child):  # type: ignore[no-untyped-def]
    """Writes the elements that were collected, kind by kind."""
    state = scratch.state
    for kind in range(trie.list_columns.shape[1]):
        column = trie.list_columns[child, kind]
        if column >= 0:
            first = state[ELEMENTS]
            for i in range(state[COLLECTED]):
                if scratch.collected_kind[i] == kind:
                    into.elements[state[ELEMENTS]] = scratch.collected[i]
                    state[ELEMENTS] += 1
            into.lists[row, column, 0] = first
            into.lists[row, column, 1] = state[ELEMENTS] - first
