"""One end of a link: frames that are lost, doubled, late or damaged become messages that arrive once and in order.

A *session* is a pair of tokens, one chosen by each end. Tokens only grow, restarts included. The states of an end:

    down   `peer` is the highest token heard, 0 at first; heartbeats say both tokens
    up     the peer has sent this end's own token, so both know the session

A frame with the right tokens takes the link up. A newer token of the peer, or silence, takes it down: this end takes
the next token and forgets the session. Frames of an older token are ignored, so nothing of one session is ever taken
for part of another.

Within a session frames have numbers 1, 2, 3, … Invariants:

- every frame up to `_received` has been given to the caller, once and in order;
- `_early` has only numbers after the next one, at most a window ahead;
- `_unacked` has the frames that were sent and not acknowledged, at most LINK_WINDOW_FRAMES, and each is repeated until
  it is acknowledged;
- `held_bytes` counts all that waits on either side, so that the driver can bound it.

A message larger than a chunk travels in pieces beside the small ones and is the exception to the order: it arrives when
its last chunk does. Otherwise one large event would hold up every acknowledgement behind it.

When a link goes down, messages on their way are dropped. To keep them for the next session is the obvious alternative,
and wrong: the peer may have crashed after it took them, or before. Only the layers above know what is on disk, and say
it in their first messages. Nor is TCP enough: a broken connection does not say what arrived, and a stalled one may take
minutes to break.

The round trip is measured without synchronised clocks. `echo` is the peer's own stamp plus the time it was held here,
so the peer subtracts two readings of its own clock.

Cost: 6 integers, a length and a checksum a frame; one acknowledgement for many frames; an acknowledgement walks the
window. A frame is repeated after three round trips at first, then after twice as long each time, up to a bound.

The driver gives it frames and time (`receive`, `poll`), messages to send, and takes frames from `frames`.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Final

import msgspec

from agvent import limits
from agvent.errors import WireError
from agvent.wire.codec import decode_message, encode_message, framed, unframed
from agvent.wire.messages import AnyMessage

FRAME_OVERHEAD_BYTES: Final = 16
"""What a message adds to a frame beside its own bytes, at most."""

EARLY_OVERHEAD_BYTES: Final = 64
"""What a message in a frame that came too early costs in memory beside its own bytes."""

STALL_ROUND_TRIPS: Final = 4
"""A far peer has at least so many round trips for an acknowledgement, whatever `stall_us` is."""


class Change(Enum):
    """What became of the link."""

    UP = "up"
    DOWN = "down"


class Frame(msgspec.Struct, array_like=True, gc=False):
    """`number` 0: it carries nothing but what stands before. `echo` is the peer's stamp plus the time it was held."""

    token: int
    peer: int
    number: int
    ack: int
    stamp: int
    echo: int
    messages: tuple[bytes, ...] = ()
    large: int = 0
    large_bytes: int = 0
    chunk: memoryview = memoryview(b"")


class Large(msgspec.Struct):
    """A large message on its way out: its number among the large ones, and how much of it has gone."""

    number: int
    content: bytes
    gone: int = 0


class Parts(msgspec.Struct):
    """A large message on its way in: what came of it, put together once."""

    content: bytearray  # as long as it will be; what is not yet there costs no memory
    filled: int = 0


class Unacked(msgspec.Struct):
    """A frame the peer has not acknowledged, when it was last sent, and the bytes it keeps."""

    frame: Frame
    sent: int
    held: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


class LinkEnd:
    """One end. `token` must be larger than any this end ever had, restarts included. Silence for `stall_us` ends the
    session if something waits to be acknowledged."""

    def __init__(self, token: int, now: int, *, stall_us: int = limits.LINK_SILENCE_US) -> None:
        self.token, self.stall_us = token, stall_us
        self.peer = 0
        self.damaged = 0  # frames refused since the beginning, for the statistics of the driver
        self.oversized = 0  # messages larger than may be sent, since the beginning
        self._large_count = 0
        self._begin(now)

    def _begin(self, now: int) -> None:
        """A session with nothing sent and nothing received."""
        self.up = False
        self.rtt_us = 0
        self.held_bytes = 0  # what waits or is unacknowledged, came too early, or is being put together
        self._queue: deque[bytes] = deque()
        self._large: deque[Large] = deque()
        self._unacked: dict[int, Unacked] = {}  # by number, ascending; at most LINK_WINDOW_FRAMES
        self._asked = now  # when the first of them was sent
        self._sent = 0
        self._received = 0
        self._early: dict[int, Frame] = {}  # numbers after the next one, at most a window ahead
        self._assembled: dict[int, Parts] = {}
        self._heard = now
        self._spoke = now - limits.LINK_HEARTBEAT_US
        self._ack_at: int | None = None
        self._unsaid = 0  # frames received since this end last said how far
        self._repeat_us = limits.LINK_REPEAT_US
        self._late_at = 0  # no unacknowledged frame is due before it
        self._peer_stamp = self._peer_stamp_at = 0

    @property
    def queued(self) -> int:
        """Messages that wait for the window."""
        return len(self._queue) + len(self._large)

    def close(self, now: int) -> None:
        """Ends the session from this side; the peer learns it from the new token."""
        self.token += 1
        self._begin(now)

    def send(self, message: AnyMessage) -> None:
        """Queues a message; on a link that is down it is dropped, as all that was on its way is. One that the peer
        would not take is not sent: it is counted, for the driver to say so."""
        if not self.up:
            return
        content = encode_message(message)
        size = len(content)
        if size > limits.MESSAGE_BYTES_MAX:
            self.oversized += 1
            return
        self.held_bytes += size + FRAME_OVERHEAD_BYTES
        if size <= limits.CHUNK_BYTES_MAX:
            self._queue.append(content)
        else:
            self._large_count += 1
            self._large.append(Large(self._large_count, content))

    def receive(self, data: bytes | memoryview, now: int) -> list[AnyMessage | Change]:
        """What a frame brings: messages in order, and changes of the link before or between them."""
        try:
            frame = _decoder.decode(unframed(data))
        except (WireError, msgspec.MsgspecError, ValueError, RecursionError):
            self.damaged += 1
            return []
        if frame.token < self.peer:
            return []
        happened: list[AnyMessage | Change] = []
        if frame.token > self.peer:
            if self.up:
                happened.append(Change.DOWN)
                self.close(now)
            self.peer = frame.token
        if frame.stamp > self._peer_stamp:
            self._peer_stamp, self._peer_stamp_at = frame.stamp, now
        if frame.peer != self.token:
            self._spoke = now - limits.LINK_HEARTBEAT_US  # the peer does not know this session: tell it at once
            return happened
        if frame.echo:
            sample = max(now - frame.echo, 1)
            self.rtt_us = (7 * self.rtt_us + sample) // 8 if self.rtt_us else sample
        if not self.up:
            self.up = True
            self._spoke = now - limits.LINK_HEARTBEAT_US
            happened.append(Change.UP)
        self._heard = now
        self._forget(frame.ack)
        if frame.number:
            self._sort(frame, now, happened)
        return happened

    def _forget(self, ack: int) -> None:
        if not self._unacked:
            return
        done = [number for number in self._unacked if number <= ack]
        for number in done:
            self.held_bytes -= self._unacked.pop(number).held
        if done:
            self._repeat_us = max(limits.LINK_REPEAT_US, 3 * self.rtt_us)
            self._late_at = 0

    def _sort(self, frame: Frame, now: int, happened: list[AnyMessage | Change]) -> None:
        if self._ack_at is None:
            self._ack_at = now + limits.LINK_ACK_US
        if frame.number <= self._received:
            self._ack_at = now  # a repeat: the peer misses an acknowledgement
            return
        if frame.number > self._received + limits.LINK_WINDOW_FRAMES:
            return
        self._unsaid += 1
        if self._unsaid >= limits.LINK_WINDOW_FRAMES // 4:
            self._ack_at = now  # the peer's window must not run dry while this end waits for something to say
        if frame.number > self._received + 1:
            self._keep_early(frame)
            return
        self._received += 1
        self._open(frame, happened)
        while (ready := self._early.pop(self._received + 1, None)) is not None:
            self.held_bytes -= _early_bytes(ready)
            self._received += 1
            self._open(ready, happened)

    def _keep_early(self, frame: Frame) -> None:
        if frame.number not in self._early:
            frame.chunk = memoryview(bytes(frame.chunk))  # what it is a view of is larger, and would be kept with it
            self._early[frame.number] = frame
            self.held_bytes += _early_bytes(frame)

    def _open(self, frame: Frame, happened: list[AnyMessage | Change]) -> None:
        contents: list[bytes | bytearray] = list(frame.messages)
        if frame.large:
            contents += self._put_together(frame)
        for content in contents:
            try:
                happened.append(decode_message(content))
            except WireError:
                self.damaged += 1

    def _put_together(self, frame: Frame) -> list[bytearray]:
        """A large message when its last chunk is here; a peer that begins more than it may, or sends more or less than
        it says, is not listened to."""
        number, size, chunk = frame.large, frame.large_bytes, frame.chunk
        if number not in self._assembled:
            if len(self._assembled) >= limits.LARGE_MESSAGES_MAX or not 0 < size <= limits.MESSAGE_BYTES_MAX:
                self.damaged += 1
                return []
            self._assembled[number] = Parts(bytearray(size))
        parts = self._assembled[number]
        end = parts.filled + len(chunk)
        if size != len(parts.content) or not parts.filled < end <= size:
            self.damaged += 1
            return []
        parts.content[parts.filled : end] = chunk
        parts.filled = end
        self.held_bytes += len(chunk)
        if end < size:
            return []
        self.held_bytes -= size
        return [self._assembled.pop(number).content]

    def poll(self, now: int) -> list[AnyMessage | Change]:
        """What silence brings: the link goes down."""
        if not self.up or now < self._silent_at:
            return []
        self.close(now)
        return [Change.DOWN]

    @property
    def _silent_at(self) -> int:
        """When silence from now on would end the session."""
        at = self._heard + limits.LINK_SILENCE_US
        if not self._unacked:
            return at
        return min(at, max(self._heard, self._asked) + max(self.stall_us, STALL_ROUND_TRIPS * self.rtt_us))

    def frames(self, now: int) -> list[bytes]:
        """The frames to send now: repeats that are due, what is queued as far as the window allows, or a sign of
        life."""
        out = [self._sealed(late.frame, now) for late in self._late(now)] if self._unacked else []
        while self.up and (self._queue or self._large) and len(self._unacked) < limits.LINK_WINDOW_FRAMES:
            out.append(self._sealed(self._next(now), now))
        acks = self._ack_at is not None and self._ack_at <= now
        if not out and (acks or now - self._spoke >= limits.LINK_HEARTBEAT_US):
            out.append(self._sealed(Frame(token=self.token, peer=self.peer, number=0, ack=0, stamp=0, echo=0), now))
        return out

    def _late(self, now: int) -> list[Unacked]:
        if now < self._late_at:
            return []
        late = [one for one in self._unacked.values() if now - one.sent >= self._repeat_us]
        if late:
            self._repeat_us = min(2 * self._repeat_us, limits.LINK_REPEAT_MAX_US)
        for one in late:
            one.sent = now
        self._late_at = min(one.sent for one in self._unacked.values()) + self._repeat_us
        return late

    def _next(self, now: int) -> Frame:
        """Small messages up to a chunk's bytes, and a chunk of one large message, in turn."""
        self._sent += 1
        frame = Frame(token=self.token, peer=self.peer, number=self._sent, ack=0, stamp=0, echo=0)
        taken: list[bytes] = []
        room = limits.CHUNK_BYTES_MAX - FRAME_OVERHEAD_BYTES
        while self._queue and (not taken or len(self._queue[0]) + FRAME_OVERHEAD_BYTES <= room):
            taken.append(self._queue.popleft())
            room -= len(taken[-1]) + FRAME_OVERHEAD_BYTES
        frame.messages = tuple(taken)
        held = limits.CHUNK_BYTES_MAX - FRAME_OVERHEAD_BYTES - room
        if self._large:
            held += self._take_chunk(frame)
        if not self._unacked:
            self._asked = now
        self._unacked[frame.number] = Unacked(frame, now, held)
        return frame

    def _take_chunk(self, frame: Frame) -> int:
        """Puts the next chunk into a frame; gives the bytes that go when it is acknowledged."""
        large = self._large.popleft()
        end = large.gone + limits.CHUNK_BYTES_MAX - FRAME_OVERHEAD_BYTES
        frame.large, frame.large_bytes = large.number, len(large.content)
        frame.chunk = memoryview(large.content)[large.gone : end]
        large.gone = end
        if end >= len(large.content):
            return len(frame.chunk) + FRAME_OVERHEAD_BYTES
        self._large.insert(min(len(self._large), limits.LARGE_MESSAGES_MAX - 1), large)
        return len(frame.chunk)

    def _sealed(self, frame: Frame, now: int) -> bytes:
        frame.ack, frame.stamp = self._received, now
        frame.echo = self._peer_stamp + now - self._peer_stamp_at if self._peer_stamp else 0
        self._ack_at, self._spoke, self._unsaid = None, now, 0
        return framed(_encoder.encode(frame))

    def deadline(self) -> int:
        """When `poll` or `frames` next has something to do, if nothing happens before."""
        at = self._spoke + limits.LINK_HEARTBEAT_US
        if self._ack_at is not None and self._ack_at < at:
            at = self._ack_at
        if self.up and (silent_at := self._silent_at) < at:
            at = silent_at
        if self._unacked:
            at = min(at, next(iter(self._unacked.values())).sent + self._repeat_us)
        return at


def _early_bytes(frame: Frame) -> int:
    return len(frame.chunk) + sum(map(len, frame.messages)) + EARLY_OVERHEAD_BYTES * (1 + len(frame.messages))
