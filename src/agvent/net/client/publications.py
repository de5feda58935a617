"""A client's publications: sent within the window that the broker gives, settled when a broker has taken them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec

from agvent import limits
from agvent.agents.authoring.agvent import Agvent
from agvent.errors import CallerError, RefusedError
from agvent.event import Budget, Event, EventId, microseconds
from agvent.net.client.publishable import Events, rows_of
from agvent.net.client.receipts import Receipt, Receipts
from agvent.session.session import Session
from agvent.wire.client_messages import Published, Refused

if TYPE_CHECKING:
    import pyarrow

Publishable = Event | Agvent | Mapping[str, Any]
EventOf = Callable[[Publishable, Budget | None], Awaitable[Event | Mapping[str, Any]]]
"""The event of an agvent; of anything else, itself."""

WaitingCaller = tuple[int, asyncio.Future[Published]]
"""A caller that waits for its publications up to a sequence."""


class PublishOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `Client.publish_batch`."""

    to: str = ""
    destinations: Sequence[str] = ()
    expires: datetime | None = None
    fast: bool = False
    budget: Budget | None = None

    @property
    def for_session(self) -> dict[str, Any]:
        return {
            "to": self.to,
            "destinations": tuple(self.destinations),
            "expires": microseconds(self.expires) if self.expires is not None else 0,
            "fast": self.fast,
        }


class Publications:
    """Sends events of one session. `send` has the session's messages sent."""

    def __init__(self, session: Session, event_of: EventOf, send: Callable[[], None]) -> None:
        self._session, self._event_of, self._send = session, event_of, send
        self._waiting: tuple[deque[WaitingCaller], deque[WaitingCaller]] = (deque(), deque())  # durable, fast
        self._refused: dict[tuple[bool, int], str] = {}
        self._has_room = asyncio.Event()
        self._closed = ""  # why no broker takes anything any more

    def begin(self) -> None:
        """Callers wait on this event loop."""
        self._loop = asyncio.get_running_loop()

    def receipt(self, sequence: int, published: Published, *, fast: bool) -> Receipt:
        """The receipt of one settled event; a RefusedError if its broker refused it."""
        reason = self._refused.pop((fast, sequence), None) if self._refused else None
        if reason is not None:
            raise RefusedError({0: reason}, [])
        return Receipt(EventId(self._session.client, sequence), published.entry, published.epoch)

    async def publish_batch(
        self, events: Events | pyarrow.RecordBatch | pyarrow.Table, options: PublishOptions
    ) -> Sequence[Receipt]:
        given = options.for_session
        sequences: list[range] = []  # one for each chunk: other calls may publish between two of them
        remaining = iter(rows_of(events))
        while chunk := list(islice(remaining, limits.BATCH_EVENTS_MAX)):
            made = await self._made(chunk, options.budget)
            if self.is_full:
                self._send()
                await self.wait_for_room()
            try:
                last = self._session.publish_batch(made, **given)
            except CallerError as error:
                raise await self._stopped_at(error, sequences, fast=options.fast) from None
            sequences.append(range(last - len(made) + 1, last + 1))
        if not sequences:
            return ()
        published = await self.settled(sequences[-1][-1], fast=options.fast)
        every = sequences[0] if len(sequences) == 1 else [*chain.from_iterable(sequences)]
        return self._receipts(every, published, fast=options.fast)

    async def _made(self, chunk: list[Publishable], budget: Budget | None) -> list[Event | Mapping[str, Any]]:
        return [await self._event_of(one, budget) if isinstance(one, Agvent) else one for one in chunk]

    async def _stopped_at(self, error: CallerError, sequences: list[range], *, fast: bool) -> CallerError:
        """The error of a chunk, with a hint that says how many events before it were published."""
        if sequences:
            await self.settled(sequences[-1][-1], fast=fast)
            error.hint = f"the first {sum(map(len, sequences)):,} events were published, the others were not"
        return error

    @property
    def is_full(self) -> bool:
        """Are so many events unacknowledged that the next one has to wait?"""
        return self._session.unacknowledged_events >= limits.CLIENT_UNACKNOWLEDGED_MAX

    async def wait_for_room(self) -> None:
        while self.is_full:
            if self._closed:
                raise CallerError(self._closed)
            self._has_room.clear()
            await self._has_room.wait()

    def settled(self, sequence: int, *, fast: bool) -> asyncio.Future[Published]:
        """Await it until every publication up to a sequence is accepted or refused."""
        answer: asyncio.Future[Published] = self._loop.create_future()
        self._waiting[fast].append((sequence, answer))
        self._send()
        return answer

    def _receipts(self, sequences: Sequence[int], published: Published, *, fast: bool) -> Receipts:
        receipts = Receipts(self._session.client, sequences, published)
        refused = {}
        if self._refused:
            reasons = [(at, self._refused.pop((fast, one), None)) for at, one in enumerate(sequences)]
            refused = {at: reason for at, reason in reasons if reason is not None}
        if refused:
            raise RefusedError(refused, [one for at, one in enumerate(receipts) if at not in refused])
        return receipts

    # What the session tells

    def settle(self, message: Published) -> None:
        """A broker has taken, or refused, every publication up to a sequence."""
        waiting = self._waiting[message.fast]
        while waiting and waiting[0][0] <= message.sequence:
            _, answer = waiting.popleft()
            if not answer.done():
                answer.set_result(message)
        self._has_room.set()

    def refuse(self, message: Refused) -> None:
        """A broker has refused one publication; its caller learns it when it is settled."""
        self._refused.setdefault((message.fast, message.sequence), message.reason)

    def close(self, reason: str) -> None:
        """No broker takes anything any more: every waiting caller gets the reason."""
        self._closed = reason
        for waiting in self._waiting:
            for _, answer in waiting:
                if not answer.done():
                    answer.set_exception(CallerError(f"{reason}; no broker has acknowledged this event"))
            waiting.clear()
        self._has_room.set()
