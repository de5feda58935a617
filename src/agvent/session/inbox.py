"""Deliveries in the order that counts: each once, and each publisher's in order.

They come numbered and nearly in order: a large one comes later than what was sent after it. What is acknowledged is the
number up to which nothing is missing.
"""

from __future__ import annotations

from agvent.wire.messages import Deliver, Gap


class Inbox:
    """One numbered stream of deliveries. Every number up to `received`, and those in `_ahead`, were given."""

    def __init__(self) -> None:
        self.received = 0
        self._ahead: set[int] = set()
        self._next: dict[int, int] = {}  # number -> the one sent after it, of those that came
        self._early: dict[int, Deliver | Gap] = {}  # `behind` -> what waits for it

    def begin_anew(self) -> None:
        """The link broke: what was not acknowledged comes again."""
        self._next.clear()
        self._early.clear()

    def take(self, message: Deliver | Gap) -> list[Deliver | Gap]:
        """What may be given now that this one is here; nothing of a repeat."""
        if message.number <= self.received:
            return []
        self._next[message.after] = message.number
        given: list[Deliver | Gap] = []
        if message.number not in self._ahead:
            if self._has(message.behind):
                self._give(message, given)
            else:
                self._early[message.behind] = message
        while (following := self._next.get(self.received)) is not None and following in self._ahead:
            del self._next[self.received]
            self._ahead.discard(following)
            self.received = following
        return given

    def _has(self, number: int) -> bool:
        return number <= self.received or number in self._ahead

    def _give(self, message: Deliver | Gap, given: list[Deliver | Gap]) -> None:
        """Gives a delivery, and those of its publisher that waited for it."""
        waiting: Deliver | Gap | None = message
        while waiting is not None:
            given.append(waiting)
            self._ahead.add(waiting.number)
            waiting = self._early.pop(waiting.number, None)
