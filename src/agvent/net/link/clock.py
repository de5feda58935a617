"""The time that brokers and clients go by."""

from __future__ import annotations

import time


class Clock:
    """Wall time as it was at the start, carried on by the monotonic clock: a clock that is set changes nothing."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now(self) -> int:
        """Microseconds since 1970 UTC; it never goes back."""
        return (time.monotonic_ns() + self._offset) // 1000
