"""Deliveries in the order that counts: each once, and each publisher's in order.

They come numbered and nearly in order: a large one comes later than what was sent after it. What is acknowledged is the
number up to which nothing is missing.
"""

from __future__ import annotations

from heapq import heappop, heappush

from agvent.wire.client_messages import Deliver, Gap


class Inbox:
    """One numbered stream of deliveries. Every number up to `received`, and those in `_ahead`, were given."""

    def __init__(self) -> None:
        self.received = 0
        self._undone: list[int] = []  # a heap of the numbers given, without those at its top that are done
        self._done: dict[int, int] = {}  # number in the heap -> up to which number its events are done
        self._ahead: dict[int, Deliver | Gap] = {}  # by number
        self._next: dict[int, int] = {}  # number -> the one sent after it, of those that came
        self._early: dict[int, Deliver | Gap] = {}  # `behind` -> what waits for it

    def begin_anew(self) -> None:
        """The link broke: what was not acknowledged comes again."""
        self._next.clear()
        self._early.clear()

    def begin_after(self, number: int) -> None:
        """The broker sends nothing up to a number any more: an earlier process had it, or an earlier boot."""
        if number > self.received:
            self.received = number
            self._ahead = {one: message for one, message in self._ahead.items() if one > number}

    @property
    def acknowledged(self) -> int:
        """The number up to which everything was given and is done."""
        return min(self.received, self._done[self._undone[0]]) if self._undone else self.received

    def done(self, number: int, until: int) -> None:
        """The caller is done with a delivery it was given, as far as its event of number `until`. One that a home
        before this one gave says nothing here."""
        if number in self._done:
            self._done[number] = until
        while self._undone and self._done[self._undone[0]] == self._undone[0]:
            del self._done[heappop(self._undone)]

    def take(self, message: Deliver | Gap) -> list[Deliver | Gap]:
        """What may be given now that this one is here; nothing of a repeat."""
        if message.number <= self.received:
            return []
        self._next[max(message.after, self.received)] = message.number  # between them nothing comes any more
        given: list[Deliver | Gap] = []
        if message.number not in self._ahead:
            if self._has(message.behind):
                self._give(message, given)
            else:
                self._early[message.behind] = message
        while (following := self._next.get(self.received)) is not None and following in self._ahead:
            del self._next[self.received]
            self._ahead.pop(following)
            self.received = following
        return given

    def check(self) -> None:
        """What is acknowledged was given and is done; only what was given is undone."""
        assert self.acknowledged <= self.received
        assert sorted(self._undone) == sorted(self._done)
        assert not self._undone or self._undone[0] == min(self._undone)
        assert all(number > self.received for number in self._ahead)
        assert not self._undone or self._done[self._undone[0]] < self._undone[0]

    def _has(self, number: int) -> bool:
        return number <= self.received or number in self._ahead

    def _give(self, message: Deliver | Gap, given: list[Deliver | Gap]) -> None:
        """Gives a delivery, and those of its publisher that waited for it."""
        waiting: Deliver | Gap | None = message
        while waiting is not None:
            given.append(waiting)
            heappush(self._undone, waiting.number)
            self._done[waiting.number] = waiting.number - (waiting.event_count if isinstance(waiting, Deliver) else 1)
            self._ahead[waiting.number] = waiting
            waiting = self._early.pop(waiting.number, None)
