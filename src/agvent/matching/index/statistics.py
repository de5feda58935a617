"""What an index holds and how its rows are found."""

from __future__ import annotations

import msgspec
import numpy as np

from agvent.matching.index.state import IndexState
from agvent.matching.rows.access_keys import ALWAYS, ELEMENT, EQUAL, PREFIX, SUFFIX

PATHS = {EQUAL: "equality", PREFIX: "prefix", SUFFIX: "suffix", ELEMENT: "element"}


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` counts the snapshot's entries by how an event finds them: under a key (equality, prefix, suffix,
    element), by a range (sorted or cell bitsets), or by a scan, which every event pays for. A subscription has an entry
    for each row of its normal form and each member of the IN it is filed by."""

    subscriptions: int
    rows: int
    tail_rows: int
    residual_rows: int
    """Rows that the oracle must confirm after the index."""

    paths: dict[str, int]
    lists: int
    longest_list: int
    strings: int
    slots: int
    index_bytes: int
    """The snapshot's arrays and the dictionary: what matching reads."""

    store_bytes: int
    """The row store: what the next compaction reads."""


def statistics(state: IndexState, subscriptions: int) -> Statistics:
    """Counts what is in a state."""
    snapshot, store = state.snapshot, state.store
    rows = store.rows[: store.row_count]
    lists = snapshot.lists
    sizes = lists["end"] - lists["start"]
    return Statistics(
        subscriptions=subscriptions,
        rows=store.row_count,
        tail_rows=state.tail_rows,
        residual_rows=int((rows["residual"] >= 0).sum()),
        paths=_paths(state),
        lists=len(lists),
        longest_list=int(sizes.max(initial=0)),
        strings=len(state.strings),
        slots=store.slots.value_count,
        index_bytes=snapshot.nbytes + sum(array.nbytes for array in state.strings.view),
        store_bytes=store.rows.nbytes + store.predicates.nbytes,
    )


def _paths(state: IndexState) -> dict[str, int]:
    snapshot = state.snapshot
    lists = snapshot.lists
    ops = snapshot.keys["tag"] % 8
    sizes = lists["end"] - lists["start"]
    paths = {name: int(sizes[ops == op].sum()) for op, name in PATHS.items()}
    always = lists[ops == ALWAYS]
    paths["range"] = int((always["end"] - always["middle"]).sum())
    paths["scan"] = int((always["middle"] - always["start"]).sum())
    return {name: int(count) for name, count in paths.items() if np.any(count)}
