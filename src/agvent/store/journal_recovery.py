"""A journal's folder as a start finds it: what it holds, a torn tail cut off, other damage named and refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

import msgspec

from agvent.errors import JournalError
from agvent.store.journal_file import Reading, places_after, read_segment, read_snapshot, synced_after
from agvent.store.sync_folder import sync_folder


class Damage(msgspec.Struct, frozen=True):
    """Something that was safe and is no more: the records from `sequence` on cannot be trusted."""

    path: str
    offset: int
    sequence: int
    readable: int  # records before it


class Recovery(msgspec.Struct, frozen=True):
    """A folder's snapshot and segments in order. `torn`: bytes at the end that no whole record is in."""

    readings: list[Reading]
    next: int
    torn: int = 0
    damage: Damage | None = None

    @property
    def count(self) -> int:
        return sum(len(reading.places) for reading in self.readings)

    def contents(self) -> Iterator[bytes]:
        """The contents of all records, oldest first; the record of a clean stop has none."""
        for reading in self.readings:
            if reading.places:
                yield from filter(None, reading.contents())


def segment_paths(folder: Path) -> list[Path]:
    return _paths(folder, ".segment")


def snapshot_paths(folder: Path) -> list[Path]:
    return _paths(folder, ".snapshot")


def _paths(folder: Path, suffix: str) -> list[Path]:
    """The files of a kind, in the order of their sequences; none if there is no such folder. A follower asks for them
    at every look, and `Path.glob` costs ten times as much."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names) if name.endswith(suffix)]


def examine(folder: Path) -> Recovery:
    """What the folder holds; it is not changed."""
    readings: list[Reading] = []
    expected = 1
    snapshots = snapshot_paths(folder)
    if snapshots:
        expected = int(snapshots[-1].stem)
        try:
            readings.append(read_snapshot(snapshots[-1]))
        except JournalError:
            return Recovery([], expected, damage=Damage(str(snapshots[-1]), 0, 1, 0))
    segments = [path for path in segment_paths(folder) if int(path.stem) >= expected]
    for path in segments:
        reading = read_segment(path)
        if reading.first != expected:
            return _damaged(readings, path, 0, expected)
        if not reading.is_whole:
            return _ended(readings, reading, is_last=path == segments[-1])
        readings.append(reading)
        expected = reading.next
    return Recovery(readings, expected)


def _ended(readings: list[Reading], reading: Reading, *, is_last: bool) -> Recovery:
    """A segment that is not whole: torn at the end of the journal, or damaged."""
    was_safe = synced_after(reading.path, reading.end, reading.next) >= reading.next
    if not is_last or was_safe:
        return _damaged([*readings, reading], reading.path, reading.end, reading.next)
    torn = reading.path.stat().st_size - reading.end
    return Recovery([*readings, reading], reading.next, torn=torn)


def _damaged(readings: list[Reading], path: Path, offset: int, sequence: int) -> Recovery:
    count = sum(len(reading.places) for reading in readings)
    return Recovery(readings, sequence, damage=Damage(str(path), offset, sequence, count))


def contents_after(folder: Path, damage: Damage) -> Iterator[bytes]:
    """The contents of the whole records after the damage: without what was damaged nothing can be made of them."""
    paths = (*snapshot_paths(folder)[-1:], *segment_paths(folder))
    for path in dropwhile(lambda one: str(one) != damage.path, paths):
        data, offset, expected = path.read_bytes(), 0, int(path.stem)
        if str(path) == damage.path:
            offset, expected = damage.offset, damage.sequence
        contents = (data[place.start : place.end] for place in places_after(data, offset, expected))
        yield from filter(None, contents)


def recover(folder: Path, *, archive: Path | None = None) -> Recovery:
    """What the folder holds, its torn tail cut off; a JournalError if something that was safe is damaged."""
    recovery = examine(folder)
    if recovery.damage is not None:
        damage = recovery.damage
        raise JournalError(
            f"{damage.path}: damaged at byte {damage.offset}: records from sequence {damage.sequence} on, which were "
            "safe on disk, cannot be read",
            hint=f"agvent journal repair {folder} says what would be lost",
        )
    if recovery.torn:
        _cut(recovery.readings[-1])
    elif recovery.readings:
        _settle(folder, recovery.readings[-1].path)
    for partial in folder.glob("*.partial"):
        partial.unlink()
    snapshots = snapshot_paths(folder)
    if snapshots:
        retire(folder, int(snapshots[-1].stem), archive)
    return recovery


def _cut(reading: Reading) -> None:
    """Cuts the torn tail off; a segment without even a header goes."""
    if reading.end == 0:
        reading.path.unlink()
    else:
        with reading.path.open("r+b") as file:
            file.truncate(reading.end)
            os.fsync(file.fileno())
    sync_folder(reading.path.parent)


def _settle(folder: Path, last: Path) -> None:
    """Brings to the disk what a process that was killed had written and not synced: what is written from now on counts
    on it. The name of a snapshot too, before what it stands for is taken away."""
    with last.open("r+b") as file:
        os.fsync(file.fileno())
    sync_folder(folder)


def retire(folder: Path, sequence: int, archive: Path | None) -> None:
    """Takes away what the snapshot of a sequence stands for: segments into the archive, if there is one."""
    for path in snapshot_paths(folder):
        if int(path.stem) < sequence:
            path.unlink()
    for path in segment_paths(folder):
        if int(path.stem) < sequence:
            if archive is None:
                path.unlink()
            else:
                path.replace(archive / path.name)
    if archive is not None:
        sync_folder(archive)
    sync_folder(folder)


def put_aside(archive: Path) -> None:
    """Keeps what a journal that is gone had archived: its sequences would be taken for those of the new one."""
    if segment_paths(archive):
        before = sum(1 for _ in archive.parent.glob(f"{archive.name}.before-*"))
        archive.rename(archive.with_name(f"{archive.name}.before-{before + 1}"))
        archive.mkdir()
        sync_folder(archive.parent)
