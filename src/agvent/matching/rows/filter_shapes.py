"""Shapes: SQL filters that differ only in their literals are parsed and normalised once.

A text is cut at its literals; what is left, with the literals' kinds, is its shape. The first filter of a shape is read
with a marker in place of each literal, and where the markers stand in the normal form says what other literals would
give. Only shapes whose normal form does not depend on the literals' values have a template: comparisons, BETWEEN, IN,
IS NULL, and AND, OR, NOT of those. Everything else is parsed each time.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple

from agvent import limits
from agvent.errors import CallerError
from agvent.event import Kind, kind_of
from agvent.filters.languages import parse
from agvent.filters.normal import Primitive, Row, normal, unsimplified
from agvent.filters.primitives import Absent, NoneOf, NotRange, OneOf, Present, Range, Term
from agvent.filters.tree import And, Attribute, Compare, Condition, In, IsNull, Literal, Not, Or, Truth, walk

LITERAL: Final = re.compile(
    r"""('[^']*+'(?:'[^']*+')*+|(?<![\w$.)])-?(?<![\w$.])(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?(?![\w$.\[]))"""
)
"""Strings, and numbers that are exact as floats. A digit inside a name is none; what looks like one and is not leaves a
marker that the normal form lacks, and the shape has no template."""

SHAPES_MAX: Final = 4096
"""Shapes remembered; when there are more, all are forgotten."""

FIRST_NUMBER: Final = 1_000_000
NO_BOUND: Final = -1
ALLOWED: Final = (Compare, In, IsNull, Truth, Not, And, Or, Attribute, Literal)


class Test(NamedTuple):
    """A primitive with places in the list of literals instead of values."""

    primitive: type[Primitive]
    term: Term
    kind: Kind
    places: tuple[int, ...]  # members, or the low and high bound of a range
    low_open: bool = False
    high_open: bool = False


Template = tuple[tuple[Test, ...], ...]
"""The tests of each row."""


class Instance(NamedTuple):
    """A filter by its shape: a template and the literals for it, strings unquoted and numbers as floats."""

    template: Template
    literals: list[str | float]


class Shapes:
    """The shapes seen so far."""

    def __init__(self) -> None:
        self._templates: dict[tuple[str, ...], Template | None] = {}

    def read(self, text: str) -> Instance | None:
        """A filter by its shape, or None if it must be parsed. Never says that a text is right: only that one of the
        same shape was."""
        if len(text) > limits.FILTER_CHARS_MAX or not (text.isascii() or _is_encodable(text)):
            return None
        parts = LITERAL.split(text)
        literals: list[str | float] = []
        kinds = ""
        for part in parts[1::2]:
            if part[0] == "'":
                kinds += "s"
                literals.append(part[1:-1].replace("''", "'"))
            else:
                kinds += "f" if "." in part else "i"
                literals.append(float(part) + 0.0)
        key = (kinds, *parts[::2])
        try:
            template = self._templates[key]
        except KeyError:
            template = self._learn(key)
        return Instance(template, literals) if template is not None else None

    def _learn(self, key: tuple[str, ...]) -> Template | None:
        if len(self._templates) >= SHAPES_MAX:
            self._templates = {}
        template = _template(key)
        self._templates[key] = template
        return template


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _marker(kind: str, place: int) -> str:
    """A literal that tells its place. Numbers rise with it, so that no BETWEEN is empty."""
    if kind == "s":
        return f"'\ue000{place}'"
    return f"{FIRST_NUMBER + place}.5" if kind == "f" else str(FIRST_NUMBER + place)


def _place(literal: Literal) -> int | None:
    value = literal.value
    if isinstance(value, str):
        return int(value[1:]) if value[:1] == "\ue000" else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) - FIRST_NUMBER


def _template(key: tuple[str, ...]) -> Template | None:
    kinds, first, *rest = key
    text = first + "".join(_marker(kind, n) + rest[n] for n, kind in enumerate(kinds))
    try:
        condition = parse(text)
    except CallerError:
        return None
    if not all(isinstance(node, ALLOWED) for node in walk(condition)) or not _is_marked(condition, len(kinds)):
        return None
    if any(_compares_bounds(row) for row in unsimplified(condition)):
        return None
    rows = [tuple(_test(primitive) for primitive in row) for row in normal(condition)]
    if any(test is None for row in rows for test in row):
        return None
    template: Template = tuple(rows)  # type: ignore[arg-type]
    used = {place for row in template for test in row for place in test.places}
    return template if used - {NO_BOUND} == set(range(len(kinds))) else None


def _compares_bounds(row: Row) -> bool:
    """Would joining the row's ranges compare two literals, or find a range empty by the order of its markers?"""
    lows: dict[tuple[Term, Kind], Any] = {}
    highs: dict[tuple[Term, Kind], Any] = {}
    for primitive in row:
        if isinstance(primitive, Range):
            key = (primitive.term, primitive.kind)
            for bounds, bound in ((lows, primitive.low), (highs, primitive.high)):
                if bound is not None:
                    if key in bounds:
                        return True
                    bounds[key] = bound
    return any(lows[key] > highs[key] for key in lows.keys() & highs.keys())


def _is_marked(condition: Condition, count: int) -> bool:
    """Are the literals of the tree the markers and nothing else?"""
    places = [_place(node) for node in walk(condition) if isinstance(node, Literal)]
    return (
        sorted(place for place in places if place is not None)
        == list(range(count))
        == sorted(place if place is not None else -1 for place in places)
    )


def _test(primitive: Primitive) -> Test | None:
    match primitive:
        case Range(term, kind):
            return Test(Range, term, kind, *_bounds(primitive))
        case NotRange(Range(term, kind) as inside):
            return Test(NotRange, term, kind, *_bounds(inside))
        case OneOf(term, values) | NoneOf(term, values):
            kinds = {kind_of(literal.value) for literal in values}
            places = [place for literal in values if (place := _place(literal)) is not None]
            if len(kinds) > 1 or len(places) < len(values):  # TRUE and FALSE have no place
                return None
            return Test(type(primitive), term, kinds.pop(), tuple(places))
        case Present(term) | Absent(term):
            return Test(type(primitive), term, Kind.NULL, ())
        case _:
            return None


def _bounds(one: Range) -> tuple[tuple[int, int], bool, bool]:
    low, high = (NO_BOUND if bound is None else _place(Literal(bound)) for bound in (one.low, one.high))
    assert low is not None
    assert high is not None
    return (low, high), one.low_open, one.high_open


def bounds_of(test: Test, literals: list[float]) -> tuple[float, float]:
    """The closed float range of a Range or NotRange test; every literal is exact as a float."""
    low, high = test.places
    lowest = literals[low] if low >= 0 else -math.inf
    highest = literals[high] if high >= 0 else math.inf
    if test.low_open:
        lowest = math.nextafter(lowest, math.inf)
    if test.high_open:
        highest = math.nextafter(highest, -math.inf)
    return lowest + 0.0, highest + 0.0  # -0.0 would be another key
