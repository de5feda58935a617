"""What a step leaves behind: records, effects, and what waits for the records to be on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from agvent.broker.interface import Append, Effect, Send
from agvent.broker.records import Record
from agvent.wire.messages import AnyMessage


class Outbox:
    """Collects a step's effects. `apply` is how a record changes the tables, now and after a restart alike."""

    def __init__(self, apply: Callable[[Record], None]) -> None:
        self._apply = apply
        self._records: list[Record] = []
        self._effects: list[Effect] = []
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()  # numbers ascend
        self.number = 0  # records so far; only grows
        self.synced = 0  # at most `number`

    def record(self, record: Record, *, durable: bool = True) -> None:
        """Changes the tables by a record, which goes to the journal unless it is about a fast event. One that cannot be
        applied is not written down: every restart would fail on it."""
        self._apply(record)
        if durable:
            self._records.append(record)
            self.number += 1

    def send(self, link: str, message: AnyMessage) -> None:
        """Sends now: for what promises nothing."""
        self._effects.append(Send(link, message))

    def effect(self, effect: Effect) -> None:
        self._effects.append(effect)

    def when_synced(self, then: Callable[[], None]) -> None:
        """Calls `then` when every record up to now is on disk; at once if all are."""
        if self.synced >= self.number:
            then()
        else:
            self._waiting.append((self.number, then))

    def sync(self, number: int) -> None:
        self.synced = max(self.synced, number)
        while self._waiting and self._waiting[0][0] <= self.synced:
            self._waiting.popleft()[1]()

    def take(self) -> list[Effect]:
        """The step's effects: the journal first."""
        effects, self._effects = self._effects, []
        if self._records:
            effects.insert(0, Append(tuple(self._records), self.number))
            self._records = []
        return effects
