"""Whoever misbehaves on a broker's port costs only itself: an honest client beside it is served."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from random import Random

import msgspec
import pytest

from agvent import connect, limits
from agvent.errors import NetworkFault
from agvent.event import Event
from agvent.net.client.deliveries import Delivery
from agvent.net.fleet.fleet import Fleet
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import address_of
from agvent.net.link.dial import ask
from agvent.net.link.introduction import PROTOCOL
from agvent.session.session import Session
from agvent.types import AgventType
from agvent.wire.broker_messages import Hello
from agvent.wire.codec import framed
from agvent.wire.link import Change, Frame, LinkEnd

PART = memoryview(bytes(60_000))
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


def attached(stream: socket.socket) -> tuple[Session, LinkEnd]:
    """A client whose link is up; it thinks that it is attached, and has credit for everything."""
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
    return session, end


def test_whoever_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """It asks and asks and reads no answer: the answers that wait for it have a bound, and its connection ends."""
    monkeypatch.setattr(limits, "CLIENT_BACKLOG_MESSAGES_MAX", 500)
    with dialled(url, CLIENT) as stream:
        session, end = attached(stream)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            flood(stream, session, end, 10_000_000)
    assert is_served(url)


TOO_MUCH = "memory quota exceeded: its principal keeps too much in the broker's memory"


def test_large_answers_that_nobody_reads_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few requests for large answers: the bytes are counted, not the messages, and somebody else is served."""
    monkeypatch.setattr(limits, "PRINCIPAL_KEPT_BYTES_MAX", 8 << 20)
    lines: list[str] = []
    with local_broker(log=lines.append) as url:
        with connect(url, name="ada") as ada:
            ada.advertise(AgventType(name="Big", description="d" * 900_000))
            with dialled(url, CLIENT) as stream:
                session, end = attached(stream)
                for _ in range(20):
                    session.get_advertisements()
                for message in session.take():
                    end.send(message)
                for frame in end.frames(10_000_000):
                    stream.sendall(frame)
                while TOO_MUCH not in reasons(lines, "mallory"):
                    assert ada.publish({"n": 1}).id.sequence > 0
            assert [found.type.name for found in ada.types()] == ["Big"]
        assert is_served(url)


def test_messages_that_are_never_whole_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begun on several connections and never ended: all of that principal's count together."""
    monkeypatch.setattr(limits, "PRINCIPAL_KEPT_BYTES_MAX", 8 << 20)
    lines: list[str] = []
    with local_broker(log=lines.append) as url, ExitStack() as stack:
        streams = [stack.enter_context(dialled(url, CLIENT)) for _ in range(3)]
        ends = [attached(stream)[1] for stream in streams]
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            begin_messages(streams, ends)
        assert sum(end._sent for end in ends) * len(PART) < 20 << 20
        assert is_served(url)
    assert TOO_MUCH in reasons(lines, "mallory")


PART = memoryview(bytes(60_000))


def begin_messages(streams: list[socket.socket], ends: list[LinkEnd]) -> None:
    """Sends parts of a message on each connection in turn."""
    for stream, end in cycle(zip(streams, ends, strict=True)):
        end._sent += 1
        part = Frame(end.token, end.peer, end._sent, 0, 1, 0, (), 1, 16 << 20, PART)
        stream.sendall(framed(msgspec.msgpack.encode(part)))


def reasons(lines: list[str], client: str) -> list[str]:
    """Why the broker ended the links of a client."""
    said = [msgspec.json.decode(line) for line in lines]
    return [one["reason"] for one in said if one["message"] == "link closed" and one["link"].startswith(client)]


OPERATOR = framed(msgspec.json.encode({"agvent": PROTOCOL, "kind": "operator", "name": "operator"}))


def test_an_operator_that_does_not_read_is_not_read(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """It asks for the status again and again: what it has not read has a bound, others are served meanwhile, and after
    a while it is cut off."""
    monkeypatch.setattr(limits, "OPERATOR_SILENCE_SECONDS_MAX", 2.0)
    with dialled(url, OPERATOR) as stream:
        frames_of(stream)
        stream.setblocking(False)
        with pytest.raises(BlockingIOError):
            ask_on(stream)
        assert is_served(url)
        stream.settimeout(10)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            ask_on(stream)
    assert asyncio.run(ask(address_of(url), "status"))["broker"] == "local"


def ask_on(stream: socket.socket) -> None:
    """Asks as long as it can."""
    while True:
        stream.send(framed(b'{"request": "status"}') * 100)


def test_silent_operators_go(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """After a while each, and the longest silent when there are too many."""
    monkeypatch.setattr(limits, "OPERATORS_MAX", 2)
    with dialled(url, OPERATOR) as first, dialled(url, OPERATOR) as second:
        for stream in (first, second):
            frames_of(stream)
        first.sendall(framed(b'{"request": "types"}'))
        frames_of(first)
        assert asyncio.run(ask(address_of(url), "status"))["broker"] == "local"
        assert is_cut_off(second)
        first.sendall(framed(b'{"request": "types"}'))
        frames_of(first)
    monkeypatch.setattr(limits, "OPERATOR_SILENCE_SECONDS_MAX", 0.2)
    with dialled(url, OPERATOR) as silent:
        assert is_cut_off(silent)


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


def test_when_strangers_are_too_many_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that came last stay; and whoever says who it is gets in, whatever strangers there are."""
    monkeypatch.setattr(limits, "STRANGERS_MAX", 20)
    with local_broker() as url, ExitStack() as stack:
        streams = [stack.enter_context(dialled(url)) for _ in range(25)]
        assert [is_cut_off(stream) for stream in streams[:5]] == [True] * 5
        assert is_served(url)
        streams[-1].sendall(CLIENT)
        assert b"welcome" in frames_of(streams[-1])[0]


def test_those_that_are_introduced_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it a client is told; an operator gets in; with another's place free, so does the client."""
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 4)
    with local_broker() as url:
        with connect(url, name="a"), connect(url, name="b"):
            with connect(url, name="c"), pytest.raises(NetworkFault, match="too many connections"):
                connect(url, name="d").__enter__()
            assert len(asyncio.run(ask(address_of(url), "status"))["clients"]) == 3
        assert is_served(url)


STRANGERS = """
import resource, select, socket, sys, time
port, count = int(sys.argv[1]), int(sys.argv[2])
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
streams, events = {}, select.poll()
def connect():
    stream = socket.create_connection(("127.0.0.1", port))
    streams[stream.fileno()] = stream
    events.register(stream, select.POLLIN)
for _ in range(count):
    connect()
print("all", flush=True)
while True:
    for number, _ in events.poll(10)[:20]:
        events.unregister(number)
        streams.pop(number).close()
        connect()
    time.sleep(0.01)
"""
"""Has so many connections, says nothing on them, and has another for each that is ended, some hundred a second."""


def test_ten_thousand_strangers_lock_nobody_out(tmp_path: Path) -> None:
    """From five processes, and always new ones: a client that is there publishes and receives, another one gets in, and
    so does an operator."""
    each = 2_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < each + 100:
        pytest.skip(f"it takes {each + 100} descriptors a process: ulimit -Hn says {hard}")
    fleet = Fleet(tmp_path, [], ["B1"], first_port=0)
    fleet.start_all()
    address = fleet.members["B1"].address
    strangers: list[subprocess.Popen[bytes]] = []
    try:
        fleet.wait_until_up()
        with connect(str(address), name="ada") as ada:
            mine = ada.subscribe("mine = TRUE", id="mine")
            command = [sys.executable, "-c", STRANGERS, str(address.port), str(each)]
            strangers += [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(5)]
            for stranger in strangers:
                assert stranger.stdout is not None
                assert stranger.stdout.readline() == b"all\n"
            ends = time.monotonic() + 8
            while time.monotonic() < ends:
                receipt = ada.publish({"mine": True})
                item = mine.next(10)
                assert isinstance(item, Delivery)
                assert item.id == receipt.id
                assert is_served(str(address))
                assert asyncio.run(ask(address, "status"))["broker"] == "B1"
        assert [stranger.poll() for stranger in strangers] == [None] * 5
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.communicate()
        fleet.stop()


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
