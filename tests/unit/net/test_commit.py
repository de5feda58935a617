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
from agvent.broker.records import Booted, Record, Timed, decode_record
from agvent.net.commit import GroupCommit
from agvent.store.journal import Journal
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
            Journal(tmp_path), now=lambda: 1, image=lambda: [Booted(9)], synced=synced.append, failed=failed.append
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
