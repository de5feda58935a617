"""The event log of a network, from its journals."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agvent import connect, limits
from agvent.errors import JournalError
from agvent.net.fleet.collect import collect
from agvent.net.link.address import Address
from agvent.net.server.config import Config
from agvent.net.server.server import BrokerServer
from agvent.store.log_reader import LogReader
from agvent.store.log_verification import verify
from agvent.types import AdvertisedAttribute, AgventType
from tests.integration.net.story import LINE, Story, received, running

BOOK = AgventType(name="Book", attributes=(AdvertisedAttribute("n", "int"),))


def test_what_happened_is_in_the_log(tmp_path: Path) -> None:
    """Three brokers, one of them killed: each event once, each delivery with the epoch and version it was due by."""

    async def story_of(story: Story) -> None:
        await story.linked()
        async with story.client("ada", "B1") as ada, story.client("ben", "B3") as ben:
            await ada.advertise(BOOK)
            books = await ben.subscribe("n > 1", type="Book", id="books")
            await ada.publish_batch([{"$type": "Book", "n": n} for n in range(4)])
            assert await received(books, 2) == [2, 3]
            await asyncio.to_thread(story.fleet.kill, "B3")
            story.fleet.start("B3")
            await asyncio.to_thread(story.fleet.wait_until_up)
            await ada.publish({"$type": "Book", "n": 9})
            assert await received(books, 1) == [9]
            await ben.unsubscribe(books)

    with running(tmp_path, LINE) as story:
        asyncio.run(story_of(story))
        collect([member.folder / "data" for member in story.fleet.members.values()], tmp_path / "log")
    assert verify(tmp_path / "log").findings == []
    log = LogReader(tmp_path / "log")
    events = [(record.event.id, record.event.attributes["n"], record.entry_broker) for record in log.events("Book")]
    assert events == [(("ada", n + 1), value, "B1") for n, value in enumerate((0, 1, 2, 3, 9))]
    rows = log.table("deliveries").to_pylist()
    assert [(row["sequence"], row["subscription"], row["position"], row["home_broker"]) for row in rows] == [
        (3, "ben/books", 1, "B3"),
        (4, "ben/books", 2, "B3"),
        (5, "ben/books", 3, "B3"),
    ]
    assert {(row["entry_broker"], row["version"]) for row in rows} == {("B1", 1)}
    assert all(row["delivered_at"] is not None for row in rows)
    [gap] = log.table("gaps").to_pylist()
    assert (gap["subscription"], gap["reason"]) == ("ben/books", "unsubscribed")
    [interval] = [one for one in log.in_force().to_pylist() if one["entry_broker"] == "B1"]
    assert (interval["subscription"], interval["from_epoch"]) == ("ben/books", min(row["epoch"] for row in rows))


@pytest.mark.parametrize("keep", [True, False])
def test_history_is_kept_if_it_is_asked_for(tmp_path: Path, keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that was replaced by snapshots still gives every event, or says that its beginning was not kept."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 20_000)

    async def story_of() -> None:
        config = Config(
            name="B1", listen=Address("127.0.0.1", 0), data=tmp_path / "data", neighbours={}, keep_history=keep
        )
        for _ in range(2):
            server = BrokerServer(config, write=lambda _: None)
            await server.start()
            async with connect(f"127.0.0.1:{server.port}", name="ada") as ada:
                everything = await ada.subscribe(id="all")
                publishing = asyncio.create_task(ada.publish_batch([{"n": n, "raw": b"alone"} for n in range(300)]))
                assert await received(everything, 300) == list(range(300))
                await publishing
            await server.stop()
        assert list((tmp_path / "data" / "journal").glob("*.snapshot"))

    asyncio.run(story_of())
    if not keep:
        with pytest.raises(JournalError, match=r"records from sequence 1 to .* were not kept"):
            collect([tmp_path / "data"], tmp_path / "log")
        return
    rows = collect([tmp_path / "data"], tmp_path / "log")
    assert (rows["events"], rows["deliveries"]) == (600, 600)
    log = LogReader(tmp_path / "log")
    assert [one.event.id for one in log.events()] == [("ada", n) for n in range(1, 601)]
    assert log.table("deliveries")["sequence"].to_pylist() == list(range(1, 601))
