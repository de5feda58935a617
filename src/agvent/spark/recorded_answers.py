"""What behaviours answered, as the log has it: a filter's calls are looked up, never run again.

Behaviours are pure and ran once, at the entry broker, so one answer serves every subscription with the same call. A
call without a row, or with a fault, is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agvent.errors import LogFileError
from agvent.event import Value
from agvent.filters.evaluate import Behaviours, value
from agvent.filters.languages import parse
from agvent.filters.tree import Call, walk
from agvent.store.heads import Segment
from agvent.store.log import LogReader
from agvent.store.values import decode_value

Lot = tuple[pa.Table, Behaviours | None]
"""Events that are matched together, and what their behaviours answer."""

KEY = ("publisher", "sequence", "quality", "entry_broker")
READ = [*KEY, "call", "result", "fault"]


class RecordedAnswers:
    """Where the answers are; made on the driver, asked in the tasks."""

    def __init__(self, reader: LogReader) -> None:
        self.files = [
            (str(reader.path.absolute() / one.path), _sequences(one)) for one in reader.segments("behaviours")
        ]

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
        if not self.files:
            return {}
        spans = events.group_by("entry_broker").aggregate([("sequence", "min"), ("sequence", "max")]).to_pylist()
        tables = [_read(path, events) for path, ranges in self.files if any(_meets(ranges, span) for span in spans)]
        if not tables:
            return {}
        rows = {key: row for row, key in enumerate(zip(*(events[name].to_pylist() for name in KEY), strict=True))}
        answers: dict[int, dict[str, str | None]] = {}
        for one in pa.concat_tables(tables).to_pylist():
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


def _sequences(segment: Segment) -> dict[str, list[int]]:
    """The least and greatest sequence of each entry broker's rows."""
    return {broker: facts["sequence"] for broker, facts in segment.ranges.items()}


def _meets(ranges: dict[str, list[int]], span: dict[str, Any]) -> bool:
    low, high = ranges.get(span["entry_broker"], (1, 0))
    return bool(low <= span["sequence_max"] and span["sequence_min"] <= high)


def _read(path: str, events: pa.Table) -> pa.Table:
    publishers = pc.unique(events["publisher"]).to_pylist()
    low, high = pc.min_max(events["sequence"]).as_py().values()
    wanted = [("publisher", "in", publishers), ("sequence", ">=", low), ("sequence", "<=", high)]
    try:
        return pq.read_table(path, columns=READ, filters=wanted, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise LogFileError(f"cannot read the segment {path}: {error}") from None


def _behaviours(texts: dict[str, str | None]) -> Behaviours:
    known = {_asked(text): None if result is None else decode_value(result) for text, result in texts.items()}

    def answer(name: str, args: tuple[Value, ...]) -> Value:
        return known.get((name, repr(args)))

    return answer


def _asked(text: str) -> tuple[str, str]:
    """The name and arguments of a call as SQL writes it: `wholesale_price(1000, 'Istanbul')`."""
    call = next((node for node in walk(parse(f"{text} IS NULL")) if isinstance(node, Call)), None)
    if call is None:
        raise LogFileError(f"{text!r} in the table behaviours is no call")
    return call.name, repr(tuple(value(arg, {}) for arg in call.args))
