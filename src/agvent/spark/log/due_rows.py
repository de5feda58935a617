"""Due deliveries: a row for each event and each version of a subscription that should receive it.

A version should receive an event if it was in force at the epoch at which the event's entry broker accepted it, and
matches. Matching and that test are those of log_events.py, and so are the answers of behaviours; here are only which
columns come out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from agvent.spark.log.event_slices import NUMBER, EventSlice
from agvent.spark.matches.log_events import check_answered, match_table
from agvent.spark.matches.pairs import COMPLAINT, OUTPUT_ROWS_MAX, pieces
from agvent.spark.matches.recorded_answers import RecordedAnswers, by_answers
from agvent.spark.rosters.roster import Roster
from agvent.store.event_columns import records_of
from agvent.store.log_schema import TABLES
from agvent.store.values import encode_values

KEY: Final = ("publisher", "sequence", "quality")
DUE: Final = pa.schema(
    [
        *(TABLES["deliveries"].schema.field(name) for name in (*KEY, "subscription", "version", "subscriber")),
        *(TABLES["deliveries"].schema.field(name) for name in ("home_broker", "entry_broker", "epoch", "position")),
        TABLES["events"].schema.field("accepted_at"),
    ]
)
"""Whose, what, where and when. `position` is the event's place in the stream, and so rises for each subscription."""

CONTENTS: Final = pa.schema(
    [
        pa.field("type", pa.string()),
        *(TABLES["events"].schema.field(name) for name in ("event_time", "topic", "topic_number", "channel")),
        *(TABLES["events"].schema.field(name) for name in ("channel_number", "xml", "payload")),
        pa.field("attributes", pa.string()),
    ]
)
"""The event itself; `attributes` is the JSON of all of them, as in the column `rest` of the log."""

EVENT_KEPT: Final = (*KEY, "entry_broker", "epoch", "accepted_at", NUMBER)
ROW: Final = "agvent_row"
HINT: Final = "agvent spark dispatch --on-error skip counts such questions as no match"


def due_in(
    events: pa.Table,
    part: EventSlice,
    roster: Roster,
    answers: RecordedAnswers,
    *,
    contents: bool = False,
    complaints: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The due deliveries of some rows of a slice, by the versions of a roster and the recorded answers.

    A question that could cost more than its bound is an error, or with `complaints` a row that says so.
    """
    for start in range(0, events.num_rows, roster.index.batch_rows):
        table = events.slice(start, roster.index.batch_rows)
        for found in _matched(roster, table, part, answers):
            due = _due(found, table, part, contents=contents)
            if complaints:
                due = due.append_column(COMPLAINT, found[COMPLAINT])
            else:
                check_answered(found, hint=HINT)
            yield from pieces(due, OUTPUT_ROWS_MAX)


def _matched(roster: Roster, table: pa.Table, part: EventSlice, answers: RecordedAnswers) -> Iterator[pa.RecordBatch]:
    """The matches of some events, each with the event's row in the table."""
    numbered = table.append_column(ROW, pa.array(np.arange(table.num_rows)))
    for lot, behaviours in by_answers(numbered, answers):
        kept = (*EVENT_KEPT, ROW)
        yield from match_table(roster, lot, part.type, part.name, kept=kept, behaviours=behaviours)


def _due(found: pa.RecordBatch, table: pa.Table, part: EventSlice, *, contents: bool) -> pa.RecordBatch:
    columns = [found[NUMBER if field.name == "position" else field.name] for field in DUE]
    due = pa.record_batch(columns, schema=DUE)
    return _with_contents(due, found[ROW], table, part) if contents else due


def _with_contents(due: pa.RecordBatch, rows: pa.Array, table: pa.Table, part: EventSlice) -> pa.RecordBatch:
    """The events themselves beside what is due, each made once however many it is due to."""
    once = rows.unique()
    events = table.take(once)
    attributes = [encode_values(one.event.attributes) for one in records_of(events, part.type, part.name)]
    events = events.append_column("type", pa.array([part.name] * len(once), pa.string()))
    events = events.append_column("attributes", pa.array(attributes, pa.string()))
    places = np.zeros(table.num_rows, np.int64)
    places[once.to_numpy()] = np.arange(len(once))
    wanted = events.select(CONTENTS.names).cast(CONTENTS).take(pa.array(places[rows.to_numpy()])).combine_chunks()
    columns = [*due.columns, *(column.combine_chunks() for column in wanted.columns)]
    return pa.record_batch(columns, schema=pa.schema([*DUE, *CONTENTS]))
