"""The links to neighbours: dialled, dialled again with growing waits, cut and healed by an operator.

If two brokers name each other, the one whose name comes first dials and rejects the other's dial. So there is one link.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from random import random
from typing import Protocol

import msgspec

from agvent import limits
from agvent.errors import CallerError, WireError
from agvent.net.link.address import Address
from agvent.net.link.clock import Clock
from agvent.net.link.connection import Connection, ConnectionOwner
from agvent.net.link.introduction import PROTOCOL, Introduction, RejectedIntroduction, answer_of
from agvent.net.link.tls import peer_of
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage


class NeighbourLinks(ConnectionOwner, Protocol):
    """What this file needs of the broker's links."""

    @property
    def neighbours(self) -> Mapping[str, Connection]:
        """The connection of each neighbour that has a link."""

    def begin_neighbour(self, connection: Connection, name: str) -> None:
        """Opens the link to a neighbour."""


class NeighbourDial:
    """One connection that this broker dialled. It introduces itself; when it is welcome, the link begins."""

    def __init__(self, neighbours: Neighbours, name: str) -> None:
        self._neighbours, self._name = neighbours, name
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.is_linked = False

    def said(self, connection: Connection, content: bytes) -> None:
        answer = answer_of(content)
        if isinstance(answer, RejectedIntroduction):
            raise WireError(answer.reason)
        if self._neighbours.tls is not None:
            peer = peer_of(connection.transport)
            if peer is None or (peer.kind, peer.name) != ("broker", self._name):
                raise WireError(f"the peer has no certificate of broker {self._name!r}")
            connection.expires = peer.expires
        if answer.broker != self._name:
            raise WireError(f"broker {answer.broker!r} answers at the address of {self._name!r}")
        if self._name in self._neighbours.cut:  # since it was dialled
            raise WireError("link cut by an operator")
        self.is_linked = True
        self._neighbours.came(self._name, connection)

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        self._neighbours.links.happened(connection, what)

    def lost(self, connection: Connection, reason: str) -> None:
        if self.is_linked:
            self._neighbours.links.lost(connection, reason)
        if not self.ended.done():
            self.ended.set_result(reason)


class Neighbours:
    """Keeps a link to each neighbour of the configuration. `cut` are those that an operator keeps apart, `errors` say
    why the last connection to a neighbour ended or failed."""

    def __init__(
        self,
        name: str,
        addresses: Mapping[str, Address],
        links: NeighbourLinks,
        *,
        clock: Clock,
        tls: ssl.SSLContext | None,
    ) -> None:
        self.name, self.addresses, self.links = name, dict(addresses), links
        self.clock, self.tls = clock, tls
        self.cut: set[str] = set()
        self.errors: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._healed = asyncio.Event()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._keep(name)) for name in self.addresses]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def known(self) -> list[str]:
        """Every neighbour of the configuration, and every broker that has or had a link."""
        return sorted({*self.addresses, *self.links.neighbours, *self.cut})

    # Dialling

    async def _keep(self, name: str) -> None:
        wait = limits.REDIAL_SECONDS_MIN
        while True:
            if name not in self.links.neighbours and name not in self.cut:
                is_linked = await self._dial(name)
                wait = limits.REDIAL_SECONDS_MIN if is_linked else min(2 * wait, limits.REDIAL_SECONDS_MAX)
            self._healed.clear()
            pause = wait * (1 - random() / 2)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._healed.wait()

    async def _dial(self, name: str) -> bool:
        """Dials once, and returns when that connection has ended: was it a link?"""
        dial = NeighbourDial(self, name)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.INTRODUCTION_SECONDS_MAX):
                _, connection = await loop.create_connection(
                    lambda: Connection(dial, self.clock), *self.addresses[name], ssl=self.tls
                )
        except (OSError, TimeoutError) as error:
            self.errors[name] = str(error) or "connection timeout"
            return False
        introduction = Introduction(agvent=PROTOCOL, kind="broker", name=self.name, to=name)
        connection.say(msgspec.json.encode(introduction))
        late = loop.call_later(limits.INTRODUCTION_SECONDS_MAX, _give_up, dial, connection)
        try:
            self.errors[name] = await dial.ended
        finally:
            late.cancel()
        return dial.is_linked

    # Links

    def objection(self, name: str) -> str:
        """Why a broker that dials in is rejected; empty if it is welcome."""
        if name == self.name:
            return f"this broker is called {name!r} too"
        if name in self.cut:
            return f"an operator has cut the link between {self.name!r} and {name!r}"
        if self.is_crossed(name):
            return f"{self.name!r} dials {name!r}, not the other way round"
        return ""

    def is_crossed(self, name: str) -> bool:
        """Does a dial of this neighbour cross this broker's own, which is the one that counts?"""
        return name in self.addresses and self.name < name and name not in self.cut

    def came(self, name: str, connection: Connection) -> None:
        """A neighbour is introduced, whichever of the two dialled."""
        self.errors.pop(name, None)
        self.links.begin_neighbour(connection, name)

    # The operator

    def cut_link(self, name: str) -> None:
        self._check_known(name)
        self.cut.add(name)
        if name in self.links.neighbours:
            self.links.neighbours[name].abort("link cut by an operator")

    def heal_link(self, name: str) -> None:
        self._check_known(name)
        self.cut.discard(name)
        self._healed.set()

    def _check_known(self, name: str) -> None:
        if name not in self.known:
            hint = f"its neighbours: {', '.join(self.known) or 'none'}"
            raise CallerError(f"broker {self.name!r} has no neighbour {name!r}", hint=hint)


def _give_up(dial: NeighbourDial, connection: Connection) -> None:
    if not dial.is_linked:
        connection.abort("no answer to the introduction")
