"""How long events take: over hops, beside large ones, past brokers that die or stop, and after minutes of load."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from itertools import pairwise
from statistics import quantiles
from typing import Any, Final

import healing_peers
from agvent.net.client.client import Client
from agvent.net.client.connect import connect
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.fleet.fleet import Fleet
from agvent.net.link.dial import ask
from agvent.sim.topology import ABDES
from broker_network import LINE, Figure, batch, clients, network, pids, rate, received, resident_bytes
from healing_peers import Servers
from peer_process import Installed

LARGE_BYTES: Final = 10_000_000
LARGE_PER_SECOND: Final = 5
PER_SECOND: Final = 5_000
SMALL_PER_SECOND: Final = 500
SLICE_SECONDS: Final = 0.002
"""How often the paced publisher looks at the clock."""

Doing = Coroutine[Any, Any, None]
Seen = list[tuple[float, float, int]]
"""When each event came, when it was published, and which it was."""


async def seen(subscription: OpenSubscription, count: int) -> Seen:
    """The next so many deliveries."""
    found: Seen = []
    async for item in subscription:
        assert isinstance(item, Delivery), item
        attributes = item.event.attributes
        found.append((time.perf_counter(), attributes["at"], attributes["n"]))
        item.acknowledge()
        if len(found) == count:
            break
    return found


async def paced(
    publisher: Client,
    count: int,
    per_second: float,
    *,
    at: Mapping[int, Callable[[], Doing]] | None = None,
) -> None:
    """Publishes at a steady rate, each event in a call of its own; `at` has what else happens, and before which."""
    began, number = time.perf_counter(), 0
    async with asyncio.TaskGroup() as under_way:  # it lets go of what is done, so this process does not grow
        while number < count:
            now = time.perf_counter()
            while number < min(count, (now - began) * per_second):
                if at and number in at:
                    under_way.create_task(at[number]())
                event = {"$topic": "t", "n": number, "at": time.perf_counter()}
                under_way.create_task(publisher.publish(event))
                number += 1
            await asyncio.sleep(SLICE_SECONDS)


def cuts(found: Seen) -> tuple[float, float]:
    """The median and the 99th percentile of the times that events took, in ms, without the first eighth."""
    taken = quantiles([1000 * (came - sent) for came, sent, _ in found[len(found) // 8 :]], n=100)
    return taken[49], taken[98]


async def latency(scale: float) -> AsyncIterator[Figure]:
    """Durable over three hops at a steady rate: from the call of publish to the delivery."""
    count = int(4 * PER_SECOND * scale)
    with network(LINE, ["B1", "B2", "B3", "B4"]) as fleet:
        async with clients(fleet, "B1", "B4") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            found, _ = await asyncio.gather(seen(subscription, count), paced(publisher, count, PER_SECOND))
    p50, p99 = cuts(found)
    row = f"durable, three hops at {PER_SECOND:,}/s"
    yield Figure(f"{row}, p50", p50, "ms", "10")
    yield Figure(f"{row}, p99", p99, "ms", "40")


async def large(scale: float) -> AsyncIterator[Figure]:
    """Events of 10 MB over three hops."""
    with network(LINE, ["B1", "B2", "B3", "B4"]) as fleet:
        async with clients(fleet, "B1", "B4") as (publisher, subscriber):
            pair = (publisher, await subscriber.subscribe(topic="large"))
            events = [{"$topic": "large", "x": os.urandom(LARGE_BYTES)} for _ in range(max(8, int(24 * scale)))]
            for fast, target in ((True, "150"), (False, "50")):
                run = await rate(batch, pair, events, fast=fast, brokers=pids(fleet))
                row = f"10 MB over three hops, {'fast' if fast else 'durable'}"
                yield Figure(row, run.rate * LARGE_BYTES / 1e6, "MB/s", target)
            p99 = [await _beside(fleet, scale, None), await _beside(fleet, scale, pair)]
    large_mb = LARGE_BYTES * LARGE_PER_SECOND / 1e6
    row = f"{SMALL_PER_SECOND} small events/s beside {large_mb:g} MB/s of large ones, durable"
    yield Figure(f"{row}: p99 alone", p99[0], "ms")
    yield Figure(f"{row}: p99 beside", p99[1], "ms", f"{2 * p99[0]:.0f}: twice that alone")


async def _beside(fleet: Fleet, scale: float, pair: tuple[Client, OpenSubscription] | None) -> float:
    """The 99th percentile, in ms, that small durable events take over the same hops, alone or beside large ones."""
    count = int(8 * SMALL_PER_SECOND * max(scale, 0.5))
    entry, home = (str(fleet.members[name].address) for name in ("B1", "B4"))
    async with connect(entry, name="small-out") as publisher, connect(home, name="small-in") as subscriber:
        subscription = await subscriber.subscribe(topic="t")
        both = asyncio.gather(seen(subscription, count), paced(publisher, count, SMALL_PER_SECOND))
        if pair is not None:
            await _stream(*pair, until=both)
        found, _ = await both
        await subscriber.unsubscribe(subscription)
    return cuts(found)[1]


async def _stream(publisher: Client, subscription: OpenSubscription, *, until: asyncio.Future[Any]) -> None:
    """Large events at a steady rate, each taken when it comes."""
    event = {"$topic": "large", "x": os.urandom(LARGE_BYTES)}
    pending: list[asyncio.Future[Any]] = []
    while not until.done():
        pending += [asyncio.ensure_future(publisher.publish(event)), asyncio.ensure_future(received(subscription, 1))]
        await asyncio.sleep(1 / LARGE_PER_SECOND)
    await asyncio.gather(*pending)


# Healing


async def healing(scale: float) -> AsyncIterator[Figure]:
    """The twelve servers of the seeds under load, while one of them dies, stops, or is away."""
    for row, target, fault in (
        ("transit broker killed", "100", _kill_transit),
        ("transit broker stopped for 5 s", "2,000", _stop_transit),
        ("home broker killed and restarted", "5,000", _kill_home),
    ):
        for figure in await _healed(row, target, fault, scale):
            yield figure
        for peer, servers in healing_peers.PEERS:
            for figure in await asyncio.to_thread(_peer_healed, peer, servers, row, scale):
                yield figure


def _peer_healed(peer: Installed, servers: type[Servers], row: str, scale: float) -> list[Figure]:
    """How a peer's network does under the same load and fault, or how to get it."""
    what = f"twelve servers at {PER_SECOND:,}/s, {row}: {peer.name}"
    if missing := peer.missing():
        return [Figure(f"{what}, longest gap", None, note=f"no {missing}: {peer.hint}")]
    found = healing_peers.healed(servers, healing_peers.FAULTS[row], int(10 * PER_SECOND * scale), PER_SECOND)
    return [
        Figure(f"{what}, longest gap", found.gap_ms, "ms"),
        Figure(f"{what}, lost or doubled", found.wrong, "events"),
    ]


async def _healed(row: str, target: str, fault: Callable[[Fleet], Doing], scale: float) -> list[Figure]:
    names = list(dict.fromkeys(name for edge in ABDES for name in edge))
    count = int(10 * PER_SECOND * scale)
    with network(list(ABDES), names) as fleet:
        async with clients(fleet, "AS1", "AS12") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            reading = asyncio.create_task(seen(subscription, count))
            await paced(publisher, count, PER_SECOND, at={count // 3: lambda: fault(fleet)})
            found = await reading
    gap = max(after - before for (before, _, _), (after, _, _) in pairwise(found))
    wrong = count - len({number for _, _, number in found})
    return [
        Figure(f"twelve servers at {PER_SECOND:,}/s, {row}: longest gap", 1000 * gap, "ms", target),
        Figure(f"twelve servers at {PER_SECOND:,}/s, {row}: lost or doubled", wrong, "events", "0"),
    ]


async def _transit(fleet: Fleet) -> str:
    """The broker that carries the events: that which sent the most."""
    counts = {}
    for name in fleet.members:
        if name not in ("AS1", "AS12"):
            counts[name] = (await ask(fleet.members[name].address, "status"))["counts"].get("copies_sent", 0)
    return max(counts, key=lambda name: counts[name])


async def _kill_transit(fleet: Fleet) -> None:
    name = await _transit(fleet)
    await asyncio.to_thread(fleet.kill, name)
    fleet.start(name)


async def _stop_transit(fleet: Fleet) -> None:
    process = fleet.members[await _transit(fleet)].process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(5)
    process.send_signal(signal.SIGCONT)


async def _kill_home(fleet: Fleet) -> None:
    await asyncio.to_thread(fleet.kill, "AS12")
    fleet.start("AS12")


# Minutes


async def soak(minutes: float) -> AsyncIterator[Figure]:
    """Load for a while: what grew between the second eighth and the last, in a broker's memory and in latency."""
    count = int(60 * minutes * PER_SECOND)
    with network(LINE[:1], ["B1", "B2"]) as fleet:
        async with clients(fleet, "B1", "B2") as (publisher, subscriber):
            subscription = await subscriber.subscribe(topic="t")
            sizes: list[int] = []

            async def weigh() -> None:
                sizes.append(sum(map(resident_bytes, pids(fleet))))

            marks = dict.fromkeys((count // 4, count - 1), weigh)
            found, _ = await asyncio.gather(seen(subscription, count), paced(publisher, count, PER_SECOND, at=marks))
    eighth = len(found) // 8
    early, late = (cuts(found[at : at + eighth])[1] for at in (eighth, 7 * eighth))
    row = f"{minutes:g} min at {PER_SECOND:,}/s"
    yield Figure(f"{row}, brokers' memory, end against first quarter", sizes[1] / sizes[0], "times", "flat")
    yield Figure(f"{row}, p99, last eighth against second", late / early, "times", "no growth")
