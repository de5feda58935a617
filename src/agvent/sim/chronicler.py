"""The process of a world that writes the event log, from the brokers' disks: the code of `agvent log follow`.

It runs beside the brokers and draws from a source of its own, so a world is the same with and without it. It is killed
in the middle of batches, and its machine loses power: then each file that was not synced is empty.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

from agvent.chronicle import bookmark
from agvent.chronicle.bookmark import JournalKey
from agvent.chronicle.follower import JournalFollower, begin
from agvent.sim.disk import MEMORY
from agvent.sim.memory_log import MemoryLog, WriterEnded
from agvent.store.journal_tail import JournalTail

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode
    from agvent.sim.world import World

PAUSES_US: Final = (20_000, 300_000, 3_000_000, 8_000_000)
"""How long it waits between two steps: one of these, and up to twice as long."""

LOGGED: Final = 0.5
"""The share of runs whose log is written and judged."""


def is_logged(seed: int) -> bool:
    """Is the log of this seed's run written?"""
    return Random(f"logged {seed}").random() < LOGGED


class WatchedDisk:
    """The disk that a broker of the world has now."""

    def __init__(self, node: BrokerNode) -> None:
        self.node = node

    def owner(self) -> JournalKey | None:
        return self.node.disk.owner

    def tail(self, after: int) -> JournalTail:
        folder = self.node.disk.folder
        return JournalTail(folder, self.node.disk.archive or folder, after=after)


class Chronicler:
    """Follows the journals of a world until its end."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random_of("log")
        self.folder = Path(mkdtemp(prefix="agvent-sim-log-", dir=MEMORY if MEMORY.is_dir() else None))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.log = MemoryLog()
        self.crashes = 0
        self._pause_us = self.random.choice(PAUSES_US)
        self._ends = self.random.choice((0.0, 0.1, 0.4))  # how often it is killed
        self._synced: dict[int, tuple[int, int]] = {}  # inode -> its size and time of change when it was synced
        self._syncs_left = -1
        self._follower: JournalFollower | None = None
        with self._watched():
            begin(self.folder)
        self._later()

    def _later(self) -> None:
        self.world.at(self.world.now + int(self._pause_us * (1 + self.random.random())), self._turn)

    def _turn(self) -> None:
        if self.random.random() < self._ends:
            self._step_and_end()
        else:
            self._step()
        self._later()

    def _step(self) -> bool:
        """Takes what is new; False if there was nothing."""
        with self._watched():
            if self._follower is None:
                disks = [WatchedDisk(node) for node in self.world.brokers.values()]
                self._follower = JournalFollower(self.folder, disks, self.log)
            elif len(self._follower.disks) < len(self.world.brokers):
                self._follower.disks = [WatchedDisk(node) for node in self.world.brokers.values()]
            return self._follower.step() is not None

    def _step_and_end(self) -> None:
        """The process ends: in order, between two steps, or at a commit or a sync of this one."""
        how = self.random.choice(("closed", "between", "commit", "sync"))
        self.log.commits_left = self.random.randrange(6) if how == "commit" else -1
        self._syncs_left = self.random.randrange(6) if how == "sync" else -1
        try:
            self._step()
            if how == "closed" and self._follower is not None:
                with self._watched():
                    self._follower.close()
        except WriterEnded:
            pass
        self.log.commits_left = self._syncs_left = -1
        self._follower = None
        self.crashes += 1
        if self.random.random() < 0.5:
            self._lose_power()

    def finish(self) -> None:
        """Takes everything that is still in the journals, and what brokers had written and not synced. Then readers are
        told of its batches; where nothing was ever done there are none."""
        for node in self.world.brokers.values():
            node.flush()
        while self._step():
            pass
        assert not self.log.commits or bookmark.batches_done(self.folder) is not None

    @property
    def incarnations(self) -> dict[str, list[int]]:
        """Of each broker its incarnations, in the order of their numbers in the log."""
        return {} if self._follower is None else self._follower.incarnations

    # The machine

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """While this is open, it is known what was synced, and the process may end before a sync."""
        fsync = os.fsync

        def noted(file: Any) -> None:
            if not self._syncs_left:
                raise WriterEnded("sync")
            self._syncs_left -= 1
            found = os.fstat(file)
            self._synced[found.st_ino] = (found.st_size, found.st_mtime_ns)

        os.fsync = noted  # type: ignore[assignment]
        try:
            yield
        finally:
            os.fsync = fsync

    def _lose_power(self) -> None:
        """What was never synced is not there."""
        for path in (self.folder / bookmark.FOLDER).iterdir():
            found = path.stat()
            if self._synced.get(found.st_ino) != (found.st_size, found.st_mtime_ns):
                os.truncate(path, 0)
