"""The event log of a network as it is now, from the brokers' journals."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from agvent.net.fleet.follow import Follower
from agvent.net.server.identity import identity_of
from agvent.store.log_reader import check_free


def collect(disks: list[Path], out: str | os.PathLike[str]) -> dict[str, int]:
    """Writes a new log from the journals of these brokers' disks, and gives the rows of each table.

    The brokers may run on; what they write meanwhile is not waited for."""
    check_free(Path(out))
    for disk in disks:
        identity_of(disk)
    follower = Follower(out, disks)
    rows: Counter[str] = Counter()
    try:
        rows.update(follower.step() or {})
        while follower.is_behind:
            rows.update(follower.step() or {})
        rows.update(follower.step() or {})  # what spoke of a journal that was read before it
        follower.log.snapshot()
    finally:
        follower.close()
    return dict(rows)
