"""Shapes: predicates without their values, so that one compiled condition serves every subscription of that shape.

>>> shape_of((("symbol", "=", "AGVT"), ("price", "between", 1.5, 2.0)))
(Part(name='symbol', operator='=', operands=1, text=True, length=0, parts=()), \
Part(name='price', operator='between', operands=2, text=False, length=0, parts=()))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Part(NamedTuple):
    """One predicate: `length` is that of a prefix or suffix, `parts` those of an "any"."""

    name: str
    operator: str
    operands: int
    text: bool
    length: int
    parts: tuple[Any, ...]


Shape = tuple[Part, ...]


def shape_of(predicates: tuple[tuple[Any, ...], ...]) -> Shape:
    """The shape of a subscription's predicates."""
    return tuple([_part(predicate) for predicate in predicates])


def _part(predicate: tuple[Any, ...]) -> Part:
    name, operator, *values = predicate
    if operator == "any":
        parts = shape_of(tuple(values))
        return Part("", operator, sum(part.operands for part in parts), False, 0, parts)
    text = not values or isinstance(values[0], str)
    length = len(values[0]) if operator in ("prefix", "suffix") else 0
    return Part(name, operator, len(values), text, length, ())


def operands(predicates: tuple[tuple[Any, ...], ...]) -> list[Any]:
    """The values of a subscription's predicates, in the order in which its shape has operands."""
    found: list[Any] = []
    for _, operator, *values in predicates:
        found.extend(operands(tuple(values)) if operator == "any" else values)
    return found


def leaves(shape: Shape) -> Iterator[Part]:
    """The parts that compare, those under "any" included, in the order of their operands."""
    for part in shape:
        if part.operator == "any":
            yield from leaves(part.parts)
        else:
            yield part
