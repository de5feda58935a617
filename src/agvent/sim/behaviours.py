"""Behaviours for simulated events, in this process: what a sandbox does for real ones.

`is_dear(limit)` compares the event's price, `twice(number)` computes, and `fails()` does what its name says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agvent.event import Event
from agvent.wire.codec import decode_event
from agvent.wire.messages import Answered, Call


def _fails(event: Event) -> Any:
    raise ValueError("this behaviour always fails")


BEHAVIOURS: Final[dict[str, Callable[..., Any]]] = {
    "is_dear": lambda event, limit: event.attributes.get("price", 0) > limit,
    "twice": lambda event, number: 2 * number,
    "fails": _fails,
}


def answered(event: bytes, call: Call) -> Answered:
    """What a call gives; a fault is null, with the reason."""
    try:
        return Answered(call, BEHAVIOURS[call.name](decode_event(event), *call.args))
    except (ValueError, TypeError, KeyError) as error:
        return Answered(call, None, f"{type(error).__name__}: {error}")
