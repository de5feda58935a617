"""Which rows a condition can hold on, as Spark columns.

A condition has two reaches: the rows on which it is true and those on which it is false; on the others it is unknown.
So Kleene's logic is spent before Spark sees anything: AND is the intersection of what is true and the union of what is
false, NOT exchanges the two, and it does not matter whether a column is null or false where it is not true.

A reach that is not exact is too wide, never too narrow. AND and OR keep that, so whatever is left out of a column makes
it a necessary condition, and the rest is verified on the rows that pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as sf


class Reach(NamedTuple):
    """Rows: those on which the column is true; a bool means all of them, or none. `exact`: no row is in it wrongly."""

    rows: Column | bool
    exact: bool = True

    @property
    def column(self) -> Column:
        return sf.lit(self.rows) if isinstance(self.rows, bool) else self.rows


class Outcomes(NamedTuple):
    """Where a condition is true, and where it is false."""

    true: Reach
    false: Reach


ALL = Reach(True)
NONE = Reach(False)
UNTOLD = Reach(True, exact=False)

UNKNOWN = Outcomes(NONE, NONE)
UNDECIDED = Outcomes(UNTOLD, UNTOLD)
"""What cannot be said in columns."""


def all_of(reaches: Sequence[Reach]) -> Reach:
    """The rows in every one of them."""
    if any(reach.rows is False for reach in reaches):
        return NONE
    columns = [reach.rows for reach in reaches if not isinstance(reach.rows, bool)]
    return Reach(balanced(Column.__and__, columns, empty=True), all(reach.exact for reach in reaches))


def any_of(reaches: Sequence[Reach]) -> Reach:
    """The rows in at least one of them."""
    whole = [reach for reach in reaches if reach.rows is True]
    if whole:
        return Reach(True, any(reach.exact for reach in whole))
    columns = [reach.rows for reach in reaches if not isinstance(reach.rows, bool)]
    return Reach(balanced(Column.__or__, columns, empty=False), all(reach.exact for reach in reaches))


def balanced(join: Callable[[Column, Column], Column], columns: list[Column], *, empty: bool) -> Column | bool:
    """The columns joined as a tree of least depth: Spark's optimizer recurses, and a filter may have 4,096 parts."""
    if not columns:
        return empty
    while len(columns) > 1:
        pairs = zip(columns[::2], columns[1::2], strict=False)
        columns = [join(a, b) for a, b in pairs] + columns[len(columns) & ~1 :]
    return columns[0]


def negated(outcomes: Outcomes) -> Outcomes:
    return Outcomes(outcomes.false, outcomes.true)


def conjunction(parts: Sequence[Outcomes]) -> Outcomes:
    return Outcomes(all_of([part.true for part in parts]), any_of([part.false for part in parts]))


def disjunction(parts: Sequence[Outcomes]) -> Outcomes:
    return Outcomes(any_of([part.true for part in parts]), all_of([part.false for part in parts]))


def parity(parts: Sequence[Outcomes]) -> Outcomes:
    """True where an odd number of the parts is, and none is unknown; Spark's <> of nulls is null."""
    if not all(part.true.exact and part.false.exact for part in parts):
        return UNDECIDED
    odd = sf.lit(False)
    for part in parts:
        odd = odd != sf.when(part.true.column, True).when(part.false.column, False)
    return Outcomes(Reach(odd), Reach(~odd))


def constant(outcome: bool | None) -> Outcomes:
    """A condition that is the same for every row."""
    return Outcomes(ALL if outcome is True else NONE, ALL if outcome is False else NONE)
