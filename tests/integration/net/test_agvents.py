"""Agvents over real processes: code that travels with its advertisement, filters that call behaviours."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agvent import connect
from agvent.agents.table import table_of
from agvent.agents.types import type_of
from agvent.errors import CallerError
from agvent.net.config import Tls
from agvent.net.deliveries import Delivery, Subscribed
from agvent.net.keys import make_authority, make_certificate
from agvent.net.local import local_broker
from agvent.net.tls import Credentials
from tests.integration.net.story import LINE, Story, running
from tests.publishing_house import Book, book

FIGURE_6 = """
    author = 'Valentina Plekhanova' AND pages > 200 AND published > TIMESTAMP '2002-01-01'
    AND references_contain('Alonso, E.') AND wholesale_price(1000, 'Istanbul') < 150000 AND margin() > 0.2
"""


async def titles(subscription: Subscribed, count: int) -> list[str]:
    """The titles of that many books."""
    found: list[str] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            item = await anext(subscription)
            assert isinstance(item, Delivery), item
            found.append(item.event.attributes["title"])
            item.acknowledge()
    return found


async def publish(story: Story, *, last: str) -> None:
    """Two books that the subscription wants, with three between them that it does not."""
    async with connect(story.address("B1"), name="house") as house:
        await house.advertise(Book)
        books = [
            book(title="first"),
            book(title="dear", list_price=500.0),
            book(title="no references", _references=[]),
            book(title="no margin", margin=0.1),
            book(title=last),
        ]
        await house.publish_batch(books)


async def across_three_brokers(story: Story) -> None:
    await story.linked()
    async with connect(story.address("B3"), name="shop") as shop:
        wanted = await shop.subscribe(FIGURE_6, type="Book")
        await publish(story, last="second")
        assert await titles(wanted, 2) == ["first", "second"]
        os.kill((await story.status("B1"))["sandbox_pid"], signal.SIGKILL)
        await publish(story, last="host killed")
        assert await titles(wanted, 2) == ["first", "host killed"]
        story.fleet.kill("B1")
        story.fleet.start("B1")
        story.fleet.wait_until_up()
        await publish(story, last="broker killed")
        assert await titles(wanted, 2) == ["first", "broker killed"]
        assert (await story.status("B2"))["sandbox_pid"] == 0  # it passed everything on and ran nothing


def test_a_filter_calls_behaviours_across_processes(tmp_path: Path) -> None:
    """The subscription of seed 002, figure 6, from another broker; also after the host and the broker were killed.
    `agvent types` shows the table of figure 5."""
    with running(tmp_path, LINE) as story:
        asyncio.run(across_three_brokers(story))
        words = [sys.executable, "-m", "agvent.cli.main", "types", "Publication", "--at", story.address("B3")]
        shown = subprocess.run(words, capture_output=True, text=True, check=True)
        assert shown.stdout == f"{table_of(type_of(Book))}\n  by house at B1\n"


def test_code_takes_a_grant(tmp_path: Path) -> None:
    """Who may advertise and publish a type may not bring its program, unless that is granted too."""
    make_authority(tmp_path)
    make_certificate(tmp_path, "broker", "B1")
    about = ["type:Book", "type:Publication"]
    grants = [f"{action} {one}" for action in ("advertise", "publish") for one in about]
    make_certificate(tmp_path, "client", "eve", grants=grants)
    make_certificate(tmp_path, "client", "house", grants=[*grants, "code type:Book"])

    def file(name: str) -> Path:
        return tmp_path / name

    def shown(name: str) -> Credentials:
        return Credentials(authority=file("authority.pem"), certificate=file(f"{name}.pem"), key=file(f"{name}.key"))

    tls = Tls(authority=file("authority.pem"), certificate=file("B1.pem"), key=file("B1.key"), tokens=[])
    with local_broker("B1", tls=tls) as url:
        denied = pytest.raises(CallerError, match="denied: it takes code type:Book")
        with connect(url, name="eve", credentials=shown("eve")) as eve, denied:
            eve.advertise(Book)
        with connect(url, name="house", credentials=shown("house")) as house:
            house.advertise(Book)
            assert house.publish(book()).id.sequence == 1
