"""Results of a function of a condition, remembered by the condition's identity: the hash of a tree costs as much as
reading the tree again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Concatenate, ParamSpec, TypeVar

from agvent import limits

T = TypeVar("T")
More = ParamSpec("More")


def memoised(read: Callable[Concatenate[Any, More], T]) -> Callable[Concatenate[Any, More], T]:
    """The function, which takes a condition first, with its latest results remembered."""
    found: dict[tuple[int, Hashable], tuple[Any, T]] = {}  # the condition is kept too, so that no other has its id

    def look(condition: Any, /, *args: More.args, **named: More.kwargs) -> T:
        key = (id(condition), args)
        known = found.get(key)
        if known is not None:
            return known[1]
        result = read(condition, *args, **named)
        if len(found) >= limits.CONDITIONS_KEPT_MAX:
            found.clear()
        found[key] = condition, result
        return result

    return look
