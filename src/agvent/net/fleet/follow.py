"""The event log of a network, from the brokers' journals, as they grow.

Beside the brokers: they write their journals as ever, and know nothing of this. `agvent.chronicle.follower` reads and
writes; here are the files, and what is let go of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from agvent.chronicle.bookmark import JournalKey
from agvent.chronicle.follower import JournalFollower, begin
from agvent.net.server.config import ARCHIVE, JOURNAL
from agvent.net.server.identity import known_identity
from agvent.store.journal_tail import JournalTail
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.store.retention import STREAMS_WITH_AN_END, retain


class Keep(msgspec.Struct, frozen=True):
    """How much of each stream stays: rows of so many hours, and so many bytes; None: all."""

    hours: float | None = None
    bytes_max: int | None = None


class BrokerDisk:
    """The `data` folder of a broker."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def owner(self) -> JournalKey | None:
        identity = known_identity(self.data)
        return (identity.broker, identity.incarnation) if identity is not None else None

    def tail(self, after: int) -> JournalTail:
        return JournalTail(self.data / JOURNAL, self.data / ARCHIVE, after=after)


class Follower:
    """Writes a log from the journals of these brokers' disks. It goes on with a log of its own, or begins a new one."""

    def __init__(
        self, out: str | os.PathLike[str], disks: Sequence[Path], *, trim: bool = False, keep: Keep | None = None
    ) -> None:
        self.out, self.trim, self.keep = Path(out), trim, keep or Keep()
        if not (self.out / "log.json").exists():
            create_log(self.out)
            begin(self.out)
        self.log = LogWriter(self.out)
        try:
            self._journals = JournalFollower(self.out, [BrokerDisk(disk) for disk in disks], self.log)
        except BaseException:
            self.log.close()
            raise

    @property
    def is_behind(self) -> bool:
        """Has a journal more than the last step took?"""
        return self._journals.is_behind

    def close(self) -> None:
        """Writes down where it is, and lets the log go."""
        self._journals.close()
        self.log.close()

    def step(self) -> dict[str, int] | None:
        """Takes what is new in the journals, up to a size, into the log; gives the rows of each table, or None if
        there was nothing new."""
        counts = self._journals.step()
        if counts is not None and any(counts.values()):
            self._retain()
            if self.trim:
                for path in self._journals.finished():
                    path.unlink()
        return counts

    def _retain(self) -> None:
        before = None
        if self.keep.hours is not None:
            before = datetime.now(UTC) - timedelta(hours=self.keep.hours)
        if before is not None or self.keep.bytes_max is not None:
            for stream in STREAMS_WITH_AN_END:
                retain(self.log, stream, before=before, bytes_max=self.keep.bytes_max)
