"""A compiled columnar scan of all subscriptions: the best one does without an index, and what `ratio` is to.

Subscriptions of one shape are rows of one table, each operand a column; strings are dictionary codes, so every test
compares numbers; a prefix or suffix is an equality with the event's own prefix of that length, coded once per event.
Numba compiles one loop per shape, from source made for that shape: a row is left at its first false predicate, nothing
is allocated per event, matches go to arrays that are made once.

Events are decoded by msgspec straight to the attributes some subscription names, then to columns; that is inside the
measured time, as it is for the index. Numbers are float64, exact for these workloads; attributes have one kind each.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numba
import numpy as np

from engine import main, predicates_of
from shapes import Part, Shape, leaves, operands, shape_of

UNKNOWN: Final = -1
"""The code of a string that no subscription mentions."""

MISSING: Final = -2
"""The code of an attribute that the event lacks. A missing number is NaN, which fails every comparison."""

MATCHES: Final = 1 << 20
"""Room for the rows (event, subscription) found, before they are counted and the room is used again."""


class Feature(NamedTuple):
    """What is read of an event once: a number, a string's code, or the code of its prefix or suffix."""

    name: str
    form: str
    length: int


def feature_of(part: Part) -> Feature:
    if part.operator in ("prefix", "suffix"):
        return Feature(part.name, part.operator, part.length)
    return Feature(part.name, "text" if part.text else "number", 0)


class Table(NamedTuple):
    """The subscriptions of one shape: features, columns of operands, row numbers, and the compiled loop."""

    features: list[Feature]
    columns: list[Any]
    rows: Any
    scan: Any


class Scan:
    """All subscriptions as tables."""

    def __init__(self, subscriptions: Path) -> None:
        self._codes: dict[Feature, dict[str | None, int]] = {}
        found: dict[Shape, list[tuple[int, list[Any]]]] = {}
        for row, predicates in enumerate(predicates_of(subscriptions)):
            found.setdefault(shape_of(predicates), []).append((row, operands(predicates)))
        self._tables = [self._table(shape, rows) for shape, rows in found.items()]
        self._features = sorted({feature for table in self._tables for feature in table.features})
        room = max(MATCHES, *(len(table.rows) for table in self._tables))
        self._choice = np.empty(room, np.int32)
        self._events = np.empty(room, np.int32)
        self._subscriptions = np.empty(room, np.int32)
        names = sorted({feature.name for feature in self._features})
        event = msgspec.defstruct("Event", [(name, Any, None) for name in names])
        self._decode = msgspec.json.Decoder(event).decode_lines

    def _table(self, shape: Shape, rows: list[tuple[int, list[Any]]]) -> Table:
        values = zip(*[found for _, found in rows], strict=True)
        owners = [feature_of(part) for part in leaves(shape) for _ in range(part.operands)]
        columns = [self._column(feature, found) for feature, found in zip(owners, values, strict=True)]
        features = sorted({feature_of(part) for part in leaves(shape)})
        return Table(features, columns, np.array([row for row, _ in rows], np.int32), compiled(shape, features))

    def _column(self, feature: Feature, values: tuple[Any, ...]) -> Any:
        if feature.form == "number":
            return np.array(values, np.float64)
        codes = self._codes.setdefault(feature, {None: MISSING})
        return np.array([codes.setdefault(value, len(codes)) for value in values], np.int32)

    def match(self, data: bytes) -> int:
        events, columns = self.parse(data)
        return sum(filled for table in self._tables for filled in self._scan(table, events, columns))

    def counts(self, data: bytes) -> list[int]:
        events, columns = self.parse(data)
        counts = np.zeros(events, np.int64)
        for table in self._tables:
            for filled in self._scan(table, events, columns):
                counts += np.bincount(self._events[:filled], minlength=events)
        return counts.tolist()

    def _scan(self, table: Table, events: int, columns: dict[Feature, Any]) -> Iterator[int]:
        """Runs one table's loop, and gives how many rows are in the arrays each time they are full and at the end."""
        given = [columns[feature] for feature in table.features]
        start = 0
        while start < events:
            start, filled = table.scan(
                start, *given, *table.columns, table.rows, self._choice, self._events, self._subscriptions
            )
            yield filled

    def parse(self, data: bytes) -> tuple[int, dict[Feature, Any]]:
        """The number of events, and each feature as a column."""
        events = self._decode(data)
        read = {name: list(map(attrgetter(name), events)) for name in {feature.name for feature in self._features}}
        return len(events), {feature: self._event_column(feature, read[feature.name]) for feature in self._features}

    def _event_column(self, feature: Feature, values: list[Any]) -> Any:
        if feature.form == "number":
            return np.array(values, np.float64)
        if feature.form == "prefix":
            values = [value if value is None else value[: feature.length] for value in values]
        elif feature.form == "suffix":
            values = [value if value is None else value[-feature.length :] for value in values]
        codes = self._codes.get(feature, {None: MISSING})
        return np.array([codes.get(value, UNKNOWN) for value in values], np.int32)

    def index_bytes(self) -> int | None:
        return sum(int(column.nbytes) for table in self._tables for column in (*table.columns, table.rows))


LOOP: Final = """
def scan(start, {features}, {columns}rows, choice, events, subscriptions):
    filled = 0
    for event in range(start, len(f0)):
        if filled + len(rows) > len(events):
            return event, filled
        {values} = {features_at}
        chosen = 0
        for i in range(len(rows)):
            choice[chosen] = i
            chosen += {first}
        for k in range(chosen):
            i = choice[k]
            if {rest}:
                events[filled] = event
                subscriptions[filled] = rows[i]
                filled += 1
    return len(f0), filled
"""


def compiled(shape: Shape, features: list[Feature]) -> Any:
    """The loop over a shape's rows: f0, f1, … are columns of events, c0, c1, … columns of subscriptions."""
    columns = [f"c{i}" for i in range(sum(part.operands for part in shape))]
    unused = iter([f"{column}[i]" for column in columns])
    value_of = {feature: f"v{i}" for i, feature in enumerate(features)}
    source = LOOP.format(
        features=", ".join([f"f{i}" for i in range(len(features))]),
        columns="".join([f"{column}, " for column in columns]),
        values=", ".join(value_of.values()),
        features_at=", ".join([f"f{i}[event]" for i in range(len(features))]),
        first=_condition(shape[0], value_of, unused),
        rest=" and ".join([_condition(part, value_of, unused) for part in shape[1:]] or ["True"]),
    )
    made: dict[str, Any] = {}
    exec(source, made)
    return numba.njit(made["scan"], nogil=True)


def _condition(part: Part, value_of: dict[Feature, str], column: Iterator[str]) -> str:
    if part.operator == "any":
        return "(" + " | ".join([f"({_condition(inner, value_of, column)})" for inner in part.parts]) + ")"
    v = value_of[feature_of(part)]
    match part.operator:
        case "=" | "prefix" | "suffix":
            return f"({v} == {next(column)})"
        case ">":
            return f"({v} > {next(column)})"
        case "between":
            return f"(({next(column)} <= {v}) & ({v} <= {next(column)}))"
        case "in":
            return "(" + " | ".join([f"({v} == {next(column)})" for _ in range(part.operands)]) + ")"
        case "not":
            return f"({v} != {MISSING}) & ({v} != {next(column)})"
        case _:
            assert part.operator == "null", part
            return f"({v} == {MISSING})"


if __name__ == "__main__":
    main("scan", Scan)
