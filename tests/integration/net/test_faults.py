"""Real processes, killed, stopped, cut off, without room on their disks: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agvent.broker.records import Timed
from agvent.net.client.receipts import Receipt
from agvent.net.fleet.fleet import free_ports
from agvent.store.journal_recovery import segment_paths
from agvent.wire.client_messages import Deliver
from tests.integration.net.proxy import FaultProxy
from tests.integration.net.story import LINE, RING, Story, received, running

COUNT = 400

Fault = Callable[[Story], Awaitable[None]]


async def carried(story: Story, *, entry: str, home: str, fault: Fault, count: int = COUNT) -> None:
    """A publisher at one broker, a subscriber at another, and a fault in between: every value arrives, in order."""
    await story.linked()
    async with story.client("ada", entry) as ada, story.client("ben", home) as ben:
        everything = await ben.subscribe("n >= 0")
        assert everything.pending == ()
        publishing = asyncio.create_task(story.publish(ada, range(count)))
        await story.under_way.wait()
        faults = asyncio.ensure_future(fault(story))
        values = await received(everything, count)
        await publishing
        await faults
    assert values == list(range(count))


def killed(name: str, times: int = 2) -> Fault:
    async def fault(story: Story) -> None:
        for _ in range(times):
            await asyncio.to_thread(story.fleet.kill, name)
            story.fleet.start(name)
            await asyncio.to_thread(story.fleet.wait_until_up)

    return fault


@pytest.mark.parametrize("victim", ["B1", "B2", "B3"], ids=["entry", "transit", "home"])
def test_a_broker_killed_under_load_loses_nothing(tmp_path: Path, victim: str) -> None:
    """kill -9 and restart, twice: what was acknowledged arrives once and in order, whichever broker it was."""
    with running(tmp_path, LINE) as story:
        asyncio.run(carried(story, entry="B1", home="B3", fault=killed(victim)))
    assert story.violations() == []


async def away(story: Story, name: str, *, back: asyncio.Event) -> None:
    """A broker dies, and comes back when it is asked to."""
    await asyncio.to_thread(story.fleet.kill, name)
    await back.wait()
    story.fleet.start(name)
    await asyncio.to_thread(story.fleet.wait_until_up)


def test_a_subscriber_goes_to_another_broker_and_loses_nothing(tmp_path: Path) -> None:
    """His home dies; he is at home elsewhere while it is away; when it is back he has everything, once and in order."""

    async def whole(story: Story) -> None:
        await story.linked()
        async with story.client("ada", "B1") as ada, story.client("ben", "B3", "B4", failover_s=0.3) as ben:
            everything = await ben.subscribe("n >= 0")
            publishing = asyncio.create_task(story.publish(ada, range(COUNT)))
            await story.under_way.wait()
            back = asyncio.Event()
            fault = asyncio.create_task(away(story, "B3", back=back))
            await story.at_home("ben", "B4")
            back.set()
            assert await received(everything, COUNT) == list(range(COUNT))
            await publishing
            await fault

    with running(tmp_path, RING) as story:
        asyncio.run(whole(story))
    assert story.violations() == []


def test_a_publisher_goes_to_another_broker_and_doubles_nothing(tmp_path: Path) -> None:
    """What its first broker accepted without being able to say so arrives once, though the second accepted it too."""

    async def whole(story: Story) -> None:
        await story.linked()
        async with story.client("ada", "B1", "B2", failover_s=0.3) as ada, story.client("ben", "B3") as ben:
            everything = await ben.subscribe("n >= 0")
            back = asyncio.Event()
            fault = asyncio.create_task(away(story, "B1", back=back))
            published: list[Receipt] = []
            for first in range(0, COUNT, 20):
                wave = (ada.publish({"n": value}) for value in range(first, first + 20))
                published += await asyncio.gather(*wave)
            story.published["ada"] = list(range(COUNT))
            assert {one.entry for one in published} >= {"B2"}
            back.set()
            assert sorted(await received(everything, COUNT)) == list(range(COUNT))
            await fault

    with running(tmp_path, RING) as story:
        asyncio.run(whole(story))
    assert story.violations() == []


def test_a_stopped_broker_is_gone_around(tmp_path: Path) -> None:
    """SIGSTOP for 5 s of a broker on the way: events take the other way round the ring, and none is lost or doubled."""

    async def stopped(story: Story) -> None:
        process = story.fleet.members["B2"].process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(5)
        process.send_signal(signal.SIGCONT)
        await story.linked()

    with running(tmp_path, RING) as story:
        asyncio.run(carried(story, entry="B1", home="B3", fault=stopped, count=1_500))
    assert story.violations() == []


async def _cut(proxy: FaultProxy) -> None:
    for _ in range(3):
        proxy.cut()
        await asyncio.sleep(0.3)
        proxy.heal()
        await asyncio.sleep(0.3)


async def _delay(proxy: FaultProxy) -> None:
    proxy.delay_s = 0.2
    await asyncio.sleep(1.5)


async def _throttle(proxy: FaultProxy) -> None:
    proxy.bytes_per_s = 20_000
    await asyncio.sleep(1.5)


async def _corrupt(proxy: FaultProxy) -> None:
    proxy.flips = 0.2
    await asyncio.sleep(1.5)


@pytest.mark.parametrize("fault", [_cut, _delay, _throttle, _corrupt])
def test_a_bad_link_loses_nothing(tmp_path: Path, fault: Callable[[FaultProxy], Awaitable[None]]) -> None:
    """Cut, delayed, throttled, corrupted: the link is mended or goes down and comes back, and all arrives."""
    story = Story(tmp_path, LINE)
    target = story.fleet.members["B2"].address
    with FaultProxy(target, free_ports(1)[0]) as proxy:
        config = tmp_path / "B1" / "broker.toml"
        config.write_text(config.read_text().replace(f'"B2" = "{target}"', f'"B2" = "{proxy.address}"'))

        async def meddled(_: Story) -> None:
            await fault(proxy)
            proxy.heal()

        try:
            story.fleet.start_all()
            story.fleet.wait_until_up()
            asyncio.run(carried(story, entry="B1", home="B3", fault=meddled, count=800))
        finally:
            story.fleet.stop()
        assert proxy.connections >= 1
    assert story.violations() == []


def test_a_full_disk_stops_acknowledgements_until_there_is_room(tmp_path: Path) -> None:
    """Nothing is acknowledged that is not on disk; with room again everything goes on, and nothing was lost."""

    async def filled(story: Story) -> None:
        process = story.fleet.members["B1"].process
        assert process is not None
        unlimited = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        size = segment_paths(tmp_path / "B1" / "data" / "journal")[-1].stat().st_size
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size + 2_000, unlimited[1]))
        async with asyncio.timeout(30):
            while not (await story.status("B1"))["disk_full"]:
                pass
        told = len(story.published["ada"])
        await asyncio.sleep(1.5)
        assert len(story.published["ada"]) == told
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)

    with running(tmp_path, LINE) as story:
        asyncio.run(carried(story, entry="B1", home="B3", fault=filled))
    assert story.violations() == []


def test_a_torn_tail_is_repaired_at_the_start(tmp_path: Path) -> None:
    """Half a record at the end of a journal is what a crash leaves; the broker starts, and nothing is missing."""

    async def torn(story: Story) -> None:
        await asyncio.to_thread(story.fleet.kill, "B3")
        segment = segment_paths(tmp_path / "B3" / "data" / "journal")[-1]
        with segment.open("ab") as file:
            file.write(os.urandom(300))
        story.fleet.start("B3")

    with running(tmp_path, LINE) as story:
        asyncio.run(carried(story, entry="B1", home="B3", fault=torn))
    assert story.violations() == []
    # And the bookkeeping sees what is not as it should be.
    seen = [one for one in story.history.told if isinstance(one.message, Deliver)]
    story.history.told.remove(seen[7])
    story.history.told.append(seen[9])
    assert story.violations() == [
        "ben did not receive ada:8 for s1",
        "ben received ada:10 for s1 2 times",
        f"ben received ada:10 after ada:{COUNT} for s1",
    ]


HOUR_S = 3_600
CLOCK = Path(__file__).parent / "clock"
"""What is there is run at the start of a process, and gives it a wall clock that can be set."""


@pytest.mark.parametrize("restarts", [False, True])
def test_a_clock_that_jumps_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: bool) -> None:
    """The wall clock is set forwards and backwards by hours while events flow: brokers that run do not see it. Those
    that are killed start with the other time, so that no two have the same; and nothing is lost or doubled."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    monkeypatch.setenv("AGVENT_TEST_CLOCK", str(clock))
    monkeypatch.setenv("PYTHONPATH", str(CLOCK), prepend=os.pathsep)

    async def jumped(story: Story) -> None:
        for hours, name in ((5, "B1"), (-7, "B2"), (30, "B3"), (-2, "B1"), (0, "B3")):
            clock.write_text(str(hours * HOUR_S))
            told = len(story.published["ada"])
            if restarts:
                await killed(name, times=1)(story)
            async with asyncio.timeout(30):
                while len(story.published["ada"]) < min(told + 50, COUNT):
                    await story.status("B3")

    with running(tmp_path, LINE) as story:
        asyncio.run(carried(story, entry="B1", home="B3", fault=jumped))
    assert story.violations() == []
    times = [one.record.at for one in story.history.on_disk if isinstance(one.record, Timed)]
    assert round((max(times) - min(times)) / HOUR_S / 1e6) == (37 if restarts else 0)


def agvent(*args: str) -> tuple[int, str]:
    """A command's exit code and what it said."""
    run = subprocess.run([sys.executable, "-m", "agvent.cli.main", *args], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def test_a_damaged_journal_is_refused_and_repaired_on_demand(tmp_path: Path) -> None:
    """The broker does not start and says why; the repair says what it loses; after it the client is told of the loss,
    and goes on."""

    async def story_of(story: Story) -> None:
        async with story.client("ada", "B1") as ada:
            subscription = await ada.subscribe(id="all")
            await ada.publish({"n": 1})
            assert await received(subscription, 1) == [1]
            journal = tmp_path / "B1" / "data" / "journal"
            code, said = await asyncio.to_thread(agvent, "journal", "repair", str(journal), "--yes")
            assert (code, said.splitlines()[-2:]) == (
                3,
                [f"error: {journal}: another process has this journal open", "hint: stop the broker first"],
            )
            await asyncio.to_thread(story.fleet.kill, "B1")
            segment = segment_paths(journal)[-1]
            data = bytearray(segment.read_bytes())
            data[60] ^= 1
            segment.write_bytes(data)
            code, said = await asyncio.to_thread(agvent, "broker", "--config", str(tmp_path / "B1" / "broker.toml"))
            assert (code, f"hint: agvent journal repair {journal} says what would be lost" in said) == (3, True)
            code, said = await asyncio.to_thread(agvent, "journal", "repair", str(journal))
            assert re.search(r"\n\d+ whole records follow the damage, .*: 1 Accepted, ", said)
            assert (code, said.splitlines()[-1]) == (
                1,
                "a repair loses all of the above, and everything after it; --yes repairs it",
            )
            assert segment.exists()
            assert (await asyncio.to_thread(agvent, "journal", "repair", str(journal), "--yes"))[0] == 0
            story.fleet.start("B1")
            async with asyncio.timeout(30):
                assert (await ada.publish({"n": 2})).id.sequence == 2
                notice = await anext(subscription)
            assert notice.reason == "lost_disk"  # type: ignore[union-attr]
            assert await received(subscription, 1) == [2]

    with running(tmp_path, [("B1", "B2")]) as story:
        asyncio.run(story_of(story))


def test_a_forgotten_broker_says_so_and_joins_anew_on_demand(tmp_path: Path) -> None:
    """It stops when its neighbour tells it, and does not start again; with its journal put aside it is a new broker."""
    config, journal = str(tmp_path / "B2" / "broker.toml"), tmp_path / "B2" / "data" / "journal"

    async def hears_of_it(story: Story, n: int) -> None:
        async with story.client("", "B2") as guest, story.client("ada", "B1") as ada:
            while "B1" not in (subscription := await guest.subscribe(id="all")).confirmed:
                await guest.unsubscribe("all")
            await ada.publish({"n": n})
            assert await received(subscription, 1) == [n]

    with running(tmp_path, [("B1", "B2")]) as story:
        asyncio.run(hears_of_it(story, 1))
        story.fleet.kill("B2")
        assert agvent("broker", "forget", "B2", "--network", str(tmp_path)) == (0, "B2: forgotten\n")
        for _ in range(2):
            code, said = agvent("broker", "--config", config)
            assert (code, "error: 'B2' was forgotten, and the network goes on without it\n" in said) == (3, True)
        assert agvent("journal", "repair", str(journal))[0] == 1
        assert agvent("journal", "repair", str(journal), "--yes")[0] == 0
        story.fleet.start("B2")
        story.fleet.wait_until_up()
        asyncio.run(hears_of_it(story, 2))
