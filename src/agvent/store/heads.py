"""Heads: one small file per stream that names its segments. Replacing it is the commit; nothing else ever changes.

    {"crc32": "8f1c09aa", "head": {…}}

The checksum is of the bytes of the `head` member as they stand.

A commit goes through four states, each durable before the next:

1. *staged*: the segments are written under hidden names and synced;
2. *published*: they have their own names, which no head mentions;
3. *written*: the next head is written beside the old one and synced;
4. *committed*: the next head has replaced the old one by a rename, and the folder is synced.

Invariants: a file that a head names is complete and is never changed. A segment is in the log exactly if the head names
it. A crash before the rename leaves files that no head names; the next writer removes them (leftovers.py). A head's
number grows by one with each commit, and `Segment.since` says which commit brought a segment in, so that a reader can
ask for the log as of an earlier commit.

Readers take no lock: they read the head once, and its files stay as they are. Only retention removes files, after the
head has let go of them; a reader that opened before that may then miss a file, and says so.

To take the folder's listing for the truth is the obvious alternative, and wrong: it shows half of a commit. One head
for all streams would also be simpler, but then the writer of events would wait for the writer of deliveries.

A writer that was cut off does not know whether its commit counted. `batches` has the number of its last batch that did,
in the same head, so a repeated batch is recognised.

Cost: a head is written whole at each commit, so it grows with the number of segments; two syncs for the head and one
for each segment.
"""

from __future__ import annotations

import os
import zlib
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from agvent.errors import LogFileError
from agvent.store.log_schema import STREAMS
from agvent.store.sync_folder import sync_folder

FORMAT: Final = 1
HEADS: Final = "heads"

Range = list[Any]
"""Least and greatest value, both included: integers, or times as ISO 8601 text."""

Ranges = dict[str, dict[str, Any]]
"""For each broker the rows it has in a segment, and the range of each column the head keeps."""


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One file that a head names; `since` is the number of the head that brought it in."""

    path: str
    since: int
    rows: int
    bytes: int
    crc32: str
    ranges: Ranges = {}


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """What retention has taken out of a stream, added up; `upto` is the last head that brought some of it in."""

    upto: int = 0
    segments: int = 0
    rows: int = 0
    bytes: int = 0
    ranges: Ranges = {}


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as of its last commit. `ends` and `catalogue` are the events' alone: see docs/reference/event-log.md.

    `batches` has, for each writer that may try a commit again, the number of the last one the stream has of it.
    """

    stream: str
    number: int = 0
    written_at: datetime | None = None
    segments: list[Segment] = []
    dropped: Dropped = Dropped()
    ends: dict[str, int] = {}
    catalogue: int = 0
    batches: dict[str, int] = {}


class _Sealed(msgspec.Struct, frozen=True):
    crc32: str
    head: msgspec.Raw


def checksum(data: Any) -> str:
    """CRC-32 as eight hex digits."""
    return f"{zlib.crc32(data):08x}"


def head_path(log: Path, stream: str) -> Path:
    return log / HEADS / f"{stream}.json"


def lock_path(log: Path, stream: str) -> Path:
    """The file that whoever writes a stream holds locked."""
    return log / HEADS / f".{stream}.lock"


def read_head(log: Path, stream: str) -> Head:
    """The head of a stream, or a LogFileError that says what is wrong with it."""
    assert stream in STREAMS, stream
    path = head_path(log, stream)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LogFileError(f"cannot read the head {path}: {error.strerror}") from None
    return decode_head(data, path)


def decode_head(data: bytes, path: Path) -> Head:
    """The head that a file's bytes say; `path` is for the complaint."""
    try:
        sealed = msgspec.json.decode(data, type=_Sealed)
    except (ValueError, RecursionError) as error:
        raise LogFileError(f"the head {path} is damaged: {error}") from None
    if checksum(sealed.head) != sealed.crc32:
        raise LogFileError(f"the head {path} is damaged: it does not match its checksum")
    try:
        return msgspec.json.decode(sealed.head, type=Head)
    except (ValueError, RecursionError) as error:
        raise LogFileError(f"the head {path} has another format: {error}") from None


def encode_head(head: Head) -> bytes:
    """A head as the bytes of its file."""
    body = msgspec.json.encode(head)
    return msgspec.json.encode(_Sealed(checksum(body), msgspec.Raw(body)))


def write_head(log: Path, head: Head) -> None:
    """Replaces the head of a stream: the moment this returns, and not before, its segments are in the log."""
    path = head_path(log, head.stream)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as out:
        out.write(encode_head(head))
        out.flush()
        os.fsync(out.fileno())
    os.replace(partial, path)
    sync_folder(path.parent)


def joined(some: Ranges, others: Ranges) -> Ranges:
    """The ranges of both together."""
    result = {broker: dict(facts) for broker, facts in some.items()}
    for broker, facts in others.items():
        mine = result.setdefault(broker, {"rows": 0})
        for name, value in facts.items():
            if name == "rows":
                mine["rows"] += value
            else:
                mine[name] = _spanned(mine.get(name) or value, value)
    return result


def _spanned(some: Range, other: Range) -> Range:
    return [min(some[0], other[0]), max(some[1], other[1])]
