"""Verify: each kind of damage is seen, and named by its file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from agvent.errors import LogFileError
from agvent.store.heads import read_head, write_head
from agvent.store.log_reader import LogReader
from agvent.store.log_verification import LogDefect, verify
from agvent.store.log_writer import LogWriter
from agvent.store.segments import partial_path
from tests.logs import small_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return small_log(tmp_path / "log")


def found(log: Path) -> list[tuple[str, str]]:
    return [(finding.problem, finding.path) for finding in verify(log).findings]


def test_a_whole_log_is_whole(log: Path) -> None:
    """Nothing is found, and everything was looked at."""
    calls: list[tuple[int, int]] = []
    verdict = verify(log, lambda done, total: calls.append((done, total)))
    segments = [segment for head in LogReader(log).heads.values() for segment in head.segments]
    assert verdict.findings == []
    assert verdict.segments == len(segments) == len(calls)
    assert verdict.rows == sum(segment.rows for segment in segments)
    assert verdict.bytes == sum((log / segment.path).stat().st_size for segment in segments)


def _altered(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (Path.unlink, "missing"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "truncated"),
        (lambda file: file.write_bytes(b""), "truncated"),
        (_altered, "altered"),
        (lambda file: file.write_bytes(file.read_bytes() + b"\0"), "altered"),
    ],
)
def test_a_broken_segment_is_named(log: Path, damage: Callable[[Path], None], problem: str) -> None:
    """In every stream: missing, shorter, longer, or with one bit changed."""
    for stream, head in LogReader(log).heads.items():
        for segment in head.segments[:1]:
            copy = log.parent / f"{stream}-{problem}"
            shutil.copytree(log, copy)
            damage(copy / segment.path)
            assert found(copy) == [(problem, segment.path)]


@pytest.mark.parametrize("text", [None, b"", b"{", b'{"crc32": "00000000", "head": {"stream": "events"}}'])
def test_a_damaged_head_is_named(log: Path, text: bytes | None) -> None:
    """A head that is gone, empty, torn or altered; a reader says the same."""
    path = log / "heads" / "events.json"
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text)
    assert found(log) == [("damaged", "heads/events.json")]
    with pytest.raises(LogFileError, match=r"events\.json"):
        LogReader(log)


def test_a_head_that_counts_wrong_is_named(log: Path) -> None:
    """The rows of a segment and the events of a broker are held against what the head says."""
    head = read_head(log, "events")
    first = msgspec.structs.replace(head.segments[0], rows=5)
    write_head(log, msgspec.structs.replace(head, segments=[first, *head.segments[1:]], ends={"b1": 5}))
    assert verify(log).findings == [
        LogDefect("damaged", first.path, "it has 2 rows, its head says 5"),
        LogDefect("damaged", "heads/events.json", "b1 has 4 events in its segments, the head says 5"),
    ]


def test_a_file_that_no_head_names_is_found_and_swept(log: Path) -> None:
    """A segment under its name and one under its hidden name; while the log is being written they may be right."""
    segment = LogReader(log).segments("deliveries")[0].path
    strays = [
        log / "deliveries" / "000000000009-0000.parquet",
        partial_path(log / "traces" / "000000000001-0000.parquet"),
    ]
    for stray in strays:
        stray.parent.mkdir(exist_ok=True)
        shutil.copy(log / segment, stray)
    assert found(log) == [("unnamed", str(stray.relative_to(log))) for stray in strays]
    with LogWriter(log):
        assert found(log) == []
    assert [stray.exists() for stray in strays] == [False, False]
    assert found(log) == []
