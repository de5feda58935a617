"""`since=`: the past from the log, then what comes, with nothing lost or repeated where they meet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agvent import connect
from agvent.errors import CallerError
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Delivery, GapNotice
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.fleet.follow import Follower, Keep
from agvent.store.log_reader import LogReader
from tests.integration.net.story import LINE, Story, running


@asynccontextmanager
async def followed(log: Path, disks: list[Path], keep: Keep | None = None) -> AsyncIterator[None]:
    """Writes the log meanwhile, a batch after the other."""
    follower = Follower(log, disks, keep=keep)
    is_over = asyncio.Event()

    async def follow() -> None:
        while not is_over.is_set():
            await asyncio.to_thread(follower.step)
            await asyncio.sleep(0.01)

    following = asyncio.create_task(follow())
    try:
        yield
    finally:
        is_over.set()
        await following
        follower.close()


async def events(subscription: OpenSubscription, count: int) -> list[tuple[str, int]]:
    """The publishers and values of that many events."""
    found: list[tuple[str, int]] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            item = await anext(subscription)
            assert isinstance(item, Delivery), item
            found.append((item.id.publisher, item.event.attributes["n"]))
    return found


async def publish(client: Client, values: range) -> None:
    for value in values:
        await client.publish({"n": value, "even": value % 2 == 0})


def test_the_past_and_the_present_meet(tmp_path: Path) -> None:
    """Two publishers at two brokers publish on while a third client asks for everything: it gets each event that
    matches once, each publisher's in order, and so does one that asks again for what came since a time."""
    log = tmp_path / "log"

    async def story_of(story: Story) -> None:
        await story.linked()
        disks = [member.folder / "data" for member in story.fleet.members.values()]
        address = story.address("B3")
        async with (
            followed(log, disks),
            story.client("ada", "B1") as ada,
            story.client("bob", "B2") as bob,
            connect(address, name="cat", event_log=log) as cat,
        ):
            await asyncio.gather(publish(ada, range(100)), publish(bob, range(100)))
            noon = datetime.now(UTC)
            publishing = asyncio.gather(publish(ada, range(100, 300)), publish(bob, range(100, 300)))
            evens = await cat.subscribe("even = TRUE", id="evens", since="beginning")
            later = await cat.subscribe("even = FALSE", id="later", since=noon)
            found = await events(evens, 300)
            await publishing
            newer = await events(later, 200)
            assert [n for who, n in found if who == "ada"] == list(range(0, 300, 2))
            assert [n for who, n in found if who == "bob"] == list(range(0, 300, 2))
            assert [n for who, n in newer if who == "ada"] == list(range(101, 300, 2))
            assert [n for who, n in newer if who == "bob"] == list(range(101, 300, 2))
            await ada.publish({"n": 1000, "even": True})
            assert await events(evens, 1) == [("ada", 1000)]

    with running(tmp_path, LINE) as story:
        asyncio.run(story_of(story))


def test_what_is_not_for_a_subscriber_is_not_in_its_past(tmp_path: Path) -> None:
    """Publishers that chose their subscribers have chosen for the past too; what retention took is said."""
    log = tmp_path / "log"

    async def story_of(story: Story) -> None:
        await story.linked()
        disks = [member.folder / "data" for member in story.fleet.members.values()]
        at = story.address("B1")
        async with story.client("ada", "B1") as ada:
            async with followed(log, disks, Keep(bytes_max=1)), asyncio.timeout(30):
                await ada.publish_batch([{"n": 1}, {"n": 2}])
                while LogReader(log).heads["events"].dropped.rows < 4:  # B2 had late copies
                    await story.status("B1")
            async with followed(log, disks), connect(at, context={"floor": 3}, event_log=log) as guest:
                await ada.publish({"n": 3}, to="floor = 4")
                await ada.publish({"n": 4}, to="floor = 3")
                await ada.publish({"n": 5}, destinations=["cat"])
                await ada.publish({"n": 6}, expires=datetime.now(UTC) + timedelta(milliseconds=1))
                await ada.publish({"n": 7})
                everything = await guest.subscribe(since=datetime(2020, 1, 1, tzinfo=UTC))
                notice = await anext(everything)
                assert isinstance(notice, GapNotice)
                assert (notice.reason, notice.publisher) == ("retention", "")
                assert await events(everything, 2) == [("ada", 4), ("ada", 7)]
            async with connect(at) as guest:
                with pytest.raises(CallerError, match="since= needs the network's event log"):
                    await guest.subscribe(since="beginning")

    with running(tmp_path, [("B1", "B2")]) as story:
        asyncio.run(story_of(story))
