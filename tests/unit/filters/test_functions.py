"""The built-in functions."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agvent.errors import CallerError
from agvent.filters.functions import FUNCTIONS, apply, compiled


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("contains", ("abc", "b"), True),
        ("contains", ("abc", ""), True),
        ("contains", ("abc", "B"), False),
        ("contains", ("123", 2), False),
        ("contains", (123, "2"), False),
        ("contains", ([1, "x", None], "x"), True),
        ("contains", ([1, "x"], 1.0), True),
        ("contains", ([1, "x"], True), False),
        ("contains", ([[1]], [1]), False),
        ("contains", ([], "x"), False),
        ("contains", (b"abc", b"b"), False),
        ("starts_with", ("abc", "ab"), True),
        ("starts_with", ("abc", "bc"), False),
        ("starts_with", (["ab"], "ab"), False),
        ("ends_with", ("abc", "bc"), True),
        ("ends_with", ("abc", "ab"), False),
        ("ends_with", ("1", 1), False),
        ("regex", ("xabcx", "a.c"), True),
        ("regex", ("abc", "^b"), False),
        ("regex", ("日本", "^..$"), True),
        ("regex", ("é", r"^\w$"), False),
        ("regex", (5, "5"), False),
        ("lower", ("ÀB",), "àb"),
        ("lower", (5,), None),
        ("size", ("日本",), 2),
        ("size", ([1, None],), 2),
        ("size", (b"abc",), 3),
        ("size", (5,), None),
        ("size", ({"a": 1},), None),
    ],
)
def test_functions(name: str, args: tuple[Any, ...], result: Any) -> None:
    """An argument of a kind the function is not for makes a condition false and a value null."""
    found = apply(name, args)
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("null", [None, math.nan])
def test_a_null_argument_makes_the_result_null(name: str, null: float | None) -> None:
    """Missing and NaN arguments have no result, in either place."""
    arity = FUNCTIONS[name].arity
    assert [apply(name, ("x",) * at + (null,) + ("x",) * (arity - at - 1)) for at in range(arity)] == [None] * arity


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "missing ): (a"),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("(?=a)", "invalid perl operator: (?="),
        ("((a{100}){100}){10}", "invalid repetition size: {100}"),
        (r"(\pL\pN){300}", "pattern too large - compile failed"),
    ],
)
def test_re2_refuses_what_cannot_run_in_linear_time(pattern: str, reason: str) -> None:
    """Back-references, look-around and programs beyond the memory bound do not compile."""
    with pytest.raises(CallerError) as caught:
        compiled(pattern)
    assert caught.value.message == f"the regular expression does not compile: {reason}"


def test_a_hostile_expression_runs_in_linear_time() -> None:
    """What makes a backtracking engine run for years is no work here."""
    assert apply("regex", ("a" * 50_000, "(a+)+$|(a|a)*b")) is True
