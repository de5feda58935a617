"""Filters that a source answers itself: which they are, and that nothing is left out that passes."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as asked
from pyspark.sql.datasource import Filter

from agvent.spark.log.row_tests import RowTest, condition, groups_that_may_pass, may_have, split_filters
from agvent.store.heads import Segment
from agvent.store.log_schema import TABLES
from agvent.store.segments import ranges_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COLUMNS = pa.schema(
    {"broker": pa.string(), "n": pa.int64(), "price": pa.float64(), "at": pa.timestamp("us", "UTC"), "sold": pa.bool_()}
)


@pytest.mark.parametrize(
    ("given", "test"),
    [
        (asked.EqualTo(("broker",), "b1"), RowTest("broker", "equal", ("b1",))),
        (asked.EqualNullSafe(("n",), 3), RowTest("n", "equal", (3,))),
        (asked.In(("n",), (1, 2)), RowTest("n", "equal", (1, 2))),
        (asked.LessThan(("price",), 2.5), RowTest("price", "less", (2.5,))),
        (asked.GreaterThanOrEqual(("at",), NOON), RowTest("at", "at least", (NOON,))),
        (asked.StringStartsWith(("broker",), "b"), RowTest("broker", "prefix", ("b",))),
        (asked.EqualTo(("sold",), True), RowTest("sold", "equal", (True,))),
        (asked.IsNull(("price",)), RowTest("price", "null")),
        (asked.Not(asked.EqualTo(("n",), 3)), None),
        (asked.StringContains(("broker",), "b"), None),
        (asked.EqualTo(("other",), 3), None),
        (asked.EqualTo(("n", "m"), 3), None),
        (asked.EqualTo(("n",), True), None),
        (asked.EqualTo(("broker",), 3), None),
        (asked.EqualTo(("n",), 3.0), None),
        (asked.EqualTo(("price",), math.nan), None),
        (asked.LessThan(("at",), NOON.replace(tzinfo=None)), None),
        (asked.EqualNullSafe(("n",), None), None),
        (asked.In(("n",), (1, None)), None),
    ],
    ids=str,
)
def test_a_test_is_of_one_column_and_values_of_its_kind(given: Filter, test: RowTest | None) -> None:
    """What the table can decide as Spark would is taken; everything else is left to Spark."""
    assert split_filters([given], COLUMNS) == (([], [given]) if test is None else ([test], []))


BROKERS = st.sampled_from(["b1", "b2", "c"])
POSITIONS = st.integers(0, 6)
TIMES = st.integers(0, 6).map(lambda second: NOON + timedelta(seconds=second))
ROWS = st.lists(st.tuples(BROKERS, POSITIONS, TIMES), min_size=1, max_size=6)
RANGES = st.sampled_from(["equal", "less", "at most", "greater", "at least"])
TESTS = st.one_of(
    st.builds(lambda values: RowTest("home_broker", "equal", values), st.lists(BROKERS, min_size=1).map(tuple)),
    st.builds(lambda value: RowTest("home_broker", "prefix", (value,)), st.sampled_from(["", "b", "b2", "d"])),
    st.builds(lambda relation, value: RowTest("position", relation, (value,)), RANGES, POSITIONS),
    st.builds(lambda relation, value: RowTest("changed_at", relation, (value,)), RANGES, TIMES),
    st.sampled_from([RowTest("position", "null"), RowTest("position", "present")]),
    st.builds(lambda relation, value: RowTest("type", relation, (value,)), RANGES, st.sampled_from(["A", "Quote"])),
)


@given(rows=ROWS, tests=st.lists(TESTS, max_size=3))
def test_a_segment_with_a_row_that_passes_is_not_left_out(
    rows: list[tuple[str, int, datetime]], tests: list[RowTest]
) -> None:
    """Whatever a head and a folder say, they never speak against a row that passes; a single row they know exactly."""
    form = TABLES["changes"]
    names = ("home_broker", "position", "changed_at")
    table = pa.table({name: pa.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    table = table.append_column("type", pa.repeat("Quote", len(rows)))
    segment = Segment(path="", since=1, rows=len(rows), bytes=0, crc32="", ranges=ranges_of(table, form))
    asks = condition(tests, table.column_names)
    passing = len(rows) if asks is None else table.filter(asks).num_rows
    found = may_have(segment, tests, form, {"type": "Quote"})
    assert found or not passing
    assert len(rows) > 1 or found == bool(passing)


def test_a_column_that_a_version_has_not_is_null() -> None:
    """So it passes the test for null, and no other."""
    table = pa.table({"n": [1, 2]})
    for test, count in ((RowTest("m", "null"), 2), (RowTest("m", "present"), 0), (RowTest("m", "less", (3,)), 0)):
        asks = condition([test], table.column_names)
        assert asks is not None
        assert table.filter(asks).num_rows == count


def test_row_groups_are_left_out_by_their_statistics(tmp_path: Path) -> None:
    """Numbers, texts and times, each in the order of the file."""
    rows = range(40)
    columns = {"n": list(rows), "s": [f"s{n:02}" for n in rows], "at": [NOON + timedelta(seconds=n) for n in rows]}
    pq.write_table(pa.table(columns), tmp_path / "file", row_group_size=10)
    wanted = {
        RowTest("n", "equal", (3, 25)): [0, 2],
        RowTest("s", "at least", ("s30",)): [3],
        RowTest("at", "less", (NOON + timedelta(seconds=10),)): [0],
        RowTest("s", "null"): [],
        RowTest("other", "equal", (1,)): [],
    }
    for test, groups in wanted.items():
        asks = condition([test], list(columns))
        assert asks is not None
        assert groups_that_may_pass(tmp_path / "file", range(4), asks) == groups
        assert groups_that_may_pass(tmp_path / "file", range(1, 2), asks) == [group for group in groups if group == 1]
