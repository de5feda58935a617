"""The roster of a catalogue version, for workers: the first worker that needs it compiles a file, the others map it.

The file lies in the cache of the machine, under a name that is the hash of the catalogue's segments up to that version:
every worker of every job over that catalogue maps the same one. If the log has a snapshot of the version, its index is
taken instead of compiling one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from agvent.matching.subscriptions import Subscriptions
from agvent.spark.files.output_folder import output_folder
from agvent.spark.rosters.roster import Roster, audience_of
from agvent.spark.runtime.workspace import cache_folder
from agvent.store.catalogue import compiled
from agvent.store.index_file import load_index
from agvent.store.log_reader import LogReader

NAMES: Final = ("subscription", "version", "subscriber", "home_broker")

KEPT: Final = 8
"""Rosters in a machine's cache: the newest. One that is mapped stays so when its file goes."""


@lru_cache(4)
def roster_at(log: Path, catalogue: int) -> Roster:
    """The versions that a log's catalogue had at this version, with whose they are and where they are delivered."""
    reader = LogReader(log)
    folder = cache_folder(os.environ) / "rosters"
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / _identity(reader, catalogue)
    with (folder / ".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker of a machine compiles, the others wait for it
        if not own.is_dir():
            with output_folder(str(own)) as staging:
                _compiled(reader, catalogue).save(Path(staging))
            _forget_old(folder)
        [file] = own.glob("*.index")
        return Roster.open(file)


def _identity(log: LogReader, catalogue: int) -> str:
    segments = [one for one in log.heads["catalogue"].segments if one.since <= catalogue]
    return hashlib.sha256(msgspec.json.encode([[one.path, one.crc32, one.bytes] for one in segments])).hexdigest()[:32]


def _compiled(log: LogReader, catalogue: int) -> Roster:
    versions = log.versions(catalogue=catalogue)
    index = _snapshot(log, catalogue) or compiled(versions.to_pylist())
    assert index.ids() == versions["id"].to_pylist(), "an ordinal is a place in the table of versions"
    names = versions.select(NAMES).combine_chunks()
    batch = pa.record_batch([names[name].combine_chunks() for name in NAMES], names=NAMES)
    return Roster.of_index(index, batch, log.in_force(catalogue=catalogue), audience_of(versions))


def _snapshot(log: LogReader, catalogue: int) -> Subscriptions | None:
    path = f"snapshots/catalogue={catalogue}/index.agx"
    there = any(one.path == path for one in log.heads["snapshots"].segments)
    return load_index(log.path / path) if there else None


def _forget_old(folder: Path) -> None:
    made = [one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(".")]
    for old in sorted(made, key=lambda one: one.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old)
