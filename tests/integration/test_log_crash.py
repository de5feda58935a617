"""A writer that is killed, kill -9, at every point of a commit: readers see the commit whole or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from agvent.store.log_reader import LogReader
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from tests.logs import quote, small_log

WRITER = """
import os, signal, sys
from agvent.event import Event, EventId
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_writer import LogWriter
from tests.logs import after, quote

replace, calls = os.replace, 0

def replace_or_die(source, target):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)

log = LogWriter(sys.argv[1])
os.replace = replace_or_die
plain = Event(id=EventId("nyse", 6), attributes={"a": 1})
log.append_events([quote(5, 1.0), LoggedEvent(event=plain, accepted_at=after(6), entry_broker="b1", epoch=1)])
os.kill(os.getpid(), signal.SIGKILL)
"""
"""The commit renames two segments and then its head; the writer dies before rename number argv[2], or after all."""

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("dies_before", "seen", "by_glob", "found"),
    [
        (1, 4, 4, 2),  # before the first rename: two hidden segments
        (2, 4, 5, 2),  # between the renames: one hidden segment, one under its name
        (3, 4, 6, 3),  # between the renames and the head: two segments, one hidden head
        (4, 6, 6, 0),  # after the head
    ],
)
def test_a_commit_is_seen_whole_or_not_at_all(
    tmp_path: Path, dies_before: int, seen: int, by_glob: int, found: int
) -> None:
    """By the head; a glob sees no hidden file, and at most the one commit that was cut off. The next writer sweeps."""
    log = small_log(tmp_path / "log")
    died = subprocess.run([sys.executable, "-c", WRITER, log, str(dies_before)], cwd=ROOT, check=False)
    assert died.returncode == -signal.SIGKILL
    assert len(list(LogReader(log).events())) == seen
    assert sum(pq.read_metadata(file).num_rows for file in log.glob("events/**/[!.]*.parquet")) == by_glob
    assert [finding.problem for finding in verify(log).findings] == ["unnamed"] * found
    with LogWriter(log) as writer:
        writer.append_events([quote(7, 1.0)])
    assert verify(log).findings == []
    assert len(list(LogReader(log).events())) == seen + 1
    assert LogReader(log).offset()["ev"] == {"b1": seen + 1}
