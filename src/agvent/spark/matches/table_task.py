"""A task over a table: a record batch of events to a record batch of matches.

A task is pickled with the job and holds no data, only where the roster lies and which columns mean what. A row that
comes out has the event's name, the columns that are kept of it, and the subscription's name. With complaints,
there are also rows that are not a match: a question that could cost more than its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from agvent.matching.columns.arrays import I32, I64
from agvent.matching.columns.column_batch import Unanswered
from agvent.matching.index.search import SearchResult
from agvent.spark.matches.pairs import (
    COMPLAINT,
    ENTRY_BROKER,
    EPOCH,
    EVENT,
    OUTPUT_ROWS_MAX,
    EventNames,
    broker_codes,
    in_force,
    pieces,
    places_of,
    refuse,
)
from agvent.spark.rosters.roster import Roster
from agvent.spark.rosters.shipment import Shipment, received

Read = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""From the input of a task to batches of events; see table_events.py."""


class TaskLayout(NamedTuple):
    """Which of the columns that reach a task mean what, by position. Some may have two meanings."""

    names: Sequence[str]
    event: int
    kept: Sequence[int]
    attributes: Sequence[int]


class TableTask:
    """Matches the events of a task, batch after batch."""

    def __init__(self, shipment: Shipment, layout: TaskLayout, read: Read, *, complaints: bool) -> None:
        self.shipment = shipment
        self.layout = layout
        self.read = read
        self.complaints = complaints

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        roster = received(self.shipment)
        for batch in self.read(batches):
            for piece in pieces(batch, roster.index.batch_rows):
                yield from pieces(self.matched(roster, piece), OUTPUT_ROWS_MAX)

    def matched(self, roster: Roster, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The matches of one batch of events, and the complaints below them."""
        found, unanswered = found_in(roster, batch, self.layout)
        events = np.repeat(np.arange(len(found.ends)), np.diff(found.ends, prepend=0))
        pairs = self.rows(roster, batch, events, found.subscriptions)
        if not self.complaints:
            refuse(unanswered, names_in(batch, self.layout))
            return pairs
        if not unanswered:
            return pairs.append_column(COMPLAINT, pa.nulls(len(pairs), pa.string()))
        asked = self.rows(roster, batch, *places_of(unanswered, roster))
        texts = [None] * len(pairs) + [one.message for one in unanswered]
        return pa.concat_batches([pairs, asked]).append_column(COMPLAINT, pa.array(texts, pa.string()))

    def rows(self, roster: Roster, batch: pa.RecordBatch, events: I64, ordinals: I32) -> pa.RecordBatch:
        """A row for each pair: the event's columns and the subscription's names."""
        places = pa.array(events)
        columns = {EVENT: batch.column(self.layout.event).take(places)}
        columns |= {self.layout.names[at]: batch.column(at).take(places) for at in self.layout.kept}
        named = roster.names.take(pa.array(ordinals))
        return pa.record_batch({**columns, **dict(zip(named.schema.names, named.columns, strict=True))})


def found_in(roster: Roster, batch: pa.RecordBatch, layout: TaskLayout) -> tuple[SearchResult, list[Unanswered]]:
    """The matches and the unanswered questions of the versions in force where and when each event entered."""
    matches = roster.index.match_batch(attributes_of(batch, layout))
    if roster.in_force is None:
        return SearchResult(matches.subscriptions, matches.ends), matches.unanswered
    names = list(layout.names)
    broker = broker_codes(roster.in_force, batch.column(names.index(ENTRY_BROKER)))
    epoch: I64 = batch.column(names.index(EPOCH)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return in_force(roster, matches, broker, epoch)


def attributes_of(batch: pa.RecordBatch, layout: TaskLayout) -> pa.RecordBatch:
    """The columns that filters read, under their own names."""
    if not layout.attributes:  # a batch must have a column to have rows
        return pa.record_batch([pa.nulls(batch.num_rows)], [""])
    return pa.record_batch(
        [batch.column(at) for at in layout.attributes], [layout.names[at] for at in layout.attributes]
    )


def names_in(batch: pa.RecordBatch, layout: TaskLayout) -> EventNames:
    """The names of a batch's events, for a complaint."""
    return lambda at: batch.column(layout.event)[at].as_py()
