"""A journal alone: its writer and a reader beside it, on a disk that fails, judged by what was written.

Each run has one such trial. In a network a group is written again until it finds room, nobody reads a journal while it
is written, and no disk changes what it holds. Here groups of all sizes follow each other, with a full disk, crashes at
any call, clean stops, snapshots, an archive, a reader that follows (journal_tail.py), and copies with a damaged byte
or without a file.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from agvent import limits
from agvent.errors import JournalError, JournalFull
from agvent.sim.bounds import bounded
from agvent.sim.disk import MEMORY, AbandonedJournal
from agvent.sim.platter import Platter, PowerFailure
from agvent.store.journal_file import RECORD_OVERHEAD_BYTES, RecordPlace, read_segment, read_snapshot
from agvent.store.journal_recovery import Recovery, examine, segment_paths, snapshot_paths
from agvent.store.journal_tail import JournalTail

DOINGS: Final = {
    "write": 10, "large": 1, "full": 2, "room": 3, "snapshot": 2, "compact": 2, "kill": 2, "fail": 4, "close": 1,
    "rot": 3, "follow": 4, "finish": 1,
}  # fmt: skip
"""What happens in a trial, and how often."""

STEPS: Final = 30
LIMITS: Final = {"JOURNAL_SEGMENT_BYTES_MAX": (200, 600, 5_000), "JOURNAL_RESERVE_BYTES": (1_000, 4_000)}


def trial(random: Random) -> list[str]:
    """What one journal did wrong; the first mistake ends the trial."""
    limits = {name: random.choice(some) for name, some in LIMITS.items()}
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder, bounded(limits):
        made = JournalTrial(Path(folder), random)
        try:
            made.run()
        except (JournalMistake, JournalError, JournalFull, OSError) as error:
            return [str(error)]
        finally:
            made.end()
    return []


class JournalMistake(Exception):
    """Something is not as it was written."""


class JournalTrial:
    """`safe` has every record that the journal promised, `maybe` what a crash may have left of a last group."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.random = random
        self.folder, self.copy = folder / "journal", folder / "copy"
        self.has_archive = random.random() < 0.4
        self.archive = folder / "archive" if self.has_archive else None
        self.folder.mkdir()
        self.platter = Platter(self.folder, random)
        self.safe: list[bytes] = []  # by sequence - 1; the content of one that a snapshot stands for counts no more
        self.images: dict[int, list[bytes]] = {}  # by the sequence after it
        self.tail = JournalTail(self.folder, self.archive or folder / "nowhere")
        self.followed = 0
        self.journal: AbandonedJournal | None = None
        self._open([])

    def run(self) -> None:
        names, weights = [*DOINGS], [*DOINGS.values()]
        for name in self.random.choices(names, weights, k=STEPS):
            if self.has_archive and name in ("fail", "compact"):
                name = "kill"  # of an archive no crash is made up here, and a full disk gives nothing back
            getattr(self, f"_{name}")()
            if self.journal is None:
                self._open([])
        self._kill()

    def end(self) -> None:
        if self.journal is not None:
            self.journal.leave()

    # Opening

    def _open(self, maybe: list[bytes]) -> None:
        """A process starts: it reads everything that was safe, perhaps the beginning of a last group, and no more."""
        self._room()
        while self.journal is None:
            if not self.has_archive and self.random.random() < 0.5:
                self.platter.fail_somewhere()
            try:
                with self.platter.under():
                    self.journal = AbandonedJournal(self.folder, archive=self.archive)
            except PowerFailure:
                self.platter.fail()
            self.platter.fails_at = None
        recovery = self.journal.recovery
        self._compare(recovery, maybe)
        self.safe += maybe[: recovery.next - 1 - len(self.safe)]

    def _compare(self, recovery: Recovery, maybe: list[bytes], *, least: int | None = None) -> None:
        written = [*self.safe, *maybe]
        least = len(self.safe) if least is None else least
        if not least <= recovery.next - 1 <= len(written):
            raise JournalMistake(f"{least} records were safe and {len(written)} written, {recovery.next - 1} are there")
        expected = 1
        for reading in recovery.readings:
            if reading.path.suffix == ".snapshot":
                wanted, expected = self.images[int(reading.path.stem)], int(reading.path.stem)
            elif reading.first == expected:
                wanted, expected = written[reading.first - 1 : reading.next - 1], reading.next
            else:
                raise JournalMistake(f"{reading.path.name} is read after record {expected - 1}")
            if [*reading.contents()] != wanted:
                raise JournalMistake(f"{reading.path.name} has other records than were written")

    # Writing

    def _group(self) -> list[bytes]:
        return [
            self.random.randbytes(self.random.choice((1, 9, 40, 120))) for _ in range(self.random.choice((1, 2, 5)))
        ]

    def _write(self) -> None:
        self._try_to_write(self._group())

    def _large(self) -> None:
        self._try_to_write([self.random.randbytes(900), *self._group()])

    def _try_to_write(self, group: list[bytes]) -> None:
        assert self.journal is not None
        with suppress(JournalFull), self.platter.under():
            self.journal.write(group)
            self.safe += group
        if self.journal.sequence != len(self.safe):
            raise JournalMistake(f"the journal is at {self.journal.sequence}, {len(self.safe)} were written")

    def _full(self) -> None:
        if not self.platter.is_full:
            self.platter.fill()
            self.platter.add_room(self.random.choice((0, 10, 40, 200)))

    def _room(self) -> None:
        self.platter.is_full = False

    def _image(self, sequence: int) -> list[bytes]:
        """The snapshot of everything before a sequence: there is one."""
        if sequence not in self.images:
            self.images[sequence] = [self.random.randbytes(20) for _ in range(self.random.choice((1, 3)))]
        return self.images[sequence]

    def _snapshot(self) -> None:
        assert self.journal is not None
        image = self._image(len(self.safe) + 1)
        with suppress(JournalFull, OSError), self.platter.under():
            self.journal.roll()
            self.journal.snapshot(len(self.safe) + 1, image)

    def _compact(self) -> None:
        assert self.journal is not None
        group = self._group()
        image = self._image(len(self.safe) + len(group) + 1)
        size = sum(RECORD_OVERHEAD_BYTES + len(one) for one in (*group, *image))
        is_sure = size < min(limits.JOURNAL_RESERVE_BYTES, self.journal.snapshot_bytes + self.journal.segment_bytes)
        is_sure = is_sure and (self.folder / "reserve").exists()
        try:
            with self.platter.under():
                self.journal.compact(group, image)
        except JournalFull:
            if is_sure:
                raise JournalMistake("a full disk was not given room, though the reserve has it") from None
        else:
            self.safe += group

    # Ends of the process

    def _kill(self) -> None:
        """The process ends between two calls; what it wrote is there."""
        assert self.journal is not None
        self.journal.leave()
        self.journal = None

    def _close(self) -> None:
        """A clean stop, which writes its mark if there is room."""
        assert self.journal is not None
        before = self.journal.sequence
        with self.platter.under():
            self.journal.close()
        self.safe += [b""] * (self.journal.sequence - before)
        self.journal = None

    def _fail(self) -> None:
        """The power fails somewhere in what the journal does next, or the process alone is killed there."""
        assert self.journal is not None
        group: list[bytes] = []
        self.platter.fail_somewhere()
        try:
            if self.random.random() < 0.4:
                self._snapshot()
            group = self._group()
            with suppress(JournalFull), self.platter.under():
                self.journal.write(group)
        except PowerFailure:
            pass
        self.platter.fails_at = None
        self._kill()
        if self.random.random() < 0.6:
            self.platter.fail()
        self._open(group)

    # Damage

    def _rot(self) -> None:
        """A copy of the folder loses something that was safe: it is refused, or what is read is right as far as some
        record says that it was safe."""
        shutil.copytree(self.folder, self.copy)
        for name in ("lock", "reserve"):
            (self.copy / name).unlink(missing_ok=True)
        path = self.random.choice([*segment_paths(self.copy), *snapshot_paths(self.copy)])
        data = path.read_bytes()
        kind = self.random.choice(("byte", "cut", "gone", "older"))
        if kind == "byte":
            at = self.random.randrange(len(data))
            path.write_bytes(data[:at] + bytes((data[at] ^ 1 << self.random.randrange(8),)) + data[at + 1 :])
        elif kind == "cut":
            ends = [place.end for place in _places(path)]
            path.write_bytes(data[: self.random.choice((*ends, self.random.randrange(len(data))))])
        elif kind == "older":  # its last blocks were those of a file before
            path.write_bytes(
                data + b"".join(data[one.start - RECORD_OVERHEAD_BYTES : one.end] for one in _places(path))
            )
        else:
            path.unlink()
        recovery = examine(self.copy)
        if recovery.damage is None:
            self._compare(recovery, [], least=self._proved())
            if path.suffix == ".snapshot" and path.exists() and path.read_bytes() != data:
                raise JournalMistake("a damaged snapshot was accepted")
        shutil.rmtree(self.copy)

    def _proved(self) -> int:
        """How far the records that are still whole in the copy say that the journal was safe."""
        found = [int(path.stem) - 1 for path in snapshot_paths(self.copy)]
        for path in segment_paths(self.copy):
            before, now = (self.folder / path.name).read_bytes(), path.read_bytes()
            for place in _places(self.folder / path.name):
                whole = slice(place.start - RECORD_OVERHEAD_BYTES, place.end)
                if now[whole] == before[whole]:
                    found.append(place.synced)
        return max(found, default=0)

    # The reader

    def _follow(self) -> None:
        """The reader reads what there is, now or while a write that found no room is being cut off."""
        if self.random.random() < 0.5:
            self.platter.beside = self._read
            self._full()
            self._try_to_write([*self._group(), self.random.randbytes(900)])
            self.platter.beside = None
            self._room()
        else:
            self._read()

    def _read(self) -> None:
        if not self.has_archive and snapshot_paths(self.folder):
            return  # what a snapshot stands for is gone
        for one in self.tail.read(self.random.choice((1, 100, 10_000))):
            self.followed += 1
            if one.sequence != self.followed or one.sequence > len(self.safe):
                raise JournalMistake(
                    f"the reader was given {one.sequence} after {self.followed - 1} of {len(self.safe)}"
                )
            if one.content != self.safe[one.sequence - 1]:
                raise JournalMistake(f"the reader was given another record {one.sequence} than was written")

    def _finish(self) -> None:
        """What the reader has read of the archive goes."""
        for path in self.tail.finished(self.followed) if self.has_archive else ():
            os.unlink(path)


def _places(path: Path) -> list[RecordPlace]:
    """The records of a file."""
    return (read_snapshot if path.suffix == ".snapshot" else read_segment)(path).places
