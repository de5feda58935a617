"""Pairs of an event and a subscription: their columns, and which of them were in force where the event entered.

Every way of matching gives such rows, and beside them rows with a complaint: a question that was not answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.errors import EventError
from agvent.matching.columns.arrays import I32, I64
from agvent.matching.columns.column_batch import Unanswered
from agvent.matching.index.in_force import NOWHERE, InForce
from agvent.matching.index.search import SearchResult
from agvent.matching.matches import Matches
from agvent.spark.rosters.roster import Roster

EVENT = "event"
COMPLAINT = "complaint"
ENTRY_BROKER = "entry_broker"
EPOCH = "epoch"

OUTPUT_ROWS_MAX = 65_536
"""Pairs in one batch on its way to the JVM: some 2 MB."""


def in_force(roster: Roster, matches: Matches, broker: I32, epoch: I64) -> tuple[SearchResult, list[Unanswered]]:
    """What of the matches, and of the unanswered questions, was in force at each event's broker and epoch."""
    assert roster.in_force is not None
    found = roster.in_force.kept(SearchResult(matches.subscriptions, matches.ends), broker, epoch)
    if not matches.unanswered:
        return found, []
    events, ordinals = places_of(matches.unanswered, roster)
    holds = roster.in_force.holds(ordinals, broker[events], epoch[events])
    return found, [one for one, held in zip(matches.unanswered, holds.tolist(), strict=True) if held]


def broker_codes(known: InForce, column: pa.Array) -> I32:
    """The codes of brokers' names; a batch has few different ones."""
    encoded = pc.dictionary_encode(column)
    codes = np.append(known.codes(encoded.dictionary.to_pylist()), np.int32(NOWHERE))
    chosen: I32 = codes[encoded.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)]
    return chosen


def places_of(unanswered: Sequence[Unanswered], roster: Roster) -> tuple[I64, I32]:
    """Events and ordinals of unanswered questions. They are few: no table of ids is kept for them."""
    ids = roster.index.ids() if unanswered else []
    events = np.array([one.event for one in unanswered], np.int64)
    return events, np.array([ids.index(one.subscription) for one in unanswered], np.int32)


EventNames = Callable[[int], Any]
"""From the place of an event in a batch to its name."""


def refuse(unanswered: Sequence[Unanswered], names: EventNames) -> None:
    """Nothing stands in silently for an answer."""
    if unanswered:
        one = unanswered[0]
        raise EventError(
            f"event {names(one.event)!r}: subscription {one.subscription} not answered: {one.message}",
            hint="with complaints=True such questions count as no match and are listed",
        )


def pieces(batch: pa.RecordBatch, row_count: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most so many rows."""
    for start in range(0, batch.num_rows, row_count):
        yield batch.slice(start, row_count)
