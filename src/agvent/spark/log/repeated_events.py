"""Events that stand in a log twice, because their publisher sent them again to another entry broker: one is due.

An event between two offsets is a copy if its key (publisher, sequence, quality) occurs before the first offset, or
occurs with an earlier `accepted_at`. So what is a copy follows from the log and the two offsets alone, and
a batch that runs again leaves out the same ones. Publishers count without a gap, or nearly: what was seen is kept as
runs of sequences, a few for each publisher. A stream that starts again reads the keys of the whole log once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from agvent.spark.log.event_slices import EventSlice, rows_of, slices_between
from agvent.spark.log.offsets import Offset, beginning
from agvent.store.log_reader import LogReader
from agvent.store.log_schema import TABLES

COLUMNS: Final = ("publisher", "quality", "sequence", "accepted_at", "entry_broker", "position")
SCHEMA: Final = pa.schema([TABLES["events"].schema.field(name) for name in COLUMNS])

Copies = dict[str, list[int]]
"""For each entry broker the positions of events that are copies."""


class Runs(NamedTuple):
    """Sequences as runs without a gap, ascending: from begin[n] to end[n], both included."""

    begin: Any
    end: Any

    @classmethod
    def of(cls, sequences: Any) -> Runs:
        """The runs of ascending sequences, some perhaps several times."""
        cuts = np.flatnonzero(np.diff(sequences) > 1)
        return cls(sequences[np.append(0, cuts + 1)], sequences[np.append(cuts, len(sequences) - 1)])

    def holds(self, sequences: Any) -> Any:
        at = np.searchsorted(self.begin, sequences, side="right") - 1
        return (at >= 0) & (sequences <= self.end[at])

    def joined(self, other: Runs) -> Runs:
        if other.begin[0] > self.end[-1] + 1:
            return Runs(np.append(self.begin, other.begin), np.append(self.end, other.end))
        begin, end = np.append(self.begin, other.begin), np.append(self.end, other.end)
        order = np.argsort(begin, kind="stable")
        begin, reach = begin[order], np.maximum.accumulate(end[order])
        cuts = np.flatnonzero(begin[1:] > reach[:-1] + 1)
        return Runs(begin[np.append(0, cuts + 1)], reach[np.append(cuts, len(reach) - 1)])


class Seen:
    """The keys of all events before an offset."""

    def __init__(self) -> None:
        self.offset: Offset = beginning()
        self._runs: dict[tuple[str, str], Runs] = {}
        self._last: tuple[Offset, Offset, Copies] | None = None

    def copies(self, log: LogReader, start: Offset, end: Offset) -> Copies:
        """The copies between two offsets; then what was seen is all before the second."""
        if self._last is not None and self._last[:2] == (start, end):
            return self._last[2]
        if self.offset["ev"] != start["ev"]:
            self._runs.clear()
            self._take(log, beginning(), start)
        found = self._take(log, start, end)
        self._last, self.offset = (start, end, found), end
        return found

    def _take(self, log: LogReader, start: Offset, end: Offset) -> Copies:
        parts = [SCHEMA.empty_table(), *_keys(log.path, slices_between(log, start, end, whole=False))]
        rows = pa.concat_tables(parts).sort_by([(name, "ascending") for name in COLUMNS])
        copies: Copies = {}
        for group in _groups(rows):
            sequences = group["sequence"].to_numpy()
            again = np.append(False, sequences[1:] == sequences[:-1])
            key = (group["publisher"][0].as_py(), group["quality"][0].as_py())
            runs = Runs.of(sequences)
            if key in self._runs:
                again |= self._runs[key].holds(sequences)
                runs = self._runs[key].joined(runs)
            self._runs[key] = runs
            for row in group.filter(pa.array(again)).to_pylist() if again.any() else ():
                copies.setdefault(row["entry_broker"], []).append(row["position"])
        return copies


def _keys(log: Path, slices: list[EventSlice]) -> Iterator[pa.Table]:
    for part in slices:
        for table in rows_of(log, part, SCHEMA):
            yield table.select(list(COLUMNS))


def _groups(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows of each publisher and quality, of rows that are sorted by them."""
    if not rows.num_rows:
        return
    codes = [rows[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("publisher", "quality")]
    changes = np.flatnonzero((np.diff(codes[0]) != 0) | (np.diff(codes[1]) != 0)) + 1
    starts = np.append(0, changes)
    for start, stop in zip(starts, np.append(changes, rows.num_rows), strict=True):
        yield rows.slice(start, stop - start)
