"""What a broker says of itself: one JSON object a line, bounded, so that a stranger cannot fill a disk with it."""

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
    """What cannot be written is left out: a broker goes on when the disk is full or nobody reads what it says."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class Log:
    """Writes lines; of one kind at most LOG_LINES_PER_SECOND_MAX a second, and then how many were left out."""

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
                self._line("left out", {"of": what, "lines": count - limits.LOG_LINES_PER_SECOND_MAX})

    def _line(self, what: str, facts: dict[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "broker": self.broker, "what": what, **facts}
        self._write(msgspec.json.encode(line).decode())
