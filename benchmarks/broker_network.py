"""What the rows of `broker.py` share: networks of broker processes, clients, figures, and the CPU time of each."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from agvent import connect
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Batch, Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.fleet.fleet import Fleet
from agvent.net.link.dial import ask

IN_FLIGHT: Final = 256
LINE: Final = [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Figure(msgspec.Struct, frozen=True):
    """One measured value, what the project set out to reach, and how many times a peer's value ours is. `cpu_us` is the
    CPU time of an event, in the clients' process and in the brokers'. A `note` stands where there is no value."""

    row: str
    value: float | None
    unit: str = "events/s"
    target: str = ""
    ratio: float | None = None
    cpu_us: tuple[float, float] | None = None
    note: str = ""


class Run(msgspec.Struct, frozen=True):
    """How many events a second, and what each took."""

    rate: float
    cpu_us: tuple[float, float]


class Stopwatch:
    """Wall and CPU time from its making on, of this process and of others."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._theirs = sum(map(cpu_seconds, pids))
        self._ours, self._began = time.process_time(), time.perf_counter()

    def run(self, events: int) -> Run:
        """What that many events took."""
        wall, ours = time.perf_counter() - self._began, time.process_time() - self._ours
        theirs = sum(map(cpu_seconds, self._pids)) - self._theirs
        return Run(events / wall, (1e6 * ours / events, 1e6 * theirs / events))


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def network(edges: list[tuple[str, str]], names: list[str]) -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder), edges, names, first_port=0)
        fleet.start_all()
        try:
            fleet.wait_until_up()
            yield fleet
        finally:
            fleet.stop()


def pids(fleet: Fleet) -> list[int]:
    return [member.process.pid for member in fleet.members.values() if member.process is not None]


@asynccontextmanager
async def clients(fleet: Fleet, entry: str, home: str) -> AsyncIterator[tuple[Client, Client]]:
    """A publisher and a subscriber, once every broker knows every other."""
    for member in fleet.members.values():
        while len((await ask(member.address, "status"))["brokers"]) < len(fleet.members):
            pass
    at, to = (str(fleet.members[name].address) for name in (entry, home))
    async with connect(at, name="publisher") as publisher, connect(to, name="subscriber") as subscriber:
        yield publisher, subscriber


async def received(subscription: OpenSubscription, count: int) -> None:
    """Takes that many deliveries, and acknowledges each."""
    left = count
    async for item in subscription:
        assert isinstance(item, Delivery), item
        item.acknowledge()
        left -= 1
        if not left:
            return


async def received_batches(subscription: OpenSubscription, count: int) -> None:
    """Takes as many as they come, and acknowledges them together."""
    left = count
    async for item in subscription.batches():
        assert isinstance(item, Batch), item
        item.acknowledge()
        left -= len(item)
        if not left:
            return


async def single(client: Client, events: list[dict[str, Any]], *, fast: bool) -> None:
    """One publication a call, IN_FLIGHT callers at a time."""
    remaining = iter(events)

    async def publish() -> None:
        for event in remaining:
            await client.publish(event, fast=fast)

    await asyncio.gather(*(publish() for _ in range(IN_FLIGHT)))


async def batch(client: Client, events: list[dict[str, Any]], *, fast: bool) -> None:
    await client.publish_batch(events, fast=fast)


async def rate(
    how: Callable[..., Awaitable[None]],
    clients_: tuple[Client, OpenSubscription],
    events: list[dict[str, Any]],
    *,
    fast: bool,
    brokers: list[int],
) -> Run:
    """From the first publication to the last delivery, after an eighth of the events that nobody counts."""
    client, subscription = clients_
    take = received_batches if how is batch else received
    warm = events[: len(events) // 8]
    await asyncio.gather(how(client, warm, fast=fast), take(subscription, len(warm)))
    stopwatch = Stopwatch(brokers)
    await asyncio.gather(how(client, events, fast=fast), take(subscription, len(events)))
    return stopwatch.run(len(events))
