"""Rows of the log as the matcher takes them.

Most rows have all their attributes in columns and go to the matcher as an Arrow record batch, untouched. The others (an
attribute in `rest`, a topic or channel that is a number) become events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.matching.columns.column_batch import Unanswered
from agvent.matching.subscriptions import Subscriptions
from agvent.store.event_columns import promoted, records_of
from agvent.types import AgventType


class RowMatches(NamedTuple):
    """Rows of a table (int64) and the ids of the subscriptions that match them (string), as Arrow arrays; and the
    questions that were not answered, whose `event` is the row."""

    rows: Any
    ids: Any
    unanswered: list[Unanswered]


def match_rows(index: Subscriptions, table: Any, type_: AgventType, name: str | None) -> Iterator[RowMatches]:
    """The matches of a table of events, in parts; `name` is the type's, None for events without one."""
    for start in range(0, table.num_rows, index.batch_rows):
        for places, events in matchable(table.slice(start, index.batch_rows), type_, name):
            matches, rows = index.match_batch(events), places + start
            unanswered = [Unanswered(int(rows[one.event]), one.subscription, one.message) for one in matches.unanswered]
            yield RowMatches(pa.array(rows[matches.events]), pa.array(matches.ids(), pa.string()), unanswered)


def matchable(table: Any, type_: AgventType, name: str | None) -> Iterator[tuple[Any, Any]]:
    """The rows of a table in one or two lots: their places in it, and what `Subscriptions.match_batch` takes."""
    part = table.combine_chunks()
    plain = _is_plain(part)
    for rows, made in ((np.flatnonzero(plain), _batch), (np.flatnonzero(~plain), _events)):
        if len(rows):
            yield rows, made(part if len(rows) == len(part) else part.take(rows), type_, name)


def _is_plain(table: Any) -> Any:
    special = [pc.is_valid(table[name]) for name in ("rest", "topic_number", "channel_number")]
    found = pc.or_(pc.or_(special[0], special[1]), special[2])
    return ~found.to_numpy()


def _batch(table: Any, type_: AgventType, name: str | None) -> Any:
    columns = {one.attribute: table[one.column] for one in promoted(type_)}
    for header, column in (("$topic", "topic"), ("$channel", "channel"), ("$time", "event_time"), ("$xml", "xml")):
        if table[column].null_count < table.num_rows:
            columns[header] = table[column]
    if name is not None:
        columns["$type"] = _types(table["ancestors"].combine_chunks(), name)
    if not columns:  # a batch without columns has no rows
        columns["$topic"] = table["topic"]
    return pa.table(columns).combine_chunks().to_batches()[0]


def _types(ancestors: Any, name: str) -> Any:
    """Each row's type, followed by its ancestors."""
    sizes = pc.list_value_length(ancestors).to_numpy() + 1
    ends = np.cumsum(sizes)
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    first = np.zeros(int(ends[-1]), bool)
    first[offsets[:-1]] = True
    source = pa.concat_arrays([pa.array([name]), ancestors.flatten()])
    places = np.zeros(len(first), np.int64)
    places[~first] = np.arange(1, len(source))
    return pa.ListArray.from_arrays(pa.array(offsets), source.take(pa.array(places)))


def _events(table: Any, type_: AgventType, name: str | None) -> list[Any]:
    return [record.event for record in records_of(table, type_, name)]
