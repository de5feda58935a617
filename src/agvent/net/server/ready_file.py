"""The file by which a broker says that it is ready: `ready.json`, beside its journal.

A broker writes it when it listens and obeys signals, and removes it when it stops. A process that is killed leaves it
behind. So it names the process, and a reader compares that with the process that it started: what a broker prints is
for people, and another process may listen at its address.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

READY: Final = "ready.json"


class ReadyBroker(msgspec.Struct, frozen=True):
    """The process that is ready, and the address where it listens."""

    pid: int
    address: str


def write_ready(data: Path, address: str) -> None:
    """Says that this process is ready. A reader sees the file whole or not at all."""
    partial = data / f"{READY}.partial"
    partial.write_bytes(msgspec.json.encode(ReadyBroker(os.getpid(), address)))
    partial.replace(data / READY)


def remove_ready(data: Path) -> None:
    with suppress(OSError):  # it is not there, or the disk takes no change: the process is gone soon anyway
        (data / READY).unlink()


def is_ready(data: Path, pid: int) -> bool:
    """Has the broker of this process said that it is ready?"""
    try:
        found = (data / READY).read_bytes()
    except FileNotFoundError:
        return False
    return msgspec.json.decode(found, type=ReadyBroker).pid == pid
