"""Requests at a sandbox host: together with others, or alone after the host died with them.

One of the requests that were under way when a host died may have killed it. Repeated alone, it can harm only itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RequestGate:
    """A lock with two modes. A request that must be alone waits until the others have left; later ones wait for it."""

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
