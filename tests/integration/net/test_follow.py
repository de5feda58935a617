"""The event log of a network that runs: what happened is in it soon, and once, whatever is killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agvent import connect, limits
from agvent.net.fleet.follow import Follower, Keep
from agvent.net.link.address import Address
from agvent.net.server.config import Config
from agvent.net.server.server import BrokerServer
from agvent.store.journal_recovery import segment_paths
from agvent.store.log_reader import LogReader
from agvent.store.log_verification import verify
from tests.integration.net.story import LINE, Story, received, running


def ids(log: Path) -> list[tuple[str, int]]:
    return [(one.event.id.publisher, one.event.id.sequence) for one in LogReader(log).events() if one.event.id]


def delivered(log: Path) -> list[int]:
    return sorted(LogReader(log).table("deliveries")["sequence"].to_pylist())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(holds):
            pass


def test_a_log_grows_while_the_follower_and_brokers_are_killed(tmp_path: Path) -> None:
    """kill -9 of the follower under load, and of a broker: every event and every delivery is in the log once."""
    log = tmp_path / "log"

    def follow() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "agvent.cli.main", "log", "follow", str(log), "--every", "0.05"]
        return subprocess.Popen([*command, "--network", str(tmp_path)], stdout=subprocess.PIPE)

    async def story_of(story: Story) -> None:
        await story.linked()
        follower = follow()
        try:
            async with story.client("ada", "B1") as ada, story.client("ben", "B3") as ben:
                values = await ben.subscribe(id="all")
                publishing = asyncio.create_task(story.publish(ada, range(300)))
                assert len(await received(values, 200)) == 200
                await until(lambda: (log / "log.json").exists() and len(ids(log)) > 20)
                follower.kill()
                follower.communicate()
                follower = follow()
                await asyncio.to_thread(story.fleet.kill, "B3")
                story.fleet.start("B3")
                assert len(await received(values, 100)) == 100
                await publishing
                await until(lambda: len(delivered(log)) >= 300)
        finally:
            follower.terminate()
            follower.communicate()
        assert follower.returncode == 0

    with running(tmp_path, LINE) as story:
        asyncio.run(story_of(story))
    assert sorted({*ids(log)}) == [("ada", n) for n in range(1, 301)]  # a late copy is in the log once more
    assert delivered(log) == list(range(1, 301))
    assert verify(log).findings == []
    traces = LogReader(log).table("traces").to_pylist()
    ways: dict[int, set[tuple[int, str, str]]] = {}
    for row in traces:
        assert row["sent_at"] <= row["received_at"]
        if row["destination"] == "B3":  # the others are late copies
            ways.setdefault(row["sequence"], set()).add((row["hop"], row["from_broker"], row["to_broker"]))
    assert ways == {n: {(1, "B1", "B2"), (2, "B2", "B3")} for n in range(1, 301)}


async def with_broker(folder: Path, say: Callable[[str], Awaitable[None]]) -> None:
    config = Config(name="B1", listen=Address("127.0.0.1", 0), data=folder / "data", neighbours={}, keep_history=True)
    server = BrokerServer(config, write=lambda _: None)
    await server.start()
    try:
        await say(f"127.0.0.1:{server.port}")
    finally:
        await server.stop()


async def publish(at: str, count: int) -> None:
    async with connect(at, name="ada") as ada:
        everything = await ada.subscribe(id="all")
        publishing = asyncio.create_task(ada.publish_batch([{"n": n, "raw": b"alone"} for n in range(count)]))
        await received(everything, count)
        await publishing


def test_a_batch_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    """A follower that fails between two streams goes on with the same batch: what the first has comes once."""
    log = tmp_path / "log"
    asyncio.run(with_broker(tmp_path, lambda at: publish(at, 10)))
    follower = Follower(log, [tmp_path / "data"])
    (log / "deliveries").write_text("in the way")
    with pytest.raises(OSError, match="deliveries"):
        follower.step()
    follower.close()
    assert len(ids(log)) == 10
    asyncio.run(with_broker(tmp_path, lambda at: publish(at, 5)))
    (log / "deliveries").unlink()
    follower = Follower(log, [tmp_path / "data"])
    first, second, third = follower.step(), follower.step(), follower.step()
    follower.close()
    assert first is not None
    assert second is not None
    assert (first["events"], second["events"], third) == (10, 5, None)
    assert ids(log) == [("ada", n) for n in range(1, 16)]
    assert delivered(log) == list(range(1, 16))
    assert verify(log).findings == []


def test_what_the_log_has_need_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archived segments go when the log has them, and old rows when they are older than is to be kept."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 20_000)
    log, archive = tmp_path / "log", tmp_path / "data" / "archive"
    follower = Follower(log, [tmp_path / "data"], trim=True, keep=Keep(bytes_max=1))
    for _ in range(2):
        asyncio.run(with_broker(tmp_path, lambda at: publish(at, 300)))
        assert segment_paths(archive)
        follower.step()
        assert segment_paths(archive) == []
    follower.close()
    head = LogReader(log).heads["events"]
    assert (head.ends, head.dropped.rows, head.segments) == ({"B1": 600}, 600, [])
