"""Requests at a sandbox host: together with others, or alone after it died with them.

Of those that were under way when a host died, one may be what killed it. Asked alone, it can do that to itself only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Company:
    """Who is at the host. Whoever must be alone waits until nobody is there; those that come later wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._there = 0
        self._loners = 0  # those that are alone, or wait for it

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._loners)
            self._there += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._loners += 1
            self._changed.wait_for(lambda: not self._there)
            self._there += 1
        try:
            yield
        finally:
            self._leave(loners=1)

    def _leave(self, *, loners: int = 0) -> None:
        with self._changed:
            self._there -= 1
            self._loners -= loners
            self._changed.notify_all()
