"""Numbers between floats: what a literal becomes for a column that cannot hold it."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agvent.spark.pushdown.comparisons import neighbours

NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))


def is_single(value: float) -> bool:
    return math.isinf(value) or struct.unpack("f", struct.pack("f", value))[0] == value


@given(NUMBERS, st.booleans())
def test_a_number_lies_between_its_neighbours(number: float, single: bool) -> None:
    """They are floats of the column's width: the same one if the number is such a float, else next to each other."""
    below, above = neighbours(number, single=single)
    assert below <= number <= above
    assert not single or (is_single(below) and is_single(above))
    if below != above and not (single or math.isinf(above) or math.isinf(below)):
        assert math.nextafter(below, math.inf) == above
    assert (below == above) == (number in (below, above))


@pytest.mark.parametrize(
    ("number", "single", "expected"),
    [
        (2**53 + 1, False, (2.0**53, 2.0**53 + 2)),
        (2**63 - 1, False, (2.0**63 - 1024, 2.0**63)),
        (0.1, False, (0.1, 0.1)),
        (0.1, True, (0.09999999403953552, 0.10000000149011612)),
        (1e300, True, (3.4028234663852886e38, math.inf)),
        (-math.inf, True, (-math.inf, -math.inf)),
    ],
)
def test_known_neighbours(number: float, single: bool, expected: tuple[float, float]) -> None:
    """2**53 + 1 is no float; 0.1 is one of 64 bits and none of 32; beyond the largest there is infinity."""
    assert neighbours(number, single=single) == expected
