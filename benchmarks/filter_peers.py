"""Brokers that look at what an event says: ActiveMQ's JMS selectors over STOMP, RabbitMQ's headers exchange over AMQP.

Each event is for exactly one of the filters: `k = 'k7' AND city = 'Oslo'`, the two equalities that both can say.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from random import Random
from typing import Any, Final

import uvloop

from broker_network import Run, Stopwatch
from peer_process import Peer, free_port, started

CITY: Final = "Oslo"
ACTIVEMQ: Final = "/usr/share/activemq/lib"
RABBITMQ: Final = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def keys(filters: int, count: int) -> list[str]:
    """The key of each event, one of the filters'."""
    random = Random(1)
    return [f"k{random.randrange(filters)}" for _ in range(count)]


def activemq(filters: int, count: int) -> Run:
    def make(_: Path, port: int) -> tuple[list[str], dict[str, str]]:
        broker = f"broker:(stomp://127.0.0.1:{port})?persistent=false&useJmx=false"
        main = "org.apache.activemq.console.command.ShellCommand"
        return ["java", "-cp", f"{ACTIVEMQ}/*:{ACTIVEMQ}/optional/*", main, "start", broker], {}

    with started(make) as (port, pids):
        return uvloop.run(_activemq(port, pids, filters, count))


class Stomp(asyncio.Protocol):
    """A connection that counts the frames that come: each ends with a zero."""

    def __init__(self) -> None:
        self.left = 0
        self.came = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def expect(self, count: int) -> None:
        self.left += count
        self.came.clear()

    def data_received(self, data: bytes) -> None:
        self.left -= data.count(b"\0")
        if self.left <= 0:
            self.came.set()

    def say(self, verb: str, body: str = "", **headers: str) -> None:
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        self.transport.write(f"{verb}\n{lines}\n{body}\0".encode())


async def _activemq(port: int, pids: list[int], filters: int, count: int) -> Run:
    loop = asyncio.get_running_loop()
    _, publisher = await loop.create_connection(Stomp, "127.0.0.1", port)
    _, subscriber = await loop.create_connection(Stomp, "127.0.0.1", port)
    for one in (publisher, subscriber):
        one.expect(1)
        one.say("CONNECT", **{"accept-version": "1.1", "host": "localhost"})
        await one.came.wait()
    for number in range(filters):
        selector = f"k = 'k{number}' AND city = '{CITY}'"
        wanted = {"id": str(number), "destination": "/topic/t", "selector": selector, "receipt": str(number)}
        subscriber.expect(1)
        subscriber.say("SUBSCRIBE", **wanted)
    await subscriber.came.wait()
    runs = []
    for events in (count // 8, count):
        subscriber.expect(events)
        stopwatch = Stopwatch(pids)
        for key in keys(filters, events):
            publisher.say("SEND", "x", destination="/topic/t", k=key, city=CITY)
        await subscriber.came.wait()
        runs.append(stopwatch.run(events))
    return runs[-1]


def rabbitmq(filters: int, count: int) -> Run:
    def make(folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
        environment = {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"bench{port}@localhost",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(folder),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        return [RABBITMQ], environment

    with started(make) as (port, pids):
        return _rabbitmq(port, pids, filters, count)


def _rabbitmq(port: int, pids: list[int], filters: int, count: int) -> Run:
    import pika  # noqa: PLC0415 - present or not, as the peer is

    parameters = pika.ConnectionParameters("127.0.0.1", port, heartbeat=0)
    publisher, subscriber = (pika.BlockingConnection(parameters).channel() for _ in range(2))
    subscriber.exchange_declare("events", "headers")
    subscriber.queue_declare("all", exclusive=True)
    for number in range(filters):
        wanted = {"x-match": "all", "k": f"k{number}", "city": CITY}
        subscriber.queue_bind("all", "events", arguments=wanted)
    came, left = threading.Event(), 0

    def take(*_: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            came.set()

    subscriber.basic_consume("all", take, auto_ack=True)
    reading = threading.Thread(target=subscriber.start_consuming, daemon=True)
    reading.start()
    runs = []
    for events in (max(1, count // 8), count):
        left = events
        came.clear()
        stopwatch = Stopwatch(pids)
        for key in keys(filters, events):
            headers = pika.BasicProperties(headers={"k": key, "city": CITY})
            publisher.basic_publish("events", "", b"x", headers)
        came.wait()
        runs.append(stopwatch.run(events))
    subscriber.connection.add_callback_threadsafe(subscriber.stop_consuming)
    reading.join()
    return runs[-1]


PEERS: Final = (
    Peer("ActiveMQ, STOMP selectors", "apt-get install activemq", ("java", ACTIVEMQ), (), activemq),
    Peer(
        "RabbitMQ, headers exchange",
        "apt-get install rabbitmq-server; pip install pika",
        (RABBITMQ,),
        ("pika",),
        rabbitmq,
    ),
)
