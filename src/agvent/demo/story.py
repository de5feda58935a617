"""What happens in the demonstration, in order: start, subscribe, publish, cut, kill, heal, settle.

Publishing is in four parts. The first sees a whole network; before the second a link is cut, before the third a broker
is killed, before the last both are back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from agvent.demo.bookshop import HOUSES, SHOPS, WISH, House, Publication, Shop
from agvent.demo.verdict import Due, Fault
from agvent.demo.way import AgventWay, way_of
from agvent.errors import EnvironmentFault
from agvent.event import EventId
from agvent.net.client.client import Client
from agvent.net.client.connect import connect
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.receipts import Receipt
from agvent.net.fleet.fleet import Fleet
from agvent.net.link.dial import ask
from agvent.sim.topology import ABDES

CUT: Final = ("AS8", "AS9")
CUT_LINK: Final = "–".join(CUT)
KILLED: Final = "AS10"
FOLLOWED: Final = next(shop for shop in SHOPS if shop.name == "istanbul")
"""The shop whose agvents are followed: the cut link lies on the short way to its home."""

PARTS: Final = 4
BATCH: Final = 25
POLL_SECONDS: Final = 0.05
LINKED_SECONDS_MAX: Final = 60.0
ACCEPT_SECONDS_MAX: Final = 30.0
IDLE_SECONDS_MAX: Final = 30.0
"""Time without a delivery after which what has not come counts as lost."""

Holds = Callable[[dict[str, Any]], bool]


class Story:
    """One performance: the brokers, what was due and what came. `moment` is told what happens, with its second."""

    def __init__(
        self,
        folder: Path,
        agvents: int,
        *,
        moment: Callable[[float, str], None],
        progress: Callable[[int, int], None],
    ) -> None:
        self.agvents, self._began = agvents, time.monotonic()
        self._moment, self._progress = moment, progress
        names = sorted({name for edge in ABDES for name in edge}, key=lambda name: int(name[2:]))
        self.fleet = Fleet(folder, ABDES, names, first_port=0, keep_history=True)
        self.addresses = {name: member.address for name, member in self.fleet.members.items()}
        self.published = 0
        self.expected: list[Due] = []
        self.received: list[Due] = []
        self._arrived: set[Due] = set()
        self.faults: list[Fault] = []
        self.ways: dict[str, AgventWay] = {}
        self._came = asyncio.Event()
        self._random = {house.name: Random(house.name) for house in HOUSES}

    async def perform(self) -> None:
        """Runs the whole story; the brokers have stopped when it returns, whatever happened."""
        try:
            await self._start()
            async with self._clients() as clients:
                await self._publish_whole(clients)
                await self._publish_broken(clients)
                await self._settle()
        finally:
            await asyncio.to_thread(self.fleet.stop)

    # Setting

    async def _start(self) -> None:
        self.fleet.start_all()
        await asyncio.to_thread(self.fleet.wait_until_up)
        await self._until("the links are not up", self._knows_all, *self.addresses)
        self._tell(f"{len(self.addresses)} brokers run, each a process; their {len(ABDES)} links are up")

    def _knows_all(self, status: dict[str, Any]) -> bool:
        is_up = all(link["state"] == "up" for link in status["links"])
        return is_up and len(status["brokers"]) == len(self.addresses)

    async def _until(self, failure: str, holds: Holds, *brokers: str) -> None:
        """Waits until this holds of each broker's status."""
        try:
            async with asyncio.timeout(LINKED_SECONDS_MAX):
                for broker in brokers:
                    await self._until_one(broker, holds)
        except TimeoutError:
            raise EnvironmentFault(f"{failure} after {LINKED_SECONDS_MAX:.0f} s", hint="is the machine busy?") from None

    async def _until_one(self, broker: str, holds: Holds) -> None:
        while True:
            if holds(await ask(self.addresses[broker], "status")):
                return
            await asyncio.sleep(POLL_SECONDS)

    @asynccontextmanager
    async def _clients(self) -> AsyncIterator[dict[str, Client]]:
        """Houses that have advertised, and shops that listen."""
        listening = []
        async with AsyncExitStack() as stack:
            clients = {}
            for one in (*HOUSES, *SHOPS):
                connecting = connect(str(self.addresses[one.broker]), name=one.name)
                clients[one.name] = await stack.enter_async_context(connecting)
            for house in HOUSES:
                await clients[house.name].advertise(house.type)
            for shop in SHOPS:
                subscribed = await clients[shop.name].subscribe(shop.filter, type=shop.type.__name__, id=WISH)
                listening.append(asyncio.create_task(self._listen(shop, subscribed)))
            types = " and ".join(house.type.__name__ for house in HOUSES)
            homes = len({shop.broker for shop in SHOPS})
            self._tell(f"{len(HOUSES)} houses advertise {types}; {len(SHOPS)} shops subscribe at {homes} brokers")
            yield clients
        await asyncio.gather(*listening)  # a subscription ends with its client

    async def _listen(self, shop: Shop, subscribed: OpenSubscription) -> None:
        async for item in subscribed:
            if isinstance(item, Delivery):
                due = Due(item.id.publisher, item.id.sequence, shop.subscription)
                self.received.append(due)
                self._arrived.add(due)
            item.acknowledge()
            self._came.set()

    # Publishing and faults

    async def _publish_whole(self, clients: dict[str, Client]) -> None:
        await self._follow("before the cut", await self._publish(clients, 0))

    async def _publish_broken(self, clients: dict[str, Client]) -> None:
        cut_s = self._seconds()
        await self._ask_both("cut")
        self._tell(f"{self.published:,} agvents published; {CUT_LINK} is cut")
        await self._follow("after the cut", await self._publish(clients, 1))

        killed_s = self._seconds()
        await asyncio.to_thread(self.fleet.kill, KILLED)
        self._tell(
            f"{self.published:,} published; {KILLED} is killed (kill -9); with the cut, this separates east from west"
        )
        await self._publish(clients, 2)
        self._tell(f"{self.published:,} published; {len(self.expected) - len(self.received):,} deliveries wait")

        self.fleet.start(KILLED)
        await asyncio.to_thread(self.fleet.wait_until_up)
        self.faults.append(Fault("broker killed", KILLED, killed_s, self._seconds()))
        self._tell(f"{KILLED} is back, with the contents of its disk")
        await self._ask_both("heal")
        await self._until(f"{CUT_LINK} is not up", self._knows_all, *CUT, KILLED)
        self.faults.insert(0, Fault("link cut", CUT_LINK, cut_s, self._seconds()))
        self._tell(f"{CUT_LINK} is healed")
        await self._publish(clients, 3)

    async def _ask_both(self, request: str) -> None:
        """Cuts or heals the link at both of its ends."""
        for here, there in (CUT, CUT[::-1]):
            await ask(self.addresses[here], request, name=there)

    async def _publish(self, clients: dict[str, Client], part: int) -> Due | None:
        """Publishes a part, the houses side by side; gives the first that is due to the followed shop."""
        before, count = len(self.expected), share(self.agvents, PARTS, part)
        shares = [share(count, len(HOUSES), at) for at in range(len(HOUSES))]
        await asyncio.gather(
            *(self._sell(house, clients[house.name], few) for house, few in zip(HOUSES, shares, strict=True))
        )
        return next((due for due in self.expected[before:] if due.subscription == FOLLOWED.subscription), None)

    async def _sell(self, house: House, client: Client, count: int) -> None:
        """Publishes so many of a house, some at a time, and asks the oracle to whom each is due."""
        random = self._random[house.name]
        for first in range(0, count, BATCH):
            made = [house.make(random) for _ in range(min(BATCH, count - first))]
            receipts = await self._publish_made(house, client, made)
            for one, receipt in zip(made, receipts, strict=True):
                wanting = [shop.subscription for shop in SHOPS if shop.is_due(one)]
                self.expected += [Due(house.name, receipt.id.sequence, wish) for wish in wanting]
            self.published += len(made)
            self._progress(self.published, self.agvents)

    async def _publish_made(self, house: House, client: Client, made: list[Publication]) -> Sequence[Receipt]:
        """Publishes some; a broker that does not accept them is asked why."""
        try:
            async with asyncio.timeout(ACCEPT_SECONDS_MAX):
                return await client.publish_batch(made)
        except TimeoutError:
            status = await ask(self.addresses[house.broker], "status")
            why = status["disk_full"] or "is the machine busy?"
            raise EnvironmentFault(
                f"{house.broker} did not accept an agvent within {ACCEPT_SECONDS_MAX:.0f} s", hint=why
            ) from None

    async def _follow(self, when: str, due: Due | None) -> None:
        """Waits until this one has come, and asks the brokers for its way."""
        if due is not None and await self._wait(lambda: due in self._arrived):
            event = EventId(due.publisher, due.sequence)
            way = await way_of(event, self.addresses.values(), FOLLOWED.broker)
            if way is not None:
                self.ways[when] = way

    # The end

    async def _settle(self) -> None:
        """Waits until everything has come, or nothing does any more; then until no broker has anything under way."""
        if await self._wait(lambda: len(self.received) >= len(self.expected)):
            await self._until("deliveries are in transit", _is_at_rest, *self.addresses)
            self._tell(f"{self.published:,} published; {len(self.received):,} deliveries have come, none is in transit")

    async def _wait(self, holds: Callable[[], bool]) -> bool:
        """Waits for deliveries until this holds; False if none comes any more."""
        while not holds():
            self._came.clear()
            try:
                async with asyncio.timeout(IDLE_SECONDS_MAX):
                    await self._came.wait()
            except TimeoutError:
                self._tell(f"nothing has come for {IDLE_SECONDS_MAX:.0f} s")
                return False
        return True

    def _seconds(self) -> float:
        return round(time.monotonic() - self._began, 1)

    def _tell(self, what: str) -> None:
        self._moment(self._seconds(), what)


def share(count: int, parts: int, at: int) -> int:
    """The size of one part, if all are as even as can be.

    >>> [share(10, 4, at) for at in range(4)]
    [2, 3, 2, 3]
    """
    return count * (at + 1) // parts - count * at // parts


def _is_at_rest(status: dict[str, Any]) -> bool:
    return not status["custody"] and not any(client["queued"] for client in status["clients"])
