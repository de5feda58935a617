"""A network of real processes, its clients, and the bookkeeping that the simulator's checkers judge.

Values are unique. What a publisher was told is ok or refused; what it was not told in time is unknown, and may have
happened. What came to be on disk is read from the brokers' journals in the end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from agvent import connect
from agvent.broker.records import decode_record
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.fleet.fleet import Fleet
from agvent.net.link.dial import ask
from agvent.net.server.identity import identity_of
from agvent.sim.checkers.duplicated import duplicated
from agvent.sim.checkers.lost import lost
from agvent.sim.checkers.order import out_of_order
from agvent.sim.checkers.unexpected import unexpected
from agvent.sim.ledger import Ledger
from agvent.sim.world import ClientTold, OnDisk, RunHistory, World
from agvent.store.journal_recovery import examine
from agvent.wire.messages import AnyMessage

Edges = list[tuple[str, str]]
LINE: Edges = [("B1", "B2"), ("B2", "B3")]
RING: Edges = [("B1", "B2"), ("B2", "B3"), ("B3", "B4"), ("B4", "B1")]


class Node(msgspec.Struct):
    """What the checkers ask of a client."""

    name: str
    homes: list[str]
    is_over: bool = False
    crashes: int = 0

    @property
    def client(self) -> str:
        return self.name


class Story:
    """One network and what is known of it."""

    def __init__(self, folder: Path, edges: Edges) -> None:
        names = list(dict.fromkeys(name for edge in edges for name in edge))
        self.fleet = Fleet(folder, edges, names, first_port=0)
        self.clients: dict[str, Node] = {}
        self.history = RunHistory([], [], [], [], {})
        self.published: dict[str, list[int]] = {}  # publisher -> values it was told are safe
        self.under_way = asyncio.Event()  # some fifty were

    @property
    def brokers(self) -> dict[str, Node]:
        """Any may have been killed."""
        return {name: Node(name, [], crashes=1) for name in self.fleet.members}

    def living(self) -> list[Node]:
        return list(self.clients.values())

    def address(self, broker: str) -> str:
        return str(self.fleet.members[broker].address)

    async def status(self, broker: str) -> dict[str, Any]:
        found: dict[str, Any] = await ask(self.fleet.members[broker].address, "status")
        return found

    async def until(self, broker: str, **facts: Any) -> dict[str, Any]:
        """The broker's status when it says this."""
        async with asyncio.timeout(30):
            while True:
                status = await self.status(broker)
                if all(status[name] == value for name, value in facts.items()):
                    return status

    async def at_home(self, client: str, broker: str) -> None:
        """The client is attached there."""
        async with asyncio.timeout(30):
            while True:
                clients = (await self.status(broker))["clients"]
                if any(one["client"].startswith(client) and one["attached"] for one in clients):
                    break

    async def linked(self) -> None:
        """Every link is up, and everybody knows of everybody."""
        async with asyncio.timeout(30):
            for name in self.fleet.members:
                while True:
                    status = await self.status(name)
                    up = all(link["state"] == "up" for link in status["links"])
                    if up and len(status["brokers"]) == len(self.fleet.members):
                        break

    @asynccontextmanager
    async def client(self, name: str, *homes: str, failover_s: float = 10) -> AsyncIterator[Client]:
        """A client at the first of these brokers; what its session tells it is written down."""
        self.clients[name] = Node(name, list(homes))
        async with connect(self.address(homes[0]), name=name, failover_s=failover_s) as client:
            client._connection.addresses = [self.fleet.members[home].address for home in homes]
            hear = client._connection._on_messages

            def told(messages: list[AnyMessage]) -> None:
                self.history.told += [ClientTold(0, name, message, process=name) for message in messages]
                hear(messages)

            client._connection._on_messages = told
            yield client

    async def publish(self, client: Client, values: range, *, pause_s: float = 0.002) -> None:
        """Publishes a value at a time."""
        for value in values:
            await client.publish({"n": value})
            self.published.setdefault(client.name, []).append(value)
            if len(self.published[client.name]) == 50:
                self.under_way.set()
            await asyncio.sleep(pause_s)

    def violations(self) -> list[str]:
        """What the simulator's checkers say of what happened here."""
        self.history.on_disk.clear()
        self.history.read = None
        for name, member in self.fleet.members.items():
            data = member.folder / "data"
            incarnation = identity_of(data).incarnation
            for content in examine(data / "journal").contents():
                self.history.on_disk.append(OnDisk(0, name, incarnation, decode_record(content)))
        ledger = Ledger(self.history)
        assert len(ledger.events) >= len(self.published.get("ada", [])) > 0
        world = cast("World", self)
        return [one for check in (lost, duplicated, unexpected, out_of_order) for one in check(world, ledger)]


@contextmanager
def running(folder: Path, edges: Edges) -> Iterator[Story]:
    """Starts the network, and stops it however the test ends."""
    story = Story(folder, edges)
    try:
        story.fleet.start_all()
        story.fleet.wait_until_up()
        yield story
    finally:
        story.fleet.stop()


async def received(subscription: OpenSubscription, count: int, *, seconds: float = 60) -> list[int]:
    """The values of that many deliveries."""
    values: list[int] = []
    async with asyncio.timeout(seconds):
        while len(values) < count:
            item = await anext(subscription)
            assert isinstance(item, Delivery), item
            values.append(item.event.attributes["n"])
            item.acknowledge()
    return values
