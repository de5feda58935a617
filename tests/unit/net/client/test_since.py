"""The past of a subscription, as whoever iterates sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agvent.errors import CallerError, NetworkFault
from agvent.event import EventId
from agvent.filters.subscription import Subscription
from agvent.net.client import since
from agvent.net.client.deliveries import Delivery, Incoming
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.since import Item, Lacking, Past, past_of
from agvent.wire.client_messages import Deliver


def item(number: int) -> Item:
    return Delivery(
        Incoming(
            Deliver(
                number=number,
                after=0,
                behind=0,
                publisher="ada",
                sequence=number,
                fast=False,
                event=b"",
                subscriptions=("s",),
            ),
            lambda *_: None,
        ),
        0,
        b"",
        number,
        "s",
    )


async def endless(*items: Item) -> AsyncIterator[Item]:
    for one in items:
        yield one
    await asyncio.Event().wait()


def test_a_past_that_is_ended_gives_what_it_read_and_then_its_end() -> None:
    """As often as it is asked, and to whoever was waiting already."""

    async def story() -> None:
        past = Past(endless(item(1), item(2)))
        first = await past.next()
        await asyncio.sleep(0)
        past.end()
        second = await past.next()
        assert isinstance(first, Delivery)
        assert isinstance(second, Delivery)
        assert (first.id, second.id) == (EventId("ada", 1), EventId("ada", 2))
        assert [await past.next(), await past.next()] == [None, None]

        idle = Past(endless())
        waiting = asyncio.create_task(idle.next())
        await asyncio.sleep(0)
        idle.end()
        async with asyncio.timeout(5):
            assert await waiting is None

    asyncio.run(story())


def test_what_the_log_refuses_is_raised_where_it_is_read() -> None:
    """Not in the task that reads ahead."""

    async def refused() -> AsyncIterator[Item]:
        yield item(1)
        raise CallerError("no log")

    async def story() -> None:
        past = Past(refused())
        await past.next()
        with pytest.raises(CallerError, match="no log"):
            await past.next()

    asyncio.run(story())


def test_a_log_that_does_not_hear_of_the_subscription_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever iterates is told which brokers it lacks, and what to look at."""
    monkeypatch.setattr(since, "LOG_SECONDS_MAX", 0.3)
    monkeypatch.setattr(since, "_history", lambda *_: Lacking(["B2", "B3"]))

    async def story() -> None:
        subscribed = OpenSubscription(Subscription(id="s"))
        past = Past(past_of(subscribed, Path("log"), None, "ada"))
        with pytest.raises(NetworkFault, match=r"log has not heard of this subscription from B2, B3 for 0\.3 s"):
            await past.next()

    asyncio.run(story())
