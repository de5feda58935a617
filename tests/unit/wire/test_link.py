"""One end of a link against another, over a line that the test controls."""

from __future__ import annotations

from random import Random

import pytest

from agvent import limits
from agvent.wire.client_messages import Done, Publish
from agvent.wire.codec import encode_message, framed
from agvent.wire.link import Change, Frame, LinkEnd, _encoder
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication

MS = 1_000


class Line:
    """Two ends and the frames between them; every frame takes a millisecond."""

    def __init__(self, *, loss: float = 0.0, doubling: float = 0.0, flips: float = 0.0, seed: int = 0) -> None:
        self.now = MS
        self.ends = (LinkEnd(1, self.now), LinkEnd(1, self.now))
        self.got: tuple[list[AnyMessage | Change], list[AnyMessage | Change]] = ([], [])
        self.random = Random(seed)
        self.loss, self.doubling, self.flips = loss, doubling, flips
        self.frames = 0

    def tick(self) -> None:
        """A millisecond passes: what each end sends reaches the other, in any order."""
        self.now += MS
        for side, end in enumerate(self.ends):
            self.got[side].extend(end.poll(self.now))
        for side, end in enumerate(self.ends):
            sent = [self._spoiled(frame) for frame in end.frames(self.now) for _ in range(self._copies())]
            self.frames += len(sent)
            self.random.shuffle(sent)
            for frame in sent:
                self.got[1 - side].extend(self.ends[1 - side].receive(frame, self.now))

    def _copies(self) -> int:
        if self.random.random() < self.loss:
            return 0
        return 2 if self.random.random() < self.doubling else 1

    def _spoiled(self, frame: bytes) -> bytes:
        if self.random.random() >= self.flips:
            return frame
        at = self.random.randrange(len(frame))
        return frame[:at] + bytes([frame[at] ^ 1 << self.random.randrange(8)]) + frame[at + 1 :]

    def run(self, ms: int) -> None:
        for _ in range(ms):
            self.tick()


def test_both_ends_come_up() -> None:
    """Two ends that hear each other are up within two exchanges, and have measured the round trip."""
    line = Line()
    line.run(4)
    assert line.got == ([Change.UP], [Change.UP])
    assert all(0 < end.rtt_us <= 2 * MS for end in line.ends)


@pytest.mark.parametrize("seed", range(5))
def test_messages_arrive_once_and_in_order(seed: int) -> None:
    """Over a line that loses, doubles, shuffles and damages frames every message arrives once, in order."""
    line = Line(loss=0.2, doubling=0.2, flips=0.1, seed=seed)
    line.run(3_000)
    sent = [Done(number) for number in range(1, 301)]
    for message in sent:
        line.ends[0].send(message)
        line.tick()
    line.run(20_000)
    assert [one for one in line.got[1] if isinstance(one, Done)] == sent
    assert line.ends[1].damaged > 0


def test_a_large_message_goes_beside_small_ones() -> None:
    """Of a large message and small ones queued after it, the small ones arrive first; both are whole."""
    line = Line()
    line.run(4)
    large = Publish(Publication("p", 1, Random(1).randbytes(1_000_000)))
    line.ends[0].send(large)
    for number in range(1, 11):
        line.ends[0].send(Done(number))
    line.tick()
    assert line.got[1] == [Change.UP, *(Done(number) for number in range(1, 11)), large]
    assert line.ends[0].queued == 0


def test_no_more_than_a_window_is_under_way() -> None:
    """An end whose peer acknowledges nothing stops at the window, and goes on when it is acknowledged."""
    line = Line()
    line.run(4)
    line.ends[0].send(Publish(Publication("p", 1, bytes(10_000_000))))
    frames = line.ends[0].frames(line.now)
    assert len(frames) == limits.LINK_WINDOW_FRAMES
    assert line.ends[0].frames(line.now + 1) == []
    for frame in frames:
        line.ends[1].receive(frame, line.now)
    line.run(50)
    assert [type(one) for one in line.got[1]] == [Change, Publish]


def test_silence_takes_a_link_down() -> None:
    """An end that hears nothing for LINK_SILENCE_US is down, and up again when it hears."""
    line = Line()
    line.run(4)
    line.loss = 1.0
    line.run(limits.LINK_SILENCE_US // MS + 10)
    assert line.got == ([Change.UP, Change.DOWN], [Change.UP, Change.DOWN])
    line.loss = 0.0
    line.run(2_100)
    assert line.got == ([Change.UP, Change.DOWN, Change.UP],) * 2


def test_a_peer_that_does_not_acknowledge_is_down_sooner_than_one_that_was_not_asked() -> None:
    """Between brokers: a second and a half of silence if a frame waits for its acknowledgement, else as for any."""
    for is_asked, at in ((True, limits.LINK_STALL_US), (False, limits.LINK_SILENCE_US)):
        line = Line()
        line.ends = (LinkEnd(1, line.now, stall_us=limits.LINK_STALL_US), line.ends[1])
        line.run(100)
        line.loss = 1.0
        if is_asked:
            line.ends[0].send(Done(1))
        silent_since = line.now
        while line.ends[0].up:
            line.tick()
        assert at - limits.LINK_HEARTBEAT_US <= line.now - silent_since <= at + MS
        assert line.got[0][-1] is Change.DOWN


def test_a_peer_far_away_has_some_round_trips_for_its_acknowledgement() -> None:
    """A link of a second's round trip stays up, though four of them are longer than a stall may be."""
    end, now = LinkEnd(1, 0, stall_us=100 * MS), 1
    far = LinkEnd(1, 0)
    under_way: list[tuple[int, int, bytes]] = []
    for now in range(1, 20_000 * MS, 10 * MS):
        if now % (2_000 * MS) == 1:
            end.send(Done(1))
        for side, one in ((1, end), (0, far)):
            under_way += [(now + 500 * MS, side, frame) for frame in one.frames(now)]
        for due in [due for due in under_way if due[0] <= now]:
            under_way.remove(due)
            (end, far)[due[1]].receive(due[2], now)
        assert Change.DOWN not in end.poll(now)
    assert end.up


def test_an_idle_link_stays_up_by_signs_of_life() -> None:
    """Where nothing is sent, ends show life about once a second, and no more."""
    line = Line()
    line.run(10_000)
    assert line.got == ([Change.UP], [Change.UP])
    assert line.frames < 50


def test_a_restarted_peer_is_a_new_session() -> None:
    """A peer with a later token takes the link down and up; what was queued for the old one is dropped."""
    line = Line()
    line.run(4)
    line.ends = (line.ends[0], LinkEnd(1 << 20, line.now))
    line.ends[0].send(Done(1))
    line.run(2_000)
    assert line.got[0] == [Change.UP, Change.DOWN, Change.UP]
    line.ends[0].send(Done(2))
    line.run(10)
    assert line.got[1] == [Change.UP, Change.UP, Done(2)]


@pytest.mark.parametrize("chunks", [[b""], [b"x" * 11], [b"x" * 5, b"x" * 6], [b"x" * 5, b""]])
def test_chunks_that_are_none_of_what_was_said_are_damage(chunks: list[bytes]) -> None:
    """An empty one, or more than the message has: nothing of it is kept."""
    end, now = LinkEnd(5, 0), 1
    end.receive(framed(_encoder.encode(Frame(9, 5, 0, 0, 1, 0))), now)
    for number, chunk in enumerate(chunks, 1):
        end.receive(framed(_encoder.encode(Frame(9, 5, number, 0, 1, 0, (), 1, 10, memoryview(chunk)))), now)
    assert end.damaged == 1


def test_what_the_peer_would_not_take_is_not_sent() -> None:
    """A message beyond the bound is counted, and what follows it arrives."""
    line = Line()
    line.run(4)
    line.ends[0].send(Publish(Publication("p", 1, bytes(limits.MESSAGE_BYTES_MAX))))
    line.ends[0].send(Done(1))
    line.run(10)
    assert (line.ends[0].oversized, line.ends[1].damaged, line.got[1]) == (1, 0, [Change.UP, Done(1)])


def test_a_message_that_is_none_takes_no_other_with_it() -> None:
    """Of a frame's messages those that can be read are given, also the large one that ends in it; the rest is
    counted."""
    end, now = LinkEnd(5, 0), 1
    end.receive(framed(_encoder.encode(Frame(9, 5, 0, 0, 1, 0))), now)
    first, second, large = (encode_message(Done(number)) for number in (1, 2, 3))
    messages = (first, b"\xc1", second, b"")
    frame = Frame(9, 5, 1, 0, 1, 0, messages, 1, len(large), memoryview(large))
    assert end.receive(framed(_encoder.encode(frame)), now) == [Done(1), Done(2), Done(3)]
    assert end.damaged == 2


def test_what_an_end_keeps_is_counted() -> None:
    """Bytes that wait, that are unacknowledged, that came too early or are parts of a message; in the end, none."""
    line = Line(loss=0.2, doubling=0.2, seed=3)
    line.run(3_000)
    for number in range(1, 101):
        line.ends[0].send(Done(number))
        line.ends[0].send(Publish(Publication("p", number, bytes(100_000))))
    assert line.ends[0].held_bytes > 10_000_000
    line.run(200)
    assert line.ends[1].held_bytes > 0
    line.run(60_000)
    assert len(line.got[1]) == 201
    assert [end.held_bytes for end in line.ends] == [0, 0]
