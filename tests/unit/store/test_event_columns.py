"""Events as typed rows: which column an attribute gets, and what it holds of a value that does not fit."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from agvent.errors import LogError
from agvent.event import Event, EventId, Int32
from agvent.store.event_columns import FIXED, LoggedEvent, column_of, promoted, table_of
from agvent.types import KINDS, AdvertisedAttribute, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def typed(**kinds: str) -> AgventType:
    return AgventType(name="T", attributes=tuple(AdvertisedAttribute(name, kind) for name, kind in kinds.items()))


def row(attributes: dict[str, Any], type_: AgventType) -> dict[str, Any]:
    """The one row of one event, its fixed columns left out but for `rest` and `exact`."""
    event = Event(type="T", attributes=attributes, id=EventId("p", 1))
    table = table_of([LoggedEvent(event=event, accepted_at=NOON, entry_broker="b", epoch=1)], type_)
    kept = [one.column for one in promoted(type_)]
    return table.select([*kept, "rest", "exact"]).to_pylist()[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("kind", "value", "cell", "rest", "exact"),
    [
        ("float", 5.5, 5.5, None, True),
        ("float", np.float64(5.5), 5.5, None, True),
        ("float", 5, 5.0, '{"a":5}', True),
        ("float", 2**53 + 1, None, '{"a":9007199254740993}', False),
        ("float", math.nan, None, '{"a":{"$float":"nan"}}', True),
        ("float", math.inf, math.inf, None, True),
        ("float", None, None, '{"a":null}', True),
        ("float", "5", None, '{"a":"5"}', False),
        ("float", True, None, '{"a":true}', False),
        ("int", 2**63 - 1, 2**63 - 1, None, True),
        ("int", 5.0, 5, '{"a":5.0}', True),
        ("int", 5.5, None, '{"a":5.5}', False),
        ("int", 9.3e18, None, '{"a":9.3e18}', False),
        ("int", Int32(5), 5, '{"a":{"$int32":5}}', True),
        ("int32", Int32(5), 5, None, True),
        ("int32", 5, 5, '{"a":5}', True),
        ("int32", 2**31, None, '{"a":2147483648}', False),
        ("str", "", "", None, True),
        ("bytes", b"\x00", b"\x00", None, True),
        ("str", b"\x00", None, '{"a":{"$bytes":"AA=="}}', False),
        ("timestamp", NOON, NOON, None, True),
        ("list[int]", [1, None], [1, None], None, True),
        ("list[int]", (), [], None, True),
        ("list[int]", [1, 2.0], None, '{"a":[1,2.0]}', False),
        ("list[float]", [math.nan], None, '{"a":[{"$float":"nan"}]}', False),
        ("list[int]", 1, None, '{"a":1}', False),
    ],
)
def test_what_a_column_holds(kind: str, value: Any, cell: Any, rest: str | None, exact: bool) -> None:
    """A value that fits is in its column alone; an equal number is in both; any other is in `rest` alone."""
    assert row({"a": value}, typed(a=kind)) == {"a": cell, "rest": rest, "exact": exact}


def test_a_missing_attribute_leaves_no_trace() -> None:
    """Missing is null in the column and nothing in `rest`, and other attributes do not change that."""
    assert row({"b": 1}, typed(a="int")) == {"a": None, "rest": '{"b":1}', "exact": True}
    assert row({}, typed(a="list[str]")) == {"a": None, "rest": None, "exact": True}


def test_columns_have_their_attributes_names_unless_fixed() -> None:
    """A name that equals a fixed one but for case and trailing underscores gets one underscore more: none meet."""
    names = ["price", "topic", "Topic", "topic_", "topic__", "_", "type", "schema", "rest"]
    columns = [column_of(name) for name in names]
    assert columns == ["price", "topic_", "Topic_", "topic__", "topic___", "_", "type_", "schema_", "rest_"]
    assert not FIXED & set(columns)


@pytest.mark.parametrize("name", ["two words", "a.b", "é", "1st", "agvent_x", "AGVENT_x", "a\n"])
def test_attributes_without_a_column(name: str) -> None:
    """What other engines cannot name without quoting, and names that later formats may need, stay in `rest`."""
    assert column_of(name) is None


def test_of_names_that_differ_in_case_the_first_is_promoted() -> None:
    """Spark and DuckDB do not tell `a` from `A`; neither do objects and values of any kind get a column."""
    type_ = typed(a="int", A="str", o="object", x="any")
    assert [one.column for one in promoted(type_)] == ["a"]
    expected = {"a": 1, "rest": '{"A":"t","o":{"x":1},"x":2}', "exact": True}
    assert row({"a": 1, "A": "t", "o": {"x": 1}, "x": 2}, type_) == expected


def test_every_kind_but_object_and_any_has_a_column() -> None:
    """The table of kinds and the table of columns agree."""
    assert [kind for kind in KINDS if not promoted(typed(a=kind))] == ["object", "any"]


def test_an_event_without_an_id_is_refused() -> None:
    """Nothing could be joined with it."""
    record = LoggedEvent(event=Event(), accepted_at=NOON, entry_broker="b", epoch=1)
    with pytest.raises(LogError, match="an event without an id cannot be logged"):
        table_of([record], typed())
