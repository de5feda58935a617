"""The journal: what was written comes back; a torn tail is cut off; damage to what was safe is refused."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agvent import limits
from agvent.errors import JournalError, JournalFull
from agvent.store.journal import JournalWriter
from agvent.store.journal_file import HEADER, RECORD_OVERHEAD_BYTES
from agvent.store.journal_recovery import Damage, contents_after, examine, segment_paths, snapshot_paths

GROUPS = [[b"one"], [b"two", b"three"], [b"four" * 100]]


def written(folder: Path, *, close: bool = False) -> Path:
    """A journal of the groups; without `close` it ends as a crash ends it. Gives its last segment."""
    journal = JournalWriter(folder)
    for group in GROUPS:
        journal.write(group)
    if close:
        journal.close()
    else:
        abandon(journal)
    return segment_paths(folder)[-1]


def abandon(journal: JournalWriter) -> None:
    """What a crash does: descriptors are closed, nothing is said."""
    os.close(journal._file)
    os.close(journal._lock)


def contents(folder: Path) -> list[bytes]:
    with JournalWriter(folder) as journal:
        return list(journal.recovery.contents())


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files may not grow beyond a size, which is what a full disk does to them."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Nothing can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("close", [True, False])
def test_what_was_written_comes_back(tmp_path: Path, close: bool) -> None:
    """Groups come back as their records, in order, after a clean stop and after a crash; sequences go on."""
    written(tmp_path, close=close)
    assert contents(tmp_path) == [b"one", b"two", b"three", b"four" * 100]
    with JournalWriter(tmp_path) as journal:
        first = journal.sequence
        assert journal.write([b"five", b"six"]) == first + 2
    assert contents(tmp_path)[-2:] == [b"five", b"six"]


def test_a_torn_tail_is_cut_off_wherever_it_is_torn(tmp_path: Path) -> None:
    """Cut at any byte of the last group, the journal starts with the groups before it, and goes on from there."""
    segment = written(tmp_path)
    whole = segment.read_bytes()
    last = RECORD_OVERHEAD_BYTES + 400
    for cut in range(1, last + 1, 7):
        segment.write_bytes(whole[:-cut])
        assert contents(tmp_path) == [b"one", b"two", b"three"]
        for newer in segment_paths(tmp_path)[1:]:
            newer.unlink()


def test_a_torn_group_whose_end_is_on_disk_is_cut_off(tmp_path: Path) -> None:
    """A crash may write the later pages of a group and not the earlier: nobody was told of either."""
    with JournalWriter(tmp_path) as journal:
        journal.write([b"told"])
        journal.write([b"torn" * 500, b"whole" * 500])
        abandon(journal)
        journal._file = -1
    segment = segment_paths(tmp_path)[-1]
    data = bytearray(segment.read_bytes())
    data[HEADER.size + RECORD_OVERHEAD_BYTES + 100] ^= 0xFF
    segment.write_bytes(data)
    assert contents(tmp_path) == [b"told"]


@pytest.mark.parametrize("at", [0, 5, 9, 18, 28, 32, 40, 52, 55, 60, 84])
def test_a_flipped_bit_in_what_was_safe_is_refused(tmp_path: Path, at: int) -> None:
    """One bit anywhere before the last group: the journal is not opened, and the complaint names file and repair."""
    segment = written(tmp_path)
    data = bytearray(segment.read_bytes())
    data[at] ^= 0x10
    segment.write_bytes(data)
    with pytest.raises(JournalError, match="damaged at byte") as raised:
        JournalWriter(tmp_path)
    assert raised.value.hint == f"agvent journal repair {tmp_path} says what would be lost"
    assert segment.read_bytes() == data


def test_whole_records_after_the_damage_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the damaged file and in those after it, whether a segment is damaged or the snapshot."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 300)
    with JournalWriter(tmp_path) as journal:
        journal.write([b"before"])
        journal.roll()
        journal.snapshot(journal.sequence + 1, [b"stands", b"for", b"all"])
        for group in GROUPS:
            journal.write(group)
        journal.write([b"five"])
    [snapshot], [segment, _] = snapshot_paths(tmp_path), segment_paths(tmp_path)
    rest = [b"two", b"three", b"four" * 100, b"five"]
    for path, found in ((segment, rest), (snapshot, [b"for", b"all", b"one", *rest])):
        data = bytearray(path.read_bytes())
        data[HEADER.size + RECORD_OVERHEAD_BYTES] ^= 1
        path.write_bytes(data)
        damage = examine(tmp_path).damage
        assert damage is not None
        assert list(contents_after(tmp_path, damage)) == found
        data[HEADER.size + RECORD_OVERHEAD_BYTES] ^= 1
        path.write_bytes(data)


def test_after_a_clean_stop_the_last_group_is_safe_too(tmp_path: Path) -> None:
    """The closing record says that all before it was on disk, so a flipped bit in the last group is seen."""
    segment = written(tmp_path, close=True)
    data = bytearray(segment.read_bytes())
    data[-100] ^= 1
    segment.write_bytes(data)
    assert examine(tmp_path).damage == Damage(str(segment), 111, 4, 3)


def test_a_missing_segment_is_damage(tmp_path: Path) -> None:
    """Segments follow each other without a hole."""
    written(tmp_path)
    written(tmp_path)
    written(tmp_path)
    middle = segment_paths(tmp_path)[1]
    middle.unlink()
    with pytest.raises(JournalError, match="records from sequence 5 on"):
        JournalWriter(tmp_path)


def test_a_snapshot_stands_for_what_was_before_it(tmp_path: Path) -> None:
    """After a snapshot the older segments are gone, and its records come first."""
    with JournalWriter(tmp_path) as journal:
        journal.write([b"a", b"b"])
        journal.roll()
        journal.snapshot(journal.sequence + 1, [b"ab"])
        journal.write([b"c"])
        assert [path.stem for path in snapshot_paths(tmp_path)] == [f"{3:020}"]
        assert [path.stem for path in segment_paths(tmp_path)] == [f"{3:020}"]
    assert contents(tmp_path) == [b"ab", b"c"]


def test_a_journal_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Nobody else may read its segments, nor a snapshot, which has the same events."""
    with JournalWriter(tmp_path) as journal:
        journal.write([b"a"])
        journal.roll()
        journal.snapshot(journal.sequence + 1, [b"a"])
        files = [*snapshot_paths(tmp_path), *segment_paths(tmp_path)]
        assert [path.stat().st_mode & 0o777 for path in files] == [0o600, 0o600]


def test_a_crash_during_a_snapshot_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """A snapshot that was not finished is removed; one that was makes the older files void."""
    written(tmp_path)
    (tmp_path / f"{5:020}.partial").write_bytes(b"half a snap")
    assert contents(tmp_path)[:3] == [b"one", b"two", b"three"]
    assert not list(tmp_path.glob("*.partial"))
    with JournalWriter(tmp_path) as journal:
        journal.roll()
        kept = [(path, path.read_bytes()) for path in segment_paths(tmp_path)]
        journal.snapshot(journal.sequence + 1, [b"all"])
    for path, data in kept[:-1]:
        path.write_bytes(data)
    assert contents(tmp_path) == [b"all"]
    assert [path for path, _ in kept[:-1] if path.exists()] == []


def test_a_damaged_snapshot_is_refused(tmp_path: Path) -> None:
    """A flipped bit and a missing end are both seen."""
    with JournalWriter(tmp_path) as journal:
        journal.write([b"a"])
        journal.roll()
        journal.snapshot(journal.sequence + 1, [b"a" * 100, b"b"])
    [path] = snapshot_paths(tmp_path)
    whole = path.read_bytes()
    for damaged in (whole[:50] + b"!" + whole[51:], whole[: -RECORD_OVERHEAD_BYTES - 1], whole[:10]):
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match=r"snapshot: damaged"):
            JournalWriter(tmp_path)


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    """A group that does not fit leaves nothing behind; when there is room again it is written."""
    with JournalWriter(tmp_path) as journal:
        journal.write([b"before"])
        size = segment_paths(tmp_path)[-1].stat().st_size
        with room_for(size + 100), pytest.raises(JournalFull, match="no room for 1024 bytes"):
            journal.write([b"x" * 1000])
        assert segment_paths(tmp_path)[-1].stat().st_size == size
        journal.write([b"x" * 1000])
    assert contents(tmp_path) == [b"before", b"x" * 1000]


def test_a_snapshot_without_room_leaves_nothing_and_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What there was of it goes, and another one is wanted when the journal has grown by a segment."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 1000)
    with JournalWriter(tmp_path) as journal:
        journal.write([b"x" * 1500])
        assert journal.wants_snapshot()
        with room_for(2000), pytest.raises(OSError, match="File too large"):
            journal.snapshot(journal.sequence + 1, [b"x" * 1500, b"y" * 1500])
        assert list(tmp_path.glob("*.partial")) == []
        assert not journal.wants_snapshot()
        journal.write([b"x" * 1500])
        assert journal.wants_snapshot()
        journal.snapshot(journal.sequence + 1, [b"all"])
    assert contents(tmp_path) == [b"all"]


def test_a_reserve_is_kept_for_a_snapshot_on_a_full_disk(tmp_path: Path) -> None:
    """A group and what stands for everything are written in its room; afterwards it is kept again."""
    with JournalWriter(tmp_path) as journal:
        reserve = tmp_path / "reserve"
        assert reserve.stat().st_size == limits.JOURNAL_RESERVE_BYTES
        for _ in range(3):
            journal.write([b"x" * 1000])
        assert journal.compact([b"new"], [b"all", b"new"]) == 4
        assert reserve.stat().st_size == limits.JOURNAL_RESERVE_BYTES
        journal.write([b"next"])
    assert contents(tmp_path) == [b"all", b"new", b"next"]


def test_a_snapshot_that_gives_no_room_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is as large as the journal, does not fit into the reserve, or has an archive to go to."""
    with (
        JournalWriter(tmp_path / "a") as journal,
        JournalWriter(tmp_path / "b", archive=tmp_path / "archive") as archived,
    ):
        for one in (journal, archived):
            one.write([b"x" * 1000])
        for one, snapshot in ((journal, b"x" * 1000), (archived, b"x")):
            with pytest.raises(JournalFull, match="a snapshot would give none"):
                one.compact([b"new"], [snapshot])
        monkeypatch.setattr(limits, "JOURNAL_RESERVE_BYTES", 50)
        with pytest.raises(JournalFull, match="no room for 52 bytes, records and a snapshot"):
            journal.compact([b"new"], [b"x"])
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == [b"x" * 1000]


def test_a_journal_opens_without_room_for_a_segment(tmp_path: Path) -> None:
    """The last one goes on; what is written into it comes back."""
    written(tmp_path)
    with room_for(0):
        journal = JournalWriter(tmp_path)
    journal.write([b"five"])
    journal.close()
    assert len(segment_paths(tmp_path)) == 1
    assert contents(tmp_path) == [*(one for group in GROUPS for one in group), b"five"]


def test_a_segment_is_rolled_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment ends with the group that fills it; without room for another it grows."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 1000)
    with JournalWriter(tmp_path) as journal:
        for number in range(6):
            journal.write([b"%d" % number * 400])
        assert [int(path.stem) for path in segment_paths(tmp_path)] == [1, 4, 7]
    assert contents(tmp_path) == [b"%d" % number * 400 for number in range(6)]


def test_without_descriptors_a_segment_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A roll that can open nothing waits as on a full disk: the group is safe, and a later one begins the segment."""
    monkeypatch.setattr(limits, "JOURNAL_SEGMENT_BYTES_MAX", 1_000)
    with JournalWriter(tmp_path) as journal:
        with no_descriptors():
            journal.write([b"x" * 2_000])
            with pytest.raises(JournalFull, match="Too many open files"):
                journal.roll()
        assert len(segment_paths(tmp_path)) == 1
        journal.write([b"y"])
        assert len(segment_paths(tmp_path)) == 2
    assert contents(tmp_path) == [b"x" * 2_000, b"y"]


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    """The second one is told so."""
    with JournalWriter(tmp_path), pytest.raises(JournalError, match="another process has this journal open"):
        JournalWriter(tmp_path)


KILLED = """
import sys
from pathlib import Path
from agvent.store.journal import JournalWriter
journal = JournalWriter(Path(sys.argv[1]))
number = 0
while True:
    journal.write([b"%d" % (number + at) for at in range(50)])
    number += 50
    print(number, flush=True)
"""


def test_killed_at_any_moment_it_has_what_was_told(tmp_path: Path) -> None:
    """kill -9 while groups are written: every record that was reported comes back, in order."""
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    told = [int(writer.stdout.readline()) for _ in range(20)]
    writer.send_signal(signal.SIGKILL)
    told += [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    writer.wait()
    writer.stdout.close()
    found = contents(tmp_path)
    assert len(found) >= told[-1]
    assert found == [b"%d" % number for number in range(len(found))]
