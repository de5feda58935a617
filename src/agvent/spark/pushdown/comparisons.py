"""Comparisons of columns, exact in every digit.

Spark compares a bigint with a double by rounding the bigint, holds NaN for the largest number and equal to itself, and
Parquet's dictionaries tell -0.0 from 0.0. So nothing is left to its conversions: a literal is rewritten for the values
that the column's type can have, which also leaves the column bare, and Spark pushes it down to Parquet.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from agvent import limits
from agvent.event import EPOCH, MICROSECOND, Kind, kind_of, microseconds
from agvent.filters.evaluate import EQUALITY, ORDERED, SCALARS
from agvent.filters.tree import Literal
from agvent.spark.pushdown.operands import INTEGERS, Operand, kind_at, operand_of
from agvent.spark.pushdown.reach import NONE, UNDECIDED, UNKNOWN, Outcomes, Reach, all_of, any_of, constant

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NEGATED: Final = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
FLIPPED: Final = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

DAY_MICROSECONDS: Final = 86_400_000_000


class Scale(NamedTuple):
    """A type whose values are whole steps: how far it reaches, and how a step is written as a column."""

    low: int
    high: int
    step: int
    literal: Callable[[int], Column]


def scale_of(type_: st.DataType) -> Scale | None:
    """The steps of integers, instants (microseconds) and dates (days); None for floats and what has no order."""
    match type_:
        case st.TimestampType():
            return Scale(limits.INT_MIN, limits.INT_MAX, 1, lambda at: sf.timestamp_micros(sf.lit(at)))
        case st.TimestampNTZType():
            return Scale(limits.INT_MIN, limits.INT_MAX, 1, _wall_clock)
        case st.DateType():
            return Scale(limits.INT32_MIN, limits.INT32_MAX, DAY_MICROSECONDS, _date)
    for width, integer in zip((8, 16, 32, 64), INTEGERS, strict=True):
        if isinstance(type_, integer):
            return Scale(-(1 << width - 1), (1 << width - 1) - 1, 1, lambda value: sf.lit(value).cast(type_))
    return None


def _wall_clock(at: int) -> Column:
    return sf.lit((EPOCH + at * MICROSECOND).replace(tzinfo=None).isoformat()).cast(st.TimestampNTZType())


def _date(day: int) -> Column:
    return sf.date_from_unix_date(sf.lit(day))


def compared(op: str, left: Operand | Literal, right: Operand | Literal, unlike: bool | None) -> Outcomes:
    """A comparison of which at least one side is a column."""
    if isinstance(left, Literal):
        assert isinstance(right, Operand)
        return compared(FLIPPED[op], right, left, unlike)
    kind, other = left.kind, kind_at(right)
    if other is Kind.NULL:
        return UNKNOWN
    if kind is not other or kind not in (SCALARS if op in EQUALITY else ORDERED):
        return _where_present(left, right, unlike)
    if isinstance(right, Literal):
        value = right.value
        return Outcomes(against(op, left, value), against(NEGATED[op], left, value))
    return _columns(op, left, right)


def _where_present(left: Operand, right: Operand | Literal, outcome: bool | None) -> Outcomes:
    """The same outcome wherever both have a value."""
    there = [Reach(side.present()) for side in (left, right) if isinstance(side, Operand)]
    fixed = constant(outcome)
    return Outcomes(all_of([fixed.true, *there]), all_of([fixed.false, *there]))


def _columns(op: str, left: Operand, right: Operand) -> Outcomes:
    """Two columns: Spark compares them right if neither has to be converted to the other's type by rounding."""
    instants = (st.TimestampType, st.TimestampNTZType, st.DateType)
    mixed_numbers = left.is_real is not right.is_real
    mixed_times = isinstance(left.type, instants) and type(left.type) is not type(right.type)
    there = left.present() & right.present()
    if mixed_numbers or mixed_times:
        return Outcomes(Reach(there, exact=False), Reach(there, exact=False))
    return Outcomes(
        Reach(there & OPERATORS[op](left.column, right.column)),
        Reach(there & OPERATORS[NEGATED[op]](left.column, right.column)),
    )


def against(op: str, found: Operand, value: Any) -> Reach:
    """Where the column compares so with a value of its own kind."""
    scale = scale_of(found.type)
    if scale:
        return _on_scale(op, found, value, scale)
    if found.is_real:
        return _real(op, found, value)
    return Reach(OPERATORS[op](found.column, sf.lit(value)))


def _on_scale(op: str, found: Operand, value: Any, scale: Scale) -> Reach:
    """Any number or instant stands at a step or between two; one beyond the type stands one step beyond."""
    place = _place(value, scale)
    step = math.floor(place) if op in ("<=", ">", "=", "<>") else math.ceil(place)
    if step != place and op in EQUALITY:
        return NONE if op == "=" else Reach(found.present())
    if not scale.low <= step <= scale.high:
        always = op == "<>" or op in (("<", "<=") if step > scale.high else (">", ">="))
        return Reach(found.present()) if always else NONE
    return Reach(OPERATORS[op](found.column, scale.literal(step)))


def _place(value: Any, scale: Scale) -> Fraction | int:
    number = microseconds(value) if kind_of(value) is Kind.TIME else value
    if isinstance(number, float) and math.isinf(number):
        return scale.high + 1 if number > 0 else scale.low - 1
    return Fraction(number) / scale.step


def _real(op: str, found: Operand, value: Any) -> Reach:
    """A float column. Whatever the order of -0.0 and 0.0, of zero's two writings the one is taken that is right."""
    below, above = neighbours(value, single=isinstance(found.type, st.FloatType))
    column = found.column

    def test(op: str, bound: float, zero: float) -> Column:
        return OPERATORS[op](column, sf.lit(zero if bound == 0 else bound).cast(found.type))  # type: ignore[no-any-return]

    match op:
        case "<":
            return Reach(test("<", above, -0.0))
        case "<=":
            return Reach(test("<=", below, 0.0))
        case ">":
            return Reach(test(">", below, 0.0) & ~sf.isnan(column))
        case ">=":
            return Reach(test(">=", above, -0.0) & ~sf.isnan(column))
    if below != above:
        return NONE if op == "=" else Reach(found.present())
    if below == 0:
        low, high = (">=", "<=") if op == "=" else ("<", ">")
        both = (test(low, 0.0, -0.0), test(high, 0.0, 0.0))
        return Reach(both[0] & both[1] if op == "=" else (both[0] | both[1]) & ~sf.isnan(column))
    return Reach(test(op, below, 0.0) & ~sf.isnan(column) if op == "<>" else test(op, below, 0.0))


def neighbours(value: float, *, single: bool) -> tuple[float, float]:
    """The largest float that is not above a number and the smallest that is not below: one, if it is a float."""
    kind = np.float32 if single else np.float64
    with np.errstate(over="ignore"):
        nearest = kind(value)
    near = float(nearest)
    if near < value:
        return near, float(np.nextafter(nearest, kind(np.inf)))
    if near > value:
        return float(np.nextafter(nearest, kind(-np.inf))), near
    return near, near


def member(found: Operand, values: tuple[Literal, ...]) -> Outcomes:
    """Is the column one of the values? Those of another kind are none of them."""
    own = [literal.value for literal in values if kind_of(literal.value) is found.kind]
    if found.kind not in SCALARS or not own:
        return Outcomes(NONE, Reach(found.present()))
    plain, zeros = _plain_members(found, own)
    true = any_of([Reach(found.column.isin(plain)) if plain else NONE, *zeros])
    if true.rows is False:
        return Outcomes(NONE, Reach(found.present()))
    return Outcomes(true, all_of([Reach(found.present()), Reach(~true.column)]))


def _plain_members(found: Operand, values: list[Any]) -> tuple[list[Column], list[Reach]]:
    """The values that the type can hold, as literals for Spark's own IN; zero apart where there are two of it."""
    if not found.is_real:
        literals = [_held(found, value) for value in values]
        return [literal for literal in literals if literal is not None], []
    plain = [_held(found, value) for value in values if value != 0]
    zeros = [_real("=", found, 0.0)] if 0 in values else []
    return [literal for literal in plain if literal is not None], zeros


def _held(found: Operand, value: Any) -> Column | None:
    """The value as a literal of the column's type, None if that type has no such value."""
    scale = scale_of(found.type)
    if scale:
        place = _place(value, scale)
        return scale.literal(int(place)) if place == int(place) and scale.low <= place <= scale.high else None
    if found.is_real:
        below, above = neighbours(value, single=isinstance(found.type, st.FloatType))
        return sf.lit(below).cast(found.type) if below == above else None
    return sf.lit(value)


def element(found: Operand, value: Any) -> Outcomes:
    """Has the list an element equal to the value? Where Spark says null, because one of the others is, it has not."""
    assert isinstance(found.type, st.ArrayType)
    there = Reach(found.present())
    inner = operand_of(found.column, found.type.elementType, ("element", 0))
    if inner is None:
        return UNDECIDED
    alike = isinstance(inner, Operand) and inner.kind is kind_of(value) and inner.kind in SCALARS
    literal = _held(inner, value) if isinstance(inner, Operand) and alike else None
    if literal is None:
        return Outcomes(NONE, there)
    has = sf.coalesce(sf.array_contains(found.column, literal), sf.lit(False))
    return Outcomes(Reach(has), all_of([there, Reach(~has)]))
