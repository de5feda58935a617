"""What a step leaves behind: records, effects, notices between the parts, and work that waits for the disk.

A record changes the tables at once and is on disk later. Whatever tells somebody that a change is safe has to wait for
the disk, so it is put down here as data, a `Work`, with the number of the last record it speaks for. When the driver
says `Synced` the work is carried out, oldest first. Nothing waits in a closure: `Broker.check` looks at the queue, and
a copy of a broker in the middle of a run has a queue of its own.

A `Notice` (notices.py) is what one part has to say to another within a step: a queue changed, a type lost its last
publisher. They are handed over at the end of a step; one that comes up after that is handed over in the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from agvent.broker.interface import Append, Effect, Send
from agvent.broker.notices import Notice
from agvent.broker.records import Record
from agvent.wire.messages import AnyMessage


class Work(msgspec.Struct, frozen=True, gc=False):
    """Something that is to be done later. pending.py has all kinds of it."""


N = TypeVar("N", bound=Notice)
Apply = Callable[[Record], tuple[Notice, ...]]
Works = Mapping[type[Work], Callable[[Any], None]]


class WaitingWork(msgspec.Struct, frozen=True, gc=False):
    """Work, and the number of the last record that must be on disk before it."""

    number: int
    work: Work


class Outbox:
    """Collects a step's effects. `apply` is how a record changes the tables, now and after a restart alike; `works` is
    how each kind of work is done, and is filled by the broker when its parts are there."""

    def __init__(self, apply: Apply) -> None:
        self._apply = apply
        self.works: Works = {}
        self._records: list[Record] = []
        self._effects: list[Effect] = []
        self._notices: list[Notice] = []
        self._waiting: deque[WaitingWork] = deque()  # numbers ascend, and each is above `synced`
        self.number = 0  # records so far; only grows
        self.synced = 0  # at most `number`

    def record(self, record: Record, *, durable: bool = True) -> None:
        """Changes the tables by a record, which goes to the journal unless it is about a fast event. One that cannot be
        applied is not written down: every restart would fail on it."""
        self._notices += self._apply(record)
        if durable:
            self._records.append(record)
            self.number += 1

    def send(self, link: str, message: AnyMessage) -> None:
        """Sends now: for what promises nothing."""
        self._effects.append(Send(link, message))

    def effect(self, effect: Effect) -> None:
        self._effects.append(effect)

    def do(self, work: Work) -> None:
        """Does some work now."""
        self.works[type(work)](work)

    def after_sync(self, work: Work) -> None:
        """Does some work when every record up to now is on disk; at once if all are."""
        if self.synced >= self.number:
            self.works[type(work)](work)
        else:
            self._waiting.append(WaitingWork(self.number, work))

    def sync(self, number: int) -> None:
        """Records up to this number are on disk: the work that waited for them is done."""
        self.synced = max(self.synced, number)
        while self._waiting and self._waiting[0].number <= self.synced:
            work = self._waiting.popleft().work
            self.works[type(work)](work)

    def pending(self) -> Iterator[Work]:
        """The work that waits for the disk, oldest first."""
        return (one.work for one in self._waiting)

    def notify(self, notice: Notice) -> None:
        self._notices.append(notice)

    def notices(self, kind: type[N]) -> list[N]:
        """The step's notices of this kind so far, each given once."""
        if not self._notices:
            return []
        found = [one for one in self._notices if isinstance(one, kind)]
        if found:
            self._notices = [one for one in self._notices if not isinstance(one, kind)]
        return found

    def said(self, kind: type[N]) -> Iterator[N]:
        """The notices of this kind that nobody was given yet."""
        return (one for one in self._notices if isinstance(one, kind))

    def take(self) -> list[Effect]:
        """The step's effects: the journal first."""
        effects, self._effects = self._effects, []
        if self._records:
            effects.insert(0, Append(tuple(self._records), self.number))
            self._records = []
        return effects

    def check(self) -> None:
        assert self.synced <= self.number
        numbers = [one.number for one in self._waiting]
        assert numbers == sorted(numbers)
        assert all(self.synced < number <= self.number for number in numbers)
        assert all(type(one.work) in self.works for one in self._waiting)
