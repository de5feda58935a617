"""What a subscriber gets: events and gap notices, one by one, each acknowledged when the subscriber is done with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from agvent.agents.received import Received
from agvent.errors import CallerError
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.net.admission import Admission
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import decode_event, decode_visitor
from agvent.wire.lines import is_lines, lines_in, places_in

if TYPE_CHECKING:
    from agvent.net.since import Past

ACKNOWLEDGED: Final = -1
"""The place of a delivery that was."""


class Arrival:
    """What came, for one or several subscriptions of a client. An event is done when all of them are; `done` is called
    when more of them are, once until somebody looks at the number up to which all are."""

    def __init__(self, message: Deliver | Gap, done: Callable[[Arrival], None]) -> None:
        self.message = message
        self._done = done
        self._is_told = False
        self._lines = lines_in(message.event) if isinstance(message, Deliver) and message.count > 1 else []
        self._open = [0] * (len(self._lines) or 1)  # by place, the subscriptions that are not done
        self._places = self._picked()
        for places in self._places.values():
            for place in places:
                self._open[place] += 1
        self._left = 0  # the first place that is not done
        self._sequences = sequences_in(message) if isinstance(message, Deliver) else []

    def _picked(self) -> dict[str, Sequence[int]]:
        """For each subscription the places of its events in what came."""
        if not self._lines:
            return dict.fromkeys(self.message.subscriptions, (0,))
        assert isinstance(self.message, Deliver)
        places = [places_in(pick, len(self._lines)) for pick in self.message.picked]
        return dict(zip(self.message.subscriptions, places, strict=True))

    def items(self, id: str) -> list[Delivery | GapNotice]:
        """What a subscription gets of it."""
        message = self.message
        if isinstance(message, Gap):
            return [GapNotice(self, message, id)]
        if not self._lines:
            return [Delivery(self, 0, message.event, message.sequence, id)]
        sequences = self._sequences
        return [Delivery(self, place, self._lines[place], sequences[place], id) for place in self._places[id]]

    def close(self, place: int) -> None:
        """One subscription is done with one event."""
        is_open = self._open
        is_open[place] -= 1
        if place == self._left and not is_open[place]:
            count = len(is_open)
            while self._left < count and not is_open[self._left]:
                self._left += 1
            if not self._is_told:
                self._is_told = True
                self._done(self)

    def done_until(self) -> int:
        """The number up to which all events are done."""
        self._is_told = False  # first: a script's thread may go on meanwhile
        return self.message.number - len(self._open) + self._left

    def close_all(self, id: str) -> None:
        """A subscription is done with everything."""
        for place in self._places[id]:
            self.close(place)


class Delivery:
    """An event for a subscription. `acknowledge` says that it need not come again.

    Of an agvent that a subscription with `admit` let in, `agvent` has attributes to read and behaviours to await,
    `told` is what it said on its arrival; `refusal` says why it was not let in."""

    __slots__ = ("_arrival", "_content", "_event", "_place", "_sequence", "admission", "subscription")

    def __init__(self, arrival: Arrival, place: int, content: bytes, sequence: int, subscription: str) -> None:
        self._arrival, self._place = arrival, place
        self._content, self._sequence = content, sequence
        self._event: Event | None = None
        self.subscription = subscription
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
        return not is_lines(self._content) and decode_visitor(self._content).cargo is not None

    @property
    def id(self) -> EventId:
        return EventId(self._arrival.message.publisher, self._sequence)

    @property
    def fast(self) -> bool:
        return self._arrival.message.fast

    @property
    def event(self) -> Event:
        """The event as it was published, with its id."""
        if self._event is None:
            self._event = msgspec.structs.replace(decode_event(self._content), id=self.id)
        return self._event

    def acknowledge(self) -> None:
        if self._place >= 0:
            self._arrival.close(self._place)
            self._place = ACKNOWLEDGED

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
            arrival.close(0)

    def __repr__(self) -> str:
        return f"GapNotice({self.publisher}:{self.first}-{self.last}, {self.reason}, for {self.subscription!r})"


class Subscribed:
    """An open subscription: iterate over it. What was given is acknowledged when the next one is asked for.

    `confirmed` has the epoch since which each entry broker knows it, `pending` those that do not yet. What comes to one
    that was opened `into` another is given there."""

    def __init__(self, subscription: Subscription, into: Subscribed | None = None) -> None:
        self.subscription = subscription
        self.admits = False
        self.confirmed: dict[str, int] = {}
        self.pending: tuple[str, ...] = ()
        self._waiting: deque[Delivery | GapNotice] = deque() if into is None else into._waiting
        self._given: Delivery | GapNotice | None = None
        self._came: asyncio.Event = asyncio.Event() if into is None else into._came
        self._ended = False
        self.past: Past | None = None  # what is given before anything that came

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery | GapNotice:
        if self._given is not None:
            self._given.acknowledge()
            self._given = None
        if self.past is not None:
            self._given = await self.past.next()
            if self._given is not None:
                return self._given
            self.past = None
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

    def put(self, items: Iterable[Delivery | GapNotice]) -> None:
        """Queues what came: the broker's window bounds how much that is."""
        self._waiting.extend(items)
        self._came.set()

    def end(self) -> None:
        """Nothing comes any more; what waits is given still."""
        self._ended = True
        self._came.set()
        if self.past is not None:
            self.past.end()
