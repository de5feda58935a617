"""SlotPaths as arrays, for the scanner: nodes, the keys that lead from one to the next, and elements of lists likewise.

Node 0 is what nobody asks for, node 1 the event. Of the reserved keys only those stand here that the scanner reads
itself; every other key with a `$`, at the top or below, makes it give the line up.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from agvent.event import TYPES, Kind
from agvent.matching.columns.arrays import I32, U8, Records, read
from agvent.matching.columns.slots import KINDS, NONE, SlotTarget
from agvent.matching.columns.strings import hash_bytes, mixed
from agvent.matching.encoders.slot_paths import PathNode, SlotPaths

UNASKED: Final = 0
ROOT: Final = 1

NODE = np.dtype(
    [
        ("present", np.int32),  # value slots
        ("number", np.int32),
        ("string", np.int32),
        ("boolean", np.int32),
        ("time", np.int32),
        ("list", np.int32),
        ("object", np.int32),
        ("size", np.int32),  # of size(): the number, and its presence
        ("sized", np.int32),
        ("text", np.int32),  # text column
        ("types", np.int32),  # of $type: list column of the type and its ancestors
        ("reads", np.int32),  # a string is NOT_READ, READ, a TIMESTAMP or a TYPE, which may be a list
        ("lists", np.int32),  # 1: there are list columns
        ("items", np.int32),  # elements that are asked for: first and last place in `items`
        ("items_end", np.int32),
        ("refuses", np.int32),  # bits of the kinds that only the slow way may read here
    ]
)
KEY = np.dtype(
    [("hash", np.uint64), ("parent", np.int32), ("child", np.int32), ("start", np.int32), ("size", np.int32)]
)
ITEM = np.dtype([("position", np.int64), ("child", np.int32)])

NOT_READ, READ, TIMESTAMP, TYPE = range(4)

FRACTION: Final = 1 << KINDS
"""The bit of a number that is not an integer, beside one bit for each kind."""


def _bits(*kinds: Kind) -> int:
    return sum(1 << kind for kind in kinds)


ADDRESS = _bits(Kind.BOOL, Kind.LIST, Kind.OBJECT) | FRACTION
TEXT = _bits(Kind.NUMBER, Kind.BOOL, Kind.LIST, Kind.OBJECT)
HEADER_REFUSES = {"$topic": ADDRESS, "$channel": ADDRESS, "$type": TEXT, "$time": TEXT}
"""The headers the scanner reads, with the kinds that cannot stand there or need more than a look. A line with `$xml` is
left to `decode_event`, because a document has to be parsed before its line is an event."""
HEADER_READS = {"$time": TIMESTAMP, "$type": TYPE}


class Trie(NamedTuple):
    """`list_columns[node, kind]`; `key_table` is open addressing into `keys`, with -1 for a free place."""

    nodes: Records
    list_columns: I32
    items: Records
    key_table: I32
    keys: Records
    key_bytes: U8


TRIE_TYPES = (read(NODE), read(np.int32, 2), read(ITEM), read(np.int32), read(KEY), read(np.uint8))


def trie_of(paths: SlotPaths) -> Trie:
    """The trie of the slots' paths."""
    return _Builder(paths).trie()


class _Builder:
    def __init__(self, paths: SlotPaths) -> None:
        self._nodes: list[tuple[int, ...]] = [_row(None)]  # UNASKED
        self._list_columns: list[tuple[int, ...]] = [(NONE,) * KINDS]
        self._items: list[tuple[int, int]] = []
        self._keys: list[tuple[int, int, bytes]] = []
        top = PathNode()
        top.children = paths.attributes
        self._add(top)
        for name, refuses in HEADER_REFUSES.items():
            types = _types_column(paths) if name == "$type" else NONE
            if types is not None:
                self._keys.append((ROOT, len(self._nodes), name.encode()))
                reads = HEADER_READS.get(name, NOT_READ)
                self._add(paths.headers.get(name, PathNode()), types=types, refuses=refuses, reads=reads)

    def _add(self, node: PathNode, **header: int) -> None:
        """Files a node and all below it."""
        number = len(self._nodes)
        target = node.target
        self._nodes.append(())
        self._list_columns.append((NONE,) * KINDS if target is None else target.lists)
        positions: list[tuple[int, int]] = []
        for step, child in node.children.items():
            if isinstance(step, str) and step.startswith("$"):
                continue
            if isinstance(step, int):
                positions.append((step, len(self._nodes)))
            else:
                self._keys.append((number, len(self._nodes), step.encode()))
            self._add(child)
        items = (len(self._items), len(self._items) + len(positions))
        self._items += positions
        self._nodes[number] = _row(target, items=items, **header)

    def trie(self) -> Trie:
        keys = np.zeros(len(self._keys), KEY)
        table = np.full(1 << (4 * len(keys)).bit_length(), -1, np.int32)
        text = b"".join(key for _, _, key in self._keys)
        data = np.frombuffer(text + b"\n", np.uint8)
        start = 0
        for i, (parent, child, key) in enumerate(self._keys):
            h = hash_bytes(data, start, len(key))
            keys[i] = (h, parent, child, start, len(key))
            place = int(mixed(h)) & len(table) - 1
            while table[place] >= 0:
                place = place + 1 & len(table) - 1
            table[place] = i
            start += len(key)
        return Trie(
            np.array(self._nodes, NODE),
            np.array(self._list_columns, np.int32),
            np.array(self._items, ITEM),
            table,
            keys,
            data,
        )


def _types_column(paths: SlotPaths) -> int | None:
    """The list column of $types, None if more is asked of it than its elements."""
    node = paths.headers.get(TYPES)
    if node is None or node.target is None:
        return NONE
    return None if node.children or node.target.size is not None else node.target.lists[Kind.STRING]


NOWHERE = SlotTarget((), (NONE,) * KINDS, (NONE,) * KINDS, NONE, None, None)


def _row(
    target: SlotTarget | None,
    *,
    items: tuple[int, int] = (0, 0),
    types: int = NONE,
    refuses: int = 0,
    reads: int = NOT_READ,
) -> tuple[int, ...]:
    """A NODE."""
    places = target or NOWHERE
    values, size = places.values, places.size or NOWHERE
    string, text = values[Kind.STRING], places.text
    sizes = (size.values[Kind.NUMBER], size.values[Kind.NULL])
    if reads == NOT_READ and max(string, text, *sizes) != NONE:
        reads = READ
    return (
        values[Kind.NULL],
        values[Kind.NUMBER],
        string,
        values[Kind.BOOL],
        values[Kind.TIME],
        values[Kind.LIST],
        values[Kind.OBJECT],
        *sizes,
        text,
        types,
        reads,
        int(max(places.lists) != NONE),
        *items,
        refuses,
    )
