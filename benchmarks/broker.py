"""How fast brokers are, as processes on this machine: `make bench-broker`, or one row with `--row durable`.

Publisher and subscriber are one Python process, each broker another, all on this machine's cores. A rate is taken from
the first publication to the last delivery. Nothing is warmed up but by an eighth of the events before the clock starts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any, Final

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from agvent import connect
from agvent.net.client import Client
from agvent.net.deliveries import Delivery, Subscribed
from agvent.net.dialled import ask
from agvent.net.fleet import Fleet
from agvent.sim.topology import ABDES

IN_FLIGHT: Final = 256
LINE: Final = [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
LARGE_BYTES: Final = 10_000_000


class Figure(msgspec.Struct, frozen=True):
    """One measured value, and what the project set out to reach."""

    row: str
    value: float
    unit: str
    target: str = ""


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


@asynccontextmanager
async def clients(fleet: Fleet, entry: str, home: str) -> AsyncIterator[tuple[Client, Client]]:
    """A publisher and a subscriber, once every broker knows every other."""
    for member in fleet.members.values():
        while len((await ask(member.address, "status"))["brokers"]) < len(fleet.members):
            pass
    at, to = (str(fleet.members[name].address) for name in (entry, home))
    async with connect(at, name="publisher") as publisher, connect(to, name="subscriber") as subscriber:
        yield publisher, subscriber


async def received(subscription: Subscribed, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    while len(found) < count:
        item = await anext(subscription)
        assert isinstance(item, Delivery), item
        item.acknowledge()
        found.append(item)
    return found


async def single(client: Client, events: list[dict[str, Any]], *, fast: bool) -> None:
    """One publication a call, IN_FLIGHT of them at a time."""
    room = asyncio.Semaphore(IN_FLIGHT)

    async def publish(event: dict[str, Any]) -> None:
        async with room:
            await client.publish(event, fast=fast)

    await asyncio.gather(*(publish(event) for event in events))


async def batch(client: Client, events: list[dict[str, Any]], *, fast: bool) -> None:
    await client.publish_batch(events, fast=fast)


async def rate(
    how: Callable[..., Awaitable[None]],
    client: Client,
    subscription: Subscribed,
    events: list[dict[str, Any]],
    *,
    fast: bool,
) -> float:
    """Events a second, from the first publication to the last delivery."""
    warm = events[: len(events) // 8]
    await asyncio.gather(how(client, warm, fast=fast), received(subscription, len(warm)))
    began = time.perf_counter()
    await asyncio.gather(how(client, events, fast=fast), received(subscription, len(events)))
    return len(events) / (time.perf_counter() - began)


# Rows


async def subscriptions(scale: float) -> list[Figure]:
    """One broker, many content filters, each event for exactly one of them."""
    figures = []
    for count in (10, 100, 1_000, 5_000):
        with network([], ["B1"]) as fleet:
            async with clients(fleet, "B1", "B1") as (publisher, subscriber):
                opened = [await subscriber.subscribe(f"k = {k} AND price > 0", id=f"s{k}") for k in range(count)]
                random, events = Random(1), int(4_000 * scale)
                made = [{"k": random.randrange(count), "price": n + 1} for n in range(events)]
                value = await _spread(publisher, opened, made)
        figures.append(Figure(f"{count:,} content filters, fast, single", value, "events/s"))
    return figures


async def _spread(publisher: Client, opened: list[Subscribed], events: list[dict[str, Any]]) -> float:
    came = asyncio.Event()
    left = len(events)

    async def read(subscription: Subscribed) -> None:
        nonlocal left
        async for item in subscription:
            item.acknowledge()
            left -= 1
            if not left:
                came.set()

    readers = [asyncio.create_task(read(one)) for one in opened]
    began = time.perf_counter()
    await single(publisher, events, fast=True)
    await came.wait()
    seconds = time.perf_counter() - began
    for reader in readers:
        reader.cancel()
    return len(events) / seconds


async def topic(scale: float) -> list[Figure]:
    """One topic, quality fast, small and larger events."""
    figures = []
    with network([], ["B1"]) as fleet:
        async with clients(fleet, "B1", "B1") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            for size in (16, 1_024):
                events = [{"$topic": "t", "x": "x" * size}] * int(8_000 * scale)
                for how in (single, batch):
                    value = await rate(how, publisher, subscription, events, fast=True)
                    figures.append(Figure(f"topic, fast, {size} B, {how.__name__}", value, "events/s"))
    return figures


async def durable(scale: float) -> list[Figure]:
    """fsync before acknowledgement, IN_FLIGHT at a time."""
    figures = []
    with network([], ["B1"]) as fleet:
        async with clients(fleet, "B1", "B1") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            events = [{"$topic": "t", "x": "x" * 100}] * int(8_000 * scale)
            for how, target in ((single, "20,000"), (batch, "150,000")):
                value = await rate(how, publisher, subscription, events, fast=False)
                figures.append(Figure(f"durable, {how.__name__}", value, "events/s", target))
    return figures


async def latency(scale: float) -> list[Figure]:
    """Durable over three hops at a steady rate: from the call of publish to the delivery."""
    per_second, count = 500, int(4_000 * scale)
    with network(LINE, ["B1", "B2", "B3", "B4"]) as fleet:
        async with clients(fleet, "B1", "B4") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            taken: list[float] = []

            async def read() -> None:
                while len(taken) < count:
                    [one] = await received(subscription, 1)
                    taken.append(time.perf_counter() - one.event.attributes["at"])

            reading = asyncio.create_task(read())
            pending = []
            began = time.perf_counter()
            for number in range(count):
                await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
                event = {"$topic": "t", "at": time.perf_counter()}
                pending.append(asyncio.create_task(publisher.publish(event)))
            await asyncio.gather(reading, *pending)
    cuts = quantiles(taken[count // 8 :], n=100)
    return [
        Figure(f"durable, three hops at {per_second}/s, p50", 1000 * cuts[49], "ms", "10 at 5,000/s"),
        Figure(f"durable, three hops at {per_second}/s, p99", 1000 * cuts[98], "ms", "40 at 5,000/s"),
    ]


async def large(scale: float) -> list[Figure]:
    """Events of 10 MB over three hops."""
    figures = []
    count = max(2, int(4 * scale))
    with network(LINE, ["B1", "B2", "B3", "B4"]) as fleet:
        async with clients(fleet, "B1", "B4") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            events = [{"$topic": "t", "x": os.urandom(LARGE_BYTES)} for _ in range(count)]
            for fast, target in ((True, "150"), (False, "50")):
                value = await rate(batch, publisher, subscription, events, fast=fast)
                name = f"10 MB over three hops, {'fast' if fast else 'durable'}"
                figures.append(Figure(name, value * LARGE_BYTES / 1e6, "MB/s", target))
    return figures


async def healing(scale: float) -> list[Figure]:
    """The twelve servers of the seeds: a broker on the way is killed under load, and started again."""
    names = list(dict.fromkeys(name for edge in ABDES for name in edge))
    per_second, seconds = 200, max(6.0, 10 * scale)
    with network(list(ABDES), names) as fleet:
        async with clients(fleet, "AS1", "AS12") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            count = int(per_second * seconds)
            reading = asyncio.create_task(_times(subscription, count))
            await _paced(publisher, count, per_second, at={count // 3: lambda: _kill_transit(fleet)})
            arrivals = await reading
    values = [value for _, value in arrivals]
    gap = max(after - before for (before, _), (after, _) in pairwise(arrivals))
    return [
        Figure("twelve servers, transit broker killed: longest gap", 1000 * gap, "ms", "100"),
        Figure("twelve servers, transit broker killed: lost or doubled", count - len(set(values)), "events", "0"),
    ]


async def _times(subscription: Subscribed, count: int) -> list[tuple[float, int]]:
    found: list[tuple[float, int]] = []
    while len(found) < count:
        [one] = await received(subscription, 1)
        found.append((time.perf_counter(), one.event.attributes["n"]))
    return found


async def _paced(
    publisher: Client, count: int, per_second: int, *, at: dict[int, Callable[[], Awaitable[None]]]
) -> None:
    pending: list[asyncio.Future[Any]] = []
    began = time.perf_counter()
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
        if number in at:
            pending.append(asyncio.ensure_future(at[number]()))
        pending.append(asyncio.ensure_future(publisher.publish({"$topic": "t", "n": number})))
    await asyncio.gather(*pending)


async def _kill_transit(fleet: Fleet) -> None:
    """Kills the broker that carries the events: the neighbour of the entry that was sent the most."""
    counts = {}
    for name in fleet.members:
        if name not in ("AS1", "AS12"):
            counts[name] = (await ask(fleet.members[name].address, "status"))["counts"].get("copies_sent", 0)
    busiest = max(counts, key=lambda name: counts[name])
    await asyncio.to_thread(fleet.kill, busiest)
    fleet.start(busiest)


ROWS: Final[dict[str, Callable[[float], Awaitable[list[Figure]]]]] = {
    "subscriptions": subscriptions,
    "topic": topic,
    "durable": durable,
    "latency": latency,
    "large": large,
    "healing": healing,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=[*ROWS], action="append", help="only this one; may repeat")
    parser.add_argument("--scale", type=float, default=1.0, help="how many events, against the usual (1)")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    args = parser.parse_args()
    table = Table(box=None, pad_edge=False)
    for column in ("measured", "value", "unit", "aim"):
        table.add_column(column, justify="left" if column in ("measured", "unit") else "right")
    for name in args.row or ROWS:
        for figure in uvloop.run(_figures(name, args.scale)):
            if args.json:
                print(msgspec.json.encode(figure).decode(), flush=True)
            table.add_row(figure.row, f"{figure.value:,.1f}", figure.unit, figure.target)
    if not args.json:
        Console().print(table)
    return 0


async def _figures(name: str, scale: float) -> list[Figure]:
    return await ROWS[name](scale)


if __name__ == "__main__":
    sys.exit(main())
