"""A plain Python loop over all subscriptions: what one writes first.

Each subscription is a closure of its values over an expression compiled once per shape, so that the loop pays for
nothing but Python itself. Attributes may be missing but not null: the workloads have no nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine import main, predicates_of
from shapes import Part, Shape, operands, shape_of

Filter = Callable[[dict[str, Any]], bool]


class PythonLoop:
    """All subscriptions as closures."""

    def __init__(self, subscriptions: Path) -> None:
        makers: dict[Shape, Callable[..., Filter]] = {}
        self._filters: list[Filter] = []
        for predicates in predicates_of(subscriptions):
            shape = shape_of(predicates)
            if shape not in makers:
                makers[shape] = maker(shape)
            self._filters.append(makers[shape](*operands(predicates)))
        self._decode = msgspec.json.Decoder(dict[str, Any]).decode_lines

    def match(self, data: bytes) -> int:
        return sum(self.counts(data))

    def counts(self, data: bytes) -> list[int]:
        filters = self._filters
        return [len([i for i, accepts in enumerate(filters) if accepts(event)]) for event in self.parse(data)]

    def parse(self, data: bytes) -> list[dict[str, Any]]:
        return self._decode(data)

    def index_bytes(self) -> int | None:
        return None


def maker(shape: Shape) -> Callable[..., Filter]:
    """A function of a shape's operands that gives the filter with these values."""
    names = [f"v{i}" for i in range(sum(part.operands for part in shape))]
    unused = iter(names)
    condition = " and ".join([_condition(part, unused) for part in shape])
    made: Callable[..., Filter] = eval(f"lambda {', '.join(names)}: lambda e: {condition}", {"nan": float("nan")})
    return made


def _condition(part: Part, values: Iterator[str]) -> str:
    name = repr(part.name)
    match part.operator:
        case "=":
            return f"e.get({name}) == {next(values)}"
        case ">":
            return f"e.get({name}, nan) > {next(values)}"
        case "between":
            return f"{next(values)} <= e.get({name}, nan) <= {next(values)}"
        case "in":
            return f"e.get({name}) in ({', '.join([next(values) for _ in range(part.operands)])})"
        case "not":
            value = next(values)
            return f"e.get({name}, {value}) != {value}"
        case "prefix":
            return f"e.get({name}, '').startswith({next(values)})"
        case "suffix":
            return f"e.get({name}, '').endswith({next(values)})"
        case "null":
            return f"e.get({name}) is None"
        case _:
            return "(" + " or ".join([_condition(inner, values) for inner in part.parts]) + ")"


if __name__ == "__main__":
    main("python loop", PythonLoop)
