"""What a subscriber gets: events and gap notices, one by one, each acknowledged when the subscriber is done with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import msgspec

from agvent.agents.received import Received
from agvent.errors import CallerError
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.net.admission import Admission
from agvent.wire.codec import decode_event, decode_visitor
from agvent.wire.messages import Deliver, Gap


class Arrival:
    """What came, for one or several subscriptions of a client; it is done when all of them are."""

    def __init__(self, message: Deliver | Gap, done: Callable[[Deliver | Gap], None]) -> None:
        self.message = message
        self._done = done
        self._open = len(message.subscriptions)

    def close_one(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._done(self.message)


class Delivery:
    """An event for a subscription. `acknowledge` says that it need not come again.

    Of an agvent that a subscription with `admit` let in, `agvent` has attributes to read and behaviours to await,
    `told` is what it said on its arrival; `refusal` says why it was not let in."""

    def __init__(self, arrival: Arrival, message: Deliver, subscription: str) -> None:
        self._arrival: Arrival | None = arrival
        self._content = message.event
        self.subscription = subscription
        self.id = EventId(message.publisher, message.sequence)
        self.fast = message.fast
        self.admission: Admission | None = None

    @property
    def agvent(self) -> Received:
        """The agvent, until `dispose` or until its time is over. Its behaviours run in the sandbox host of the home."""
        if self.admission is None:
            raise CallerError("no agvent was let in", hint="subscribe with admit=True")
        return self.admission.received(self.event)

    @property
    def told(self) -> tuple[Any, ...]:
        return self.admission.told if self.admission is not None else ()

    @property
    def refusal(self) -> str:
        return self.admission.refusal if self.admission is not None else ""

    async def dispose(self) -> None:
        """Lets the agvent go."""
        if self.admission is not None:
            await self.admission.dispose()

    @property
    def is_agvent(self) -> bool:
        return decode_visitor(self._content).cargo is not None

    @cached_property
    def event(self) -> Event:
        """The event as it was published, with its id."""
        return msgspec.structs.replace(decode_event(self._content), id=self.id)

    def acknowledge(self) -> None:
        if self._arrival is not None:
            arrival, self._arrival = self._arrival, None
            arrival.close_one()

    def __repr__(self) -> str:
        return f"Delivery({self.id.publisher}:{self.id.sequence} for {self.subscription!r})"


class GapNotice:
    """Events that a subscription will not receive, from `first` to `last` of a publisher, and why.

    `publisher` is empty if nobody knows: the broker lost its disk, or the client moved to another."""

    def __init__(self, arrival: Arrival, message: Gap, subscription: str) -> None:
        self._arrival: Arrival | None = arrival
        self.subscription = subscription
        self.publisher, self.first, self.last = message.publisher, message.first, message.last
        self.reason, self.fast = message.reason, message.fast

    def acknowledge(self) -> None:
        if self._arrival is not None:
            arrival, self._arrival = self._arrival, None
            arrival.close_one()

    def __repr__(self) -> str:
        return f"GapNotice({self.publisher}:{self.first}-{self.last}, {self.reason}, for {self.subscription!r})"


class Subscribed:
    """An open subscription: iterate over it. What was given is acknowledged when the next one is asked for.

    `confirmed` has the epoch since which each entry broker knows it, `pending` those that do not yet."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.admits = False
        self.confirmed: dict[str, int] = {}
        self.pending: tuple[str, ...] = ()
        self._waiting: deque[Delivery | GapNotice] = deque()
        self._given: Delivery | GapNotice | None = None
        self._came = asyncio.Event()
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery | GapNotice:
        if self._given is not None:
            self._given.acknowledge()
            self._given = None
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._came.clear()
            await self._came.wait()
        first = self._waiting[0]
        if isinstance(first, Delivery) and first.admission is not None:
            await first.admission.wait()  # it stays first meanwhile, and others behind it
        self._given = self._waiting.popleft()
        return self._given

    def taken(self) -> list[Delivery | GapNotice]:
        """All that has come and was not given yet, without waiting; whoever takes it acknowledges it."""
        items = list(self._waiting)
        self._waiting.clear()
        return items

    def put(self, item: Delivery | GapNotice) -> None:
        """Queues what came: the broker's window bounds how much that is."""
        self._waiting.append(item)
        self._came.set()

    def end(self) -> None:
        """Nothing comes any more; what waits is given still."""
        self._ended = True
        self._came.set()


def item_of(arrival: Arrival, subscription: str) -> Delivery | GapNotice:
    message = arrival.message
    if isinstance(message, Deliver):
        return Delivery(arrival, message, subscription)
    return GapNotice(arrival, message, subscription)
