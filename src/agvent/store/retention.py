"""Retention: whole segments leave a stream, oldest first, by age or by size. The catalogue is kept whole."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from agvent.errors import LogError
from agvent.store.heads import Segment
from agvent.store.log_schema import TABLES
from agvent.store.log_writer import LogWriter

STREAMS_WITH_AN_END: Final = ("events", "deliveries", "traces", "behaviours", "documents")


def retain(
    log: LogWriter, stream: str, *, before: datetime | None = None, bytes_max: int | None = None
) -> list[Segment]:
    """Drops the segments whose last row is older than `before`, then the oldest until the rest has `bytes_max`.

    Age is by the time a head keeps of each table: accepted_at, delivered_at, noticed_at, sent_at and so on.
    """
    if stream not in STREAMS_WITH_AN_END:
        raise LogError(f"{stream!r} is kept whole", hint=f"retention is for {', '.join(STREAMS_WITH_AN_END)}")
    oldest_first = sorted(log.heads[stream].segments, key=_newest_row)
    kept_bytes = sum(segment.bytes for segment in oldest_first)
    limit = "" if before is None else before.astimezone(UTC).isoformat(timespec="microseconds")
    gone = []
    for segment in oldest_first:
        if _newest_row(segment) >= limit and (bytes_max is None or kept_bytes <= bytes_max):
            break
        gone.append(segment)
        kept_bytes -= segment.bytes
    if gone:
        log.drop(stream, gone)
    return gone


def _newest_row(segment: Segment) -> str:
    """The time of its last row, as text that compares as time does."""
    column = TABLES[segment.path.split("/", 1)[0]].ranged[-1]
    return max(str(facts[column][1]) for facts in segment.ranges.values())
