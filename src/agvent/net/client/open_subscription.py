"""An open subscription: a queue of deliveries, read one by one or in batches."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Self

from agvent.errors import CallerError
from agvent.filters.subscription import Subscription
from agvent.net.client.deliveries import Batch, Delivery, GapNotice

if TYPE_CHECKING:
    from agvent.net.client.since import Past


class OpenSubscription:
    """An open subscription, made by `Client.subscribe`. Iterate over it, or over its `batches()`; each item is
    acknowledged when the next one is requested.

        async for item in subscription:
            if isinstance(item, Delivery):
                print(item.event.attributes)

    `confirmed` has, for each entry broker, the epoch from which it knows the subscription; `pending` names the brokers
    that do not know it yet. `warnings` name attributes of the filter that no advertisement of its type has."""

    def __init__(self, subscription: Subscription, into: OpenSubscription | None = None) -> None:
        self.subscription = subscription
        self.admits = False
        self.confirmed: dict[str, int] = {}
        self.pending: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self._waiting: deque[Delivery | Batch | GapNotice] = deque() if into is None else into._waiting
        self._given: Delivery | Batch | GapNotice | None = None
        self._came: asyncio.Event = asyncio.Event() if into is None else into._came
        self._ended = False
        self._error = ""  # why no more deliveries come, if nobody ended it
        self.past: Past | None = None  # events of the past, which come first

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery | GapNotice:
        if self.past is None and self._waiting:  # the common case without another coroutine
            first = self._waiting[0]
            if isinstance(first, Delivery) and first.admission is None:
                if self._given is not None:
                    self._given.acknowledge()
                self._given = self._waiting.popleft()
                return first
        item = await self._next()
        if isinstance(item, Batch):
            item, *others = item.deliveries
            self._waiting.extendleft(reversed(others))
        self._given = item
        return item

    async def batches(self) -> AsyncIterator[Batch | GapNotice]:
        """The same events in batches, as they were published together or gathered at a broker."""
        while True:
            try:
                item = await self._next()
            except StopAsyncIteration:
                return
            self._given = item.as_batch() if isinstance(item, Delivery) else item
            yield self._given

    async def _next(self) -> Delivery | Batch | GapNotice:
        if self._given is not None:
            self._given.acknowledge()
            self._given = None
        if self.past is not None:
            item = await self.past.next()
            if item is not None:
                return item
            self.past = None
        while not await self._is_ready():
            if self._ended:
                raise StopAsyncIteration
            if self._error:
                raise CallerError(self._error)
            self._came.clear()
            await self._came.wait()
        return self._waiting.popleft()

    async def _is_ready(self) -> bool:
        """Is the first item ready? An agvent stays first, with others behind it, until it is admitted."""
        while self._waiting and isinstance(first := self._waiting[0], Delivery) and first.admission is not None:
            await first.admission.wait()
            if self._waiting and self._waiting[0] is first:
                return True
        return bool(self._waiting)

    def drain(self) -> list[Delivery | GapNotice]:
        """Everything that is queued, without waiting. The caller acknowledges each item."""
        items: list[Delivery | GapNotice] = []
        while self._waiting:
            item = self._waiting.popleft()
            items += item.deliveries if isinstance(item, Batch) else [item]
        return items

    def put(self, item: Delivery | Batch | GapNotice) -> None:
        """Queues an item; the broker's window bounds the length of the queue."""
        self._waiting.append(item)
        self._came.set()

    def discard(self) -> None:
        """Ends the subscription, and acknowledges everything that is queued for it or was given last."""
        owed = [item for item in self._waiting if item.subscription == self.subscription.id]
        others = [item for item in self._waiting if item.subscription != self.subscription.id]
        self._waiting.clear()
        self._waiting.extend(others)
        for item in (*owed, *(() if self._given is None else (self._given,))):
            item.acknowledge()
        self._given = None
        self.end()

    def fail(self, error: str) -> None:
        """No more deliveries come. The iterator raises this error after the queued ones."""
        self._error = error
        self._came.set()

    def end(self) -> None:
        """No more deliveries come. The iterator ends after the queued ones."""
        self._ended = True
        self._came.set()
        if self.past is not None:
            self.past.end()
