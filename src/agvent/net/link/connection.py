"""One connection: bytes to frames, and after the introduction one end of a link, which it polls and pumps.

What the frames say is the owner's business. A connection that is damaged, silent or closed is lost, and its owner is
told once.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from agvent import limits
from agvent.errors import WireError
from agvent.net.link.clock import Clock
from agvent.net.link.frames import FrameSplitter
from agvent.wire.codec import framed, unframed
from agvent.wire.link import Change, LinkEnd
from agvent.wire.messages import AnyMessage

CHOKED_POLL_US: Final = 50_000
"""How often a connection that cannot write looks at the time: its heartbeat is due and cannot go."""

LATE_US: Final = 200_000
"""A timer that is later than this says that the process stood still."""


class ConnectionOwner(Protocol):
    """Whose connection it is: a broker's or a client's."""

    def said(self, connection: Connection, content: bytes) -> None:
        """A frame came before the link began."""

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        """Messages came over the link, or it changed."""

    def lost(self, connection: Connection, reason: str) -> None:
        """The connection is no more."""


class Connection(asyncio.Protocol):
    """`end` is None until the link begins."""

    def __init__(self, owner: ConnectionOwner, clock: Clock) -> None:
        self.owner, self.clock = owner, clock
        self.expires: float = 0  # when what the peer has shown is no longer valid, in seconds since 1970; 0: never
        self.end: LinkEnd | None = None
        self._lost = asyncio.Event()
        self.link = ""  # its name, when its owner is a broker
        self._reason = "closed by the peer"
        self._splitter = FrameSplitter()
        self.received_bytes = 0
        self._choked = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0
        self._is_excused = False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._loop = asyncio.get_running_loop()
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=limits.SOCKET_BUFFER_BYTES_MAX)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self.received_bytes += len(data)
        try:
            frames = self._splitter.feed(data)
            what: list[AnyMessage | Change] = []
            for frame in frames:
                if self.transport.is_closing():  # for example after a rejected introduction
                    return
                self._take(frame, what)
        except WireError as error:
            self.abort(error.message)
            return
        if self.end is not None:
            self.owner.happened(self, what)
            self.pump()

    def _take(self, frame: memoryview, what: list[AnyMessage | Change]) -> None:
        if self.end is None:
            self.owner.said(self, bytes(unframed(frame)))
            return
        what += self.end.receive(frame, self.clock.now())
        if self.end.damaged:  # on a stream that TCP has checked: nothing after it can be trusted
            raise WireError("damaged frame")

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        self.pump()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._lost.set()
        if self.end is not None:
            self.end.close(self.clock.now())  # what it kept goes now: this and the transport are a cycle
        self.owner.lost(self, f"{self._reason}: {exc}" if exc else self._reason)

    # The owner's side

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    @property
    def is_choked(self) -> bool:
        """Does what was written wait for the peer to read?"""
        return self._choked

    @property
    def peer_address(self) -> str:
        host, port, *_ = self.transport.get_extra_info("peername") or ("", 0)
        return f"{host}:{port}"

    @property
    def kept_bytes(self) -> int:
        """What its link keeps in memory; before a link begins, what the peer has not read."""
        return self.end.held_bytes if self.end is not None else self.transport.get_write_buffer_size()

    def say(self, content: bytes) -> None:
        """Sends a frame outside the link."""
        self.transport.write(framed(content))

    def begin(self, *, stall_us: int = limits.LINK_SILENCE_US) -> None:
        """Begins the link."""
        now = self._began = self.clock.now()
        self.end = LinkEnd(now, now, stall_us=stall_us)
        self.pump()

    def pump(self) -> None:
        """Sends what the link has to send, as far as the socket takes it."""
        if self.end is None or self.transport.is_closing():
            return
        now = self.clock.now()
        if not self._choked:
            frames = self.end.frames(now)  # sent together, when this turn of the loop is over
            for frame in frames:
                self.transport.write(frame)
        self._arm(now)

    def _arm(self, now: int) -> None:
        assert self.end is not None
        at = max(self.end.deadline(), now + (CHOKED_POLL_US if self._choked or self._is_excused else 0))
        if self._timer is None or at < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = at
            self._timer = self._loop.call_later((at - now) / 1e6, self._poll)

    def _poll(self) -> None:
        self._timer = None
        assert self.end is not None
        now = self.clock.now()
        self._is_excused = now - self._timer_at > LATE_US and not self._is_excused
        if self._is_excused:  # this process stood still: what came meanwhile is to be read first
            self.pump()
        elif self.end.poll(now) or (not self.end.up and now - self._began > limits.LINK_SILENCE_US):
            self.abort("heartbeat timeout")
        else:
            self.pump()

    def abort(self, reason: str) -> None:
        """Ends the connection at once."""
        self._reason = reason
        self.transport.abort()

    def hold(self, seconds: float) -> None:
        """Reads nothing for a while."""
        self.pause()
        self._loop.call_later(seconds, self.read_on)

    def pause(self) -> None:
        """Reads nothing until it is to read on."""
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def read_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def close(self, reason: str) -> None:
        """Ends the connection when what was written has gone."""
        self._reason = reason
        self.transport.close()

    async def wait_closed(self) -> None:
        """Waits until a connection that was closed has ended; a peer that does not read is not waited for."""
        try:
            async with asyncio.timeout(limits.CLOSE_SECONDS_MAX):
                await self._lost.wait()
        except TimeoutError:
            self.transport.abort()
            await self._lost.wait()
