"""Agvent's index, measured as the other engines are.

What reading the JSON, and the XML in it, costs is measured by matching against an index whose few subscriptions name
the same attributes and accept nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from engine import main, predicates_of
from shapes import leaves, shape_of


class Index:
    """All subscriptions in one index."""

    def __init__(self, subscriptions: Path) -> None:
        self._subscriptions = built(subscriptions)
        self._path = subscriptions

    def match(self, data: bytes) -> int:
        return len(self._subscriptions.match_json(data))

    def counts(self, data: bytes) -> list[int]:
        events = self._subscriptions.match_json(data).events
        return np.bincount(events, minlength=data.count(b"\n")).tolist()  # type: ignore[no-any-return]

    def parse(self, data: bytes) -> object:
        return self._readers.match_json(data)

    @cached_property
    def _readers(self) -> Subscriptions:
        readers = Subscriptions()
        language = next(read(self._path)).language
        for name in names_in(self._path):
            condition = f"{name} = 'nothing has this value'"
            readers.add(name, f"//softdrinks[{condition}]" if language == "xpath" else condition, language=language)
        return readers

    def index_bytes(self) -> int | None:
        return self._subscriptions.statistics().index_bytes


def built(path: Path) -> Subscriptions:
    """An index of a file's subscriptions with nothing left to compact: `add_many` files only a few without that."""
    index = Subscriptions()
    index.add_many(read(path))
    if index.statistics().tail_rows:
        index.compact()
    return index


def read(path: Path) -> Iterator[Subscription]:
    """The subscriptions of a file, one at a time."""
    decode = msgspec.json.Decoder(Subscription).decode
    with path.open("rb") as lines:
        for line in lines:
            yield decode(line)


def names_in(path: Path) -> list[str]:
    """The attributes a file's subscriptions name: the first thousands have every shape there is."""
    shapes = {shape_of(predicates) for predicates in islice(predicates_of(path), 10_000)}
    return sorted({part.name for shape in shapes for part in leaves(shape)})


def compile_all() -> None:
    """Compiles, or loads what was compiled before, so that neither counts as building."""
    small = Subscriptions()
    small.add_many(Subscription(id=str(i), language="sql", filter=f"a = {i} AND b LIKE 'x%'") for i in range(2_000))
    small.compact()
    small.match_json(b'{"a": 1, "b": "xy"}\n')


if __name__ == "__main__":
    compile_all()
    main("index", Index)
