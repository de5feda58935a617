"""What a broker says of itself: figures over HTTP, lines of JSON."""

from __future__ import annotations

import asyncio
import socket
import urllib.error
import urllib.request
from pathlib import Path

import msgspec
import pytest

from agvent import connect, limits
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import Address
from agvent.net.server.config import Config
from agvent.net.server.logs import Log
from agvent.net.server.server import BrokerServer


def test_figures_are_there_for_machines(tmp_path: Path) -> None:
    """Prometheus' text and JSON say the same; what is not asked well gets no figures."""

    def fetched(port: int, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    async def story() -> None:
        config = Config(
            name="B1",
            listen=Address("127.0.0.1", 0),
            data=tmp_path,
            neighbours={"B2": Address("127.0.0.1", 1)},
            admin=Address("127.0.0.1", 0),
        )
        server = BrokerServer(config, write=lambda _: None)
        await server.start()
        assert server.admin is not None
        port = server.admin.port
        async with connect(f"127.0.0.1:{server.port}", name="ada") as ada:
            await ada.subscribe()
            await ada.publish_batch([{"n": n} for n in range(3)])
            text = await asyncio.to_thread(fetched, port, "/metrics")
            found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
            expected = {
                "agvent_events_entered_total": "3",
                "agvent_deliveries_queued_total": "3",
                "agvent_subscriptions": "1",
                "agvent_clients_attached": "1",
                "agvent_deliveries_unacknowledged": "3",
                'agvent_link_up{neighbour="B2"}': "0",
                "agvent_disk_full": "0",
                'agvent_fast_events_lost_total{reason="crash"}': "0",
            }
            assert {name: found[name] for name in expected} == expected
            status = msgspec.json.decode(await asyncio.to_thread(fetched, port, "/status"))
            assert (status["broker"], status["counts"]["events_entered"]) == ("B1", 3)
            assert await asyncio.to_thread(fetched, port, "/health") == "ok\n"
            with pytest.raises(urllib.error.HTTPError, match="404"):
                await asyncio.to_thread(fetched, port, "/etc/passwd")
            assert (await asyncio.to_thread(_raw, port, b"POST / HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 405")
            assert await asyncio.to_thread(_raw, port, b"x" * 100_000) == b""
        await server.stop()

    asyncio.run(story())


def _raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as stream:
        try:
            stream.sendall(request)
            return stream.recv(1000)
        except ConnectionError:
            return b""


def test_what_happens_is_a_line_of_json() -> None:
    """Start, links, strangers and the stop, each with its reason."""
    lines: list[str] = []
    with local_broker(log=lines.append) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as stream:
            stream.sendall(b"\xff" * 8)
            assert stream.recv(10) == b""
        with connect(url, name="ada"):
            pass
    said = [msgspec.json.decode(line) for line in lines]
    assert [line["message"] for line in said] == [
        "started",
        "connection closed before hello",
        "link opened",
        "link closed",
        "stopped",
    ]
    assert said[1]["reason"] == "a frame of 4294967295 bytes, at most 135168 are read"
    assert {line["broker"] for line in said} == {"local"}


def test_a_flood_of_lines_is_counted_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound of a second, lines are left out, and the next second says how many."""
    lines: list[str] = []
    log = Log("B1", lines.append)
    monkeypatch.setattr("time.monotonic", lambda: 5.5)
    for _ in range(limits.LOG_LINES_PER_SECOND_MAX + 7):
        log.say("connection closed before hello")
    monkeypatch.setattr("time.monotonic", lambda: 6.5)
    log.say("stopped")
    said = [msgspec.json.decode(line) for line in lines]
    assert len(said) == limits.LOG_LINES_PER_SECOND_MAX + 2
    assert [(line["message"], line.get("suppressed"), line.get("count")) for line in said[-2:]] == [
        ("lines suppressed", "connection closed before hello", 7),
        ("stopped", None, None),
    ]
