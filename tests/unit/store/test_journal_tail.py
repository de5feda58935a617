"""A journal read beside its writer: each record once, in order, wherever its segment is by then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agvent import limits
from agvent.errors import JournalError, JournalFull
from agvent.store.journal import CLOSED, JournalWriter
from agvent.store.journal_recovery import segment_paths
from agvent.store.journal_tail import JournalTail
from tests.unit.store.test_journal import abandon, room_for

ALL = 1 << 30


def opened(folder: Path) -> JournalWriter:
    return JournalWriter(folder / "journal", archive=folder / "archive")


def tail_of(folder: Path, *, after: int = 0) -> JournalTail:
    return JournalTail(folder / "journal", folder / "archive", after=after)


def read(tail: JournalTail, bytes_max: int = ALL) -> list[bytes]:
    return [one.content for one in tail.read(bytes_max)]


def test_records_come_once_as_they_are_written(tmp_path: Path) -> None:
    """Each read gives what was written since the last; a reader that begins after a sequence, what comes after it."""
    tail = tail_of(tmp_path)
    assert read(tail) == []
    with opened(tmp_path) as journal:
        journal.write([b"one", b"two"])
        assert read(tail) == [b"one", b"two"]
        assert read(tail) == []
        journal.write([b"three"])
        journal.roll()
        journal.write([b"four"])
        assert read(tail) == [b"three", b"four"]
        assert read(tail_of(tmp_path, after=3)) == [b"four"]
    assert read(tail) == [CLOSED]


def test_a_segment_is_read_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that a snapshot sent into the archive are read there, and are finished when all of them was."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 100)
    with opened(tmp_path) as journal:
        tail = tail_of(tmp_path)
        journal.write([b"a" * 60])
        assert len(read(tail)) == 1
        for _ in range(5):
            journal.write([b"b" * 60])
        journal.roll()
        journal.snapshot(journal.sequence + 1, [b"everything"])
        journal.write([b"after"])
        archived = segment_paths(tmp_path / "archive")
        assert archived
        assert tail.finished(tail.sequence) == archived[:1]
        assert read(tail) == [b"b" * 60] * 5 + [b"after"]
        assert tail.finished(tail.sequence) == archived


def test_what_was_not_kept_is_missed(tmp_path: Path) -> None:
    """Without an archive, a reader that comes after a snapshot is told which records are gone."""
    with JournalWriter(tmp_path / "journal") as journal:
        journal.write([b"one", b"two"])
        journal.roll()
        journal.snapshot(3, [b"everything"])
        with pytest.raises(JournalError, match="records from sequence 1 to 2 were not kept"):
            read(tail_of(tmp_path))


def test_a_group_that_found_no_room_was_never_there(tmp_path: Path) -> None:
    """What was cut off again is not given; what is written in its place is."""
    with opened(tmp_path) as journal:
        tail = tail_of(tmp_path)
        journal.write([b"one"])
        with room_for(4_096), pytest.raises(JournalFull):
            journal.write([b"x" * 100, b"y" * 5_000])
        assert read(tail) == [b"one"]
        journal.write([b"two"])
        assert read(tail) == [b"two"]


def test_a_torn_tail_is_waited_for(tmp_path: Path) -> None:
    """Of a record that is half written nothing is given; the broker that starts again writes another in its place."""
    journal = opened(tmp_path)
    journal.write([b"one"])
    [segment] = segment_paths(tmp_path / "journal")
    with segment.open("ab") as file:
        file.write(b"\x00\x00\x00\x09torn")
    abandon(journal)
    tail = tail_of(tmp_path)
    assert read(tail) == [b"one"]
    with opened(tmp_path) as again:
        again.write([b"two"])
        assert read(tail) == [b"two"]


def test_damage_in_between_is_named(tmp_path: Path) -> None:
    """A segment that is not the last and cannot be read on is an error, not an end."""
    with opened(tmp_path) as journal:
        journal.write([b"one"])
        journal.roll()
        journal.write([b"two"])
        first = segment_paths(tmp_path / "journal")[0]
        os.truncate(first, first.stat().st_size - 1)
        with pytest.raises(JournalError, match="sequence 1 cannot be read"):
            read(tail_of(tmp_path))


def test_a_record_larger_than_what_is_read_at_once_is_whole(tmp_path: Path) -> None:
    """Records of any size come in pieces of about the size that was asked for."""
    with opened(tmp_path) as journal:
        large = b"z" * (5 << 20)
        journal.write([large, large, b"small"])
        tail = tail_of(tmp_path)
        assert read(tail, 1) == [large]
        assert read(tail, 1) == [large, b"small"]


def test_another_journal_has_another_archive(tmp_path: Path) -> None:
    """What a journal that is gone had archived is kept aside, and not taken for the new one's."""
    with opened(tmp_path) as journal:
        journal.write([b"old"])
        journal.roll()
        journal.snapshot(2, [])
    (tmp_path / "journal").rename(tmp_path / "damaged")
    with opened(tmp_path) as journal:
        journal.write([b"new"])
        assert read(tail_of(tmp_path)) == [b"new"]
    assert len(segment_paths(tmp_path / "archive.before-1")) == 1
