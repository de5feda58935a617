"""A link's end that is watched: what it gives its user, and what it puts on the line, are held to the link's contract.

To its user: up and down come in turn, and between them each message once, unchanged and in the order it was sent, of
this session and of no other. A message of more than a chunk may be overtaken.

On the line, as the head of wire/link.py has it: frames have numbers without a hole, at most a window beyond what the
peer acknowledged, and a repeat is what was sent before. An acknowledgement names exactly what came without a hole.
Repeats wait three round trips at first, then twice as long each time. Nothing is said without a reason: a message, a
frame to acknowledge, a peer that does not know the session, or a second of silence. A link is given up when it has been
silent for as long as limits.py says, not before and not later.

The watch knows what really happened to each frame: when it was sent, when it arrived, whether it was damaged. Nothing
of the judged end's own state counts but its tokens, which are on the line, and `rtt_us`, which is judged too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from agvent import limits
from agvent.wire.codec import PREFIX, encode_message
from agvent.wire.link import STALL_ROUND_TRIPS, Change, Frame, LinkEnd
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    from agvent.sim.nodes import Node
    from agvent.sim.world import World

LATE_US: Final = 1_000
"""How late a driver may be: a node of the world asks at the microsecond."""

ROUNDING_US: Final = 16
"""A round trip is smoothed with whole microseconds."""

UP: Final = Change.UP  # an enum's member costs as much as a call to look up
DOWN: Final = Change.DOWN

AWAKE_US: Final = 2 * limits.LINK_SILENCE_US
"""A node that was paused may be late with everything for so long."""

_decoder = msgspec.msgpack.Decoder(Frame)

SessionKey = tuple[str, str, int, int]
"""Who says it to whom, and the tokens of both."""


class SaidMessage(NamedTuple):
    """A message that was sent, and has not been given yet."""

    at: int
    message: AnyMessage


class SentFrame(msgspec.Struct):
    """A numbered frame: what it carries, and when it was last sent."""

    payload: tuple[object, ...]
    at: int


class SeenFrame(NamedTuple):
    """What a frame on the line says, and when it was sent."""

    frame: Frame
    at: int


class Delays(msgspec.Struct):
    """The least and the most that a frame took on a path."""

    least: int = 1 << 62
    most: int = 0


class LineState(msgspec.Struct):
    """What is on the line from one end in one session, and what came to it."""

    token: int
    sent: dict[int, SentFrame] = {}  # what is not acknowledged
    last: int = 0
    acked: int = 0
    asked: int = 0  # when the first of them was sent
    repeat_us: int = limits.LINK_REPEAT_US
    received: int = 0  # everything up to it came
    early: set[int] = set()
    heard: int = 0


class LinkWatch:
    """All that is known of the links of a world, and what was wrong with them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.said: dict[SessionKey, deque[SaidMessage]] = {}
        self.frames: dict[bytes, SeenFrame] = {}
        self.delays: dict[tuple[str, str], Delays] = {}
        self.found: list[str] = []

    def delays_of(self, source: str, target: str) -> Delays:
        return self.delays.setdefault((source, target), Delays())


class WatchedEnd(LinkEnd):
    """An end of a node to a peer."""

    def __init__(self, watch: LinkWatch, node: Node, peer: str, token: int, now: int, *, stall_us: int) -> None:
        super().__init__(token, now, stall_us=stall_us)
        self.watch, self.node, self.peer_name = watch, node, peer
        self.is_up_for_user = False
        self.sessions: set[tuple[int, int]] = set()  # that were up
        self.damaged_frames = 0  # that arrived
        self.line = LineState(token, sent={}, early=set(), heard=now)
        self.spoke = 0
        self.has_reason = True
        self.ack_due: int | None = None

    def _wrong(self, what: str) -> None:
        at = (self.watch.world.now - self.watch.world.began) / 1e6
        self.watch.found.append(f"{self.node.name} – {self.peer_name} at {at:.6f} s: {what}")

    @property
    def is_awake(self) -> bool:
        """Was its node never paused in the last seconds?"""
        return self.watch.world.now - self.node.resumed_at > AWAKE_US

    # What its user gives and gets

    def out_key(self) -> SessionKey:
        return self.node.name, self.peer_name, self.token, self.peer

    def in_key(self) -> SessionKey:
        return self.peer_name, self.node.name, self.peer, self.token

    def send(self, message: AnyMessage) -> None:
        super().send(message)
        if self.up:
            said = self.watch.said.setdefault(self.out_key(), deque())
            said.append(SaidMessage(self.watch.world.now, message))

    def _give(self, happened: list[AnyMessage | Change]) -> None:
        for one in happened:
            if one is UP:
                if self.is_up_for_user:
                    self._wrong("the link is up again, and was not said to be down")
                if (self.token, self.peer) in self.sessions:
                    self._wrong("a session that had ended begins again")
                self.sessions.add((self.token, self.peer))
                self.is_up_for_user = True
            elif one is DOWN:
                if not self.is_up_for_user:
                    self._wrong("the link is down, and was not up")
                self.is_up_for_user = False
            else:
                self._give_message(one)
        if self.up != self.is_up_for_user:
            self._wrong(f"the link is {'up' if self.up else 'down'}, and its user was told otherwise")
            self.is_up_for_user = self.up

    def _give_message(self, message: AnyMessage) -> None:
        name = type(message).__name__
        said = self.watch.said.get(self.in_key())
        if not self.is_up_for_user or said is None:
            self._wrong(f"{name} came on a link that is down")
            return
        if said and said[0].message == message:
            said.popleft()
            return
        content = encode_message(message)
        for place, one in enumerate(said):
            due = encode_message(one.message)
            if due == content:
                del said[place]
                return
            if len(due) <= limits.CHUNK_BYTES_MAX < len(content):
                continue  # it is large, and may overtake none of those before it, but these may overtake it
            if len(due) <= limits.CHUNK_BYTES_MAX:
                break
        self._wrong(f"{name} came out of turn, a second time or not as it was sent")

    # Time and the line

    def receive(self, data: bytes | memoryview, now: int) -> list[AnyMessage | Change]:
        self._expect_awake(now)
        happened = super().receive(data, now)
        seen = self.watch.frames.get(bytes(data))
        if self.line.token != self.token:
            self._begin_line(now)
        if seen is None:
            self.damaged_frames += 1
        else:
            self._came(seen, now, is_up=UP in happened)
        self._give(happened)
        return happened

    def poll(self, now: int) -> list[AnyMessage | Change]:
        silent_at = self._due_at()
        was_up = self.is_up_for_user
        happened = super().poll(now)
        if happened and was_up and now < silent_at:
            self._wrong(f"given up {silent_at - now} µs too early")
        if happened and was_up and now > silent_at + LATE_US and self.is_awake:
            self._wrong(f"given up {now - silent_at} µs too late")
        if not happened:
            self._expect_awake(now)
        self._give(happened)
        if self.line.token != self.token:
            self._begin_line(now)
        return happened

    def frames(self, now: int) -> list[bytes]:
        out = super().frames(now)
        late = False
        for data in out:
            frame = _decoder.decode(memoryview(data)[PREFIX.size :])
            self.watch.frames[data] = SeenFrame(frame, now)
            late = self._said_on_line(frame, now) or late
        if late:
            self.line.repeat_us = min(2 * self.line.repeat_us, limits.LINK_REPEAT_MAX_US)
        if self.is_up_for_user and self.is_awake:
            self._expect_repeats(now)
        return out

    def _begin_line(self, now: int) -> None:
        self.line = LineState(self.token, sent={}, early=set(), heard=now)
        self.has_reason, self.ack_due = True, None

    def _due_at(self) -> int:
        """When silence ends the session."""
        line = self.line
        at = line.heard + limits.LINK_SILENCE_US
        if line.last == line.acked:
            return at
        stall_us = max(self.stall_us, STALL_ROUND_TRIPS * self.rtt_us)
        return min(at, max(line.heard, line.asked) + stall_us)

    def _expect_awake(self, now: int) -> None:
        if self.is_up_for_user and now > self._due_at() + LATE_US and self.is_awake:
            self._wrong(f"not given up after {now - self.line.heard} µs of silence")
            self.line.heard = now

    def _expect_repeats(self, now: int) -> None:
        line = self.line
        if line.sent:
            first = next(iter(line.sent.values()))
            if now - first.at > line.repeat_us + LATE_US:
                self._wrong(f"frame {next(iter(line.sent))} was not repeated for {now - first.at} µs")
                first.at = now

    def _came(self, seen: SeenFrame, now: int, *, is_up: bool) -> None:
        """A whole frame came."""
        line, (frame, at) = self.line, seen
        delays = self.watch.delays_of(self.peer_name, self.node.name)
        delays.least, delays.most = min(delays.least, now - at), max(delays.most, now - at)
        is_ours = (frame.token, frame.peer) == (self.peer, self.token)
        self.has_reason = self.has_reason or is_up or frame.peer != self.token
        if not is_ours:
            if is_up:
                self._wrong("taken up by a frame of another session")
            return
        line.heard = now
        self._expect_round_trip()
        if frame.ack > line.acked:
            for number in range(line.acked + 1, frame.ack + 1):
                line.sent.pop(number, None)
            line.acked, line.repeat_us = frame.ack, max(limits.LINK_REPEAT_US, 3 * self.rtt_us)
        if frame.number:
            self._came_numbered(frame.number, now)

    def _came_numbered(self, number: int, now: int) -> None:
        line, self.has_reason = self.line, True
        due = now if number <= line.received else now + limits.LINK_ACK_US
        self.ack_due = due if self.ack_due is None else min(self.ack_due, due)
        if line.received < number <= line.received + limits.LINK_WINDOW_FRAMES:
            line.early.add(number)
        while line.received + 1 in line.early:
            line.received += 1
            line.early.remove(line.received)

    def _expect_round_trip(self) -> None:
        there = self.watch.delays_of(self.node.name, self.peer_name)
        back = self.watch.delays_of(self.peer_name, self.node.name)
        least, most = there.least + back.least - ROUNDING_US, there.most + back.most + ROUNDING_US
        if self.rtt_us and not least <= self.rtt_us <= most:
            self._wrong(f"measured a round trip of {self.rtt_us} µs, it is {least} to {most} µs")

    def _said_on_line(self, frame: Frame, now: int) -> bool:
        """A frame goes out; says whether it is a repeat."""
        line = self.line
        if (frame.token, frame.peer) != (self.token, self.peer):
            self._wrong(f"says the tokens {frame.token} and {frame.peer}")
        if frame.ack != line.received:
            self._wrong(f"acknowledges frame {frame.ack}, it has {line.received}")
        if self.is_awake and self.spoke:
            self._expect_in_time(now)
        is_repeat = False
        if frame.number:
            is_repeat = self._said_numbered(frame, now)
        elif not self.has_reason and now - self.spoke < limits.LINK_HEARTBEAT_US:
            self._wrong(f"says that it is there {now - self.spoke} µs after its last frame")
        self.spoke, self.has_reason, self.ack_due = now, False, None
        return is_repeat

    def _expect_in_time(self, now: int) -> None:
        if now - self.spoke > limits.LINK_HEARTBEAT_US + LATE_US:
            self._wrong(f"said nothing for {now - self.spoke} µs")
        elif self.ack_due is not None and now > self.ack_due + LATE_US:
            self._wrong(f"acknowledged {now - self.ack_due} µs too late")

    def _said_numbered(self, frame: Frame, now: int) -> bool:
        line = self.line
        payload = (frame.messages, frame.large, frame.large_bytes, bytes(frame.chunk))
        if frame.number == line.last + 1:
            if frame.number - line.acked > limits.LINK_WINDOW_FRAMES:
                self._wrong(f"sends frame {frame.number}, {line.acked} is acknowledged")
            if line.last == line.acked:
                line.asked = now
            line.last = frame.number
            line.sent[frame.number] = SentFrame(payload, now)
            return False
        before = line.sent.get(frame.number)
        if before is None:
            self._wrong(f"sends frame {frame.number} after {line.last}, of which {line.acked} are acknowledged")
            return False
        if before.payload != payload:
            self._wrong(f"repeats frame {frame.number} with other content")
        if now - before.at < line.repeat_us:
            self._wrong(f"repeats frame {frame.number} after {now - before.at} µs, not {line.repeat_us}")
        before.at = now
        return True

    def has_all(self) -> bool:
        """Is nothing of this session on its way, either way?"""
        line = self.line
        is_said = self.watch.said.get(self.out_key()) or self.watch.said.get(self.in_key())
        return not is_said and line.last == line.acked and not line.early
