"""What a host keeps of calls it answered: the answers, to be given again because behaviours are pure, and which they
were."""

from __future__ import annotations

from typing import Any

from agvent import limits


class Kept:
    """The latest, in two generations: when the younger is full it becomes the older one, which goes.

    Threads share it without a lock: each step is one operation of a dict.
    """

    def __init__(self, size: int = limits.ANSWERS_KEPT_MAX) -> None:
        self._half = max(1, size // 2)
        self._young: dict[bytes, Any] = {}
        self._old: dict[bytes, Any] = {}

    def get(self, key: bytes) -> Any:
        """The answer, or None if none is kept."""
        found = self._young.get(key)
        return self._old.get(key) if found is None else found

    def put(self, key: bytes, answer: Any) -> None:
        if len(self._young) >= self._half:
            self._old, self._young = self._young, {}
        self._young[key] = answer

    def drop(self, key: bytes) -> None:
        for generation in (self._young, self._old):
            generation.pop(key, None)
