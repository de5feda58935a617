"""Dispatches deliveries to the open subscriptions of a client, and acknowledges them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from agvent import limits
from agvent.net.client.admission import Admission, AskHost
from agvent.net.client.deliveries import Delivery, Incoming
from agvent.net.client.open_subscription import OpenSubscription
from agvent.session.session import Session
from agvent.wire.client_messages import Deliver, Gap


class DeliveryDispatch:
    """The open subscriptions by id. Deliveries to a subscription that this process has not opened yet wait for it;
    those to one that it has ended are acknowledged at once."""

    def __init__(self, session: Session, ask_host: AskHost, send: Callable[[], None]) -> None:
        self._session, self._ask_host, self._send = session, ask_host, send
        self.open: dict[str, OpenSubscription] = {}
        self._unclaimed: dict[str, list[Incoming]] = {}
        self._ended: dict[str, None] = {}  # the last ones
        self._finished: list[Incoming] = []  # more of their events are done

    def begin(self) -> None:
        """Acknowledgements are sent from this event loop and this thread."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()

    def add(self, subscribed: OpenSubscription) -> None:
        id = subscribed.subscription.id
        self.open[id] = subscribed
        self._ended.pop(id, None)
        for arrival in self._unclaimed.pop(id, []):
            self._put(subscribed, arrival)

    def remove(self, id: str) -> None:
        subscribed = self.open.pop(id, None)
        if subscribed is not None:
            subscribed.discard()
        self._ended[id] = None
        if len(self._ended) > limits.ENDED_KEPT_MAX:
            del self._ended[next(iter(self._ended))]
        for arrival in self._unclaimed.pop(id, []):
            arrival.close_all(id)

    def arrive(self, message: Deliver | Gap) -> None:
        arrival = Incoming(message, self._done)
        for id in message.subscriptions:
            if id in self.open:
                self._put(self.open[id], arrival)
            elif id in self._ended:
                arrival.close_all(id)
            else:
                self._unclaimed.setdefault(id, []).append(arrival)
        if not message.subscriptions:
            self._done(arrival)

    def _put(self, subscribed: OpenSubscription, arrival: Incoming) -> None:
        item = arrival.item(subscribed.subscription.id)
        if subscribed.admits and isinstance(item, Delivery) and item.is_agvent:
            assert isinstance(arrival.message, Deliver)
            item.admission = Admission(self._ask_host, arrival.message, item.subscription)
        subscribed.put(item)

    def _done(self, arrival: Incoming) -> None:
        """Acknowledges at the end of this turn of the loop; a script calls it from its own thread."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._done, arrival)
            return
        if not self._finished:
            self._loop.call_soon(self.acknowledge_finished)
        self._finished.append(arrival)

    def acknowledge_finished(self) -> None:
        finished, self._finished = self._finished, []
        for arrival in finished:
            until = arrival.done_until()
            if arrival.message.number:  # a notice that the session itself made has none
                self._session.done(arrival.message, until)
        self._send()

    def fail(self, reason: str) -> None:
        """No broker has this client any more: every open subscription ends with the reason."""
        for subscribed in self.open.values():
            subscribed.fail(reason)

    def close(self) -> None:
        for subscribed in self.open.values():
            subscribed.end()
        self.acknowledge_finished()
