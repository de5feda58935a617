"""What a running stream has done: a record for each batch, from the progress that Spark keeps of a query."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from agvent.errors import AgventError
from agvent.spark.faults import translated
from agvent.spark.offsets import Offset, beginning, event_count

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class BatchReport(msgspec.Struct, frozen=True):
    """One batch. `start` and `end` are offsets, `catalogue` the version its events were matched by, `lag` the events
    that had been logged and were still to be done when it ended."""

    batch: int
    at: str
    events: int
    deliveries: int
    seconds: float
    lag: int
    catalogue: int
    start: Offset
    end: Offset

    def sentence(self) -> str:
        """For people."""
        rate = f"{self.events / self.seconds:,.0f} events/s" if self.seconds else "at once"
        behind = f", {self.lag:,} events behind" if self.lag else ""
        return (
            f"batch {self.batch}: {self.events:,} events, {self.deliveries:,} deliveries, {rate}, "
            f"catalogue {self.catalogue}{behind}"
        )


def fault_of(query: StreamingQuery) -> AgventError | None:
    """Why a query ended by itself, None if nothing was wrong."""
    fault = query.exception()
    return None if fault is None else translated(str(fault))


def reports(query: StreamingQuery, *, after: int) -> Iterator[BatchReport]:
    """The batches with events since the one numbered `after`. Spark keeps the last hundred."""
    for progress in query.recentProgress:
        told: dict[str, Any] = json.loads(progress.json)
        if told["batchId"] > after and told["sources"][0]["endOffset"]:
            report = _report(told)
            if report.events:  # Spark also reports that it had nothing to do
                yield report


def _report(told: dict[str, Any]) -> BatchReport:
    [source] = told["sources"]
    start, end = source["startOffset"] or beginning(), source["endOffset"]
    return BatchReport(
        batch=told["batchId"],
        at=told["timestamp"],
        events=event_count(end) - event_count(start),
        deliveries=source["numInputRows"],
        seconds=told["batchDuration"] / 1000,
        lag=event_count(source["latestOffset"] or end) - event_count(end),
        catalogue=end["sub"],
        start=start,
        end=end,
    )
