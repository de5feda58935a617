"""Group commit: while one group of records is being synced, the next ones gather and are the next group.

Everything but the writing happens on the event loop. A snapshot is taken between two groups: it stands for exactly the
records up to the end of the group that is written next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from agvent import limits
from agvent.broker.records import Record, Timed, encode_record
from agvent.errors import JournalFull
from agvent.store.journal import JournalWriter


class GroupCommit:
    """`synced` is called with the number of the last record of each group that is on disk, `failed` when nobody knows
    any more what is."""

    def __init__(
        self,
        journal: JournalWriter,
        *,
        now: Callable[[], int],
        image: Callable[[], list[Record]],
        synced: Callable[[int], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.journal = journal
        self.full = ""  # why nothing can be written now
        self.groups = self.records = 0
        self._now, self._image, self._synced, self._failed = now, image, synced, failed
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "journal")
        self._pending: list[Record] = []
        self._number = 0
        self._busy = False
        self._tries = 0  # to write the group that found no room
        self._snapshot: list[Record] | None = None  # taken, and not yet on disk
        self._saving: asyncio.Future[None] | None = None  # the last snapshot on its way to the disk
        self._idle = asyncio.Event()  # nothing is being written, or what is finds no room
        self._idle.set()

    def append(self, records: Sequence[Record], number: int) -> None:
        self._pending += records
        self._number = number
        self._idle.clear()
        if not self._busy:
            self._begin()

    def _begin(self) -> None:
        """Writes what is pending; then, if the journal has grown, puts a snapshot in its place."""
        image = None
        if self._snapshot is None and self.journal.wants_snapshot():
            image = self._snapshot = self._image()
        group, self._pending = self._pending, []
        self._submit(group, self._number, image)

    def _submit(self, group: list[Record], number: int, image: list[Record] | None) -> None:
        self._busy = True
        written = self._loop.run_in_executor(self._writer, self._write, group, image is not None)
        written.add_done_callback(lambda done: self._written(done, group, number, image))

    def _write(self, group: list[Record], roll: bool) -> bool:
        """Writes a group, which is then not written again; does a segment begin after it, as was asked?"""
        if group:
            self.journal.write(self._contents(group))
        if roll:
            with suppress(JournalFull):  # the group is safe, and may not be written again
                self.journal.roll()
                return True
        return False

    def _contents(self, group: list[Record]) -> list[bytes]:
        return [encode_record(record) for record in (Timed(self._now()), *group)]

    def _retry(self, group: list[Record], number: int) -> None:
        """Tries to write a group that found no room; at growing intervals with a snapshot, which may make some."""
        self._tries += 1
        is_turn = not self._tries & (self._tries - 1) or self._tries % limits.JOURNAL_COMPACT_TRIES_MAX == 0
        if not is_turn or self._snapshot is not None:
            self._submit(group, number, None)
            return
        group, number, image = group + self._pending, self._number, self._image()
        self._pending = []
        written = self._loop.run_in_executor(self._writer, self._compact, group, image)
        written.add_done_callback(lambda done: self._written(done, group, number, None))

    def _compact(self, group: list[Record], image: list[Record]) -> bool:
        self.journal.compact(self._contents(group), [encode_record(record) for record in image])
        return False

    def _written(
        self, done: asyncio.Future[bool], group: list[Record], number: int, image: list[Record] | None
    ) -> None:
        error = done.exception()
        if isinstance(error, JournalFull):
            self.full = error.message
            self._snapshot = None if image is not None else self._snapshot
            self._loop.call_later(limits.JOURNAL_RETRY_SECONDS, self._retry, group, number)
            self._idle.set()
            return
        if error is not None:
            self._failed(error)
            self._idle.set()
            return
        self.full, self._tries = "", 0
        self._busy = False
        self.groups += 1
        self.records += len(group)
        if image is not None and done.result():
            self._saving = self._loop.run_in_executor(None, self._save, self.journal.sequence + 1, image)
            self._saving.add_done_callback(self._saved)
        elif image is not None:
            self._snapshot = None
        if group:
            self._synced(number)
        if self._pending:
            self._idle.clear()
            self._begin()
        elif not self._busy:
            self._idle.set()

    def _save(self, sequence: int, image: list[Record]) -> None:
        self.journal.snapshot(sequence, [encode_record(record) for record in image])

    def _saved(self, done: asyncio.Future[None]) -> None:
        """A snapshot that found no room is tried again when the journal has grown further."""
        self._snapshot = None
        error = done.exception()
        if error is not None and not isinstance(error, OSError):
            self._failed(error)

    @property
    def is_idle(self) -> bool:
        """Is everything on disk?"""
        return not self._busy and not self._pending

    async def idle(self) -> None:
        """Waits until everything is on disk, or cannot be written now."""
        await self._idle.wait()

    async def close(self) -> None:
        """Ends the journal, when everything is on disk: a snapshot under way too, whose files the next start reads."""
        await self._idle.wait()
        if self._saving is not None:
            await asyncio.wait([self._saving])
        await self._loop.run_in_executor(self._writer, self.journal.close)
        self._writer.shutdown()
