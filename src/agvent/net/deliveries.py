"""What a subscriber gets: events one by one or as they came together, and gap notices; acknowledged when the
subscriber is done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from agvent.agents.received import Received
from agvent.errors import CallerError
from agvent.event import Event, EventId
from agvent.net.admission import Admission
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import decode_event, decode_visitor
from agvent.wire.lines import FEED, is_lines, lines_in, places_in

ACKNOWLEDGED: Final = -1
"""The place of a delivery that was."""


class Arrival:
    """What came, for one or several subscriptions of a client. An event is done when all of them are; `done` is called
    when more of them are, once until somebody looks at the number up to which all are."""

    def __init__(self, message: Deliver | Gap, done: Callable[[Arrival], None]) -> None:
        self.message = message
        self._done = done
        self._is_told = False
        self._count = message.event_count if isinstance(message, Deliver) else 1
        self._places = self._picked()
        self._open = self._wanted()  # by place, the subscriptions that are not done
        self._left = 0  # the first place that is not done
        self._pass_done()

    def _picked(self) -> dict[str, Sequence[int]]:
        """For each subscription the places of its events in what came."""
        if not isinstance(self.message, Deliver) or self.message.count == 1:
            return dict.fromkeys(self.message.subscriptions, range(1))
        places = [places_in(pick, self._count) for pick in self.message.picked]
        return dict(zip(self.message.subscriptions, places, strict=True))

    def _wanted(self) -> list[int]:
        if all(len(places) == self._count for places in self._places.values()):
            return [len(self._places)] * self._count
        wanted = [0] * self._count
        for places in self._places.values():
            for place in places:
                wanted[place] += 1
        return wanted

    @cached_property
    def contents(self) -> list[bytes]:
        """The bytes of each event that came."""
        assert isinstance(self.message, Deliver)
        return lines_in(self.message.event) if self.message.count > 1 else [self.message.event]

    @cached_property
    def sequences(self) -> list[int]:
        assert isinstance(self.message, Deliver)
        return sequences_in(self.message)

    def item(self, id: str) -> Delivery | Batch | GapNotice:
        """What a subscription gets of it."""
        if isinstance(self.message, Gap):
            return GapNotice(self, self.message, id)
        places = self._places[id]
        if len(places) > 1:
            return Batch(self, places, id)
        return Delivery(self, places[0], self.contents[places[0]], self.sequences[places[0]], id)

    def close(self, place: int) -> None:
        """One subscription is done with one event."""
        is_open = self._open
        is_open[place] -= 1
        if place == self._left and not is_open[place]:
            self._pass_done()
            self._tell()

    def _pass_done(self) -> None:
        is_open, count = self._open, self._count
        while self._left < count and not is_open[self._left]:
            self._left += 1

    def close_all(self, id: str) -> None:
        """A subscription is done with everything, and was with nothing before."""
        if len(self._places) == 1:
            self._open, self._left = [0] * self._count, self._count
            self._tell()
            return
        for place in self._places[id]:
            self.close(place)

    def _tell(self) -> None:
        if not self._is_told:
            self._is_told = True
            self._done(self)

    def done_until(self) -> int:
        """The number up to which all events are done."""
        self._is_told = False  # first: a script's thread may go on meanwhile
        return self.message.number - self._count + self._left


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

    def alone(self) -> Batch:
        """As a batch of one."""
        return Batch(self._arrival, (self._place,), self.subscription, [self])

    def acknowledge(self) -> None:
        if self._place >= 0:
            self._arrival.close(self._place)
            self._place = ACKNOWLEDGED

    def __repr__(self) -> str:
        return f"Delivery({self.id.publisher}:{self.id.sequence} for {self.subscription!r})"


class Batch:
    """Events of one publisher that came together for a subscription, in their order: less work for whoever takes a
    hundred thousand a second than as many deliveries. `acknowledge` is for all of them."""

    __slots__ = ("_arrival", "_deliveries", "_is_done", "_places", "subscription")

    def __init__(
        self, arrival: Arrival, places: Sequence[int], subscription: str, deliveries: list[Delivery] | None = None
    ) -> None:
        self._arrival, self._places = arrival, places
        self.subscription = subscription
        self._deliveries = deliveries
        self._is_done = False

    def __len__(self) -> int:
        return len(self._places)

    @property
    def deliveries(self) -> list[Delivery]:
        """Each of them by itself. Who acknowledges these does not acknowledge the batch."""
        if self._deliveries is None:
            arrival, id = self._arrival, self.subscription
            contents, sequences = arrival.contents, arrival.sequences
            self._deliveries = [
                Delivery(arrival, place, contents[place], sequences[place], id) for place in self._places
            ]
        return self._deliveries

    @property
    def events(self) -> list[Event]:
        return [delivery.event for delivery in self.deliveries]

    @property
    def json_lines(self) -> bytes | None:
        """The events as JSON Lines, which `Subscriptions.match_json` and others read many of at once; None if one of
        them is not plain JSON."""
        message = self._arrival.message
        assert isinstance(message, Deliver)
        if not is_lines(message.event):
            return None
        if len(self._places) == message.event_count:
            return message.event
        return FEED.join([self._arrival.contents[place] for place in self._places])

    def acknowledge(self) -> None:
        if self._deliveries is not None:
            for delivery in self._deliveries:
                delivery.acknowledge()
        elif not self._is_done:
            self._is_done = True
            self._arrival.close_all(self.subscription)

    def __repr__(self) -> str:
        return f"Batch({len(self)} of {self._arrival.message.publisher!r} for {self.subscription!r})"


class GapNotice:
    """Events that a subscription will not receive, from `first` to `last` of a publisher, and why.

    `publisher` is empty if nobody knows: a broker lost its disk or was forgotten, or the client moved to another."""

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
