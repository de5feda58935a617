"""Deliveries to a subscriber: events one by one or in batches, and gap notices.

The subscriber acknowledges each of them. Until then its home broker keeps the event, and sends it again after a
reconnect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec

from agvent.agents.execution.received_agvent import ReceivedAgvent
from agvent.errors import CallerError
from agvent.event import Event, EventId
from agvent.net.client.admission import Admission
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import decode_event, decode_visitor
from agvent.wire.lines import FEED, is_lines, lines_in, places_in

ACKNOWLEDGED: Final = -1
"""The place of a delivery that is acknowledged."""


class Incoming:
    """A message with events for one or several subscriptions of a client. An event is done when all of them have
    acknowledged it. `done` is called when more events are done, once until `done_until` is read."""

    def __init__(self, message: Deliver | Gap, done: Callable[[Incoming], None]) -> None:
        self.message = message
        self._done = done
        self._is_told = False
        self._count = message.event_count if isinstance(message, Deliver) else 1
        self._places = self._picked()
        self._open = self._wanted()  # by place, the subscriptions that are not done
        self._left = 0  # the first place that is not done
        self._pass_done()

    def _picked(self) -> dict[str, Sequence[int]]:
        """For each subscription, the places of its events in the message."""
        if not isinstance(self.message, Deliver) or self.message.count == 1:
            return dict.fromkeys(self.message.subscriptions, range(1))
        places = [places_in(pick, self._count) for pick in self.message.picked]
        return dict(zip(self.message.subscriptions, places, strict=True))

    def _wanted(self) -> list[int]:
        if self._count == 1:  # the common case, and a short way for it
            return [len(self._places)]
        if all(len(places) == self._count for places in self._places.values()):
            return [len(self._places)] * self._count
        wanted = [0] * self._count
        for places in self._places.values():
            for place in places:
                wanted[place] += 1
        return wanted

    @cached_property
    def contents(self) -> list[bytes]:
        """The bytes of each event of the message."""
        assert isinstance(self.message, Deliver)
        return lines_in(self.message.event) if self.message.count > 1 else [self.message.event]

    @cached_property
    def sequences(self) -> list[int]:
        assert isinstance(self.message, Deliver)
        return sequences_in(self.message)

    def item(self, id: str) -> Delivery | Batch | GapNotice:
        """The part of the message for one subscription."""
        if isinstance(self.message, Gap):
            return GapNotice(self, self.message, id)
        if self.message.count == 1:
            return Delivery(self, 0, self.message.event, self.message.sequence, id)
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
        """A subscription acknowledges everything at once, and had acknowledged nothing before."""
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
    """An event for a subscription.

    >>> from agvent import connect, local_broker
    >>> with local_broker() as url, connect(url, name="ada") as ada:
    ...     cheap = ada.subscribe("price < 10")
    ...     receipt = ada.publish({"price": 8})
    ...     delivery = cheap.next(timeout=30)
    ...     delivery.event.attributes, delivery.id, delivery.subscription
    ({'price': 8}, EventId(publisher='ada', sequence=1), 's1')

    A subscription with `admit=True` receives agvents that can be called: `agvent` has attributes to read and behaviours
    to await, `messages` are the values it sent on arrival. `refusal` is the reason if it was not admitted."""

    __slots__ = ("_arrival", "_content", "_event", "_place", "_sequence", "admission", "subscription")

    def __init__(self, arrival: Incoming, place: int, content: bytes, sequence: int, subscription: str) -> None:
        self._arrival, self._place = arrival, place
        self._content, self._sequence = content, sequence
        self._event: Event | None = None
        self.subscription = subscription
        self.admission: Admission | None = None

    @property
    def agvent(self) -> ReceivedAgvent:
        """The agvent, until `dispose` or its expiry. Its behaviours run in the sandbox host of the home broker."""
        if self.admission is None:
            raise CallerError("the subscription does not admit agvents", hint="subscribe with admit=True")
        return self.admission.received(self.event)

    @property
    def messages(self) -> tuple[Any, ...]:
        """The values that the agvent sent to this subscriber on its arrival."""
        return self.admission.messages if self.admission is not None else ()

    @property
    def refusal(self) -> str:
        """Why the agvent was not admitted; empty if it was."""
        return self.admission.refusal if self.admission is not None else ""

    async def dispose(self) -> None:
        """Disposes of the agvent at the home broker."""
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
        """Was the event published with `fast=True`?"""
        return self._arrival.message.fast

    @property
    def event(self) -> Event:
        """The event as it was published, with its id."""
        if self._event is None:
            self._event = msgspec.structs.replace(decode_event(self._content), id=self.id)
        return self._event

    def as_batch(self) -> Batch:
        """This delivery as a batch of one."""
        return Batch(self._arrival, (self._place,), self.subscription, [self])

    def acknowledge(self) -> None:
        if self._place >= 0:
            self._arrival.close(self._place)
            self._place = ACKNOWLEDGED

    def __repr__(self) -> str:
        return f"Delivery({self.id.publisher}:{self.id.sequence} for {self.subscription!r})"


class Batch:
    """Events of one publisher that came together for a subscription, in their order. Batches cost less than single
    deliveries: use them for a hundred thousand events per second. `acknowledge` is for all of them.

    >>> from agvent import connect, local_broker
    >>> with local_broker() as url, connect(url, name="ada") as ada:
    ...     cheap = ada.subscribe("price < 10")
    ...     receipts = ada.publish_batch([{"price": 8}, {"price": 9}])
    ...     batch = next(cheap.batches())
    ...     len(batch), batch.json_lines
    (2, b'{"price":8}\\n{"price":9}')
    """

    __slots__ = ("_arrival", "_deliveries", "_is_done", "_places", "subscription")

    def __init__(
        self, arrival: Incoming, places: Sequence[int], subscription: str, deliveries: list[Delivery] | None = None
    ) -> None:
        self._arrival, self._places = arrival, places
        self.subscription = subscription
        self._deliveries = deliveries
        self._is_done = False

    def __len__(self) -> int:
        return len(self._places)

    @property
    def deliveries(self) -> list[Delivery]:
        """The deliveries one by one. Acknowledge these or the batch, not both."""
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
    """Events that a subscription will not receive: sequences `first` to `last` of a publisher, and the reason.

    The iterator of a subscription gives it in place of those events:

        async for item in subscription:
            if isinstance(item, GapNotice):
                print("lost", item.publisher, item.first, item.last, item.reason)

    `publisher` is empty if it is unknown: a broker lost its disk or was forgotten, or the client moved to another."""

    def __init__(self, arrival: Incoming, message: Gap, subscription: str) -> None:
        self._arrival: Incoming | None = arrival
        self.subscription = subscription
        self.publisher, self.first, self.last = message.publisher, message.first, message.last
        self.reason, self.fast = message.reason, message.fast

    def acknowledge(self) -> None:
        if self._arrival is not None:
            arrival, self._arrival = self._arrival, None
            arrival.close(0)

    def __repr__(self) -> str:
        return f"GapNotice({self.publisher}:{self.first}-{self.last}, {self.reason}, for {self.subscription!r})"
