"""Agvents that find their own way over real processes, through sandbox hosts that are processes too."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agvent import Agvent
from agvent.broker.records import Visited
from agvent.broker.tables.journeys import instance_of
from agvent.cli.trace import line_of
from agvent.event import Budget
from agvent.net.client.client import Client
from agvent.net.link.dial import ask
from agvent.sim.ledger import Ledger
from agvent.wire.client_messages import Deliver, Stopped
from tests.integration.net.story import LINE, Story, received, running

COUNT = 80


class Patrol(Agvent):
    """Goes from one home to the next in the order of their names, and delivers at each second stop only."""

    n: int

    def route(self, server: Any) -> None:
        stops = 0
        while True:
            stops += 1
            if stops % 2:
                server.deliver()
            names = sorted(target["broker"] for target in server.targets())
            if not names or not server.move(names[0]):
                return


async def publish(story: Story, client: Client, count: int) -> None:
    await client.advertise(Patrol)
    for n in range(count):
        await client.publish(Patrol(n=n))
        story.published.setdefault(client.name, []).append(n)
        if n == 20:
            story.under_way.set()


async def patrolled(story: Story, fault: Callable[[Story], Awaitable[None]]) -> None:
    """A subscriber at the entry and at each other broker: the first and the third stop deliver."""
    await story.linked()
    ada, ben, cy, dan = (story.client(*one) for one in (("ada", "B1"), ("ben", "B1"), ("cy", "B2"), ("dan", "B3")))
    async with ada as house, ben as first, cy as second, dan as third:
        wanted = [await one.subscribe("n >= 0") for one in (first, second, third)]
        publishing = asyncio.create_task(publish(story, house, COUNT))
        await story.under_way.wait()
        await fault(story)
        await publishing
        assert await received(wanted[0], COUNT) == list(range(COUNT))
        assert await received(wanted[2], COUNT) == list(range(COUNT))
        assert not [one for one in story.history.told if one.client == "cy" and isinstance(one.message, Deliver)]


def executions(story: Story) -> Counter[int]:
    """How many stops of how many agvents have a record, beside the one at their entry."""
    ledger = Ledger(story.history)
    stops = Counter(
        instance_of(one.entered, one.publication, one.journey.path)
        for _, one in ledger.stops
        if isinstance(one, Visited)
    )
    return Counter(stops.values())


@pytest.mark.parametrize("victim", ["B1", "B2"], ids=["entry", "stop"])
def test_a_broker_killed_during_moves_loses_and_repeats_nothing(tmp_path: Path, victim: str) -> None:
    """kill -9 while agvents are in the middle of their programs: each goes on from its snapshot, every stop is made
    once, and every home that was chosen has each agvent once and in order."""

    async def kill(story: Story) -> None:
        await asyncio.to_thread(story.fleet.kill, victim)
        story.fleet.start(victim)
        await asyncio.to_thread(story.fleet.wait_until_up)

    with running(tmp_path, LINE) as story:
        asyncio.run(patrolled(story, kill))
    assert story.violations() == []
    assert executions(story) == {1: 2 * COUNT}


async def short_of_hops(story: Story) -> None:
    await story.linked()
    async with story.client("ada", "B1") as house, story.client("dan", "B3") as third:
        wanted = await third.subscribe("n >= 0")
        await house.advertise(Patrol)
        await house.publish(Patrol(n=1), budget=Budget(hops=1))
        await house.publish({"n": 2})
        about: dict[str, Any] = {"publisher": "ada", "sequence": 1, "fast": False}
        hops = await ask(story.fleet.members["B1"].address, "trace", **about)
        assert [line_of(hop, hop["at"]).partition("ms  ")[2] for hop in hops][:5] == [
            "entered at B1, for B3",
            "created, and published at B1",
            "admitted at B1",
            "executed at B1",
            "0 migrated from B1 to B3, for B3",
        ]
        assert await received(wanted, 1) == [2]
        assert list(house.failures) == [
            Stopped(sequence=1, broker="B2", reason="its budget of hops is spent", declined=("B3",))
        ]


def test_a_publisher_is_told_that_a_budget_is_spent(tmp_path: Path) -> None:
    """An agvent that may go over one link does not come to a home behind two; the next event does. `agvent trace` has
    what its entry remembers of its life."""
    with running(tmp_path, LINE) as story:
        asyncio.run(short_of_hops(story))
