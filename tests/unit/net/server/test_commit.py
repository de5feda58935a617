"""Groups of records on their way to the disk, when the machine has no room."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agvent import limits
from agvent.broker.interface import Forget
from agvent.broker.records import Booted, Record, Timed, decode_record
from agvent.net.link.address import Address
from agvent.net.server.commit import GroupCommit
from agvent.net.server.config import Config
from agvent.net.server.server import BrokerServer
from agvent.store.journal import JournalWriter
from agvent.store.journal_recovery import examine, snapshot_paths


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Nothing can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def no_room() -> Iterator[None]:
    """No file can grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_group_is_written_once_whatever_becomes_of_its_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No descriptor is left for the segment that a snapshot needs: the group is on disk and acknowledged, and the
    snapshot comes with a later one."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 60)
    synced: list[int] = []
    failed: list[BaseException] = []

    async def story() -> list[Record]:
        commit = GroupCommit(
            JournalWriter(tmp_path),
            now=lambda: 1,
            image=lambda: [Booted(9)],
            synced=synced.append,
            failed=failed.append,
        )
        with no_descriptors():
            for number in (1, 2):
                commit.append([Booted(number)], number)
                await commit.idle()
        written = [decode_record(content) for content in examine(tmp_path).contents()]
        commit.append([Booted(3)], 3)
        await commit.idle()
        await commit.close()
        return [record for record in written if not isinstance(record, Timed)]

    assert asyncio.run(story()) == [Booted(1), Booted(2)]
    assert (synced, failed, len(snapshot_paths(tmp_path))) == ([1, 2, 3], [], 1)


def test_a_wait_for_the_disk_ends_when_there_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is not said to be, and is written when there is room again."""
    monkeypatch.setattr(limits, "JOURNAL_RETRY_SECONDS", 0.01)
    synced: list[int] = []

    async def story() -> None:
        commit = GroupCommit(
            JournalWriter(tmp_path), now=lambda: 1, image=lambda: [Booted(9)], synced=synced.append, failed=print
        )
        async with asyncio.timeout(5):
            with no_room():
                commit.append([Booted(1)], 1)
                await commit.idle()
                assert commit.full
                assert not commit.is_idle
                assert not synced
            commit.append([Booted(2)], 2)
            while not commit.is_idle:
                await commit.idle()
                await asyncio.sleep(0.01)
            await commit.close()
        assert (commit.full, synced[-1]) == ("", 2)

    asyncio.run(story())


def test_a_broker_stops_though_its_disk_fills_as_it_does(tmp_path: Path) -> None:
    """It does not wait for room: without any a stop is as good as a crash."""

    async def story() -> None:
        config = Config(name="B1", listen=Address("127.0.0.1", 0), data=tmp_path, neighbours={}, tls=None)
        server = BrokerServer(config, write=lambda _: None)
        await server.start()
        await server.commit.idle()
        server.driver.give([Forget("B9")])
        async with asyncio.timeout(5):
            with no_room():
                await server.stop()
        assert server.commit.full
        assert not server.commit.is_idle

    asyncio.run(story())
