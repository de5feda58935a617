"""Whoever misbehaves on a broker's port costs only itself: an honest client beside it is served."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import msgspec
import pytest

from agvent import connect, limits
from agvent.event import Event
from agvent.net.address import address_of
from agvent.net.introduction import PROTOCOL
from agvent.net.local import local_broker
from agvent.session.session import Session
from agvent.wire.broker_messages import Hello
from agvent.wire.codec import framed
from agvent.wire.link import Change, LinkEnd

CLIENT = framed(msgspec.json.encode({"agvent": PROTOCOL, "kind": "client", "name": "mallory"}))


@pytest.fixture
def url() -> Iterator[str]:
    with local_broker() as url:
        yield url


@contextmanager
def dialled(url: str, *first: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(address_of(url), timeout=10) as stream:
        for data in first:
            stream.sendall(data)
        yield stream


def is_cut_off(stream: socket.socket) -> bool:
    """Does the broker end the connection? What it says before is read and ignored."""
    try:
        while stream.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def is_served(url: str) -> bool:
    with connect(url) as honest:
        subscription = honest.subscribe()
        receipt = honest.publish({"n": 1})
        item = subscription.next(10)
        return item is not None and item.id == receipt.id  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff" * 8,
        b"\x00\x00\x00\x00\x12\x34\x56\x78",
        framed(b'{"agvent": 9, "kind": "client", "name": "x"}'),
        framed(b"[" * 60_000),
        CLIENT + framed(b"no frame of a link"),
        CLIENT + framed(msgspec.msgpack.encode([1, 0, 0, 0, 0, 0, [b"\xc1" * 10], 0, 0, b""]))[:-1] + b"!",
    ],
    ids=["http", "huge", "checksum", "version", "nested", "no link", "damaged"],
)
def test_what_is_no_protocol_is_cut_off(url: str, said: bytes) -> None:
    """The connection ends, and others go on."""
    with dialled(url, said) as stream:
        assert is_cut_off(stream)
    assert is_served(url)


def test_random_bytes_are_cut_off(url: str) -> None:
    """Two hundred connections of random bytes, some after a good introduction."""
    random = Random(1)
    for number in range(200):
        with dialled(url, *([CLIENT] if number % 2 else []), random.randbytes(random.randrange(8, 3_000))) as stream:
            stream.shutdown(socket.SHUT_WR)
            assert is_cut_off(stream)
    assert is_served(url)


def test_whoever_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """A connection that does not introduce itself ends; so does one that sends half a frame."""
    monkeypatch.setattr(limits, "INTRODUCTION_SECONDS_MAX", 0.2)
    with dialled(url) as silent, dialled(url, CLIENT[:20]) as half:
        assert is_cut_off(silent)
        assert is_cut_off(half)
    assert is_served(url)


def test_a_link_that_falls_silent_is_cut_off(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Introduced, and then half open: the broker notices by the silence."""
    monkeypatch.setattr(limits, "LINK_SILENCE_US", 300_000)
    with dialled(url, CLIENT) as stream:
        end = LinkEnd(1, 0)
        up = False
        while not up:
            up = Change.UP in [one for frame in frames_of(stream) for one in end.receive(frame, 1)]
            for frame in end.frames(2_000_000):
                stream.sendall(frame)
        assert is_cut_off(stream)


def frames_of(stream: socket.socket) -> list[bytes]:
    """One frame from the stream."""
    prefix = stream.recv(8, socket.MSG_WAITALL)
    return [prefix + stream.recv(int.from_bytes(prefix[:4], "big"), socket.MSG_WAITALL)]


def test_whoever_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """It asks and asks and reads no answer: the answers that wait for it have a bound, and its connection ends."""
    monkeypatch.setattr(limits, "CLIENT_BACKLOG_MESSAGES_MAX", 500)
    with dialled(url, CLIENT) as stream:
        session, end, now = Session("mallory"), LinkEnd(1, 0), 0
        end.receive(frames_of(stream)[0], now)  # the welcome is no frame of a link, and is counted as damaged
        while not end.up:
            now += 2_000_000
            if Change.UP in end.receive(frames_of(stream)[0], now):
                session.link_up()
            for message in session.take():
                end.send(message)
            for frame in end.frames(now):
                stream.sendall(frame)
        session.attached, session.credit = True, 1 << 30
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            flood(stream, session, end, now)
    assert is_served(url)


def flood(stream: socket.socket, session: Session, end: LinkEnd, now: int) -> None:
    """Sends on without waiting for anything."""
    while True:
        session.get_advertisements()
        session.publish(Event(attributes={"x": "y" * 500}))
        for message in session.take():
            end.send(message)
        now += 5_000_000
        end._unacked.clear()
        for frame in end.frames(now):
            stream.sendall(frame)


def test_connections_have_a_bound(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Beyond it a connection ends at once; when others have gone, one is welcome again."""
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 20)
    streams = [socket.create_connection(address_of(url), timeout=10) for _ in range(25)]
    assert [is_cut_off(stream) for stream in streams[20:]] == [True] * 5
    for stream in streams:
        stream.close()
    assert is_served(url)


def test_replayed_frames_change_nothing(url: str) -> None:
    """Frames of another connection carry its token: on a new one they are ignored, and nothing is published twice."""
    with connect(url, name="ada") as ada:
        subscription = ada.subscribe(id="all")
        recorded = record(url)
        assert subscription.next(10) is not None
        with dialled(url, CLIENT) as stream:
            for frame in recorded:
                stream.sendall(frame)
            stream.shutdown(socket.SHUT_WR)
            assert is_cut_off(stream)
        assert subscription.next(0.2) is None


def record(url: str) -> list[bytes]:
    """The frames of a client that publishes an event."""
    sent: list[bytes] = []
    with dialled(url, CLIENT) as stream:
        session, end, now = Session("mallory"), LinkEnd(1, 0), 0
        session.publish(Event(attributes={"n": 1}))
        while session.unacknowledged:
            now += 1_000_000
            for one in end.receive(frames_of(stream)[0], now):
                if one is Change.UP:
                    session.link_up()
                elif not isinstance(one, Change):
                    session.receive(one)
            for message in session.take():
                end.send(message)
            for frame in end.frames(now):
                sent.append(frame)
                stream.sendall(frame)
    return sent


def test_a_client_cannot_pass_for_a_broker(url: str) -> None:
    """A Hello on a client's link makes it no neighbour."""
    with dialled(url, CLIENT) as stream:
        end, now = LinkEnd(1, 0), 0
        while not end.up:
            now += 1_000_000
            end.receive(frames_of(stream)[0], now)
            for frame in end.frames(now):
                stream.sendall(frame)
        end.send(Hello("B9", 1, {}))
        for frame in end.frames(now):
            stream.sendall(frame)
        stream.shutdown(socket.SHUT_WR)
        assert is_cut_off(stream)
    with connect(url) as honest:
        assert honest.client.broker == "local"


def test_who_says_too_much_is_not_read_for_a_while(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its events come, as many as it may publish in a second; an honest client beside it does not wait."""
    monkeypatch.setattr(limits, "PRINCIPAL_BYTES_PER_SECOND_MAX", 20_000)
    with connect(url, name="mallory") as mallory:
        for _ in range(4):
            mallory.publish({"raw": bytes(25_000)}, fast=True)
        began = time.monotonic()
        mallory.publish({"n": 1})
        assert time.monotonic() - began > 0.5
        assert is_served(url)
