"""The client that a broker has of itself: what its sandbox host has to say goes out as events like any other.

Its link is inside the process. So its events are durable, in order and delivered once, and its name, which begins with
`$`, is one that nobody can introduce itself with.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

from agvent.broker.interface import Input, LinkUp, MessageCame
from agvent.event import Event
from agvent.session.session import Session
from agvent.wire.messages import AnyMessage

MARK = "$"


class OwnClient:
    """The client of the broker with this name. It attaches when it first publishes; `give` takes its inputs."""

    def __init__(self, broker: str, give: Callable[[Iterable[Input]], None]) -> None:
        self._give = give
        self.link = f"{MARK}{broker}"
        self._session = Session(self.link, life=secrets.randbits(32))
        self._is_linked = False

    def publish(self, event: Event, *, to: str) -> None:
        """Publishes an event for one client."""
        self._session.publish(event, destinations=(to,))
        inputs: list[Input] = []
        if not self._is_linked:
            self._is_linked = True
            self._session.link_up()
            inputs.append(LinkUp(self.link, to_broker=False))
        self._say(inputs)

    def hear(self, message: AnyMessage) -> None:
        """Takes what the broker says to it."""
        self._session.receive(message)
        self._say([])

    def _say(self, inputs: list[Input]) -> None:
        inputs += [MessageCame(self.link, message) for message in self._session.take()]
        if inputs:
            self._give(inputs)
