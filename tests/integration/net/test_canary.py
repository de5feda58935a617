"""What is hidden is in the sandbox hosts and nowhere else: a search of every process's memory and every file."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import msgspec
import pytest

from agvent import connect
from agvent.net.client.keyring import Keyring
from agvent.net.link.dial import ask
from agvent.net.server.visits import ANSWERS
from tests.integration.net.story import LINE, Story, running
from tests.publishing_house import Book, book

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SUBSCRIBER = """
import asyncio, sys
from pathlib import Path
from agvent import connect
from agvent.errors import SecretError

async def main(url, name, keys, house):
    async with connect(url, name=name, key_file=Path(keys)) as shop:
        await shop.seals.trust("house", house)
        wanted = "references_contain('Alonso, E.') AND margin() > 0.2"
        books = await shop.subscribe(wanted, type="Book", admit=True)
        print("subscribed", flush=True)
        delivery = await anext(books)
        price = await delivery.agvent.wholesale_price(10, "Ankara")
        try:
            sealed = await shop.seals.open(delivery)
        except SecretError:
            sealed = {}
        print(price, delivery.messages, sorted(sealed), flush=True)
        sys.stdin.read()

asyncio.run(main(*sys.argv[1:]))
"""
"""A subscriber in a process of its own; it stays until its input ends."""

CHUNK_BYTES = 16 << 20


def memory_has(pid: int, canary: bytes) -> bool:
    """Is it anywhere in what a process may write to?"""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, permissions, *_ = line.split()
            first, last = (int(part, 16) for part in span.split("-"))
            if permissions.startswith("rw") and _region_has(memory, first, last, canary):
                return True
    return False


def _region_has(memory: FileIO, first: int, last: int, canary: bytes) -> bool:
    for at in range(first, last, CHUNK_BYTES):
        try:
            memory.seek(at)
            content = memory.read(min(CHUNK_BYTES + len(canary), last - at))
        except OSError:
            return False  # a region of the kernel's
        if canary in content:
            return True
    return False


def with_children(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from with_children(int(child))


def files_with(folder: Path, canary: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and canary in path.read_bytes()]


class Shop:
    """A subscriber's process at B3."""

    def __init__(self, story: Story, name: str, folder: Path, house: Keyring) -> None:
        file = folder / f"{name}.keys"
        self.keys = Keyring(file)
        words = [story.address("B3"), name, str(file), house.signing_key]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUBSCRIBER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


async def publish(story: Story, keys: Path, partner: Shop, *, hidden: str, sealed: str) -> None:
    async with connect(story.address("B1"), name="house", key_file=keys) as house:
        await house.advertise(Book)
        await house.seals.admit(Book, "partner", partner.keys.seal_key)
        answers = await house.subscribe(topic=ANSWERS)
        await house.publish(book(_references=["Alonso, E.", hidden], contract=sealed))
        for _ in range(2):  # it has arrived at both
            await anext(answers)


async def said_by(story: Story) -> bytes:
    """What brokers tell operators of themselves and of the event."""
    said = []
    for member in story.fleet.members.values():
        said.append(await ask(member.address, "status"))
        said += [await ask(member.address, "trace", publisher="house", sequence=n) for n in (1, 2)]
    return msgspec.json.encode(said)


def test_what_is_hidden_is_in_the_hosts_alone(tmp_path: Path) -> None:
    """Not in a broker's memory, journal, output, traces or figures, nor in a subscriber; what is sealed is in the
    admitted subscriber alone."""
    hidden, sealed = (secrets.token_hex(12) for _ in range(2))
    keys = tmp_path / "house.keys"
    with running(tmp_path / "network", LINE) as story:
        asyncio.run(story.linked())
        partner, stranger = (Shop(story, name, tmp_path, Keyring(keys)) for name in ("partner", "stranger"))
        try:
            assert [shop.line() for shop in (partner, stranger)] == ["subscribed"] * 2
            asyncio.run(publish(story, keys, partner, hidden=hidden, sealed=sealed))
            told = "1500.0 ({{'hello': '{}', 'price': 80.0}},) {}"
            assert partner.line() == told.format("partner", "['contract']")
            assert stranger.line() == told.format("stranger", "[]")
            status = {name: asyncio.run(story.status(name)) for name in story.fleet.members}
            processes = {name: [status[name]["pid"]] for name in status}
            processes |= {"partner": [partner.process.pid], "stranger": [stranger.process.pid]}
            hosts = {f"host of {name}": [*with_children(status[name]["sandbox_pid"])] for name in ("B1", "B3")}
            found = {
                canary: [
                    name
                    for name, pids in (processes | hosts).items()
                    if any(memory_has(pid, canary.encode()) for pid in pids)
                ]
                for canary in (hidden, sealed)
            }
            assert found == {hidden: ["host of B1", "host of B3"], sealed: ["partner"]}
            said = asyncio.run(said_by(story))
        finally:
            for shop in (partner, stranger):
                shop.process.communicate("")
    for canary in (hidden, sealed):
        assert files_with(tmp_path, canary.encode()) == []
        assert canary.encode() not in said
