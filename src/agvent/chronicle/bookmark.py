"""How far an event log has brokers' journals, written down in the log's folder: `followed/`.

A batch is written in three steps: the plan says up to which record of each journal it goes, then each stream of the log
takes its rows under the batch's number, then the bookmark says that it is done. After a crash between them the plan is
carried out again from the bookmark before it: the same records give the same rows, and a stream that has them does not
take them again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from agvent.chronicle.carried_state import Carried
from agvent.chronicle.frontier import Frontier
from agvent.chronicle.hops import Ways
from agvent.chronicle.incarnations import Incarnations
from agvent.errors import LogFileError
from agvent.store.sync_folder import sync_folder
from agvent.wire.codec import extended, extension

WRITER: Final = "follow"
"""Who writes the batches, in the heads of the log's streams."""

FOLDER: Final = "followed"
BOOKMARK: Final = "bookmark"
PLAN: Final = "plan"
DONE: Final = "done.json"
"""The number of the last batch that is in every stream, for readers: the bookmark itself may be large."""

JournalKey = tuple[str, int]
"""A broker and its incarnation, as its disk says."""


class JournalPlace(msgspec.Struct):
    """Where one journal was left: the last record, when that was written, and what later rows need of it."""

    broker: str
    incarnation: int
    sequence: int
    at: int
    carried: Carried


class Bookmark(msgspec.Struct):
    """Everything up to a batch."""

    batch: int
    incarnations: Incarnations
    frontier: Frontier
    ways: Ways
    places: list[JournalPlace]


class BatchPlan(msgspec.Struct):
    """A batch that is to be written: the last record of each journal, and what incarnations are called in it."""

    batch: int
    incarnations: Incarnations
    upto: dict[JournalKey, int]


Kind = TypeVar("Kind", Bookmark, BatchPlan)


def read(log: Path, name: str, kind: type[Kind]) -> Kind | None:
    """What was written down, None if nothing was."""
    path = log / FOLDER / name
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=kind, ext_hook=extension)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise LogFileError(f"{path}: {error}", hint="agvent log collect makes a new log") from None


def batches_done(log: Path) -> int | None:
    """The number of the last batch that is in every stream of a log; None if no follower writes it."""
    try:
        return msgspec.json.decode((log / FOLDER / DONE).read_bytes(), type=int)
    except FileNotFoundError:
        return None


def note_done(log: Path, batch: int) -> None:
    _put(log / FOLDER / DONE, msgspec.json.encode(batch))


def write(log: Path, name: str, value: Bookmark | BatchPlan) -> None:
    """Writes it down in place of the last one; a crash leaves one of the two."""
    path = log / FOLDER / name
    path.parent.mkdir(exist_ok=True)
    _put(path, msgspec.msgpack.encode(value, enc_hook=extended))
    sync_folder(path.parent)


def _put(path: Path, content: bytes) -> None:
    """A file's new content, on disk before it has its name."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    os.replace(partial, path)
