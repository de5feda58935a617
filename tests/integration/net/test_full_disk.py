"""A broker on a disk of a few megabytes, which is full: a file system in memory, for a process that may mount one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MOUNTED = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "sh",
    "-c",
    'mount -t tmpfs -o size=20m disk "$0" && "$@"',
]

STORY = """
import asyncio, os, sys
from pathlib import Path
from agvent import connect
from agvent.net.fleet.local import local_broker

disk = Path(sys.argv[1])

async def passed(url, events):
    async with connect(url, name="ada") as ada:
        everything = await ada.subscribe(id="all")
        for n in range(events):
            await ada.publish({"n": n, "text": "x" * 500_000})
            delivery = await anext(everything)
            assert delivery.event.attributes["n"] == n
            delivery.acknowledge()

with local_broker(data=disk / "data") as url:
    asyncio.run(passed(url, 12))
with (disk / "filler").open("wb") as filler:
    os.posix_fallocate(filler.fileno(), 0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize)
assert os.statvfs(disk).f_bavail == 0
with local_broker(data=disk / "data") as url:
    asyncio.run(passed(url, 40))
"""


@pytest.mark.skipif(
    subprocess.run([*MOUNTED, "/mnt", "true"], capture_output=True, check=False).returncode != 0,
    reason="may not mount a file system",
)
def test_a_full_disk_has_room_when_nothing_is_owed(tmp_path: Path) -> None:
    """A broker whose journal fills the disk goes on with a snapshot of what is left, also from a start without a byte
    of room: twice the disk passes through it."""
    subprocess.run([*MOUNTED, str(tmp_path), sys.executable, "-c", STORY, str(tmp_path)], check=True, timeout=120)
