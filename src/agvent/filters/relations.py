"""Covering and overlap of filters, proved on their normal forms.

`covers(a, b)` true is a proof that a accepts every event b accepts; `overlaps(a, b)` false is a proof that no event is
accepted by both. The other answers prove nothing.

A broker that takes them for "perhaps" is always right. If a covers b, an entry broker need not know b: a wrong proof
would lose events, a missing one costs a table entry. If a type's events cannot overlap a filter, the filter is not sent
there: again only a wrong proof would lose events. So every rule here may give up, and none may guess.

The proof: a covers b if each row of b implies some row of a. A row implies another if it implies each of its
primitives. To imply a primitive, a row has facts of three sorts:

- by term: one of its own primitives on that term implies it (primitive_relations.py), ranges of one term joined first;
- by value: the term, or the attribute below `lower` and `size`, has finitely many values left, and each of them passes;
- by name: the same AnyOf or Opaque part stands in both rows.

A row whose own primitives contradict each other accepts nothing, and is covered by everything; overlap is that test on
two rows put together.

This is incomplete: a row of b may need several rows of a, as `x IN (1, 2) AND y = 3` needs both of
`x = 1 AND y > 0 OR x = 2 AND y < 5`. So a row that proves nothing is taken apart at a disjunction inside it, at most
SPLITS_MAX times, and each piece is tried. A complete procedure is the obvious alternative, but implication between
such conditions is co-NP-hard, and a stranger chooses the filters.

Cost: rows of a × rows of b × primitives, for each of the pieces. `Extent` reads a filter's facts once for many
comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from agvent import limits
from agvent.event import Kind
from agvent.filters import functions
from agvent.filters.normal import Opaque, Primitive, Row, Rows, normal
from agvent.filters.primitive_relations import accepts, implies, negation, term_of
from agvent.filters.primitives import AnyOf, OneOf, Present, Range, Simple, Term, joined
from agvent.filters.tree import And, Condition, Function, Not, Or

SPLITS_MAX: Final = 2
"""Disjunctions inside one row that are taken apart when the row as a whole proves nothing."""


def covers(a: Condition, b: Condition) -> bool:
    """Is it certain that a accepts every event that b accepts?

    >>> from agvent.filters.languages import parse
    >>> covers(parse("price > 10"), parse("price BETWEEN 20 AND 30 AND halted IS NULL"))
    True
    """
    return Extent(a).covers(Extent(b))


def overlaps(a: Condition, b: Condition) -> bool:
    """Could an event be accepted by both? False is certain.

    >>> from agvent.filters.languages import parse
    >>> overlaps(parse("Sports/+", "pattern"), parse("News/Oslo", "topic"))
    False
    """
    others = normal(b)
    return any(not _is_impossible((*row, *other), SPLITS_MAX) for row in normal(a) for other in others)


class Extent:
    """What a filter accepts, read once for many comparisons."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self._rows = normal(condition)

    @cached_property
    def _facts(self) -> list[_Facts]:
        return [_Facts(row) for row in self._rows]

    def covers(self, other: Extent) -> bool:
        """Is it certain that this filter accepts every event that the other accepts?"""
        if self.condition == other.condition:
            return True
        return all(_is_covered(facts, self._rows, SPLITS_MAX) for facts in other._facts)


def _is_covered(facts: _Facts, covering: Rows, splits: int) -> bool:
    if facts.is_impossible or any(facts.imply_all(other) for other in covering):
        return True
    pieces = _pieces(facts.row, by_values=len(covering) > 1) if splits else ()
    return bool(pieces) and all(_is_covered(_Facts(piece), covering, splits - 1) for piece in pieces)


def _is_impossible(row: Row, splits: int) -> bool:
    if _Facts(row).is_impossible:
        return True
    pieces = _pieces(row, by_values=False) if splits else ()
    return bool(pieces) and all(_is_impossible(piece, splits - 1) for piece in pieces)


def _pieces(row: Row, *, by_values: bool) -> Rows:
    """The row taken apart at its first disjunction: together the pieces accept what the row does."""
    for position, primitive in enumerate(row):
        rest = (*row[:position], *row[position + 1 :])
        if isinstance(primitive, AnyOf):
            return tuple((*rest, part) for part in primitive.parts)
        if isinstance(primitive, Opaque) and (parts := _disjuncts(primitive)):
            return tuple((*rest, *piece) for part in parts for piece in normal(part))
        if by_values and isinstance(primitive, OneOf) and 1 < len(primitive.values) <= limits.DISJUNCTS_MAX:
            return tuple((*rest, OneOf(primitive.term, (member,))) for member in primitive.values)
    return ()


def _disjuncts(opaque: Opaque) -> tuple[Condition, ...]:
    """The parts of which one must hold, if the condition is a disjunction that was too large for rows."""
    match opaque.condition, opaque.want:
        case Or(parts), True:
            return parts
        case And(parts), False:
            return tuple(Not(part) for part in parts)
        case _:
            return ()


class _Facts:
    """What a row says: by term with ranges joined, and the values that are left where they are finitely many."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.others = [one for one in row if isinstance(one, (AnyOf, Opaque))]
        simple = [one for one in row if not isinstance(one, (AnyOf, Opaque))]
        self.by_term: dict[Term, list[Simple]] = {}
        for one in (*simple, *_about_arguments(simple)):
            self.by_term.setdefault(term_of(one), []).append(one)
        self.by_term = {term: _with_ranges_joined(ones) for term, ones in self.by_term.items()}
        finite = {term: values for term, ones in self.by_term.items() if (values := _members(ones)) is not None}
        self.values = {term: [v for v in values if self._is_left(term, v)] for term, values in finite.items()}

    def _is_left(self, known: Term, value: Any) -> bool:
        return all(
            accepts(one, _computed(term, known, value))
            for term, ones in self.by_term.items()
            if known in (term, _root(term))
            for one in ones
        )

    @cached_property
    def is_impossible(self) -> bool:
        simple = (one for ones in self.by_term.values() for one in ones)
        return any(map(self.refute, simple)) or any(map(self.refute, self.others))

    def refute(self, primitive: Primitive) -> bool:
        """True is a proof that no event this row accepts passes the primitive."""
        if isinstance(primitive, AnyOf):
            return all(map(self.refute, primitive.parts))
        if isinstance(primitive, Opaque):
            return Opaque(primitive.condition, not primitive.want) in self.others
        return self._imply_one_of((negation(primitive),))

    def imply_all(self, row: Row) -> bool:
        return all(map(self.imply, row))

    def imply(self, wanted: Primitive) -> bool:
        """True is a proof that every event this row accepts passes the primitive."""
        if wanted in self.others:
            return True
        if isinstance(wanted, Opaque):
            return any(self.imply_all(row) for part in _disjuncts(wanted) for row in normal(part))
        return self._imply_one_of(wanted.parts if isinstance(wanted, AnyOf) else (wanted,))

    def _imply_one_of(self, parts: tuple[Simple, ...]) -> bool:
        if any(implies(known, part) for part in parts for known in self.by_term.get(term_of(part), ())):
            return True
        terms = {term_of(part) for part in parts}
        for known, values in self.values.items():
            if all(known in (term, _root(term)) for term in terms):
                return all(any(accepts(part, _computed(term_of(part), known, v)) for part in parts) for v in values)
        return False


def _root(term: Term) -> Term:
    """The attribute itself, or the one the function is of."""
    return term.args[0] if isinstance(term, Function) else term  # type: ignore[return-value]


def _computed(term: Term, known: Term, value: Any) -> Any:
    """The value of the term where the known term, it or its root, has this value."""
    return functions.apply(term.name, (value,)) if isinstance(term, Function) and term != known else value


def _about_arguments(ones: Iterable[Simple]) -> Iterator[Simple]:
    """`lower(x)` has a value only if x is a string, `size(x)` only if x has one."""
    for one in ones:
        term = term_of(one)
        if isinstance(term, Function) and implies(one, Present(term)):
            yield Range(_root(term), Kind.STRING) if term.name == "lower" else Present(_root(term))


def _with_ranges_joined(ones: Iterable[Simple]) -> list[Simple]:
    ranges: dict[Kind, Range] = {}
    rest: list[Simple] = []
    for one in ones:
        if isinstance(one, Range):
            ranges[one.kind] = joined(ranges[one.kind], one) if one.kind in ranges else one
        else:
            rest.append(one)
    return [*ranges.values(), *rest]


def _members(ones: Iterable[Simple]) -> list[Any] | None:
    """The values one of the primitives allows, if it names them all."""
    for one in ones:
        if isinstance(one, OneOf):
            return [member.value for member in one.values]
        if isinstance(one, Range) and one.kind is Kind.BOOL:
            return [True, False]
        if isinstance(one, Range) and one.low is not None and one.low == one.high:
            return [one.low]
    return None
