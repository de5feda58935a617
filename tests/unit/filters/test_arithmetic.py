"""Arithmetic: what two values give."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agvent.event import Int32
from agvent.filters.arithmetic import computed

N = Int32


@pytest.mark.parametrize(
    ("left", "op", "right", "result"),
    [
        (N(1), "+", N(2), N(3)),
        (N(1), "+", 2, 3),
        (N(2**31 - 1), "+", N(1), 2**31),
        (N(2**31 - 1), "*", N(2**31 - 1), (2**31 - 1) ** 2),
        (2**63 - 1, "+", N(1), None),
        (-(2**63), "/", -1, None),
        (N(-(2**31)), "/", N(-1), 2**31),
        (-7, "/", 2, -3),
        (-7, "%", 2, -1),
        (7, "%", -2, 1),
        (1, "%", 0, None),
        (1.0, "/", 0, None),
        (5.5, "%", N(2), 1.5),
        (-5.5, "%", 2, -1.5),
        (1, "%", math.inf, 1.0),
        ("1", "+", 1, None),
        (True, "+", 1, None),
        (None, "+", 1, None),
        (N(-1), ">>>", N(0), N(-1)),
        (N(-1), ">>>", N(1), N(2**31 - 1)),
        (-1, ">>>", 1, 2**63 - 1),
        (N(-1), ">>>", 1, 2**63 - 1),
        (N(1), "<<", N(32), N(1)),
        (N(1), "<<", N(-1), N(-(2**31))),
        (1, "<<", 64, 1),
        (N(-8), ">>", N(1), N(-4)),
        (N(-1), "&", 2**40, 2**40),
        (1.0, "&", 1, None),
    ],
)
def test_what_comes_out(left: Any, op: str, right: Any, result: Any) -> None:
    """Value and type: int32 only from two of them, null where there is no result."""
    found = computed(op, left, right)
    assert (type(found), found) == (type(result), result)


@pytest.mark.parametrize("left", [math.inf, -math.inf])
def test_what_an_infinity_leaves_is_nan(left: float) -> None:
    """As IEEE has it; NaN is null."""
    found = computed("%", left, 2)
    assert found is not None
    assert math.isnan(found)
