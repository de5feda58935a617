"""What is in a log, from its heads alone: types, rows, time spans, brokers, sizes. No segment is opened."""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.store.heads import Dropped, Ranges, joined
from agvent.store.log_reader import LogReader, type_and_schema
from agvent.store.log_schema import TABLES, form_of


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """One table, or the events of one version of a type."""

    table: str
    segments: int
    rows: int
    bytes: int
    first: str | None
    last: str | None
    brokers: dict[str, int]
    type: str | None = None
    schema: str | None = None


class LogSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A whole log."""

    path: str
    offset: dict[str, Any]
    events: list[Contents]
    tables: list[Contents]
    snapshots: list[int]
    dropped: dict[str, Dropped]


def summary(log: LogReader) -> LogSummary:
    """The summary of a log as its reader sees it."""
    events = []
    for name, schema in log.event_types():
        parts = [one for one in log.segments("events") if type_and_schema(one.path) == (name, schema)]
        events.append(_contents("events", parts, type=name, schema=schema))
    return LogSummary(
        path=str(log.path),
        offset=log.offset(),
        events=events,
        tables=[_contents(name, log.segments(name)) for name in TABLES if name != "events"],
        snapshots=sorted({_catalogue_of(one.path) for one in log.heads["snapshots"].segments}),
        dropped={stream: head.dropped for stream, head in log.heads.items() if head.dropped.segments},
    )


def _contents(table: str, segments: list[Any], **named: Any) -> Contents:
    ranges: Ranges = {}
    for segment in segments:
        ranges = joined(ranges, segment.ranges)
    ranged = form_of(table).ranged
    times = [facts[ranged[-1]] for facts in ranges.values()] if ranged else []
    return Contents(
        table=table,
        segments=len(segments),
        rows=sum(segment.rows for segment in segments),
        bytes=sum(segment.bytes for segment in segments),
        first=min((low for low, _ in times), default=None),
        last=max((high for _, high in times), default=None),
        brokers={broker: facts["rows"] for broker, facts in sorted(ranges.items())},
        **named,
    )


def _catalogue_of(path: str) -> int:
    return int(path.split("/")[1].removeprefix("catalogue="))
