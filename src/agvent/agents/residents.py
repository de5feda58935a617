"""Agvents that stay at their subscriber's home, so that it can call their behaviours: until it disposes of them or
their time is over."""

from __future__ import annotations

from agvent import limits
from agvent.agents.asking import Came
from agvent.agents.sandbox import Task
from agvent.errors import AdmissionError
from agvent.event import EventId
from agvent.wire.parts import Call


class Residents:
    """What a home keeps for its subscribers. Times are µs and come in as arguments."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[tuple[EventId, bool], tuple[Came, int]]] = {}  # subscriber -> agvents, oldest first

    def keep(self, subscriber: str, id: EventId, came: Came, now: int, *, expires: int = 0, fast: bool = False) -> None:
        """Keeps an agvent up to its expiry, at most RESIDENCE_US; beyond RESIDENTS_MAX the oldest goes. A `fast` one
        has an id of its own."""
        until = now + limits.RESIDENCE_US
        own = self._kept.setdefault(subscriber, {})
        own[id, fast] = came, min(until, expires) if expires else until
        if len(own) > limits.RESIDENTS_MAX:
            del own[next(iter(own))]

    def task(self, subscriber: str, id: EventId, calls: tuple[Call, ...], now: int, *, fast: bool = False) -> Task:
        """The task that a subscriber's calls make; an AdmissionError if the agvent is not there for it any more."""
        came, until = self._kept.get(subscriber, {}).get((id, fast), (None, 0))
        if came is None or now >= until:
            raise AdmissionError(
                f"{id.publisher}'s agvent {id.sequence} is not here for {subscriber}"[:200],
                hint="it was disposed of, or its time is over",
            )
        return Task(came.publisher, came.event, calls)

    def dispose(self, subscriber: str, id: EventId, *, fast: bool = False) -> bool:
        """Lets an agvent go; was it there?"""
        return self._kept.get(subscriber, {}).pop((id, fast), None) is not None

    def leave(self, subscriber: str) -> None:
        """Lets all of a subscriber's go: it has left for good."""
        self._kept.pop(subscriber, None)

    def expire(self, now: int) -> int:
        """Lets those go whose time is over; how many."""
        gone = [(name, key) for name, own in self._kept.items() for key, (_, until) in own.items() if now >= until]
        for name, key in gone:
            del self._kept[name][key]
        return len(gone)
