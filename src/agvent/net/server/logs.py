"""The log of a broker: one JSON object per line, limited per second so that no peer can fill a disk with it."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from agvent import limits


def to_stderr(line: str) -> None:
    """A line that cannot be written is dropped: a broker continues when the disk is full or nobody reads its log."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class Log:
    """Writes at most LOG_LINES_PER_SECOND_MAX lines with the same message per second, then the number suppressed."""

    def __init__(self, broker: str, write: Callable[[str], None]) -> None:
        self.broker = broker
        self._write = write
        self._second = 0
        self._written: Counter[str] = Counter()

    def say(self, what: str, **facts: Any) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._begin(second)
        self._written[what] += 1
        if self._written[what] <= limits.LOG_LINES_PER_SECOND_MAX:
            self._line(what, facts)

    def _begin(self, second: int) -> None:
        written, self._written, self._second = self._written, Counter(), second
        for what, count in written.items():
            if count > limits.LOG_LINES_PER_SECOND_MAX:
                suppressed = count - limits.LOG_LINES_PER_SECOND_MAX
                self._line("lines suppressed", {"suppressed": what, "count": suppressed})

    def _line(self, what: str, facts: dict[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": at, "broker": self.broker, "message": what, **facts}
        self._write(msgspec.json.encode(line).decode())
