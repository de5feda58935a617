"""The links to neighbours: dialled, dialled again with growing waits, cut and healed by an operator.

Of two that name each other the one whose name comes first dials, and turns the other's dial away; so there is one link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from random import random
from typing import TYPE_CHECKING

import msgspec

from agvent import limits
from agvent.errors import WireError
from agvent.net.address import Address
from agvent.net.connection import Connection
from agvent.net.introduction import PROTOCOL, Introduction, TurnedAway, answer_of
from agvent.net.tls import peer_of
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    from agvent.net.server import BrokerServer


class Dial:
    """One connection that this broker dialled: it introduces itself, and is the server's when it is welcome."""

    def __init__(self, server: BrokerServer, neighbour: str) -> None:
        self.server, self.neighbour = server, neighbour
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.is_linked = False

    def made(self) -> Connection:
        return Connection(self, self.server.clock)

    def said(self, connection: Connection, content: bytes) -> None:
        answer = answer_of(content)
        if isinstance(answer, TurnedAway):
            raise WireError(answer.reason)
        if self.server.door.is_locked:
            peer = peer_of(connection.transport)
            if peer is None or (peer.kind, peer.name) != ("broker", self.neighbour):
                raise WireError(f"it has no certificate of broker {self.neighbour!r}")
            connection.expires = peer.expires
        if answer.broker != self.neighbour:
            raise WireError(f"{answer.broker!r} answers in place of {self.neighbour!r}")
        if self.neighbour in self.server.neighbours.cut:  # since it was dialled
            raise WireError("cut by an operator")
        self.is_linked = True
        self.server.neighbours.came(self.neighbour, connection)

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        self.server.happened(connection, what)

    def lost(self, connection: Connection, reason: str) -> None:
        if self.is_linked:
            self.server.lost(connection, reason)
        if not self.ended.done():
            self.ended.set_result(reason)


class Neighbours:
    """`linked` has each neighbour's connection, `cut` those an operator keeps apart, `troubles` why one is away."""

    def __init__(self, server: BrokerServer, addresses: Mapping[str, Address]) -> None:
        self.server, self.addresses = server, dict(addresses)
        self.linked: dict[str, Connection] = {}
        self.cut: set[str] = set()
        self.troubles: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._healed = asyncio.Event()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._keep(name)) for name in self.addresses]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Dialling

    async def _keep(self, name: str) -> None:
        wait = limits.REDIAL_SECONDS_MIN
        while True:
            if name not in self.linked and name not in self.cut:
                is_linked = await self._dial(name)
                wait = limits.REDIAL_SECONDS_MIN if is_linked else min(2 * wait, limits.REDIAL_SECONDS_MAX)
            self._healed.clear()
            pause = wait * (1 - random() / 2)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._healed.wait()

    async def _dial(self, name: str) -> bool:
        """Dials once, and returns when that connection has ended: was it a link?"""
        dial = Dial(self.server, name)
        host, port = self.addresses[name]
        try:
            async with asyncio.timeout(limits.INTRODUCTION_SECONDS_MAX):
                _, connection = await asyncio.get_running_loop().create_connection(
                    dial.made, host, port, ssl=self.server.dial_tls
                )
        except (OSError, TimeoutError) as error:
            self.troubles[name] = str(error) or "no answer"
            return False
        introduction = Introduction(agvent=PROTOCOL, kind="broker", name=self.server.config.name, to=name)
        connection.say(msgspec.json.encode(introduction))
        late = asyncio.get_running_loop().call_later(limits.INTRODUCTION_SECONDS_MAX, _give_up, dial, connection)
        try:
            self.troubles[name] = await dial.ended
        finally:
            late.cancel()
        return dial.is_linked

    # Links

    def objection(self, name: str) -> str:
        """Why a broker that dials in is not welcome; empty if it is."""
        mine = self.server.config.name
        if name == mine:
            return f"this is {mine!r} too"
        if name in self.cut:
            return f"an operator has cut the link between {mine!r} and {name!r}"
        if name in self.addresses and mine < name:
            return f"{mine!r} dials {name!r}"
        return ""

    def came(self, name: str, connection: Connection) -> None:
        """A neighbour is introduced; a link it had before is over, whether or not that was noticed."""
        if name in self.linked:
            self.linked[name].abort("it came back on another connection")
            self.server.lost(self.linked[name], "replaced")
        self.linked[name] = connection
        self.troubles.pop(name, None)
        self.server.link(connection, name, stall_us=limits.LINK_STALL_US)

    def lost(self, connection: Connection) -> None:
        for name in [name for name, one in self.linked.items() if one is connection]:
            del self.linked[name]

    # The operator

    def cut_link(self, name: str) -> None:
        self.cut.add(name)
        if name in self.linked:
            self.linked[name].abort("cut by an operator")

    def heal_link(self, name: str) -> None:
        self.cut.discard(name)
        self._healed.set()


def _give_up(dial: Dial, connection: Connection) -> None:
    if not dial.is_linked:
        connection.abort("no answer to the introduction")
