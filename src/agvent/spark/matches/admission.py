"""Publisher-side filtering of a log's matches: an event's `to` over the subscriber's context, and its destinations.

Few events have either, so the pairs of those that do are gone through one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.tree import Condition
from agvent.matching.index.search import SearchResult
from agvent.store.values import decode_values


def admitted(found: SearchResult, table: pa.Table, audience: pa.RecordBatch) -> SearchResult:
    """The matches whose subscriber the event's publisher wants. `table` has a row for each event, `audience` one for
    each ordinal."""
    choosy = pc.or_(pc.is_valid(table["to"]), pc.is_valid(table["destinations"])).to_numpy()
    if not choosy.any():
        return found
    keep = np.ones(len(found.subscriptions), np.bool_)
    ends = found.ends.tolist()
    for event in np.flatnonzero(choosy).tolist():
        to, destinations = table["to"][event].as_py(), table["destinations"][event].as_py()
        for pair in range(ends[event - 1] if event else 0, ends[event]):
            who = audience.slice(int(found.subscriptions[pair]), 1).to_pylist()[0]
            keep[pair] = _is_wanted(to, destinations, who["subscriber"], who["context"])
    kept = np.concatenate(([0], np.cumsum(keep)))
    return SearchResult(found.subscriptions[keep], kept[found.ends])


def wanting(batch: pa.RecordBatch, context: Mapping[str, Any]) -> pa.RecordBatch:
    """The rows of a log whose publisher wants a subscriber of this context."""
    if batch.column("to").null_count == len(batch):
        return batch
    met = [to is None or evaluate(_parsed(to), context) is True for to in batch.column("to").to_pylist()]
    return batch.filter(pa.array(met, pa.bool_()))


def _is_wanted(to: str | None, destinations: list[str] | None, subscriber: str, context: str | None) -> bool:
    if destinations is not None and subscriber not in destinations:
        return False
    return to is None or evaluate(_parsed(to), decode_values(context) if context else {}) is True


@lru_cache(256)
def _parsed(to: str) -> Condition:
    return parse(to)
