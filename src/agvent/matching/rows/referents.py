"""What predicates refer to by number: alternatives of an ANY_OF, members of a set, patterns.

They only grow, and a reader's `view` stays as it is: new ones come behind it or into larger arrays.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from agvent.filters.patterns import Tokens, Wild
from agvent.matching.columns.arrays import grown
from agvent.matching.columns.strings import Strings
from agvent.matching.rows.like import ANY_LEVEL, ANY_MANY, ANY_ONE
from agvent.matching.rows.predicates import (
    ANY_OF,
    PATTERN,
    PREDICATE,
    PREFIX_ALONE,
    SUFFIX_ALONE,
    Tests,
)

Record = tuple[int, int, float, float]
"""A predicate on its way into an array: op, column, low, high."""

WILDCARD_BYTES = {Wild.MANY: ANY_MANY, Wild.ONE: ANY_ONE, Wild.LEVEL: ANY_LEVEL}


class Referents:
    """The writer's side."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self.view = Tests(np.zeros(0, PREDICATE), np.zeros(0), np.zeros(0, PATTERN), np.zeros(0, np.uint8))
        self._pattern_ids: dict[Tokens, int] = {}
        self._alternatives: list[Record] = []
        self._sets = array("d")
        self._patterns: list[tuple[int, int, int, int, int]] = []
        self._pattern_bytes = bytearray()
        self._counts = [0, 0, 0, 0]

    def restore(self, view: Tests) -> None:
        """Takes over what a saved index had, to read; a pattern it has may be written again under a new number."""
        self.view = view
        self._counts = [len(array) for array in view]

    def thaw(self) -> None:
        """Copies what it only reads."""
        alternatives, sets, patterns, pattern_bytes = self.view
        self.view = Tests(alternatives.copy(), sets.copy(), patterns.copy(), pattern_bytes.copy())

    def members(self, images: set[float]) -> tuple[int, int]:
        """Where a set begins and ends."""
        start = self._counts[1] + len(self._sets)
        self._sets.extend(sorted(images))
        return start, start + len(images)

    def any_of(self, records: list[Record]) -> Record:
        """The predicate that accepts what one of the records accepts."""
        start = self._counts[0] + len(self._alternatives)
        self._alternatives.extend(records)
        return (ANY_OF, 0, start, start + len(records))

    def alternatives(self, record: Record) -> list[Record]:
        """The records of an ANY_OF made since the last flush."""
        first = self._counts[0]
        return self._alternatives[int(record[2]) - first : int(record[3]) - first]

    def pattern(self, tokens: Tokens) -> int:
        """The number of a pattern."""
        known = self._pattern_ids.get(tokens)
        if known is None:
            known = self._pattern_ids[tokens] = self._counts[2] + len(self._patterns)
            pieces = b"".join(t.encode() if isinstance(t, str) else bytes((WILDCARD_BYTES[t],)) for t in tokens)
            start = self._counts[3] + len(self._pattern_bytes)
            self._pattern_bytes += pieces
            self._patterns.append((start, len(pieces), *self._affixes(tokens)))
        return known

    def _affixes(self, tokens: Tokens) -> tuple[int, int, int]:
        """The codes of the text before the first and after the last wildcard, and whether one of them decides."""
        prefix, suffix = (self._strings.code(t.encode()) if isinstance(t, str) else -1 for t in (tokens[0], tokens[-1]))
        whole = 0
        if len(tokens) == 2 and Wild.MANY in tokens:
            whole = PREFIX_ALONE if prefix >= 0 else SUFFIX_ALONE if suffix >= 0 else 0
        return prefix, suffix, whole

    def flush(self) -> None:
        """Moves what is waiting into the arrays of a new view."""
        waiting: tuple[Any, ...] = (self._alternatives, self._sets, self._patterns, self._pattern_bytes)
        if any(waiting):
            arrays = zip(self.view, self._counts, waiting, strict=True)
            self.view = Tests(*(appended(target, count, more) for target, count, more in arrays))
            self._counts = [count + len(more) for count, more in zip(self._counts, waiting, strict=True)]
            self._alternatives, self._sets, self._patterns, self._pattern_bytes = [], array("d"), [], bytearray()


def appended(target: Any, count: int, waiting: Any) -> Any:
    """The array with more elements after its first `count`."""
    if not len(waiting):
        return target
    target = grown(target, count + len(waiting))
    target[count : count + len(waiting)] = np.array(waiting, target.dtype)
    return target
