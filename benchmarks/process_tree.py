"""What a process and everything it started have used: CPU time and memory, read from /proc."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(root: int) -> float:
    """User and system time of the process, its live descendants, and those that have ended and were waited for."""
    return sum(sum(map(int, fields[11:15])) for fields in _tree(root)) / TICKS_PER_S


def resident_bytes(root: int) -> int:
    """Memory of the process and its live descendants; what they share counts for each."""
    return sum(int(fields[21]) for fields in _tree(root)) * PAGE_BYTES


def _tree(root: int) -> list[list[str]]:
    """The fields of /proc/PID/stat after the name, for the process and all below it."""
    stats = {pid: fields for pid, fields in map(_stat, _pids()) if fields}
    inside = {root}
    grew = True
    while grew:
        below = {pid for pid, fields in stats.items() if int(fields[1]) in inside}
        grew = not below <= inside
        inside |= below
    return [stats[pid] for pid in inside if pid in stats]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> tuple[int, list[str]]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it has ended meanwhile
        return pid, []
    return pid, text.rpartition(")")[2].split()
