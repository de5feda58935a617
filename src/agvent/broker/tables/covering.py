"""Covering among one home's subscriptions: only roots, which no other covers, are sent to entry brokers.

`covers` is sound and incomplete, and so is this: a subscription that could have been covered and is a root costs a
message, never an event. A subscription that calls behaviours is a root always and covers nobody: its calls must reach
the entry broker, and what they answer is not known here.

Cost: adding compares with at most CANDIDATES_MAX roots of the same type, some 20 µs each; 1 µs if both want one
attribute to be something else.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from agvent.event import Path
from agvent.filters.relations import Extent
from agvent.filters.tree import And, Attribute, Call, Compare, Condition, Literal, walk

CANDIDATES_MAX: Final = 64

EXTENTS_MAX: Final = 1_024
"""Filters that are kept as read for comparison, a kilobyte or two each; the newest are compared with most."""


class Covering:
    """Which subscriptions are roots. Every covered one has a coverer that is a root."""

    def __init__(self) -> None:
        self._conditions: dict[str, Condition] = {}
        self._type: dict[str, str | None] = {}
        self._roots: dict[str | None, dict[str, None]] = {}  # by type, newest last
        self._coverer: dict[str, str] = {}
        self._calling: dict[str, None] = {}  # those that call behaviours
        self._extents: dict[str, Extent] = {}  # of some in `_conditions`, newest last
        self._pins: dict[str, dict[Path, Any]] = {}  # of those that call no behaviours

    def is_root(self, key: str) -> bool:
        return key in self._conditions and key not in self._coverer

    def roots(self) -> list[str]:
        return [key for keys in self._roots.values() for key in keys]

    def add(self, key: str, type: str | None, condition: Condition) -> set[str]:
        """Adds one, and gives those that began or ceased to be roots."""
        self._conditions[key], self._type[key] = condition, type
        peers = self._roots.setdefault(type, {})
        covered: list[str] = []
        if calls_behaviours(condition):
            self._calling[key] = None
        else:
            candidates = [root for root in islice(reversed(peers), CANDIDATES_MAX) if root not in self._calling]
            mine = self._pins[key] = pins(condition)
            candidates = [root for root in candidates if not _exclude(mine, self._pins[root])]
            for root in candidates:
                if self._extent(root).covers(self._extent(key)):
                    self._coverer[key] = root
                    return set()
            covered = [root for root in candidates if self._extent(key).covers(self._extent(root))]
        peers[key] = None
        for root in covered:
            del peers[root]
            self._coverer[root] = key
        if covered:
            for below, coverer in self._coverer.items():
                if coverer in covered:
                    self._coverer[below] = key
        return {key, *covered}

    def _extent(self, key: str) -> Extent:
        extent = self._extents.get(key)
        if extent is None:
            extent = self._extents[key] = Extent(self._conditions[key])
            if len(self._extents) > EXTENTS_MAX:
                del self._extents[next(iter(self._extents))]
        return extent

    def remove(self, key: str) -> set[str]:
        """Removes one, and gives those that began or ceased to be roots: those it covered find another coverer or
        none."""
        del self._conditions[key]
        self._pins.pop(key, None)
        self._calling.pop(key, None)
        self._extents.pop(key, None)
        type = self._type.pop(key)
        if self._coverer.pop(key, None) is not None:
            return set()
        del self._roots[type][key]
        changed = {key}
        for orphan in [below for below, coverer in self._coverer.items() if coverer == key]:
            del self._coverer[orphan]
            changed |= self.add(orphan, type, self._conditions[orphan])
        return changed

    def check(self) -> None:
        roots = self.roots()
        assert len(roots) == len(set(roots))
        assert self._conditions.keys() == {*roots, *self._coverer}
        assert all(self._conditions[key] is extent.condition for key, extent in self._extents.items())
        assert all(coverer in self._roots[self._type[key]] for key, coverer in self._coverer.items())


def pins(condition: Condition) -> dict[Path, Any]:
    """The attributes that must have one value, as a conjunction says it."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    return {
        part.left.path: part.right.value
        for part in parts
        if isinstance(part, Compare)
        and part.op == "="
        and isinstance(part.left, Attribute)
        and isinstance(part.right, Literal)
    }


def _exclude(one: dict[Path, Any], other: dict[Path, Any]) -> bool:
    """Does no event match both? Then neither covers the other, but for filters that nothing matches."""
    return any(path in other and other[path] != value for path, value in one.items())


def calls_behaviours(condition: Condition) -> bool:
    """Does the condition ask the event's own code?"""
    return any(isinstance(node, Call) for node in walk(condition))
