"""Requests of clients that the network has to answer: `subscribe` and `advertise`.

Each is answered when everybody concerned has, or after a while with the names of those who are pending; then again when
those have answered. A client that comes back asks again, so nothing here is durable.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent import limits
from agvent.broker.interest.streams import Streams
from agvent.broker.pending import OpenAdvertise, OpenSubscribe
from agvent.broker.tables.tables import Tables
from agvent.wire.client_messages import Advertised, Subscribed


class OpenRequest(msgspec.Struct):
    """One request: a subscription of a type with the position it opened at, or a version of the advertisements."""

    client: str
    request: int
    due: int
    type: str | None = None
    position: int = 0
    version: int = 0
    told: bool = False  # that some are pending
    awaited: list[str] = []  # of those who were there when it was asked, some that have not answered yet


class Requests:
    """The open requests, oldest first."""

    def __init__(self, tables: Tables, streams: Streams) -> None:
        self.tables, self.streams = tables, streams
        self.open: list[OpenRequest] = []

    def subscribed(self, work: OpenSubscribe) -> None:
        due, awaited = work.at + limits.ANSWER_WAIT_US, self.streams.entries_of(work.type)
        request = OpenRequest(
            client=work.client, request=work.request, due=due, type=work.type, position=work.position, awaited=awaited
        )
        self.open.append(request)

    def advertised(self, work: OpenAdvertise) -> None:
        due = work.at + limits.ANSWER_WAIT_US
        request = OpenRequest(
            client=work.client, request=work.request, due=due, version=work.version, awaited=self._others()
        )
        self.open.append(request)

    def drop(self, client: str) -> None:
        """The client is gone from its link; it asks again when it is back."""
        self.open = [asked for asked in self.open if asked.client != client]

    def answers(self, now: int) -> Iterator[tuple[str, Advertised | Subscribed]]:
        """The answers that are due, each with its client."""
        still: list[OpenRequest] = []
        for asked in self.open:
            if self._is_awaiting(asked) and (asked.told or now < asked.due):
                still.append(asked)
                continue
            answer = self._advertised(asked) if asked.version else self._subscribed(asked)
            if not answer.pending or (now >= asked.due and not asked.told):
                yield asked.client, answer
                asked.told = True
            if answer.pending:
                still.append(asked)
        self.open = still

    def _is_awaiting(self, asked: OpenRequest) -> bool:
        """Is somebody missing for sure? Asked at every step, so it looks at one of them and not at all."""
        has_answered = self._has_considered if asked.version else self._has_applied
        while asked.awaited and has_answered(asked.awaited[-1], asked):
            asked.awaited.pop()
        return bool(asked.awaited)

    def _has_applied(self, entry: str, asked: OpenRequest) -> bool:
        """Has an entry the subscription, or does it no longer concern it?"""
        stream = self.streams.streams.get(entry)
        if stream is None or not self.tables.advertisements.overlaps(entry, asked.type):
            return True
        return stream.number > 0 and stream.position >= asked.position

    def _has_considered(self, home: str, asked: OpenRequest) -> bool:
        """Has a home answered the advertisement, or is it gone?"""
        known = self.tables.interests.homes.get(home)
        answered = known is not None and known.considered >= asked.version
        return answered or home not in self.tables.advertisements

    def _others(self) -> list[str]:
        return [owner for owner in self.tables.advertisements.owners() if owner != self.tables.name]

    def _subscribed(self, asked: OpenRequest) -> Subscribed:
        confirmed = {self.tables.name: self.tables.interests.epoch}
        pending = []
        for entry in self.streams.entries_of(asked.type):
            if self._has_applied(entry, asked):
                confirmed[entry] = self.streams.streams[entry].epoch
            else:
                pending.append(entry)
        return Subscribed(asked.request, confirmed, tuple(pending))

    def _advertised(self, asked: OpenRequest) -> Advertised:
        others = self._others()
        pending = [name for name in others if not self._has_considered(name, asked)]
        confirmed = [name for name in others if self._has_considered(name, asked)]
        return Advertised(asked.request, tuple(confirmed), tuple(pending))
