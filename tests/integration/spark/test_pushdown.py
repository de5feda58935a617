"""A filter as a Spark column says what the oracle says, of random filters and rows of every type."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from agvent.errors import CallerError, EventError
from agvent.event import Event, kind_of
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.tree import (
    Attribute,
    Compare,
    Condition,
    Function,
    In,
    Like,
    Literal,
    TextTest,
    TopicPattern,
    Truth,
)
from agvent.matching.encoders.arrow_values import kind_of_type
from agvent.spark.pushdown.operands import columns_of, quoted
from agvent.spark.pushdown.pushed_filters import pushed_filters
from agvent.spark.pushdown.reach import Reach
from agvent.spark.pushdown.to_column import outcomes, to_column
from tests import strategies
from tests.spark_tables import FLOATS, POOLS, World, drawn_conditions, table_of_every_type, world, world_of

Wrong = list[tuple[Condition, Event, bool | None]]


def answers(frame: DataFrame, reaches: list[Reach]) -> list[list[bool]]:
    """For each row, in which of the reaches it is: one query for all of them."""
    columns = [sf.coalesce(reach.column, sf.lit(False)).alias(f"r{n}") for n, reach in enumerate(reaches)]
    return [list(row) for row in frame.select(columns).collect()]


def wrongs(
    found: World, conditions: list[Condition], rows: list[list[bool]], reaches: list[Reach], *, of: bool
) -> Wrong:
    """Where a reach leaves out a row it should have, or has one it should not and calls itself exact."""
    wrong = []
    for event, row in zip(found.events, rows, strict=True):
        for condition, reach, inside in zip(conditions, reaches, row, strict=True):
            said = evaluate(condition, event)
            if inside != (said is of) and (reach.exact or not inside):
                wrong.append((condition, event, said))
    return wrong


OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
NUMBERS = (*strategies.INTEGERS, -128, 127, 128, 2**31, 0.1, -0.5, *FLOATS, 3e38)
TIMES = (*strategies.TIMES, datetime(2002, 1, 2, tzinfo=UTC))
OTHERS = ("", "a", "日", True, False, b"", b"a", None)


def literals(type_: pa.DataType) -> list[Literal]:
    """What a column of the type is compared with: everything of its kind, and something of every other."""
    kind = kind_of_type(type_, ("column",))
    return [
        Literal(value)
        for values in (NUMBERS, TIMES, OTHERS)
        for value in (values if kind is kind_of(values[0]) else values[:3])
    ]


def unequal(spark: SparkSession, found: World, conditions: list[Condition]) -> Wrong:
    """The rows on which the columns of a condition and the oracle do not agree."""
    frame = spark.createDataFrame(found.table)
    columns = columns_of([(field.name, sf.col(quoted(field.name)), field.dataType) for field in frame.schema])
    both = [outcomes(condition, columns) for condition in conditions]
    true, false = [one.true for one in both], [one.false for one in both]
    return [
        *wrongs(found, conditions, answers(frame, true), true, of=True),
        *wrongs(found, conditions, answers(frame, false), false, of=False),
    ]


@pytest.mark.parametrize("number", range(6))
def test_outcomes_are_the_oracles(interpreted: SparkSession, number: int) -> None:
    """Where a condition is true, and where it is false, is what the oracle says: exactly, or it is said to be wider."""
    conditions = drawn_conditions(strategies.conditions(), count=200, number=number)
    assert unequal(interpreted, world(number, rows=60), conditions) == []


def test_every_comparison_is_the_oracles(interpreted: SparkSession) -> None:
    """A column of any type compares with any literal as the oracle compares them."""
    conditions: list[Condition] = [
        Compare(op, Attribute((str(type_),)), literal)
        for type_ in POOLS
        for op in OPERATORS
        for literal in literals(type_)
    ]
    assert unequal(interpreted, table_of_every_type(), conditions) == []


def test_every_membership_is_the_oracles(interpreted: SparkSession) -> None:
    """IN of a column and contains() of a list find any literal that the oracle finds, and no other."""
    conditions: list[Condition] = []
    for type_ in POOLS:
        found = literals(type_)
        conditions += [In(Attribute((str(type_),)), (literal, Literal(3))) for literal in found]
        conditions += [Truth(Function("contains", (Attribute((f"{type_} list",)), literal))) for literal in found]
    assert unequal(interpreted, table_of_every_type(), conditions) == []


TEXTS = (
    "a%b", "aXb", "a_b", "a\nb", "a.b", "a+b", "a\\b", "(a)", "[a]", "a/b", "a/b/c", "a//c", "\\E/b", "é/b", "😀/b",
    "/", "", "a.b/c", "aXb/c", "a\\b/c", "$a/c", "{a}/c", "a\nb/c", "^/c", "|/c",
)  # fmt: skip
LIKES = ("_!%_", "%!_%", "a_b", "_.b", "%\\b", "_\\_", "%!_b", "!%%", "(_)", "_/b", "%[%]", "a%\nb", "__", "%X_%c")
TOPICS = ("+/b", "a/+/c", "+/+", "a.b/+", "a\\b/+", "$a/+", "{a}/+", "(a)/+", "\\E/+", "^/+", "|/+", "+/#", "+/c")


def test_every_pattern_is_the_oracles(interpreted: SparkSession) -> None:
    """Whatever characters a text and a pattern have: what is special to LIKE or to Java is not to ours."""
    text = Attribute(("text",))
    conditions: list[Condition] = [Like(text, pattern, "!") for pattern in LIKES]
    conditions += [TopicPattern(text, pattern) for pattern in TOPICS]
    conditions += [TextTest("wildcard", text, (pattern,)) for pattern in ("?.b", "a\\??", "*\\*b", "?+?", "*?/?")]
    assert unequal(interpreted, world_of(pa.record_batch({"text": TEXTS})), conditions) == []


def test_pushing_down_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """What Parquet leaves out by statistics and dictionaries does not match: zeros of both signs and NaN too."""
    found = table_of_every_type()
    rows = pa.array(range(found.table.num_rows))
    pq.write_table(found.table.append_column("row", rows), tmp_path / "rows.parquet", row_group_size=1)
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    conditions: list[Condition] = [
        Compare(op, Attribute((name,)), Literal(value))
        for name in ("double", "float", "int8")
        for op in OPERATORS
        for value in (0, 1.0)
    ]
    conditions.append(In(Attribute(("double",)), (Literal(0), Literal(2.5))))
    conditions.append(Compare("=", Attribute(("string",)), Literal("é")))
    columns = [to_column(condition, frame.schema).column for condition in conditions]
    each = [frame.where(column).select(sf.lit(n), "row") for n, column in enumerate(columns)]
    got = sorted(tuple(row) for row in reduce(DataFrame.union, each).collect())
    assert got == [
        (n, row)
        for n, condition in enumerate(conditions)
        for row, event in enumerate(found.events)
        if evaluate(condition, event) is True
    ]


@pytest.mark.parametrize(
    ("filter", "pushed"),
    [
        ("i > 2.5", "IsNotNull(i), GreaterThan(i,2)"),
        ("i = 9007199254740993", "IsNotNull(i), EqualTo(i,9007199254740993)"),
        ("d < 9007199254740993", "IsNotNull(d), LessThan(d,9.007199254740994E15)"),
        ("d BETWEEN 1 AND 2", "IsNotNull(d), GreaterThanOrEqual(d,1.0), LessThanOrEqual(d,2.0)"),
        ("s LIKE 'a%' AND NOT i < 5", "IsNotNull(i), IsNotNull(s), StringStartsWith(s,a), GreaterThanOrEqual(i,5)"),
        ("s IN ('a', 'b') OR o", "Or(In(s, [a,b]),EqualTo(o,true))"),
        ("t >= TIMESTAMP '2026-03-01'", "IsNotNull(t), GreaterThanOrEqual(t,2026-03-01 00:00:00.0)"),
        ("i = 1 AND regex(s, '^a')", "IsNotNull(i), EqualTo(i,1), IsNotNull(s)"),
        ("i IS NULL", "IsNull(i)"),
    ],
)
def test_comparisons_reach_parquet(spark: SparkSession, tmp_path: Path, filter: str, pushed: str) -> None:
    """The physical plan's scan has them among its filters, on the bare column."""
    spark.createDataFrame([], "i bigint, d double, s string, o boolean, t timestamp").write.parquet(f"{tmp_path}/p")
    frame = spark.read.parquet(f"{tmp_path}/p")
    [found] = pushed_filters(frame.where(to_column(filter, frame.schema).column))
    assert sorted(found.split("), ")) == sorted(pushed.split("), "))  # Spark's order is no promise


def test_what_is_left_out_is_the_residual(spark: SparkSession) -> None:
    """A conjunct that Spark has no equal words for is what the matcher has to verify, and nothing else."""
    schema = spark.createDataFrame([], "price double, name string").schema
    found = to_column("price > 1 AND regex(name, 'a') AND lower(name) = 'b'", schema)
    assert found.residual == parse("regex(name, 'a') AND lower(name) = 'b'")
    assert not found.exact
    assert to_column("price > 1 AND missing IS NULL", schema).exact


def test_columns_that_differ_by_case_are_refused(spark: SparkSession) -> None:
    """Spark would take either; the caller is asked to rename one."""
    schema = spark.createDataFrame([], "price double").schema.add("Price", "double")
    with pytest.raises(CallerError, match="'price' but for case"):
        to_column("price > 1", schema)


def test_a_type_without_a_kind_is_refused(spark: SparkSession) -> None:
    """As the matcher refuses it, with the same words."""
    schema = spark.createDataFrame([], "price decimal(10, 2)").schema
    with pytest.raises(EventError, match="column price: Arrow's decimal128"):
        to_column("price > 1", schema)


def test_a_long_filter_is_no_deep_plan(spark: SparkSession) -> None:
    """As many parts as a filter may have: Spark's optimizer recurses over them without overflowing its stack."""
    frame = spark.range(3)
    parts = " OR ".join(f"id = {2 * number} AND id < {number + 3}" for number in range(1000))
    assert [row.id for row in frame.where(to_column(parts, frame.schema).column).collect()] == [0, 2]
