"""Agvents that stay at their subscriber's home, so that it can call their behaviours: until it disposes of them or
gives up the subscriptions that they came by, or their time is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from agvent import limits
from agvent.agents.execution.ask import AskedAgvent
from agvent.agents.execution.sandbox import Task
from agvent.errors import AdmissionError
from agvent.event import EventId
from agvent.wire.parts import BehaviourCall

Key = tuple[EventId, bool]


class _Resident(NamedTuple):
    came: AskedAgvent
    until: int
    subscriptions: frozenset[str]


class Residents:
    """What a home keeps for its subscribers. Times are µs and come in as arguments."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[Key, _Resident]] = {}  # subscriber -> agvents, the oldest first; none is empty
        self._bytes: Counter[str] = Counter()  # of each subscriber's
        self._all_bytes = 0

    def keep(
        self,
        subscriber: str,
        id: EventId,
        came: AskedAgvent,
        now: int,
        *,
        subscription: str,
        expires: int = 0,
        fast: bool = False,
    ) -> None:
        """Keeps an agvent up to its expiry, at most RESIDENCE_US. Beyond RESIDENTS_MAX and RESIDENTS_BYTES_MAX the
        subscriber's oldest goes, beyond HOME_RESIDENTS_BYTES_MAX that of whoever has most. A `fast` one has an id of
        its own."""
        key, until, subscriptions = (id, fast), now + limits.RESIDENCE_US, frozenset({subscription})
        known = self._kept.get(subscriber, {}).get(key)
        if known is not None:
            subscriptions |= known.subscriptions
            self._drop(subscriber, key)
        resident = _Resident(came, min(until, expires) if expires else until, subscriptions)
        own = self._kept.setdefault(subscriber, {})
        own[key] = resident
        self._bytes[subscriber] += len(came.event)
        self._all_bytes += len(came.event)
        while len(own) > limits.RESIDENTS_MAX or self._bytes[subscriber] > limits.RESIDENTS_BYTES_MAX:
            self._drop(subscriber, next(iter(own)))
        while self._all_bytes > limits.HOME_RESIDENTS_BYTES_MAX:
            ((most, _),) = self._bytes.most_common(1)
            self._drop(most, next(iter(self._kept[most])))

    def task(
        self, subscriber: str, id: EventId, calls: tuple[BehaviourCall, ...], now: int, *, fast: bool = False
    ) -> Task:
        """The task that a subscriber's calls make; an AdmissionError if the agvent is not there for it any more."""
        resident = self._kept.get(subscriber, {}).get((id, fast))
        if resident is None or now >= resident.until:
            raise AdmissionError(
                f"{id.publisher}'s agvent {id.sequence} is not here for {subscriber}"[:200],
                hint="it was disposed of, it made room for others, or its time or subscription is over",
            )
        return Task(resident.came.publisher, resident.came.event, calls)

    def dispose(self, subscriber: str, id: EventId, *, fast: bool = False) -> bool:
        """Lets an agvent go; was it there?"""
        is_there = (id, fast) in self._kept.get(subscriber, {})
        if is_there:
            self._drop(subscriber, (id, fast))
        return is_there

    def expire(self, now: int, is_open: Callable[[str, str], bool]) -> int:
        """Lets those go whose time is over, and those that came by no subscription which is open still; how many.
        `is_open` is asked with a subscriber and one of its subscriptions."""
        gone = [
            (name, key)
            for name, own in self._kept.items()
            for key, one in own.items()
            if now >= one.until or not any(is_open(name, subscription) for subscription in one.subscriptions)
        ]
        for name, key in gone:
            self._drop(name, key)
        return len(gone)

    def _drop(self, subscriber: str, key: Key) -> None:
        size = len(self._kept[subscriber].pop(key).came.event)
        self._all_bytes -= size
        self._bytes[subscriber] -= size
        if not self._kept[subscriber]:
            del self._kept[subscriber], self._bytes[subscriber]
