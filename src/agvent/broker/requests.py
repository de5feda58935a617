"""Requests of clients that the network has to answer: `subscribe` and `advertise`.

Each is answered when everybody concerned has, or after a while with the names of those who are pending; then again when
those have answered. A client that comes back asks again, so nothing here is durable.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent import limits
from agvent.broker.streams import Streams
from agvent.broker.tables import Tables
from agvent.wire.messages import Advertised, Subscribed


class Asked(msgspec.Struct):
    """One request: a subscription of a type with the position it opened at, or a version of the advertisements."""

    client: str
    request: int
    due: int
    type: str | None = None
    position: int = 0
    version: int = 0
    told: bool = False  # that some are pending


class Requests:
    """The open requests, oldest first."""

    def __init__(self, tables: Tables, streams: Streams) -> None:
        self.tables, self.streams = tables, streams
        self.open: list[Asked] = []

    def subscribed(self, client: str, request: int, type: str | None, position: int, now: int) -> None:
        self.open.append(Asked(client, request, now + limits.ANSWER_WAIT_US, type=type, position=position))

    def advertised(self, client: str, request: int, version: int, now: int) -> None:
        self.open.append(Asked(client, request, now + limits.ANSWER_WAIT_US, version=version))

    def drop(self, client: str) -> None:
        """The client is gone from its link; it asks again when it is back."""
        self.open = [asked for asked in self.open if asked.client != client]

    def answers(self, now: int) -> Iterator[tuple[str, Advertised | Subscribed]]:
        """The answers that are due, each with its client."""
        still: list[Asked] = []
        for asked in self.open:
            answer = self._advertised(asked) if asked.version else self._subscribed(asked)
            if not answer.pending or (now >= asked.due and not asked.told):
                yield asked.client, answer
                asked.told = True
            if answer.pending:
                still.append(asked)
        self.open = still

    def _subscribed(self, asked: Asked) -> Subscribed:
        confirmed = {self.tables.name: self.tables.interests.epoch}
        pending = []
        for entry in self.streams.entries_of(asked.type):
            stream = self.streams.streams[entry]
            if stream.number and stream.position >= asked.position:
                confirmed[entry] = stream.epoch
            else:
                pending.append(entry)
        return Subscribed(asked.request, confirmed, tuple(pending))

    def _advertised(self, asked: Asked) -> Advertised:
        homes = self.tables.interests.homes
        others = [owner for owner in self.tables.advertisements.owners() if owner != self.tables.name]
        confirmed = [name for name in others if name in homes and homes[name].considered >= asked.version]
        pending = [name for name in others if name not in confirmed]
        return Advertised(asked.request, tuple(confirmed), tuple(pending))
