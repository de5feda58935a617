"""Drives the pure broker: inputs gather, one step takes them all, its effects are carried out.

Everything that was ready on the sockets in one turn of the event loop becomes one step, and the records of a step are
synced together. An error inside a step is a bug: the process ends with it, and recovers as it does after a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Effect, Forgotten, Input, Synced, Tick, Wake
from agvent.broker.records import decode_record
from agvent.errors import ForgottenError
from agvent.net.link.clock import Clock
from agvent.net.server.commit import GroupCommit
from agvent.net.server.recent_hops import RecentHops
from agvent.store.journal import JournalWriter


class BrokerDriver:
    """One broker, its journal and its timer. `carry_out` has the function for each kind of effect; the owner adds those
    of Send, Run and Execute before `begin`. `after_step` is called when all effects of a step are carried out."""

    def __init__(self, name: str, incarnation: int, journal: JournalWriter, *, clock: Clock, hops: RecentHops) -> None:
        self.name, self.clock, self.hops = name, clock, hops
        self.stopping = asyncio.Event()
        self.error: BaseException | None = None
        self.is_closing = False  # no new input is accepted
        self.carry_out: dict[type[Effect], Callable[[Any], None]] = {
            Append: lambda effect: self.commit.append(effect.records, effect.number),
            Wake: self._wake_at,
            Forgotten: lambda _: self.fail(ForgottenError(name)),
        }
        self.after_step: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._inputs: list[Input] = []
        self._is_due = False
        self._is_closed = False  # the journal is closed
        self._wake: asyncio.TimerHandle | None = None
        records = (decode_record(content) for content in journal.recovery.contents())
        self.broker = Broker(name, incarnation, records, now=clock.now())
        self.commit = GroupCommit(
            journal,
            now=clock.now,
            image=lambda: list(self.broker.tables.snapshot()),
            synced=lambda number: self.give([Synced(number)]),
            failed=self.fail,
        )

    def begin(self) -> None:
        """Schedules the first step."""
        self.give([])

    def fail(self, error: BaseException) -> None:
        """Stops the process with the first error."""
        self.error = self.error or error
        self.stopping.set()

    def give(self, inputs: Iterable[Input]) -> None:
        """Gives inputs to the next step, which runs after all sockets that are ready have been read."""
        self._inputs += inputs
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._is_due = False
        if self.error is not None or self._is_closed:
            return
        inputs, self._inputs = self._inputs, []
        now = self.clock.now()
        names = dict(self.broker.router.names) if inputs else {}
        effects = self.broker.step(inputs, now)
        self.hops.counts["steps"] += 1
        self.hops.counts["step_microseconds"] += self.clock.now() - now
        self.hops.note(inputs, effects, {**names, **self.broker.router.names}, now)
        for effect in effects:
            self.carry_out[type(effect)](effect)
        self.after_step()

    def _wake_at(self, effect: Wake) -> None:
        if self._wake is not None:
            self._wake.cancel()
        if not self.is_closing:
            seconds = max(effect.at - self.clock.now(), 0) / 1e6
            self._wake = self._loop.call_later(seconds, self.give, [Tick()])

    @property
    def can_write(self) -> bool:
        """Can pending records still be written? With a full disk, a stop is the same as a crash."""
        return self.error is None and not self.commit.full

    def begin_closing(self) -> None:
        self.is_closing = True
        if self._wake is not None:
            self._wake.cancel()

    async def close(self) -> None:
        """Runs the steps that are due, syncs their records, and closes the journal."""
        while self.can_write and (self._inputs or not self.commit.is_idle):
            await self.commit.idle()
            self._step()
        self._is_closed = True
        if self.can_write:
            await self.commit.close()
