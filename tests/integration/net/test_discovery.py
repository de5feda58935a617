"""Live discovery: a question reaches the librarians of its realm, and what they have comes back to the asker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from agvent.errors import CallerError, FilterError
from agvent.net.client.client import Client
from agvent.net.client.discovery import Discovered, FoundDocument, discover, librarians, store_document
from agvent.net.client.librarian import Librarian
from agvent.store.document_shelf import Shelf
from agvent.types import AdvertisedAttribute, AgventType
from tests.integration.net.story import LINE, Story, running

QUOTE = AgventType(name="Quote", attributes=(AdvertisedAttribute("price", "float"),))
MENU = "<menu><drink price='{price}'/></menu>"


@asynccontextmanager
async def librarian(client: Client, shelf: Path, realm: str) -> AsyncIterator[None]:
    """A librarian that is there."""
    running = asyncio.create_task(Librarian(client, Shelf(shelf), realm=realm).run())
    async with asyncio.timeout(30):
        while client.name not in await librarians(client):
            assert not running.done(), running
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def named(answer: Discovered) -> list[tuple[str, str, str, str]]:
    return [(one.source, one.name, one.owner, one.realm) for one in answer.found]


async def until(client: Client, query: str, count: int) -> Discovered:
    """The answer when so many are found: a document is on its way to its librarian when `store_document` returns."""
    async with asyncio.timeout(30):
        while True:
            answer = await discover(client, query)
            if len(answer.found) == count:
                return answer


def test_a_question_goes_to_its_realm(tmp_path: Path) -> None:
    """Documents and advertisements come back from the librarians of the realm that was asked about, and no others;
    what was withdrawn is not found; a librarian that does not answer is named."""

    async def story_of(story: Story) -> None:
        await story.linked()
        async with (
            story.client("anka", "B1") as anka,
            story.client("oslo", "B3") as oslo,
            story.client("ada", "B2") as ada,
        ):
            async with (
                librarian(anka, tmp_path / "anka.db", "eu/ankara"),
                librarian(oslo, tmp_path / "oslo.db", "eu/oslo"),
            ):
                await oslo.advertise(QUOTE)
                await store_document(ada, "menu", MENU.format(price=3), realm="eu/ankara")
                await store_document(ada, "menu", MENU.format(price=5), realm="eu/oslo")
                both = await until(ada, "//drink", 2)
                assert named(both) == [
                    ("document", "ada/menu", "ada", "eu/ankara"),
                    ("document", "ada/menu", "ada", "eu/oslo"),
                ]
                assert both.found[0].xml == MENU.format(price=3)
                assert named(await discover(ada, "//drink[@price > 4]")) == [key_of(both.found[1])]
                assert named(await discover(ada, "//drink", realm="eu/ankara")) == [key_of(both.found[0])]
                assert await discover(ada, "//drink", realm="us") == Discovered([], ())
                quotes = await discover(ada, "/advertisement[attribute/@name = 'price']", realm="eu")
                assert named(quotes) == [("advertisement", "Quote", "oslo", "eu/oslo")]
                assert named(await discover(ada, "owner = 'oslo'", language="sql")) == named(quotes)
                await store_document(ada, "menu", None, realm="eu/oslo")
                await until(ada, "//drink", 1)
            assert (await discover(ada, "//drink", wait_s=0.2)).pending == ("anka", "oslo")
            with pytest.raises(FilterError):
                await discover(ada, "//drink[")
            with pytest.raises(CallerError, match="no librarian serves the realm 'us'"):
                await store_document(ada, "menu", "<a/>", realm="us")

    with running(tmp_path, LINE) as story:
        asyncio.run(story_of(story))


def key_of(finding: FoundDocument) -> tuple[str, str, str, str]:
    return (finding.source, finding.name, finding.owner, finding.realm)
