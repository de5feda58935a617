"""What may be published at once: events, or the rows of Arrow's record batches and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agvent.agents.authoring.agvent import Agvent
from agvent.event import Event

if TYPE_CHECKING:
    import pyarrow

Events = Iterable[Event | Agvent | Mapping[str, Any]]


def rows_of(events: Events | pyarrow.RecordBatch | pyarrow.Table) -> Events:
    """The events. Columns are attributes, and `$topic` and the like what their names say; a null is not there."""
    if not hasattr(events, "schema"):
        return events
    return _rows(events)


def _rows(events: Any) -> Iterator[dict[str, Any]]:
    for batch in events.to_batches() if hasattr(events, "to_batches") else (events,):
        has_null = any(column.null_count for column in batch.columns)
        for row in batch.to_pylist():
            yield {name: value for name, value in row.items() if value is not None} if has_null else row
