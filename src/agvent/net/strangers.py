"""Whoever has connected and not yet said who it is: from the listening socket, through TLS, to the introduction.

Strangers have places of their own, a part of all. When these are taken, the one that has waited longest goes; so those
who say at once who they are get in, however many say nothing.
"""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Callable
from typing import Final

import msgspec

from agvent import limits
from agvent.net.address import Address
from agvent.net.connection import Connection

NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""What the machine says that has no descriptor or no memory for another connection."""

BACKLOG: Final = 1024

ACCEPTS_MAX: Final = 64
"""Connections taken from the socket at a time: those that came before are read in between."""

RETRY_SECONDS: Final = 0.1
"""How long nobody is let in when the machine has no descriptor left."""


class Stranger(msgspec.Struct, frozen=True):
    """From where it came, the TLS handshake, and the end of its time."""

    address: str
    opening: asyncio.Task[None]
    late: asyncio.TimerHandle


class Places(msgspec.Struct, frozen=True):
    """How many connections a broker has: of strangers, and of those that introduced themselves."""

    strangers: int
    links: int


def places(descriptors: int) -> Places:
    """Those of a process that may have so many descriptors, without the ones that the broker itself needs."""
    free = limits.CONNECTIONS_MAX
    if descriptors != resource.RLIM_INFINITY:
        free = min(free, max(descriptors - limits.DESCRIPTORS_RESERVED, limits.CONNECTIONS_MIN))
    strangers = min(limits.STRANGERS_MAX, free // 4)
    return Places(strangers, free - strangers)


class Strangers:
    """Lets them in. `make` makes the connection of one; `gone` hears where one was from that left, and why."""

    def __init__(
        self, most: int, tls: ssl.SSLContext | None, make: Callable[[], Connection], gone: Callable[[str, str], None]
    ) -> None:
        self._most, self._tls, self._make, self._gone = most, tls, make, gone
        self._waiting: dict[Connection, Stranger] = {}  # the longest first
        self._sockets: list[socket.socket] = []

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._waiting

    async def listen(self, address: Address) -> None:
        self._loop = asyncio.get_running_loop()
        found = await self._loop.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, bound in dict.fromkeys((one[0], one[4][:2]) for one in found):
            listening = socket.create_server(bound, family=family, backlog=BACKLOG)
            listening.setblocking(False)
            self._sockets.append(listening)
            self._loop.add_reader(listening, self._accept, listening)

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    def stop_listening(self) -> None:
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()

    async def close(self) -> None:
        """Sends all of them away."""
        opened = [connection for connection, one in self._waiting.items() if one.opening.done()]
        opening = [one.opening for one in self._waiting.values()]
        for connection in list(self._waiting):
            self._send_away(connection, "the broker stops")
        await asyncio.gather(*opening, *(one.wait_closed() for one in opened), return_exceptions=True)

    # One stranger

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS_MAX):
            try:
                stream, (host, port, *_) = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS:
                    raise
                self._wait(listening)
                return
            stream.setblocking(False)
            self._let_in(stream, f"{host}:{port}")

    def _wait(self, listening: socket.socket) -> None:
        """Takes nobody for a while: the machine has no room for another one."""
        self._loop.remove_reader(listening)
        self._loop.call_later(RETRY_SECONDS, self._listen_again, listening)
        if self._waiting:
            self._send_away(next(iter(self._waiting)), "no descriptors are left")

    def _listen_again(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _let_in(self, stream: socket.socket, address: str) -> None:
        if len(self._waiting) >= self._most:
            self._send_away(next(iter(self._waiting)), "others came after it")
        connection = self._make()
        opening = self._loop.create_task(self._open(connection, stream))
        opening.add_done_callback(lambda done: stream.close() if done.cancelled() else None)
        late = limits.INTRODUCTION_SECONDS_MAX
        timer = self._loop.call_later(late, self._send_away, connection, "it did not introduce itself")
        self._waiting[connection] = Stranger(address, opening, timer)

    async def _open(self, connection: Connection, stream: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, stream, ssl=self._tls)
        except OSError as error:
            self.lost(connection, f"no handshake: {error.strerror or error}")

    def _send_away(self, connection: Connection, reason: str) -> None:
        stranger = self._waiting[connection]
        self.lost(connection, reason)
        if stranger.opening.done():
            connection.abort(reason)
        else:
            stranger.opening.cancel()

    def introduced(self, connection: Connection) -> None:
        """It is no stranger any more."""
        self._waiting.pop(connection).late.cancel()

    def lost(self, connection: Connection, reason: str) -> None:
        """A connection has ended, of a stranger or of somebody else."""
        stranger = self._waiting.pop(connection, None)
        if stranger is not None:
            stranger.late.cancel()
            self._gone(stranger.address, reason)
