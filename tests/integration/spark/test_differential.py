"""Three answers to one question: the oracle, a join in Spark SQL, and the index on Spark give the same pairs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from agvent import Subscription, evaluate
from agvent.spark import match

ATTRIBUTES = {"n": "long", "x": "double", "s": "string", "yes": "boolean"}
NUMBERS = (0, 1, 2, 3, 10, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1)
FLOATS = (0.0, 0.5, 1.0, 2.5, -1.5, float(2**53))
STRINGS = ("", "a", "ab", "abc", "é", "it's", "a%b")

EVENTS = st.fixed_dictionaries(
    {
        "n": st.none() | st.sampled_from(NUMBERS),
        "x": st.none() | st.sampled_from(FLOATS),
        "s": st.none() | st.sampled_from(STRINGS),
        "yes": st.none() | st.booleans(),
    }
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


OPERATORS = st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
PREDICATES = st.one_of(
    st.builds("n {} {}".format, OPERATORS, st.sampled_from(NUMBERS)),
    st.builds("x {} {}".format, OPERATORS, st.sampled_from(FLOATS)),
    st.builds("s {} {}".format, st.sampled_from(("=", "<>")), st.sampled_from(STRINGS).map(quoted)),
    st.builds("s IN ({}, {})".format, *[st.sampled_from(STRINGS).map(quoted)] * 2),
    st.builds("n BETWEEN {} AND {}".format, st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
    st.builds("{} IS {}NULL".format, st.sampled_from(tuple(ATTRIBUTES)), st.sampled_from(("", "NOT "))),
    st.sampled_from(("yes", "NOT yes", "s LIKE 'a%'", "s LIKE '_b%'", "x * 2 > 1", "x + 1 = 2.5")),
)
FILTERS = st.recursive(
    PREDICATES,
    lambda inner: st.one_of(
        st.builds("({}) AND ({})".format, inner, inner),
        st.builds("({}) OR ({})".format, inner, inner),
        st.builds("NOT ({})".format, inner),
    ),
    max_leaves=4,
)

WORKLOADS = st.tuples(
    st.lists(EVENTS, min_size=1, max_size=40), st.lists(FILTERS, min_size=1, max_size=25, unique=True)
)
Workload = tuple[list[dict[str, Any]], list[str]]


def by_the_oracle(events: list[dict[str, Any]], interests: list[Subscription]) -> list[tuple[int, str]]:
    return sorted(
        (at, one.id) for at, event in enumerate(events) for one in interests if evaluate(one.condition(), event) is True
    )


def by_a_join(spark: SparkSession, frame: Any, interests: list[Subscription]) -> list[tuple[int, str]]:
    """A nested loop over a table of subscriptions, whose conditions are Spark's own: it has one arm for each filter."""
    spark.createDataFrame([(one.id,) for one in interests], "id string").createOrReplaceTempView("interests")
    frame.createOrReplaceTempView("events")
    arms = "\n".join(f"WHEN {quoted(one.id)} THEN {one.filter}" for one in interests)
    query = f"SELECT e.event, i.id FROM events e CROSS JOIN interests i WHERE CASE i.id {arms} END"
    return sorted((row.event, row.id) for row in spark.sql(query).collect())


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(workload=WORKLOADS)
def test_oracle_join_and_index_agree(spark: SparkSession, workload: Workload) -> None:
    """For random filters and events of plain columns, the three give the same pairs."""
    events, filters = workload
    interests = [Subscription(id=f"f{at}", filter=text) for at, text in enumerate(filters)]
    rows = [(at, *(event[name] for name in ATTRIBUTES)) for at, event in enumerate(events)]
    schema = ", ".join(["event long", *(f"{name} {kind}" for name, kind in ATTRIBUTES.items())])
    frame = spark.createDataFrame(rows, schema).repartition(2)
    expected = by_the_oracle(events, interests)
    assert sorted(tuple(row) for row in match(frame, interests).collect()) == expected
    assert by_a_join(spark, frame, interests) == expected


@pytest.mark.parametrize("filter_text", ["n = 9007199254740993", "x = 9007199254740992"])
def test_numbers_that_floats_confuse(spark: SparkSession, filter_text: str) -> None:
    """Where Spark's own comparison of a long with a long is exact, all three agree; 2**53 + 1 is not 2**53."""
    events = [{"n": 2**53 + 1, "x": float(2**53)}, {"n": 2**53, "x": 0.5}]
    interests = [Subscription(id="f", filter=filter_text)]
    frame = spark.createDataFrame(
        [(at, *event.values()) for at, event in enumerate(events)], "event long, n long, x double"
    )
    expected = by_the_oracle(events, interests)
    assert sorted(tuple(row) for row in match(frame, interests).collect()) == expected == [(0, "f")]
    assert by_a_join(spark, frame, interests) == expected
