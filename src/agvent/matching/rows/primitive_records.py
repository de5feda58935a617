"""Predicates of primitives: where the kinds of values end and floats begin.

A bound whose magnitude reaches 2**53 is not exact as a float (nor is its neighbour the next integer), so such a
predicate is widened to what surely holds every accepted value, and a negative one is dropped. `inexact` says that this
happened: the oracle must confirm then. All other predicates decide exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agvent import limits
from agvent.event import Kind, kind_of, microseconds
from agvent.filters.normal import Primitive
from agvent.filters.primitives import (
    Absent,
    AnyOf,
    Has,
    HasNot,
    MatchesPattern,
    NoneOf,
    NotMatches,
    NotRange,
    OneOf,
    Present,
    Range,
    Term,
)
from agvent.filters.tree import Literal
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.rows.filter_shapes import Test, bounds_of
from agvent.matching.rows.predicates import (
    ANY_OF,
    HAS,
    HAS_NOT,
    IN_RANGE,
    IN_SET,
    LIKE,
    MISSING,
    NOT_IN_RANGE,
    NOT_IN_SET,
    NOT_LIKE,
)
from agvent.matching.rows.referents import Record, Referents


class Recorder:
    """Turns primitives, and tests of a template, into records."""

    def __init__(self, slots: Slots, strings: Strings) -> None:
        self.slots = slots
        self.strings = strings
        self.referents = Referents(strings)
        self.inexact = False

    def records(self, primitive: Primitive) -> list[Record]:
        """The predicates, all of which must accept, of a primitive that is not Opaque."""
        return RECORDS[type(primitive)](self, primitive)

    def record_of(self, test: Test, images: list[float]) -> Record:
        """The predicate of a test; its literals are exact as floats."""
        primitive, places = test.primitive, test.places
        column = self.slots.value(test.term, test.kind)
        if primitive is OneOf and len(places) == 1:
            image = images[places[0]]
            return (IN_RANGE, column, image, image)
        if primitive is Range:
            return (IN_RANGE, column, *bounds_of(test, images))
        if primitive is NotRange:
            return (NOT_IN_RANGE, column, *bounds_of(test, images))
        if primitive is Present:
            return (IN_RANGE, column, 1.0, 1.0)
        if primitive is Absent:
            return (MISSING, column, 0.0, 0.0)
        members = {images[place] for place in places}
        return self._set(IN_SET if primitive is OneOf else NOT_IN_SET, test.term, test.kind, members)

    def image(self, value: Any) -> float:
        """A scalar as the float its slot holds."""
        if isinstance(value, str):
            return float(self.strings.code(value.encode()))
        if isinstance(value, bytes):
            return float(self.strings.code(value))
        if _is_large(value):
            self.inexact = True
        return float(_number(value)) + 0.0

    def _range(self, p: Range) -> list[Record]:
        return [(IN_RANGE, self.slots.value(p.term, p.kind), *self._bounds(p))]

    def _not_range(self, p: NotRange) -> list[Record]:
        bounds = self._bounds(p.range)
        return [] if _is_coarse(p.range) else [(NOT_IN_RANGE, self.slots.value(p.range.term, p.range.kind), *bounds)]

    def _bounds(self, p: Range) -> tuple[float, float]:
        low = -math.inf if p.low is None else float(_number(p.low))
        high = math.inf if p.high is None else float(_number(p.high))
        if _is_coarse(p):
            self.inexact = True
            return low, high
        if p.low_open:
            low = math.nextafter(low, math.inf)
        if p.high_open:
            high = math.nextafter(high, -math.inf)
        return low + 0.0, high + 0.0  # -0.0 would be another key

    def _one_of(self, p: OneOf) -> list[Record]:
        by_kind: dict[Kind, set[float]] = {}
        for literal in p.values:
            by_kind.setdefault(kind_of(literal.value), set()).add(self.image(literal.value))
        records = [self._set(IN_SET, p.term, kind, images) for kind, images in by_kind.items()]
        return records if len(records) == 1 else [self.referents.any_of(records)]

    def _none_of(self, p: NoneOf) -> list[Record]:
        by_kind: dict[Kind, set[float]] = {}
        for literal in p.values:
            if _is_large(literal.value):
                self.inexact = True
            else:
                by_kind.setdefault(kind_of(literal.value), set()).add(self.image(literal.value))
        return [self._set(NOT_IN_SET, p.term, kind, images) for kind, images in by_kind.items()]

    def _set(self, op: int, term: Term, kind: Kind, images: set[float]) -> Record:
        """A set of one is a range of one point."""
        column = self.slots.value(term, kind)
        if len(images) > 1:
            return (op, column, *self.referents.members(images))
        (image,) = images
        return (IN_RANGE if op == IN_SET else NOT_IN_RANGE, column, image, image)

    def _present(self, p: Present) -> list[Record]:
        return [(IN_RANGE, self.slots.value(p.term, Kind.NULL), 1.0, 1.0)]

    def _absent(self, p: Absent) -> list[Record]:
        return [(MISSING, self.slots.value(p.term, Kind.NULL), 0.0, 0.0)]

    def _matches(self, p: MatchesPattern) -> list[Record]:
        return [(LIKE, self.slots.text(p.term), self.referents.pattern(p.tokens), 0.0)]

    def _not_matches(self, p: NotMatches) -> list[Record]:
        if not p.tokens:  # the empty pattern is the empty string
            return self._none_of(NoneOf(p.term, (Literal(""),)))
        return [(NOT_LIKE, self.slots.text(p.term), self.referents.pattern(p.tokens), 0.0)]

    def _has(self, p: Has) -> list[Record]:
        value = p.value.value
        return [(HAS, self.slots.list(p.term, kind_of(value)), self.image(value), 0.0)]

    def _has_not(self, p: HasNot) -> list[Record]:
        value = p.value.value
        if _is_large(value):
            self.inexact = True
            return []
        return [(HAS_NOT, self.slots.list(p.term, kind_of(value)), self.image(value), 0.0)]

    def _any_of(self, p: AnyOf) -> list[Record]:
        """An alternative that is not one predicate leaves all of them to the oracle."""
        alternatives: list[Record] = []
        for part in p.parts:
            records = self.records(part)
            if len(records) != 1:
                self.inexact = True
                return []
            record = records[0]
            alternatives += self.referents.alternatives(record) if record[0] == ANY_OF else [record]
        return [self.referents.any_of(alternatives)]


def _number(value: Any) -> Any:
    return microseconds(value) if kind_of(value) is Kind.TIME else value


def _is_large(value: Any) -> bool:
    if isinstance(value, (str, bytes)):
        return False
    return bool(abs(_number(value)) >= limits.FLOAT_EXACT_MAX)


def _is_coarse(p: Range) -> bool:
    """Is a bound where floats are farther apart than integers?"""
    return any(bound is not None and _is_large(bound) for bound in (p.low, p.high))


RECORDS: dict[type, Callable[[Recorder, Any], list[Record]]] = {
    Range: Recorder._range,
    NotRange: Recorder._not_range,
    OneOf: Recorder._one_of,
    NoneOf: Recorder._none_of,
    Present: Recorder._present,
    Absent: Recorder._absent,
    MatchesPattern: Recorder._matches,
    NotMatches: Recorder._not_matches,
    Has: Recorder._has,
    HasNot: Recorder._has_not,
    AnyOf: Recorder._any_of,
}
