"""What a host keeps of calls it answered: the answers, to be given again because behaviours are pure, and which they
were."""

from __future__ import annotations

from typing import Any

from agvent import limits


class AnswerCache:
    """The latest, in two generations: when the younger is full it becomes the older one, which goes.

    Threads share it without a lock: each step is one operation of a dict, and a count of bytes that misses one of two
    which came at once is as good a bound.
    """

    def __init__(self, size: int = limits.ANSWERS_KEPT_MAX, bytes_max: int = limits.ANSWERS_KEPT_BYTES_MAX) -> None:
        self._half, self._half_bytes = max(1, size // 2), bytes_max // 2
        self._bytes = 0  # of the younger
        self._young: dict[bytes, Any] = {}
        self._old: dict[bytes, Any] = {}

    def get(self, key: bytes) -> Any:
        """The answer, or None if none is kept."""
        found = self._young.get(key)
        return self._old.get(key) if found is None else found

    def put(self, key: bytes, answer: Any, size: int = 0) -> None:
        """Keeps an answer of so many bytes."""
        if len(self._young) >= self._half or self._bytes + size > self._half_bytes:
            self._old, self._young, self._bytes = self._young, {}, 0
        self._young[key] = answer
        self._bytes += size

    def drop(self, key: bytes) -> None:
        for generation in (self._young, self._old):
            generation.pop(key, None)
