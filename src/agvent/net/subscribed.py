"""An open subscription: what came and waits to be given, one by one or as it came together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Self

from agvent.errors import CallerError
from agvent.filters.subscription import Subscription
from agvent.net.deliveries import Batch, Delivery, GapNotice

if TYPE_CHECKING:
    from agvent.net.since import Past


class Subscribed:
    """An open subscription: iterate over it, or over its `batches()`. What was given is acknowledged when the next one
    is asked for.

    `confirmed` has the epoch since which each entry broker knows it, `pending` those that do not yet. `warnings` say
    what its filter asks that no advertisement of its type has: it may match when another one comes. What comes to one
    that was opened `into` another is given there."""

    def __init__(self, subscription: Subscription, into: Subscribed | None = None) -> None:
        self.subscription = subscription
        self.admits = False
        self.confirmed: dict[str, int] = {}
        self.pending: tuple[str, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self._waiting: deque[Delivery | Batch | GapNotice] = deque() if into is None else into._waiting
        self._given: Delivery | Batch | GapNotice | None = None
        self._came: asyncio.Event = asyncio.Event() if into is None else into._came
        self._ended = False
        self._trouble = ""  # why nothing comes any more, where nobody ended it
        self.past: Past | None = None  # what is given before anything that came

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
        """The same, as it came together: what was published together, and what gathered at a broker."""
        while True:
            try:
                item = await self._next()
            except StopAsyncIteration:
                return
            self._given = item.alone() if isinstance(item, Delivery) else item
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
            if self._trouble:
                raise CallerError(self._trouble)
            self._came.clear()
            await self._came.wait()
        return self._waiting.popleft()

    async def _is_ready(self) -> bool:
        """May the first be given? An agvent stays first until it is let in, and others behind it."""
        while self._waiting and isinstance(first := self._waiting[0], Delivery) and first.admission is not None:
            await first.admission.wait()
            if self._waiting and self._waiting[0] is first:
                return True
        return bool(self._waiting)

    def taken(self) -> list[Delivery | GapNotice]:
        """All that has come and was not given yet, without waiting; whoever takes it acknowledges it."""
        items: list[Delivery | GapNotice] = []
        while self._waiting:
            item = self._waiting.popleft()
            items += item.deliveries if isinstance(item, Batch) else [item]
        return items

    def put(self, item: Delivery | Batch | GapNotice) -> None:
        """Queues what came: the broker's window bounds how much that is."""
        self._waiting.append(item)
        self._came.set()

    def void(self) -> None:
        """Ends it, and nothing is owed to it: what waits and what was given last need not come again."""
        owed = [item for item in self._waiting if item.subscription == self.subscription.id]
        others = [item for item in self._waiting if item.subscription != self.subscription.id]
        self._waiting.clear()
        self._waiting.extend(others)
        for item in (*owed, *(() if self._given is None else (self._given,))):
            item.acknowledge()
        self._given = None
        self.end()

    def fail(self, trouble: str) -> None:
        """Nothing comes any more, and whoever waits is told why when what is here was given."""
        self._trouble = trouble
        self._came.set()

    def end(self) -> None:
        """Nothing comes any more; what waits is given still."""
        self._ended = True
        self._came.set()
        if self.past is not None:
            self.past.end()
