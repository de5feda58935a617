"""Laws of the event log: what goes in comes out, and rows match as their events do."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from agvent.event import Event, EventId
from agvent.filters.evaluate import evaluate
from agvent.matching.subscriptions import Subscriptions
from agvent.store.event_batches import match_rows
from agvent.store.event_columns import LoggedEvent, event_schema, records_of, table_of
from agvent.store.log_schema import shaped
from agvent.types import KINDS, AdvertisedAttribute, AgventType
from tests.logs import NOON
from tests.strategies import NAMES, events

FILTERS = (
    "a > 1",
    "a = 'ab' OR b IS NULL",
    "list[0] = 1",
    "o.x = 2.5",
    "NOT c",
    "a < b",
    "c BETWEEN 0 AND 10",
    "b LIKE 'a%'",
)


def types() -> st.SearchStrategy[AgventType]:
    """Types that advertise some of the names events have, as any kind."""
    kinds = st.fixed_dictionaries({}, optional=dict.fromkeys((*NAMES, "topic"), st.sampled_from(KINDS)))
    return kinds.map(
        lambda chosen: AgventType(
            name="Book", attributes=tuple(AdvertisedAttribute(name, kind) for name, kind in chosen.items())
        )
    )


def logged(found: list[Event]) -> list[LoggedEvent]:
    """The events as of one type and with ids."""
    return [
        LoggedEvent(
            event=msgspec.structs.replace(event, type="Book", id=EventId("p:q", sequence)),
            accepted_at=NOON,
            entry_broker="b1",
            epoch=sequence,
        )
        for sequence, event in enumerate(found)
    ]


def stored(records: list[LoggedEvent], type_: AgventType) -> Any:
    """The rows as a reader gets them: through a Parquet file."""
    table = table_of(records, type_)
    table = table.append_column("position", pa.array(range(len(records)), pa.int64()))
    file = io.BytesIO()
    pq.write_table(shaped("events", table, event_schema(type_)), file, store_schema=False)
    file.seek(0)
    return pq.read_table(file)


def shown(value: Any) -> Any:
    """A value with its types, so that 1, 1.0, True and a 32-bit 1 differ, and NaN equals NaN; tuples are lists."""
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if hasattr(value, "timestamp"):
        return ("time", value.timestamp())
    return (type(value).__name__, repr(value))


def facts(record: LoggedEvent) -> Any:
    """All there is to an event; a topic or channel that is a number is one of 64 bits."""
    plain = {name: int(n) for name in ("topic", "channel") if isinstance(n := getattr(record.event, name), int)}
    event = msgspec.structs.replace(record.event, **plain)
    return (shown(dict(event.attributes)), [shown(getattr(event, name)) for name in Event.__struct_fields__[1:]])


@given(st.lists(events(), max_size=4), types())
def test_an_event_comes_back_from_the_log(found: list[Event], type_: AgventType) -> None:
    """Every attribute with its kind, nulls and NaN included, and every header, whatever its type had advertised."""
    records = logged(found)
    back = records_of(stored(records, type_), type_, "Book")
    assert [facts(record) for record in back] == [facts(record) for record in records]


@given(st.lists(events(), min_size=1, max_size=4), types())
def test_rows_match_as_their_events_do(found: list[Event], type_: AgventType) -> None:
    """The matcher over rows of the log gives the oracle's pairs, whatever is in columns and whatever in `rest`."""
    records = logged(found)
    index = Subscriptions()
    for text in FILTERS:
        index.add(text, text)
    index.add("typed", type="Book")
    pairs = set()
    for rows, ids, unanswered in match_rows(index, stored(records, type_), type_, "Book"):
        assert unanswered == []
        pairs |= set(zip(rows.to_pylist(), ids.to_pylist(), strict=True))
    expected = {
        (row, id)
        for row, record in enumerate(records)
        for id in index
        if evaluate(index.get(id).condition(), record.event) is True
    }
    assert pairs == expected
