"""What runs inside a task: a record batch of events to a record batch of matches.

A matcher is pickled with the job and holds no data, only where the roster lies and which columns mean what. A row that
comes out has the event's name, the columns that are kept of it, and the subscription's name. With complaints, there are
also rows that are no match but have something to say: a question that could cost more than its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.errors import EventError
from agvent.matching.arrays import I32, I64
from agvent.matching.batch import Unanswered
from agvent.matching.in_force import NOWHERE, InForce
from agvent.matching.matches import Matches
from agvent.matching.search import Found
from agvent.spark.roster import Roster
from agvent.spark.shipment import Shipment, received

EVENT = "event"
COMPLAINT = "complaint"
ENTRY_BROKER = "entry_broker"
EPOCH = "epoch"

Read = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task is given, to batches of events; see event_source.py."""

OUTPUT_ROWS_MAX = 65_536
"""Pairs in one batch on its way to the JVM: some 2 MB."""


class Layout(NamedTuple):
    """Which of the columns that reach a task mean what, by position. Some may have two meanings."""

    names: Sequence[str]
    event: int
    kept: Sequence[int]
    attributes: Sequence[int]


class Matcher:
    """Matches the events of a task, batch after batch."""

    def __init__(self, shipment: Shipment, layout: Layout, read: Read, *, complaints: bool) -> None:
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
            refuse(unanswered, batch, self.layout)
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


def found_in(roster: Roster, batch: pa.RecordBatch, layout: Layout) -> tuple[Found, list[Unanswered]]:
    """The matches and the unanswered questions of the versions in force where and when each event entered."""
    matches = roster.index.match_batch(attributes_of(batch, layout))
    if roster.in_force is None:
        return Found(matches.subscriptions, matches.ends), matches.unanswered
    names = list(layout.names)
    broker = broker_codes(roster.in_force, batch.column(names.index(ENTRY_BROKER)))
    epoch: I64 = batch.column(names.index(EPOCH)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return in_force(roster, matches, broker, epoch)


def in_force(roster: Roster, matches: Matches, broker: I32, epoch: I64) -> tuple[Found, list[Unanswered]]:
    """What of the matches, and of the unanswered questions, was in force at each event's broker and epoch."""
    assert roster.in_force is not None
    found = roster.in_force.kept(Found(matches.subscriptions, matches.ends), broker, epoch)
    if not matches.unanswered:
        return found, []
    events, ordinals = places_of(matches.unanswered, roster)
    holds = roster.in_force.holds(ordinals, broker[events], epoch[events])
    return found, [one for one, held in zip(matches.unanswered, holds.tolist(), strict=True) if held]


def attributes_of(batch: pa.RecordBatch, layout: Layout) -> pa.RecordBatch:
    """The columns that filters read, under their own names."""
    if not layout.attributes:  # a batch must have a column to have rows
        return pa.record_batch([pa.nulls(batch.num_rows)], [""])
    return pa.record_batch(
        [batch.column(at) for at in layout.attributes], [layout.names[at] for at in layout.attributes]
    )


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


def refuse(unanswered: Sequence[Unanswered], batch: pa.RecordBatch, layout: Layout) -> None:
    """Nothing stands in silently for an answer."""
    if unanswered:
        one = unanswered[0]
        event: Any = batch.column(layout.event)[one.event].as_py()
        raise EventError(
            f"event {event!r}: subscription {one.subscription} not answered: {one.message}",
            hint="with complaints=True such questions count as no match and are listed",
        )


def pieces(batch: pa.RecordBatch, row_count: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most so many rows."""
    for start in range(0, batch.num_rows, row_count):
        yield batch.slice(start, row_count)
