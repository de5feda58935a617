"""Random tables for the tests of filters on Spark: columns of one type each, events of the matcher's own making.

The names and values are those of strategies.py, so that its random filters meet them; a world gives each name a type.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, date
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from agvent.event import Event, event_of
from agvent.filters.tree import Condition
from agvent.matching.encoders.arrow_values import value_of
from tests import strategies

Types = Mapping[str, pa.DataType]

INT8S = (0, 1, -1, 2, 3, 10, 127, -128)
SINGLES = tuple(float(np.float32(value)) for value in (0.0, -0.0, 0.5, 1.0, 2.5, 0.1, 2.0**53, 3e38))
FLOATS = (*strategies.FLOATS, math.inf, -math.inf, math.nan)
DATES = (date(2002, 1, 1), date(2002, 1, 2), date(1969, 12, 31), date(1, 1, 1))
NAIVE = tuple(time.astimezone(UTC).replace(tzinfo=None) for time in strategies.TIMES)

TIME = pa.timestamp("us", "UTC")
POOLS: Mapping[pa.DataType, tuple[Any, ...]] = {
    pa.int64(): strategies.INTEGERS,
    pa.int32(): strategies.INT32S,
    pa.int8(): INT8S,
    pa.float64(): FLOATS,
    pa.float32(): SINGLES,
    pa.string(): strategies.STRINGS,
    pa.bool_(): (True, False),
    TIME: strategies.TIMES,
    pa.timestamp("us"): NAIVE,
    pa.date32(): DATES,
    pa.binary(): strategies.BYTES,
}

ROWS = 1 + max(map(len, POOLS.values()))
SCALARS = tuple(POOLS)
HEADERS: Mapping[str, tuple[pa.DataType, ...]] = {
    "$topic": (pa.string(), pa.int64()),
    "$channel": (pa.string(), pa.int32()),
    "$type": (pa.string(), pa.list_(pa.string())),
    "$time": (TIME, pa.timestamp("us"), pa.date32()),
    "$xml": (pa.string(),),
}


def random_types(draw: random.Random) -> Types:
    """A type for each name; now and then a column is missing."""
    types: dict[str, pa.DataType] = {name: draw.choice(SCALARS) for name in ("a", "b", "c", "two words")}
    types["list"] = pa.list_(draw.choice((*SCALARS, pa.list_(pa.int64()), pa.struct({"x": pa.int64()}))))
    types["o"] = pa.struct({"x": draw.choice(SCALARS), "y": draw.choice((*SCALARS, pa.list_(pa.string())))})
    types |= {name: draw.choice(found) for name, found in HEADERS.items()}
    if draw.random() < 0.3:
        types[draw.choice(strategies.NAMES)] = draw.choice((pa.null(), pa.string(), pa.list_(pa.float64())))
    return {name: type_ for name, type_ in types.items() if draw.random() > 0.1}


class World(NamedTuple):
    """A table and its rows as events."""

    table: pa.Table
    events: list[Event]


def world(number: int, *, rows: int) -> World:
    """A table of random types and values, a fifth of it null; the same one for the same number."""
    draw = random.Random(number)
    types = random_types(draw)
    columns = {name: pa.array([_drawn(name, type_, draw) for _ in range(rows)], type_) for name, type_ in types.items()}
    return world_of(pa.record_batch(columns))


def world_of(batch: pa.RecordBatch) -> World:
    """A batch and its rows as the matcher sees them."""
    events = [
        event_of({name: value_of(batch.column(name)[row], (name,)) for name in batch.schema.names})
        for row in range(batch.num_rows)
    ]
    return World(pa.Table.from_batches([batch]), events)


def _drawn(name: str, type_: pa.DataType, draw: random.Random) -> Any:
    if draw.random() < 0.2 or pa.types.is_null(type_):
        return None
    if name == "$xml":
        return draw.choice(strategies.DOCUMENTS)
    if name == "$topic" and pa.types.is_string(type_):
        return draw.choice(strategies.TOPICS)
    if name == "$type":
        names = draw.sample(strategies.TYPES, draw.randint(1, 3))
        return names if pa.types.is_list(type_) else names[0]
    if pa.types.is_list(type_):
        return [_drawn("", type_.value_type, draw) for _ in range(draw.randint(0, 3))]
    if pa.types.is_struct(type_):
        return {field.name: _drawn("", field.type, draw) for field in type_}
    return draw.choice(POOLS[type_])


def table_of_every_type() -> World:
    """A column of each type and of lists of each, named by the type, with every value of its pool."""
    columns = {}
    for type_, pool in POOLS.items():
        columns[str(type_)] = pa.array([*pool, *[None] * (ROWS - len(pool))], type_)
        columns[f"{type_} list"] = pa.array(
            [[value, None] for value in pool] + [[]] * (ROWS - len(pool)), pa.list_(type_)
        )
    return world_of(pa.record_batch(columns))


def drawn_conditions(strategy: st.SearchStrategy[Condition], *, count: int, number: int) -> list[Condition]:
    """Random conditions, the same ones for the same number: many of them are put to Spark in one query."""
    found: list[Condition] = []

    @seed(number)
    @settings(max_examples=count, phases=(Phase.generate,), database=None)
    @given(strategy)
    def collect(condition: Condition) -> None:
        found.append(condition)

    collect()
    return found
