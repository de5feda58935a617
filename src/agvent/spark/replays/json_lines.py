"""Events as lines of JSON, as `agvent match` reads them: made in the tasks, given out on the driver as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from agvent.errors import EventError
from agvent.event import Event
from agvent.event_json import encode_event
from agvent.matching.encoders.arrow import event_at
from agvent.spark.runtime.spark_errors import hints_in_text, translated_errors
from agvent.store.event_columns import records_of
from agvent.store.log_reader import LogReader
from agvent.types import AgventType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from agvent.spark.replays.log_replay import TypeReplay

LINE = "line"

Writer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def lines(frame: DataFrame, writer: Writer) -> Iterator[str]:
    """The line of each row, in the order of the frame, partition by partition."""
    with translated_errors():
        for row in frame.mapInArrow(writer, f"{LINE} string").toLocalIterator():
            yield row[LINE]


def log_lines(log: LogReader, parts: Iterable[TypeReplay]) -> Iterator[str]:
    """The lines of what was replayed from a log, type by type."""
    for part in parts:
        yield from lines(part.frame, LogLines(log.type_of(part.type, part.schema), part.type))


class LogLines:
    """Rows of one version of a type in an event log; `name` is the type's, None for events without one."""

    def __init__(self, type_: AgventType, name: str | None) -> None:
        self.type = type_
        self.name = name

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            records = records_of(pa.Table.from_batches([batch]), self.type, self.name)
            yield _written(record.event for record in records)


class FrameLines:
    """Rows of a DataFrame whose columns have these names; one that is null is left out."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            named = batch.rename_columns(self.names)
            yield _written(_sparse(event_at(named, row)) for row in range(batch.num_rows))


def _sparse(event: Event) -> Event:
    present = {name: value for name, value in event.attributes.items() if value is not None}
    return msgspec.structs.replace(event, attributes=present)


@hints_in_text()
def _written(events: Iterator[Event]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([_line(event) for event in events], pa.string())], [LINE])


def _line(event: Event) -> str:
    try:
        return encode_event(event).decode()
    except EventError as error:
        named = "" if event.id is None else f"event {event.id.publisher}:{event.id.sequence}: "
        raise EventError(f"{named}{error.message}", hint="write it as Parquet: --out DIR") from None
