"""Publishers' own filters over what a log's events matched."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from agvent.matching.index.search import SearchResult
from agvent.spark.matches.admission import admitted

AUDIENCE = pa.record_batch(
    {
        "subscriber": pa.array(["ann", "bob", "cyd"]),
        "context": pa.array(['{"floor":2}', None, '{"floor":3}']),
    }
)


def table(*events: tuple[str | None, list[str] | None]) -> pa.Table:
    to, destinations = zip(*events, strict=True)
    return pa.table({"to": pa.array(to, pa.string()), "destinations": pa.array(destinations, pa.list_(pa.string()))})


def kept(events: pa.Table, *matched: list[int]) -> list[list[int]]:
    """The ordinals that each event keeps of those it matched."""
    found = SearchResult(
        np.array([ordinal for one in matched for ordinal in one], np.int32), np.cumsum([len(one) for one in matched])
    )
    left = admitted(found, events, AUDIENCE)
    return [part.tolist() for part in np.split(left.subscriptions, left.ends[:-1])]


def test_an_event_for_all_keeps_all() -> None:
    """Without a filter and destinations nothing is held back."""
    assert kept(table((None, None), (None, None)), [0, 1], [2]) == [[0, 1], [2]]


def test_a_filter_over_contexts_keeps_those_it_is_true_of() -> None:
    """Unknown is not true: a subscriber without the attribute is not wanted."""
    assert kept(table(("floor = 2", None), (None, None), ("floor > 1", None)), [0, 1, 2], [1], [0, 1, 2]) == [
        [0],
        [1],
        [0, 2],
    ]


def test_destinations_are_subscribers() -> None:
    """Only those named receive it, and both conditions have to hold."""
    assert kept(table((None, ["bob", "cyd"]), ("floor = 3", ["ann", "cyd"])), [0, 1, 2], [0, 2]) == [[1, 2], [2]]
