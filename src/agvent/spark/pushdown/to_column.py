"""A filter as a Spark column: the part of it that Spark answers, and what is left for the matcher.

`to_column` walks the filter's one tree (filters/tree.py); what each node means is `evaluate`'s word, and tests hold the
two against each other. A node without equal words in Spark widens the column (reach.py), and the conjuncts it stands in
become the residual, which the matcher verifies on the rows that pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from agvent.errors import CallerError
from agvent.event import Kind, kind_of
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.tree import (
    And,
    Attribute,
    Compare,
    Condition,
    Expression,
    Function,
    In,
    IsA,
    IsNull,
    Like,
    Literal,
    Not,
    OfType,
    Or,
    TextTest,
    TopicPattern,
    Truth,
    Xor,
    XPath,
    walk,
)
from agvent.spark.pushdown.comparisons import compared, element, member
from agvent.spark.pushdown.operands import FilterColumns, Operand, columns_of, operand, quoted
from agvent.spark.pushdown.reach import (
    ALL,
    NONE,
    UNDECIDED,
    UNKNOWN,
    Outcomes,
    Reach,
    all_of,
    any_of,
    conjunction,
    constant,
    disjunction,
    negated,
    parity,
)
from agvent.spark.pushdown.text_tests import text_outcomes


class Pushdown(NamedTuple):
    """`rows` has every row the filter matches, and no other if there is no residual, which must hold of it too."""

    rows: Reach
    residual: Condition | None

    @property
    def column(self) -> Column:
        return self.rows.column

    @property
    def exact(self) -> bool:
        return self.residual is None


Case = tuple[Reach, FilterColumns]
"""Some rows of a DataFrame, and what a filter's names are in them."""


def to_column(filter: Condition | str, schema: st.StructType) -> Pushdown:
    """The filter over a DataFrame with this schema, whose columns are attributes and headers (`$topic`, …).

    A text is SQL. The column is null or false where the filter does not match. If `residual` is not None, the column is
    also true for some rows that do not match, and the matcher must verify it.

    >>> from agvent.spark import session, to_column
    >>> ticks = session("local[1]").createDataFrame([("IBM", 99.5), ("MSFT", 410.0)], "symbol string, price double")
    >>> found = to_column("price < 100 AND symbol = 'IBM'", ticks.schema)
    >>> [row.symbol for row in ticks.where(found.column).collect()], found.residual
    (['IBM'], None)
    """
    condition = parse(filter) if isinstance(filter, str) else filter
    lowered = [field.name.lower() for field in schema.fields]
    twice = [name for name in lowered if lowered.count(name) > 1]
    if twice:
        raise CallerError(f"two columns are named {twice[0]!r} but for case", hint="rename one: Spark takes either")
    fields = [(field.name, sf.col(quoted(field.name)), field.dataType) for field in schema.fields]
    return pushed_down(condition, [(ALL, columns_of(fields))])


def pushed_down(condition: Condition, cases: Sequence[Case]) -> Pushdown:
    """The filter over rows that are of one case or another."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    reaches = [[outcomes(part, columns).true for part in parts] for _, columns in cases]
    rows = any_of([all_of([where, *found]) for (where, _), found in zip(cases, reaches, strict=True)])
    left = tuple(part for part, found in zip(parts, zip(*reaches, strict=True), strict=True) if not _exact(found))
    return Pushdown(rows, None if rows.exact or not left else left[0] if len(left) == 1 else And(left))


def _exact(reaches: Iterable[Reach]) -> bool:
    return all(reach.exact for reach in reaches)


def outcomes(node: Condition, columns: FilterColumns) -> Outcomes:
    """Where the condition is true and where it is false."""
    match node:
        case And(parts):
            return conjunction([outcomes(part, columns) for part in parts])
        case Or(parts):
            return disjunction([outcomes(part, columns) for part in parts])
        case Not(part):
            return negated(outcomes(part, columns))
        case Xor():
            return _parity(node, columns)
        case Compare(_, left, right):
            return _compare(node, operand(left, columns), operand(right, columns))
        case IsA(name):
            return _is_a(name, columns)
        case XPath():
            return _xpath(columns)
        case Truth(Function(name, args)) if len(args) == 2:
            return _function(node, name, args, columns)
        case OfType(Attribute(), _) | In() | Like() | IsNull() | Truth() | TextTest() | TopicPattern():
            return _tested(node, columns)
        case _:
            return UNDECIDED


def _parity(node: Xor, columns: FilterColumns) -> Outcomes:
    """Each part of an exclusive OR is written twice, so one inside another would double with every level."""
    if any(isinstance(inner, Xor) for part in node.parts for inner in walk(part)):
        return UNDECIDED
    return parity([outcomes(part, columns) for part in node.parts])


def _compare(node: Compare, left: Operand | Literal | None, right: Operand | Literal | None) -> Outcomes:
    if any(isinstance(side, Literal) and kind_of(side.value) is Kind.NULL for side in (left, right)):
        return UNKNOWN
    if left is None or right is None:
        return _needing(left, right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        return constant(evaluate(Compare(node.op, left, right, node.unlike), {}))
    return compared(node.op, left, right, node.unlike)


def _needing(*sides: Operand | Literal | None) -> Outcomes:
    """Undecided, but unknown where an operand has no value."""
    there = all_of([UNDECIDED.true, *(Reach(side.present()) for side in sides if isinstance(side, Operand))])
    return Outcomes(there, there)


def _tested(node: OfType | In | Like | IsNull | Truth | TextTest | TopicPattern, columns: FilterColumns) -> Outcomes:
    """A condition on one operand."""
    found = operand(node.operand, columns)
    if found is None:
        return UNDECIDED
    if isinstance(found, Literal):
        return constant(evaluate(msgspec.structs.replace(node, operand=found), {}))
    match node:
        case IsNull():
            return Outcomes(Reach(~found.present()), Reach(found.present()))
        case In(_, values):
            return member(found, values)
        case Truth():
            return Outcomes(Reach(found.column), Reach(~found.column)) if found.kind is Kind.BOOL else UNKNOWN
        case OfType(_, name):
            return _of_type(name, found, columns)
        case _:
            return text_outcomes(node, found)


def _of_type(name: str, found: Operand, columns: FilterColumns) -> Outcomes:
    """Elvin's type predicates: a column's values are all of one type, and none is an integer of 32 bits."""
    there = Reach(found.present())
    if name == "any":
        return Outcomes(there, NONE)
    if found.kind is Kind.NUMBER or name == "nan":
        if not columns.whole:
            return UNDECIDED
        if name == "nan":
            return Outcomes(Reach(sf.isnan(found.column)), there) if found.is_real else UNKNOWN
        fits = name == ("real64" if found.is_real else "int64")
    else:
        fits = name == {Kind.STRING: "string", Kind.BYTES: "opaque"}.get(found.kind)
    return Outcomes(there, NONE) if fits else Outcomes(NONE, there)


def _is_a(name: str, columns: FilterColumns) -> Outcomes:
    """An event without a type is of no type, so this is never unknown."""
    true = any_of([_names(found, name) for found in columns.types])
    if not true.exact:
        return UNDECIDED
    return Outcomes(true, Reach(~sf.coalesce(true.column, sf.lit(False))))


def _names(found: Operand | Literal | None, name: str) -> Reach:
    """Where a type, or a list of types, has the name."""
    match found:
        case None:
            return UNDECIDED.true
        case Literal(value):
            return ALL if value == name else NONE
        case _ if found.kind is Kind.STRING:
            return Reach(found.column == name)
        case _:
            return Reach(sf.array_contains(found.column, name))


def _xpath(columns: FilterColumns) -> Outcomes:
    """libxml2 answers; without a document it is unknown."""
    document = columns.at(("$xml",))
    return UNKNOWN if isinstance(document, Literal) else _needing(document)


def _function(node: Truth, name: str, args: tuple[Expression, ...], columns: FilterColumns) -> Outcomes:
    """contains, starts_with, ends_with and regex: a null argument makes them unknown, an unlike kind false."""
    whole, part = (operand(arg, columns) for arg in args)
    if any(isinstance(arg, Literal) and kind_of(arg.value) is Kind.NULL for arg in (whole, part)):
        return UNKNOWN
    if isinstance(whole, Literal) and isinstance(part, Literal):
        return constant(evaluate(Truth(Function(name, (whole, part))), {}))
    if not isinstance(whole, Operand) or not isinstance(part, Literal):
        return _needing(whole, part)
    if name == "contains" and whole.kind is Kind.LIST:
        return element(whole, part.value)
    if whole.kind is not Kind.STRING or kind_of(part.value) is not Kind.STRING:
        return Outcomes(NONE, Reach(whole.present()))
    return text_outcomes(TextTest(TEXT_TESTS[name], node.operand, (part.value,)), whole)


TEXT_TESTS = {"contains": "contains", "starts_with": "begins-with", "ends_with": "ends-with", "regex": "regex"}
"""The functions of SQL that test text, as Elvin's tests: on text they are the same."""
