"""How many events a second: content filters, plain topics, durable events; beside the peers that are installed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

import filter_peers
import topic_peers
from agvent.net.client.client import Client
from agvent.net.client.open_subscription import OpenSubscription
from broker_network import IN_FLIGHT, Figure, Run, batch, clients, network, pids, rate, single
from filter_peers import CITY, keys
from peer_process import Peer

FILTERS: Final = (10, 100, 1_000, 5_000, 50_000)
FILTERS_OF_PEERS_MAX: Final = 5_000
"""More take them minutes, to find that what is linear is ten times slower."""

OURS: Final = "Agvent"


async def beside(peers: Iterable[Peer], row: str, ours: float, *given: int) -> AsyncIterator[Figure]:
    """Peers' figures in the same run."""
    for peer in peers:
        yield await asyncio.to_thread(_beside, peer, row, ours, *given)


def _beside(peer: Peer, row: str, ours: float, *given: int) -> Figure:
    """A peer's figure, or how to get the peer."""
    missing = peer.missing()
    if missing:
        return Figure(f"{row}: {peer.name}", None, note=f"no {missing}: {peer.hint}")
    run = peer.measure(*given)
    return Figure(f"{row}: {peer.name}", run.rate, ratio=ours / run.rate, cpu_us=run.cpu_us)


def ours(row: str, run: Run, target: str = "") -> Figure:
    return Figure(f"{row}: {OURS}", run.rate, target=target, cpu_us=run.cpu_us)


async def subscriptions(scale: float) -> AsyncIterator[Figure]:
    """One broker, many content filters, each event for exactly one of them; fast, one publication a call."""
    at_ten = 0.0
    for count in FILTERS:
        row = f"{count:,} filters"
        with network([], ["B1"]) as fleet:
            async with clients(fleet, "B1", "B1") as (publisher, subscriber):
                pair = (publisher, await _open(subscriber, count))
                events = [{"k": key, "city": CITY} for key in keys(count, int(96_000 * scale))]
                run = await rate(single, pair, events, fast=True, brokers=pids(fleet))
        at_ten = at_ten or run.rate
        aims = {5_000: "10x ActiveMQ", 50_000: f"{0.8 * at_ten:,.0f}: 80 % of that at 10"}
        yield ours(row, run, aims.get(count, ""))
        if count <= FILTERS_OF_PEERS_MAX:
            few = max(100, int(min(4_000, 1_000_000 // count) * scale))
            async for figure in beside(filter_peers.PEERS, row, run.rate, count, few):
                yield figure


async def _open(subscriber: Client, count: int) -> OpenSubscription:
    """As many subscriptions, all read in one loop."""
    everything = await subscriber.subscribe(_filter(0), id="s0")
    remaining = iter(range(1, count))

    async def subscribe() -> None:
        for number in remaining:
            await subscriber.subscribe(_filter(number), id=f"s{number}", into=everything)

    await asyncio.gather(*(subscribe() for _ in range(IN_FLIGHT)))
    return everything


def _filter(number: int) -> str:
    return f"k = 'k{number}' AND city = '{CITY}'"


async def topic(scale: float) -> AsyncIterator[Figure]:
    """One topic, quality fast, small and larger events."""
    for size in (16, 1_024):
        row, runs = f"topic, fast, {size:,} B", {}
        with network([], ["B1"]) as fleet:
            async with clients(fleet, "B1", "B1") as (publisher, subscriber):
                pair = (publisher, await subscriber.subscribe(topic="t"))
                for how, count in ((single, 120_000), (batch, 600_000)):
                    events = [{"$topic": "t", "x": "x" * size}] * int(count * scale)
                    runs[how.__name__] = await rate(how, pair, events, fast=True, brokers=pids(fleet))
        for name, run in runs.items():
            yield ours(f"{row}, {name}", run, "level with each peer" if name == "single" else "5x each peer")
            async for figure in beside(topic_peers.PEERS, f"{row}, {name}", run.rate, size, int(72_000 * scale)):
                yield figure


async def durable(scale: float) -> AsyncIterator[Figure]:
    """fsync before acknowledgement, IN_FLIGHT at a time."""
    with network([], ["B1"]) as fleet:
        async with clients(fleet, "B1", "B1") as (publisher, subscriber):
            pair = (publisher, await subscriber.subscribe(topic="t"))
            for how, count, target in ((single, 120_000, "20,000"), (batch, 960_000, "150,000")):
                events = [{"$topic": "t", "x": "x" * 16}] * int(count * scale)
                run = await rate(how, pair, events, fast=False, brokers=pids(fleet))
                yield ours(f"durable, {how.__name__}", run, target)
