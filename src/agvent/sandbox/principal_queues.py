"""Turns at the workers: one queue for each principal, and one turn of a queue at a time.

So a principal holds at most one worker, however much it asks for, and the others' turns come in between.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

Turn = Callable[[], None]


class PrincipalQueues:
    """Runs turns in `workers` threads."""

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="sandbox")
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[tuple[Turn, Future[None]]]] = {}  # a queue is here while it has turns

    def submit(self, principal: str, turn: Turn) -> Future[None]:
        """Queues a turn; the future ends with it."""
        done: Future[None] = Future()
        with self._lock:
            queue = self._waiting.get(principal)
            if queue is None:
                self._waiting[principal] = deque([(turn, done)])
                self._threads.submit(self._step, principal)
            else:
                queue.append((turn, done))
        return done

    def _step(self, principal: str) -> None:
        """One turn of a queue; then the queue waits behind the others."""
        with self._lock:
            turn, done = self._waiting[principal][0]
        try:
            turn()
        except BaseException as error:  # noqa: BLE001  the boundary of a thread: whoever waits gets it
            done.set_exception(error)
        else:
            done.set_result(None)
        with self._lock:
            queue = self._waiting[principal]
            queue.popleft()
            if queue:
                self._threads.submit(self._step, principal)
            else:
                del self._waiting[principal]

    def close(self) -> None:
        """Ends when the turns under way have ended; those that wait are dropped."""
        self._threads.shutdown(wait=True, cancel_futures=True)
