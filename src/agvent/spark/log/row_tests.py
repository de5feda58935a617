"""The filters of a query that the source answers itself, so that Spark does not ask them again.

A row test is of one column against values of the column's own kind. A segment is left out if its folder or its head
says that no row passes, a row group if Parquet's statistics say so, and then every row is tested. Spark answers
all other tests. No column of a log has NaN, which Spark puts above all numbers and Arrow puts nowhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import types as kinds
from pyarrow.fs import LocalFileSystem
from pyspark.sql import datasource as asked
from pyspark.sql.datasource import Filter

from agvent.event import time_of
from agvent.store.heads import Segment
from agvent.store.log_schema import TableForm

EQUAL, PREFIX, NULL, PRESENT = "equal", "prefix", "null", "present"
BELOW: Final[dict[str, Callable[[Any, Any], Any]]] = {"less": operator.lt, "at most": operator.le}
ABOVE: Final[dict[str, Callable[[Any, Any], Any]]] = {"greater": operator.gt, "at least": operator.ge}

RELATIONS: Final[dict[type[Filter], str]] = {
    asked.EqualTo: EQUAL,
    asked.EqualNullSafe: EQUAL,
    asked.In: EQUAL,
    asked.LessThan: "less",
    asked.LessThanOrEqual: "at most",
    asked.GreaterThan: "greater",
    asked.GreaterThanOrEqual: "at least",
    asked.StringStartsWith: PREFIX,
    asked.IsNull: NULL,
    asked.IsNotNull: PRESENT,
}


class RowTest(NamedTuple):
    """A column stands in a relation to one of some values; those that ask for null have none."""

    column: str
    relation: str
    values: tuple[Any, ...] = ()

    def may_pass(self, low: Any, high: Any) -> bool:
        """Can a value from `low` to `high` pass? Null cannot be between them."""
        if self.relation in (NULL, PRESENT):
            return self.relation == PRESENT
        return any(_meets(self.relation, value, low, high) for value in self.values)

    def expression(self) -> pc.Expression:
        """The same for Arrow; as in Spark, a row for which it is unknown does not pass."""
        field = pc.field(self.column)
        if self.relation in (NULL, PRESENT):
            return field.is_null() if self.relation == NULL else field.is_valid()
        return reduce(operator.or_, (_compared(self.relation, field, value) for value in self.values))


Tests = Sequence[RowTest]
"""All of them have to pass."""


def _meets(relation: str, value: Any, low: Any, high: Any) -> bool:
    if relation in BELOW:
        return bool(BELOW[relation](low, value))
    if relation in ABOVE:
        return bool(ABOVE[relation](high, value))
    return bool((low[: len(value)] if relation == PREFIX else low) <= value <= high)


def _compared(relation: str, field: pc.Expression, value: Any) -> pc.Expression:
    if relation == PREFIX:
        return pc.starts_with(field, value)
    return {EQUAL: operator.eq, **BELOW, **ABOVE}[relation](field, value)


def split_filters(filters: Iterable[Filter], columns: pa.Schema) -> tuple[list[RowTest], list[Filter]]:
    """The tests that a source with these columns answers, and the filters that it leaves to Spark."""
    tests, left = [], []
    for one in filters:
        test = _test(one, columns)
        if test is None:
            left.append(one)
        else:
            tests.append(test)
    return tests, left


def _test(one: Any, columns: pa.Schema) -> RowTest | None:
    relation = RELATIONS.get(type(one))
    if relation is None or len(one.attribute) > 1 or one.attribute[0] not in columns.names:
        return None
    [name] = one.attribute
    if relation in (NULL, PRESENT):
        return RowTest(name, relation)
    values = tuple(one.value) if isinstance(one, asked.In) else (one.value,)
    fitting = all(_fits(value, columns.field(name).type) for value in values)
    return RowTest(name, relation, values) if values and fitting else None


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Is the value of the column's kind? Python's `bool` is an `int`, Agvent's is not."""
    match value:
        case bool():
            return bool(kinds.is_boolean(kind))
        case int():
            return bool(kinds.is_integer(kind))
        case float():
            return bool(kinds.is_float64(kind)) and not math.isnan(value)
        case datetime():
            return bool(kinds.is_timestamp(kind)) and value.tzinfo is not None
        case _:
            return isinstance(value, str) and bool(kinds.is_string(kind))


def may_have(segment: Segment, tests: Tests, form: TableForm, folders: Mapping[str, str | None]) -> bool:
    """Can a segment of a table have rows that pass? `folders` are the columns that its path says."""
    if not all(_is_passed(folders[test.column], test) for test in tests if test.column in folders):
        return False
    brokers = segment.ranges.items()
    return not brokers or any(_may_have(facts, broker, tests, form) for broker, facts in brokers)


def _is_passed(value: str | None, test: RowTest) -> bool:
    return test.relation == NULL if value is None else test.may_pass(value, value)


def _may_have(facts: Mapping[str, Any], broker: str, tests: Tests, form: TableForm) -> bool:
    """By what a head says of one broker's rows, where times are texts."""
    for test in tests:
        if test.column == form.broker and not _is_passed(broker, test):
            return False
        if test.column in form.ranged:
            is_time = any(isinstance(value, datetime) for value in test.values)
            low, high = map(time_of, facts[test.column]) if is_time else facts[test.column]
            if not test.may_pass(low, high):
                return False
    return True


def condition(tests: Tests, columns: Sequence[str]) -> pc.Expression | None:
    """What rows with these columns have to meet, None if nothing. A column that is not there is null."""
    there = [test.expression() if test.column in columns else pc.scalar(test.relation == NULL) for test in tests]
    return reduce(operator.and_, there) if there else None


def groups_that_may_pass(path: Path, groups: Sequence[int], asked: pc.Expression) -> list[int]:
    """The row groups of a Parquet file whose statistics do not rule out what is asked."""
    fragment = ds.ParquetFileFormat().make_fragment(str(path), LocalFileSystem(), row_groups=list(groups))
    return [group.id for group in fragment.subset(filter=asked).row_groups]
