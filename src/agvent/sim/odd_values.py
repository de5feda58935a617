"""Values that an event may have and that are easily changed on the way: an event comes back exactly, kinds and all.

A plan names them by their places: JSON cannot say all of them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from agvent.event import Event, Int32

NAME: Final = "odd"
"""The attribute that has one."""

ODD: Final[tuple[Any, ...]] = (
    Int32(-1), Int32(-(1 << 31)), Int32(7), -1, (1 << 63) - 1, -(1 << 63), 0.1, -0.0, 1e300, 5e-324, None, "", "\n{",
    "\\u0024type", "\u2028\U0001f600", b"", b"\x00\xff{", datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=UTC),
    {"$bytes": "eA=="}, {"$timestamp": "2023-11-14T22:13:20Z"}, {"$bytes": b"x", "a": 1}, {"a": {"b": [{}]}}, [],
    [1, [2.0, "x", None, False]], [{"$bytes": "eA=="}], {"": 0},
)  # fmt: skip


def place_of(event: Event) -> int | None:
    """Which of them an event has."""
    if NAME not in event.attributes:
        return None
    value = kinds(event.attributes[NAME])
    return next(place for place, one in enumerate(ODD) if kinds(one) == value)


def kinds(value: Any) -> Any:
    """A value with the kinds of all its parts, so that 1, 1.0, True and Int32(1) are different."""
    if isinstance(value, dict):
        return {name: kinds(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [kinds(one) for one in value]
    return type(value).__name__, repr(value)
