"""Is every byte of a log as its heads say? Finds what is missing, cut off, altered, damaged or not named."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from agvent.errors import LogFileError
from agvent.store.heads import HEADS, Head, Segment, checksum, lock_path, read_head
from agvent.store.leftovers import unnamed
from agvent.store.log_reader import READ_ORDER, check_log
from agvent.store.segments import rows_in


class LogDefect(msgspec.Struct, frozen=True):
    """One thing that is not as it should be: `missing`, `truncated`, `altered`, `unnamed` or `damaged`."""

    problem: str
    path: str
    detail: str


class LogVerification(msgspec.Struct, frozen=True):
    """What was looked at, and what was found."""

    segments: int
    rows: int
    bytes: int
    findings: list[LogDefect]


def verify(path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> LogVerification:
    """Checks every head, every segment and every file. `progress` is told the segments checked and all there are."""
    log = Path(path)
    check_log(log)
    written = {stream for stream in READ_ORDER if _is_being_written(log, stream)}
    findings: list[LogDefect] = []
    heads: dict[str, Head] = {}
    for stream in READ_ORDER:
        try:
            heads[stream] = read_head(log, stream)
        except LogFileError as error:
            findings.append(LogDefect("damaged", f"{HEADS}/{stream}.json", error.message))
    segments = [segment for head in heads.values() for segment in head.segments]
    for count, segment in enumerate(segments):
        findings += _broken(log, segment)
        if progress is not None:
            progress(count + 1, len(segments))
    findings += [finding for head in heads.values() for finding in _gaps(head)]
    if len(heads) == len(READ_ORDER):  # or nobody knows which files a head that cannot be read names
        findings += _unnamed(log, {stream: head for stream, head in heads.items() if stream not in written})
    return LogVerification(
        segments=len(segments),
        rows=sum(segment.rows for segment in segments),
        bytes=sum(segment.bytes for segment in segments),
        findings=findings,
    )


def _is_being_written(log: Path, stream: str) -> bool:
    """A commit that is under way has files that no head names yet, and rightly so."""
    try:
        with lock_path(log, stream).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _broken(log: Path, segment: Segment) -> Iterator[LogDefect]:
    file = log / segment.path
    try:
        data = file.read_bytes()
    except OSError as error:
        yield LogDefect("missing", segment.path, error.strerror or str(error))
        return
    if len(data) < segment.bytes:
        yield LogDefect("truncated", segment.path, f"it has {len(data)} of {segment.bytes} bytes")
    elif len(data) > segment.bytes or checksum(data) != segment.crc32:
        yield LogDefect("altered", segment.path, "its bytes do not match the head's checksum")
    elif file.suffix == ".parquet":
        yield from _miscounted(file, segment)


def _miscounted(file: Path, segment: Segment) -> Iterator[LogDefect]:
    try:
        rows = rows_in(file)
    except (OSError, pa.ArrowException) as error:
        yield LogDefect("damaged", segment.path, f"it is not a Parquet file: {error}")
        return
    if rows != segment.rows:
        yield LogDefect("damaged", segment.path, f"it has {rows} rows, its head says {segment.rows}")


def _gaps(head: Head) -> Iterator[LogDefect]:
    """The events of each entry broker are all there, but for what retention has dropped."""
    for broker, end in head.ends.items():
        everything = [segment.ranges for segment in head.segments] + [head.dropped.ranges]
        rows = sum(ranges[broker]["rows"] for ranges in everything if broker in ranges)
        if rows != end:
            path = f"{HEADS}/{head.stream}.json"
            yield LogDefect("damaged", path, f"{broker} has {rows} events in its segments, the head says {end}")


def _unnamed(log: Path, heads: dict[str, Head]) -> Iterator[LogDefect]:
    for file in unnamed(log, heads):
        yield LogDefect("unnamed", str(file.relative_to(log)), "no head names it; opening the log to write removes it")
