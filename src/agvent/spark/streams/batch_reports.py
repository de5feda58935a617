"""Reports of a running stream: a record for each batch, from the progress that Spark keeps of a query."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent.errors import AgventError
from agvent.spark.log.offsets import Offset, beginning, event_count
from agvent.spark.matches.unanswered import in_words
from agvent.spark.runtime.spark_errors import error_in

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


OBSERVED: Final = "agvent"
"""The name under which a query has the counts of unanswered.py."""


class BatchReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """One batch. `start` and `end` are offsets, `catalogue` the version its events were matched by, `lag` the events
    that had been logged and were still to be done when it ended, `unanswered` the questions that count as no match,
    and `example` one of them."""

    batch: int
    at: str
    events: int
    deliveries: int
    unanswered: int
    seconds: float
    lag: int
    catalogue: int
    start: Offset
    end: Offset
    example: str | None = None

    def sentence(self) -> str:
        """For people."""
        rate = f"{self.events / self.seconds:,.0f} events/s" if self.seconds else "in 0 s"
        behind = f", {self.lag:,} events behind" if self.lag else ""
        skipped = f", {self.unanswered:,} questions not answered" if self.unanswered else ""
        return (
            f"batch {self.batch}: {self.events:,} events, {self.deliveries:,} deliveries{skipped}, {rate}, "
            f"catalogue {self.catalogue}{behind}"
        )


def fault_of(query: StreamingQuery) -> AgventError | None:
    """Why a query ended by itself, None if nothing was wrong."""
    fault = query.exception()
    return None if fault is None else error_in(str(fault))


def reports(query: StreamingQuery, *, after: int) -> Iterator[BatchReport]:
    """The batches with events since the one numbered `after`. Spark keeps the last hundred."""
    for one in query.recentProgress:
        progress: dict[str, Any] = json.loads(one.json)
        if progress["batchId"] > after and progress["sources"][0]["endOffset"]:
            report = _report(progress)
            if report.events:  # Spark also reports that it had nothing to do
                yield report


def _report(progress: dict[str, Any]) -> BatchReport:
    [source] = progress["sources"]
    start, end = _offset(source["startOffset"]) or beginning(), _offset(source["endOffset"])
    seen = progress.get("observedMetrics", {}).get(OBSERVED)
    skipped, example = _row(seen) if seen else (0, None)
    return BatchReport(
        batch=progress["batchId"],
        at=progress["timestamp"],
        events=event_count(end) - event_count(start),
        deliveries=source["numInputRows"] - skipped,
        unanswered=skipped,
        seconds=progress["batchDuration"] / 1000,
        lag=event_count(_offset(source["latestOffset"]) or end) - event_count(end),
        catalogue=end["sub"],
        start=start,
        end=end,
        example=in_words(_row(example)) if example else None,
    )


# Spark Connect gives an offset as text, and a row as its values beside their schema.


def _offset(given: Any) -> Any:
    return json.loads(given) if isinstance(given, str) else given


def _row(given: dict[str, Any]) -> list[Any]:
    return [*given["values"]] if given.keys() == {"values", "schema"} else [*given.values()]
