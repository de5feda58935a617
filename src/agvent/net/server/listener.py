"""The listening sockets, and connections from accept through TLS until they introduce themselves.

These pending connections have a limit of their own. When it is reached, the one that has waited longest is closed. So
peers that introduce themselves at once get in, however many connect and say nothing.
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
from agvent.net.link.address import Address
from agvent.net.link.connection import Connection

NO_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of a machine that has no descriptor or no memory for another connection."""

BACKLOG: Final = 1024

ACCEPTS_MAX: Final = 64
"""Connections accepted at a time; earlier ones are read in between."""

RETRY_SECONDS: Final = 0.1
"""How long nothing is accepted when the machine has no descriptor left."""


class PendingConnection(msgspec.Struct, frozen=True):
    """The address of the peer, the TLS handshake, and the timer of the introduction."""

    address: str
    opening: asyncio.Task[None]
    late: asyncio.TimerHandle


class ConnectionLimits(msgspec.Struct, frozen=True):
    """How many connections a broker may have: before their introduction, and after it."""

    pending: int
    links: int


def connection_limits(descriptors: int) -> ConnectionLimits:
    """The limits of a process with so many descriptors, some of which the broker itself needs."""
    free = limits.CONNECTIONS_MAX
    if descriptors != resource.RLIM_INFINITY:
        free = min(free, max(descriptors - limits.DESCRIPTORS_RESERVED, limits.CONNECTIONS_MIN))
    pending = min(limits.STRANGERS_MAX, free // 4)
    return ConnectionLimits(pending, free - pending)


class Listener:
    """Accepts connections. `make` makes one; `closed` hears the address of one that ended before it was introduced, and
    why."""

    def __init__(
        self, most: int, tls: ssl.SSLContext | None, make: Callable[[], Connection], closed: Callable[[str, str], None]
    ) -> None:
        self._most, self._tls, self._make, self._closed = most, tls, make, closed
        self._waiting: dict[Connection, PendingConnection] = {}  # the longest first
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
        """Closes all pending connections."""
        opened = [connection for connection, one in self._waiting.items() if one.opening.done()]
        opening = [one.opening for one in self._waiting.values()]
        for connection in list(self._waiting):
            self._drop(connection, "the broker is stopping")
        await asyncio.gather(*opening, *(one.wait_closed() for one in opened), return_exceptions=True)

    # One connection

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
            self._take(stream, f"{host}:{port}")

    def _wait(self, listening: socket.socket) -> None:
        """Accepts nothing for a while: the machine has no room for another connection."""
        self._loop.remove_reader(listening)
        self._loop.call_later(RETRY_SECONDS, self._listen_again, listening)
        if self._waiting:
            self._drop(next(iter(self._waiting)), "out of file descriptors")

    def _listen_again(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:
            self._loop.add_reader(listening, self._accept, listening)

    def _take(self, stream: socket.socket, address: str) -> None:
        if len(self._waiting) >= self._most:
            self._drop(next(iter(self._waiting)), "too many pending connections")
        connection = self._make()
        opening = self._loop.create_task(self._open(connection, stream))
        opening.add_done_callback(lambda done: stream.close() if done.cancelled() else None)
        late = limits.INTRODUCTION_SECONDS_MAX
        timer = self._loop.call_later(late, self._drop, connection, f"no introduction in {late:.0f} s")
        self._waiting[connection] = PendingConnection(address, opening, timer)

    async def _open(self, connection: Connection, stream: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, stream, ssl=self._tls)
        except OSError as error:
            self.lost(connection, f"TLS handshake failed: {error.strerror or error}")

    def _drop(self, connection: Connection, reason: str) -> None:
        pending = self._waiting[connection]
        self.lost(connection, reason)
        if pending.opening.done():
            connection.abort(reason)
        else:
            pending.opening.cancel()

    def introduced(self, connection: Connection) -> None:
        """The connection is no longer pending."""
        self._waiting.pop(connection).late.cancel()

    def lost(self, connection: Connection, reason: str) -> None:
        """A connection has ended, pending or not."""
        pending = self._waiting.pop(connection, None)
        if pending is not None:
            pending.late.cancel()
            self._closed(pending.address, reason)
