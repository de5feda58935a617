"""Simulated disks: what was safe comes back from every crash, and the judges are seen to fail where it does not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agvent.broker.records import Booted
from agvent.sim.checkers.disk import damaged
from agvent.sim.checkers.journal import unfaithful
from agvent.sim.disk import Disk
from agvent.sim.journals import trial
from agvent.sim.platter import Platter, PowerFailure
from agvent.sim.run import NOTHING
from agvent.sim.world import World
from agvent.store import journal, journal_recovery
from agvent.store.journal_file import Reading
from agvent.store.sync_folder import sync_folder

SEEDS = range(150)


def mistakes() -> set[str]:
    """What some journals did wrong."""
    return {found for seed in SEEDS for found in trial(Random(f"journal {seed}"))}


def test_journals_give_back_what_was_written() -> None:
    assert mistakes() == set()


def in_part(file: int, data: bytes, at: int) -> None:
    """What the system takes of it at once."""
    os.pwrite(file, data, at)


@pytest.mark.parametrize(
    ("module", "name", "replaced"),
    [
        (journal, "sync_folder", lambda folder: None),
        (journal, "_write_all", in_part),
        (journal, "retire", lambda folder, sequence, archive: [one.unlink() for one in folder.glob("*.segment")]),
        (journal_recovery, "_cut", lambda reading: None),
        (journal_recovery, "synced_after", lambda path, offset, expected: 0),
        (journal_recovery, "segment_paths", lambda folder: sorted(folder.glob("*.segment"))[:1]),
    ],
)
def test_a_journal_with_a_mistake_is_seen(
    module: Any, name: str, replaced: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replaced)
    assert mistakes()


def test_a_disk_says_what_a_crash_took_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that were never synced are gone after some crash, and so are new segments."""
    monkeypatch.setattr(Platter, "_fsync", lambda self, file: None)
    found: list[str] = []
    for seed in range(20):
        disk = Disk(Random(seed))
        for boot in range(1, 6):
            disk.append([Booted(boot)])
            disk.sync(disk.begin())
        disk.crash()
        found += disk.damage
    assert any("5 records" in one or "10 records were safe" in one for one in found)


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_disk_that_syncs_nothing_is_found(is_synced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broker was told is safe is gone after a crash; what was synced is not."""
    world = World(1, [("B1", "B2")])
    if not is_synced:
        monkeypatch.setattr(Platter, "_fsync", lambda self, file: None)
    world.start()
    world.run(world.now + 3_000_000)
    for node in world.brokers.values():
        node.crash(with_disk=True)
    assert bool(damaged(world, NOTHING)) != is_synced


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_journal_that_writes_in_part_is_found(is_whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run has a trial of a journal; one that takes for written what it did not write is seen in a few."""
    if not is_whole:
        monkeypatch.setattr(journal, "_write_all", in_part)
    found = [one for seed in range(10) for one in unfaithful(World(seed, []), NOTHING)]
    assert bool(found) != is_whole


def test_a_disk_says_what_else_a_start_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that was never written is no record."""

    def others(self: Reading) -> Any:
        return iter([b"other"] * len(self.places))

    disk = Disk()
    disk.append([Booted(1)])
    disk.sync(disk.begin())
    monkeypatch.setattr(Reading, "contents", others)
    disk.crash()
    assert disk.damage == ["00000000000000000001.segment has other records than were written"]


def test_what_is_not_synced_may_be_lost_and_what_is_stays(tmp_path: Path) -> None:
    """A file's content by its own sync, its name by the folder's."""
    left: set[tuple[str, ...]] = set()
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        platter = Platter(folder, Random(seed))
        with platter.under():
            file = os.open(folder / "a", os.O_RDWR | os.O_CREAT)
            journal._write_all(file, b"safe", 0)
            os.fsync(file)
            sync_folder(folder)
            journal._write_all(file, b"more", 4)
            os.close(os.open(folder / "b", os.O_RDWR | os.O_CREAT))
        platter.fail()
        content = (folder / "a").read_bytes()
        assert content.startswith(b"safe")
        left.add((content.decode("latin1"), *sorted(os.listdir(folder))))
    assert {one[0] for one in left} >= {"safe", "safemore", "safe\0\0\0\0"}
    assert {one[1:] for one in left} == {("a",), ("a", "b")}


def test_the_power_fails_before_a_call(tmp_path: Path) -> None:
    """Nothing after it is carried out."""
    platter = Platter(tmp_path, Random(0))
    platter.fails_at = ("unlink", 1)
    for name in "abc":
        (tmp_path / name).touch()
    with platter.under():
        (tmp_path / "a").unlink()
        with pytest.raises(PowerFailure):
            (tmp_path / "b").unlink()
    assert sorted(os.listdir(tmp_path)) == ["b", "c"]


def test_another_disk_may_be_collected_at_any_time(tmp_path: Path) -> None:
    """Its files go, whenever that is, and that is no call of the journal that is at work."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").touch()
    platter = Platter(tmp_path, Random(0))
    platter.fails_at = ("", 0)
    with platter.under():
        shutil.rmtree(other)
    assert not other.exists()
    assert platter.fails_at == ("", 0)
