"""The oracle, rule by rule."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agvent.errors import EventError
from agvent.event import Event, Value
from agvent.filters.evaluate import evaluate, value
from agvent.filters.languages import parse
from agvent.filters.tree import (
    EVERYTHING,
    NOTHING,
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Function,
    In,
    IsA,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    Or,
    TopicPattern,
    Truth,
)

A = Attribute(("a",))
T, F, U = True, False, None
NOON = datetime(2002, 1, 1, 12, tzinfo=UTC)


def truth(outcome: bool | None) -> Condition:
    """A condition with this outcome for an event without attributes."""
    return Truth(A) if outcome is None else Truth(Literal(outcome))


@pytest.mark.parametrize(
    ("left", "right", "both", "either"),
    [
        (T, T, T, T), (T, F, F, T), (T, U, U, T),
        (F, T, F, T), (F, F, F, F), (F, U, F, U),
        (U, T, U, T), (U, F, F, U), (U, U, U, U),
    ],
)  # fmt: skip
def test_and_and_or_are_kleenes(left: bool | None, right: bool | None, both: bool | None, either: bool | None) -> None:
    """JMS tables 3-4 and 3-5: the truth of AND and OR with unknown."""
    assert evaluate(And((truth(left), truth(right))), {}) is both
    assert evaluate(Or((truth(left), truth(right))), {}) is either


@pytest.mark.parametrize(("part", "negated"), [(T, F), (F, T), (U, U)])
def test_not_leaves_unknown_unknown(part: bool | None, negated: bool | None) -> None:
    """JMS table 3-6: NOT unknown is unknown."""
    assert evaluate(Not(truth(part)), {}) is negated


def test_an_empty_and_is_true_and_an_empty_or_false() -> None:
    """Everything accepts, nothing refuses."""
    assert evaluate(EVERYTHING, {}) is True
    assert evaluate(NOTHING, {}) is False


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("missing", [{}, {"a": None}, {"a": math.nan}])
def test_comparison_with_null_is_unknown(op: str, missing: dict[str, Value]) -> None:
    """Missing, null and NaN are null, and null compares with nothing, not even with itself."""
    assert evaluate(Compare(op, A, Literal(1)), missing) is None
    assert evaluate(Compare(op, Literal(1), A), missing) is None
    assert evaluate(Compare(op, A, A), missing) is None


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (1, 2, -1),
        (2, 2.0, 0),
        (0.0, -0.0, 0),
        (0, -0.0, 0),
        (2**53 + 1, float(2**53), 1),
        (2**63 - 1, 9.223372036854775807e18, -1),
        (37.807807921694092, 38, -1),
        (math.inf, 2**63 - 1, 1),
        (-math.inf, -1e300, -1),
        (math.inf, math.inf, 0),
        (NOON, NOON.astimezone(timezone(timedelta(hours=2))), 0),
        (NOON, NOON + timedelta(microseconds=1), -1),
    ],
)
def test_numbers_and_timestamps_are_ordered_exactly(left: Any, right: Any, order: int) -> None:
    """Integers and floats compare by their mathematical value, timestamps by their instant."""
    expected = {
        "=": order == 0, "<>": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
    }  # fmt: skip
    assert {op: evaluate(Compare(op, A, Literal(right)), {"a": left}) for op in expected} == expected


@pytest.mark.parametrize(("left", "right"), [("a", "a"), ("a", "b"), (True, False), (b"a", b"a"), ("", "")])
def test_strings_booleans_and_bytes_have_no_order(left: Any, right: Any) -> None:
    """JMS: strings and booleans compare with = and <> only; under < they are unlike."""
    assert evaluate(Compare("=", A, Literal(right)), {"a": left}) is (left == right)
    assert evaluate(Compare("<>", A, Literal(right)), {"a": left}) is (left != right)
    for op in ("<", "<=", ">", ">="):
        assert evaluate(Compare(op, A, Literal(right)), {"a": left}) is False
        assert evaluate(Compare(op, A, Literal(right), None), {"a": left}) is None


@pytest.mark.parametrize(
    ("left", "right"), [(1, "1"), (1, True), ("x", b"x"), (NOON, "2002-01-01"), ([1], 1), ({"x": 1}, 1), (0, False)]
)
@pytest.mark.parametrize("unlike", [False, None])
def test_unlike_kinds_give_what_the_language_says(left: Any, right: Any, unlike: bool | None) -> None:
    """JMS compares unlike kinds to false, Elvin to unknown, and <> is no exception."""
    for op in ("=", "<>", "<", ">="):
        assert evaluate(Compare(op, A, Literal(right), unlike), {"a": left}) is unlike


@pytest.mark.parametrize("both", [[1], {"x": 1}])
def test_lists_and_objects_compare_with_nothing(both: Any) -> None:
    """JMS has no lists: two equal ones are unlike."""
    event = {"a": both, "b": both}
    assert evaluate(Compare("=", A, Attribute(("b",))), event) is False
    assert evaluate(Compare("<>", A, Attribute(("b",))), event) is False


@pytest.mark.parametrize(
    ("found", "outcome"), [("x", T), (1.0, T), (True, F), (2, F), ("y", F), ([1], F), (None, U), (math.nan, U)]
)
def test_in(found: Any, outcome: bool | None) -> None:
    """JMS: IN and NOT IN of null are unknown; a value of another kind is simply not in the list."""
    condition = In(A, (Literal("x"), Literal(1), Literal(math.nan), Literal(None)))
    assert evaluate(condition, {"a": found}) is outcome
    assert evaluate(Not(condition), {"a": found}) is (None if outcome is None else not outcome)


@pytest.mark.parametrize(("found", "outcome"), [("50%", T), ("50x", F), ("", F), (50, F), (["50%"], F), (None, U)])
def test_like(found: Any, outcome: bool | None) -> None:
    """JMS: LIKE of null is unknown; what is no string is not like anything."""
    assert evaluate(Like(A, "5_!%", "!"), {"a": found}) is outcome


@pytest.mark.parametrize(("found", "outcome"), [(None, T), (math.nan, T), (0, F), ("", F), ([], F), (False, F)])
def test_is_null(found: Any, outcome: bool) -> None:
    """IS NULL is never unknown; an empty string is a value."""
    assert evaluate(IsNull(A), {"a": found}) is outcome
    assert evaluate(IsNull(A), {}) is True


@pytest.mark.parametrize(("found", "outcome"), [(True, T), (False, F), (1, U), ("true", U), ([], U), (None, U)])
def test_only_a_boolean_has_truth(found: Any, outcome: bool | None) -> None:
    """A value that is no boolean is neither true nor false as a condition."""
    assert evaluate(Truth(A), {"a": found}) is outcome


@pytest.mark.parametrize(("topic", "outcome"), [("Sports", T), ("Sports/NBA", T), ("News", F), (42, F), (None, U)])
def test_topic_pattern(topic: str | int | None, outcome: bool | None) -> None:
    """A pattern is of strings: a number is not under it, and no topic is unknown."""
    assert evaluate(TopicPattern(Attribute(("$topic",)), "Sports/#"), Event(topic=topic)) is outcome


def test_a_type_is_its_ancestors_too() -> None:
    """A subscription to a type receives its subtypes; an event without a type is of none."""
    book = Event(type="Book", ancestors=("Publication",))
    assert [evaluate(IsA(name), book) for name in ("Book", "Publication", "Paper")] == [True, True, False]
    assert evaluate(IsA("Book"), {}) is False


def test_headers_nested_objects_and_list_elements() -> None:
    """Paths lead through objects and lists; what is not there is null."""
    event = {"o": {"x": [10, {"y": 1}]}, "$topic": "t", "$channel": 7, "$type": "Book", "$time": NOON}
    paths = [("o", "x", 0), ("o", "x", 1, "y"), ("o", "x", 2), ("o", "z"), ("o", 0), ("x",)]
    assert [value(Attribute(path), event) for path in paths] == [10, 1, None, None, None, None]
    headers = ["$topic", "$channel", "$type", "$time"]
    assert [value(Attribute((name,)), event) for name in headers] == ["t", 7, "Book", NOON]


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        ("+", 1, 2, 3),
        ("+", 1, 0.5, 1.5),
        ("-", 2**63 - 1, -1, None),
        ("+", 2**53, 1, 2**53 + 1),
        ("*", 2**62, 2, None),
        ("*", -(2**62), 2, -(2**63)),
        ("/", 7, 2, 3),
        ("/", -7, 2, -3),
        ("/", 7, -2, -3),
        ("/", -(2**63), -1, None),
        ("/", 7.0, 2, 3.5),
        ("/", 1, 0, None),
        ("/", 1.0, 0.0, None),
        ("/", 1, -0.0, None),
        ("*", 1e300, 1e300, math.inf),
        ("-", math.inf, math.inf, None),
        ("+", "a", "b", None),
        ("+", 1, "1", None),
        ("+", 1, True, None),
        ("+", 1, None, None),
        ("-", NOON, NOON, None),
        ("*", [1], 2, None),
    ],
)
def test_arithmetic(op: str, left: Any, right: Any, result: Any) -> None:
    """Integers stay exact 64-bit integers and divide as Java's; without two numbers there is no result."""
    found = value(Arithmetic(op, A, Literal(right)), {"a": left})
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize(("found", "result"), [(5, -5), (2.5, -2.5), (-(2**63), None), ("x", None), (None, None)])
def test_negative(found: Any, result: Any) -> None:
    """The least integer has no negative."""
    assert value(Negative(A), {"a": found}) == result


def test_functions_are_computed() -> None:
    """A built-in gets the values of its arguments."""
    assert value(Function("size", (Function("lower", (A,)),)), {"a": "ABC"}) == 3
    assert value(Function("size", (A,)), {}) is None


def test_behaviours_get_names_and_values() -> None:
    """A call goes through the interface with its arguments computed; without one it is null."""
    seen: list[tuple[str, tuple[Value, ...]]] = []

    def behaviours(name: str, args: tuple[Value, ...]) -> Value:
        seen.append((name, args))
        return 12

    call = Call("price", (A, Literal("Istanbul"), Attribute(("b",))))
    assert value(call, {"a": 10}, behaviours) == 12
    assert seen == [("price", (10, "Istanbul", None))]
    assert value(call, {"a": 10}) is None
    assert evaluate(Truth(call), {"a": 10}, behaviours) is None


def test_a_behaviours_result_is_checked() -> None:
    """A result that no event could carry is an error that names the behaviour."""
    with pytest.raises(EventError) as caught:
        value(Call("f", ()), {}, lambda _name, _args: 2**64)
    assert caught.value.message == "f(): 18446744073709551616 does not fit in 64 bits"


@pytest.mark.parametrize(
    ("text", "event", "outcome"),
    [
        ("phone LIKE '12%3'", {"phone": "12993"}, True),
        ("phone LIKE '12%3'", {"phone": "1234"}, False),
        ("word LIKE 'l_se'", {"word": "loose"}, False),
        (r"underscored LIKE '\_%' ESCAPE '\'", {"underscored": "_foo"}, True),
        (r"underscored LIKE '\_%' ESCAPE '\'", {"underscored": "bar"}, False),
        ("phone NOT LIKE '12%3'", {"phone": "1234"}, True),
        ("Country IN ('UK', 'US', 'France')", {"Country": "UK"}, True),
        ("Country IN ('UK', 'US', 'France')", {"Country": "Peru"}, False),
        ("Country NOT IN ('UK', 'US', 'France')", {"Country": "Peru"}, True),
        ("age BETWEEN 15 AND 19", {"age": 15}, True),
        ("age NOT BETWEEN 15 AND 19", {"age": 20}, True),
        ("color = 'blue' AND weight > 2500", {"color": "blue", "weight": 2501}, True),
        ("prop_name IS NOT NULL", {"prop_name": 1}, True),
    ],
)
def test_the_examples_of_jms(text: str, event: dict[str, Value], outcome: bool) -> None:
    """JMS 1.1 §3.8.1.1 gives these."""
    assert evaluate(parse(text), event) is outcome
