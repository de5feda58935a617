"""What behaviours answered, as the log has it: a filter's calls are looked up, never run again.

Behaviours are pure and ran once, at the entry broker, so one answer serves every subscription with the same call. A
call without a row, or with a fault, is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agvent.errors import LogFileError
from agvent.event import Value
from agvent.filters.evaluate import HOLDS, Behaviours, value
from agvent.filters.languages import parse
from agvent.filters.tree import Call, walk
from agvent.store.heads import Segment
from agvent.store.log_reader import LogReader
from agvent.store.values import decode_value

Lot = tuple[pa.Table, Behaviours | None]
"""Events that are matched together, and what their behaviours answer."""

File = tuple[str, dict[str, list[int]]]
"""A segment's path, and the least and greatest sequence of each entry broker's rows in it."""

KEY = ("publisher", "sequence", "quality", "entry_broker")
READ = [*KEY, "call", "result", "fault"]


class RecordedAnswers:
    """Where the answers are; made on the driver, asked in the tasks."""

    def __init__(self, reader: LogReader) -> None:
        self.files = files_of(reader, "behaviours")

    def near(self, events: Iterable[Segment]) -> RecordedAnswers:
        """Those that some segments of events can have: what is sent to a task that reads no others."""
        spans = [
            {"entry_broker": broker, "sequence_min": low, "sequence_max": high}
            for one in events
            for broker, (low, high) in _sequences(one).items()
        ]
        found = copy(self)
        found.files = [file for file in self.files if any(_meets(file[1], span) for span in spans)]
        return found

    def of(self, events: pa.Table) -> dict[int, Behaviours]:
        """The answers that rows of events have, by row; only segments that can have some are read."""
        found = rows_near(self.files, events, READ)
        if not found:
            return {}
        rows = {key: row for row, key in enumerate(zip(*(events[name].to_pylist() for name in KEY), strict=True))}
        answers: dict[int, dict[str, str | None]] = {}
        for one in found:
            row = rows.get(tuple(one[name] for name in KEY))
            if row is not None:
                known = answers.setdefault(row, {})
                result = None if one["fault"] is not None else one["result"]
                known[one["call"]] = known.get(one["call"]) if result is None else result
        return {row: _behaviours(known) for row, known in answers.items()}


def by_answers(table: pa.Table, recorded: RecordedAnswers) -> Iterator[Lot]:
    """The rows without recorded answers in one lot, each of the others in its own: an answer is that of one event."""
    answers = recorded.of(table)
    if not answers:
        yield table, None
        return
    yield table.take(pa.array(np.setdiff1d(np.arange(table.num_rows), list(answers)))), None
    for row, behaviours in answers.items():
        yield table.slice(row, 1), behaviours


def files_of(reader: LogReader, table: str) -> list[File]:
    """The segments of a table that has a row for something of an event, with the sequences in each."""
    return [(str(reader.path.absolute() / one.path), _sequences(one)) for one in reader.segments(table)]


def rows_near(files: Sequence[File], events: pa.Table, columns: list[str]) -> list[dict[str, Any]]:
    """The rows that some events may have; only segments that can have some are read."""
    if not files:
        return []
    spans = events.group_by("entry_broker").aggregate([("sequence", "min"), ("sequence", "max")]).to_pylist()
    tables = [_read(path, events, columns) for path, ranges in files if any(_meets(ranges, span) for span in spans)]
    return pa.concat_tables(tables).to_pylist() if tables else []


def _sequences(segment: Segment) -> dict[str, list[int]]:
    """The least and greatest sequence of each entry broker's rows."""
    return {broker: facts["sequence"] for broker, facts in segment.ranges.items()}


def _meets(ranges: dict[str, list[int]], span: dict[str, Any]) -> bool:
    low, high = ranges.get(span["entry_broker"], (1, 0))
    return bool(low <= span["sequence_max"] and span["sequence_min"] <= high)


def _read(path: str, events: pa.Table, columns: list[str]) -> pa.Table:
    publishers = pc.unique(events["publisher"]).to_pylist()
    low, high = pc.min_max(events["sequence"]).as_py().values()
    wanted = [("publisher", "in", publishers), ("sequence", ">=", low), ("sequence", "<=", high)]
    try:
        return pq.read_table(path, columns=columns, filters=wanted, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise LogFileError(f"cannot read the segment {path}: {error}") from None


def _behaviours(texts: dict[str, str | None]) -> Behaviours:
    calls = {_asked(text): None if result is None else decode_value(result) for text, result in texts.items()}
    return _Recorded({(name, repr(args)): answer for (name, args), answer in calls.items()}, _opaque(calls))


class _Recorded:
    """The answers of one event, and the names of those of its attributes that only conditions were asked about."""

    def __init__(self, known: dict[tuple[str, str], Value], opaque: frozenset[str]) -> None:
        self.known, self.opaque = known, opaque

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        return self.known.get((name, repr(args)))


def _asked(text: str) -> tuple[str, tuple[Value, ...]]:
    """The name and arguments of a call as SQL writes it: `wholesale_price(1000, 'Istanbul')`."""
    call = next((node for node in walk(parse(f"{text} IS NULL")) if isinstance(node, Call)), None)
    if call is None:
        raise LogFileError(f"{text!r} in the table behaviours is not a call")
    return call.name, tuple(value(arg, {}) for arg in call.args)


def _opaque(calls: Iterable[tuple[str, tuple[Value, ...]]]) -> frozenset[str]:
    """An opaque attribute stands as a call without arguments in a condition that was asked whole."""
    conditions = [parse(str(args[0])) for name, args in calls if name == HOLDS and args]
    parts = [node for condition in conditions for node in walk(condition)]
    return frozenset(node.name for node in parts if isinstance(node, Call) and not node.args)
