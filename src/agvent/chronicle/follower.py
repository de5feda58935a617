"""Brokers' journals, read as they grow, in an event log: a row for each record that has one, each row once.

Journals are read from where the log has them, so that neither a crash of this process nor one of a broker loses a row
or has one twice (bookmark.py says how). Disks and the log are what the caller gives: files, or those of a simulated
world.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from agvent import limits
from agvent.broker.records import Record, Timed, decode_record
from agvent.chronicle import bookmark
from agvent.chronicle.bookmark import BatchPlan, Bookmark, JournalKey, JournalPlace
from agvent.chronicle.carried_state import Carried
from agvent.chronicle.chronicle import Chronicle
from agvent.chronicle.frontier import Frontier
from agvent.chronicle.hops import Ways
from agvent.chronicle.incarnations import Incarnations, incarnations_in
from agvent.chronicle.log_rows import LogRows, LogStreams, empty_rows
from agvent.errors import LogError
from agvent.store.journal_tail import JournalTail


class JournalDisk(Protocol):
    """A broker's disk, as whoever follows its journal sees it."""

    def owner(self) -> JournalKey | None:
        """Whose it is now; None if no broker was started with it."""

    def tail(self, after: int) -> JournalTail:
        """Its journal after a sequence."""


class Followed:
    """One journal. `ahead` has the records that were read and are not in the log; without a `tail` no more come."""

    def __init__(self, place: JournalPlace, number: int) -> None:
        self.place = place
        self.tail: JournalTail | None = None
        self.chronicle = Chronicle(place.broker, number, place.carried)
        self.ahead: deque[tuple[int, Record]] = deque()

    @property
    def key(self) -> JournalKey:
        return (self.place.broker, self.place.incarnation)

    @property
    def name(self) -> str:
        return self.chronicle.name

    def take(self, upto: int, ways: Ways) -> LogRows:
        """The rows of the records up to a sequence."""
        place = self.place
        while self.ahead and self.ahead[0][0] <= upto:
            place.sequence, record = self.ahead.popleft()
            if isinstance(record, Timed):
                place.at = record.at
            else:
                self.chronicle.take(record, place.at)
                ways.take(place.broker, self.name, record, place.at)
        return self.chronicle.drain()


class JournalFollower:
    """Writes a log from the journals of these disks. Its bookmark is in the folder `out`; `begin` makes the first."""

    def __init__(self, out: Path, disks: Sequence[JournalDisk], log: LogStreams) -> None:
        self.out, self.disks, self.log = out, disks, log
        known = bookmark.read(self.out, bookmark.BOOKMARK, Bookmark)
        if known is None:
            raise LogError(f"{self.out} was not written from journals", hint="give another folder")
        self._mark = known
        plan = bookmark.read(self.out, bookmark.PLAN, BatchPlan)
        self._plan = plan if plan is not None and plan.batch > self._mark.batch else None
        if self._plan is not None:
            self._mark.incarnations = self._plan.incarnations
        self._followed = {(one.broker, one.incarnation): self._of(one) for one in self._mark.places}
        self._is_between = True  # no batch is half written
        self.is_behind = False  # a journal has more than the last step took

    @property
    def incarnations(self) -> dict[str, list[int]]:
        """Of each broker its incarnations: the first is 1 in the log."""
        return self._mark.incarnations.known

    def close(self) -> None:
        """Writes down where it is."""
        if self._is_between:
            self._save()

    def step(self) -> dict[str, int] | None:
        """Takes what is new in the journals, up to a size, into the log; gives the rows of each table, or None if
        there was nothing new."""
        self._look()
        upto = self._cut() if self._plan is None else self._planned(self._plan)
        if not upto:
            return None
        self._is_between = False
        rows = empty_rows()
        for key, followed in self._followed.items():
            rows.extend(followed.take(upto.get(key, 0), self._mark.ways))
        rows.traces += self._mark.ways.drain()
        counts = rows.counts()
        if any(counts.values()):
            self._write(rows, upto)
        self._let_go()
        self._is_between = True
        return counts

    def _write(self, rows: LogRows, upto: dict[JournalKey, int]) -> None:
        batch = self._mark.batch + 1
        if self._plan is None:
            bookmark.write(self.out, bookmark.PLAN, BatchPlan(batch, self._mark.incarnations, upto))
        rows.write(self.log, batch=(bookmark.WRITER, batch))
        self._mark.batch, self._plan = batch, None
        self._save()

    def finished(self) -> Iterator[Path]:
        """Archived segments that the log has."""
        for followed in self._followed.values():
            if followed.tail is not None:
                yield from followed.tail.finished(followed.place.sequence)

    def _save(self) -> None:
        self._mark.places = [followed.place for followed in self._followed.values()]
        bookmark.write(self.out, bookmark.BOOKMARK, self._mark)
        bookmark.note_done(self.out, self._mark.batch)

    # Reading

    def _look(self) -> None:
        """Reads what the journals have now."""
        found: list[tuple[Followed, list[tuple[int, Record]]]] = []
        self.is_behind = False
        for disk in self.disks:
            key = disk.owner()
            if key is not None:
                followed = self._journal(disk, key)
                found.append((followed, self._read(followed, disk)))
        self._mark.incarnations.see({one for _, part in found for _, record in part for one in incarnations_in(record)})
        put = self._mark.incarnations.put
        for followed, part in found:
            followed.ahead.extend((sequence, put(record)) for sequence, record in part)

    def _journal(self, disk: JournalDisk, key: JournalKey) -> Followed:
        """The journal that is on a disk now; what a broker had before it lost its disk is not read on."""
        broker, incarnation = key
        if key not in self._followed:
            self._mark.incarnations.see({key})
            self._followed[key] = self._of(
                JournalPlace(
                    broker=broker,
                    incarnation=incarnation,
                    sequence=0,
                    at=0,
                    carried=Carried(known={}, types={}, open={}, clients={}, delivered={}),
                )
            )
        followed = self._followed[key]
        if followed.tail is None:
            followed.tail = disk.tail(followed.place.sequence)
            for other in self._followed.values():
                if other.place.broker == broker and other is not followed:
                    other.tail = None
        return followed

    def _of(self, place: JournalPlace) -> Followed:
        return Followed(place, self._mark.incarnations.of(place.broker, place.incarnation))

    def _read(self, followed: Followed, disk: JournalDisk) -> list[tuple[int, Record]]:
        assert followed.tail is not None
        wanted = self._plan.upto.get(followed.key, 0) if self._plan is not None else 0
        if len(followed.ahead) > limits.FOLLOWED_RECORDS_MAX and wanted <= followed.tail.sequence:
            self.is_behind = True
            return []
        part = followed.tail.read(limits.FOLLOWED_BYTES_MAX)
        self.is_behind |= sum(len(one.content) for one in part) >= limits.FOLLOWED_BYTES_MAX
        while part and part[-1].sequence < wanted:
            part += followed.tail.read(limits.FOLLOWED_BYTES_MAX)
        if disk.owner() != followed.key:  # it lost its disk while it was read
            followed.tail = None
            return []
        return [(one.sequence, decode_record(one.content)) for one in part if one.content]

    def _cut(self) -> dict[JournalKey, int]:
        """Up to which record of each journal everything that is spoken of was read too."""
        frontier = self._mark.frontier
        readable = {one.name for one in self._followed.values() if one.tail is not None or one.ahead}
        waiting = {key: deque(followed.ahead) for key, followed in self._followed.items() if followed.ahead}
        upto: dict[JournalKey, int] = {}
        is_moving = True
        while is_moving:
            is_moving = False
            for key, records in waiting.items():
                while records and frontier.reaches(records[0][1], readable):
                    upto[key], record = records.popleft()
                    frontier.note(self._followed[key].name, record)
                    is_moving = True
        return upto

    def _planned(self, plan: BatchPlan) -> dict[JournalKey, int]:
        """A batch that a crash cut off, up to the same records."""
        for key, followed in self._followed.items():
            for sequence, record in followed.ahead:
                if sequence <= plan.upto.get(key, 0):
                    self._mark.frontier.note(followed.name, record)
        return plan.upto

    # Letting go

    def _let_go(self) -> None:
        """Journals of disks that are gone, when everything of them is in the log."""
        for key in [key for key, one in self._followed.items() if one.tail is None and not one.ahead]:
            del self._followed[key]


def begin(out: Path) -> None:
    """Makes the bookmark of a log that has nothing yet."""
    nothing = Bookmark(batch=0, incarnations=Incarnations({}), frontier=Frontier({}, {}), ways=Ways({}, []), places=[])
    bookmark.write(out, bookmark.BOOKMARK, nothing)
