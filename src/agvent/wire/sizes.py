"""What fits into a message.

On its way a broker writes more around an event, a type or a subscription: targets, a trace, answers. It must not find
that it can then not be sent, so what clients give is bounded well below MESSAGE_BYTES_MAX; long lists go in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from agvent import limits
from agvent.errors import CallerError, EventError
from agvent.wire.codec import encode_value
from agvent.wire.parts import Answered

T = TypeVar("T")

TOO_MUCH = "the answers are more than travel with an event"


def size_of(value: Any) -> int:
    """The bytes of a message or a part of one; 0 if it has none: whoever sends it says what is wrong with it."""
    try:
        return len(encode_value(value))
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return 0


def check_event(content: bytes, to: str, destinations: Sequence[str]) -> None:
    """Refuses an event that a message has no room for, or to say for whom it is."""
    if len(content) > limits.EVENT_BYTES_MAX:
        raise EventError(f"the event has {len(content)} bytes, at most {limits.EVENT_BYTES_MAX} are carried")
    if len(to) > limits.FILTER_CHARS_MAX:
        raise CallerError(f"`to` has {len(to)} characters, at most {limits.FILTER_CHARS_MAX} are read")
    if (size := sum(map(len, destinations)) + len(destinations)) > limits.DESTINATION_CHARS_MAX:
        most = limits.DESTINATION_CHARS_MAX
        raise CallerError(f"the names of the destinations have {size} characters, at most {most} are carried")


def check_request(request: Any) -> None:
    """Refuses a subscription or a type that a message has no room for."""
    if (size := size_of(request)) > limits.REQUEST_BYTES_MAX:
        raise CallerError(f"the request has {size} bytes, at most {limits.REQUEST_BYTES_MAX} are carried")


def portions(parts: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """The parts in order, in as few runs as have PART_BYTES_MAX each; one that is larger is a run of its own. Without
    any there is one run, of none."""
    run: list[T] = []
    size = 0
    for part in parts:
        size += (more := size_of(part))
        if run and size > limits.PART_BYTES_MAX:
            yield tuple(run)
            run, size = [], more
        run.append(part)
    yield tuple(run)


def fitting(answers: tuple[Answered, ...]) -> tuple[Answered, ...]:
    """The answers of behaviours that travel with an event: those there is no room for are faults, and unknown."""
    if not answers or size_of(answers) <= limits.ANSWERS_BYTES_MAX:
        return answers
    found: list[Answered] = []
    left = limits.ANSWERS_BYTES_MAX
    for answered in answers:
        for one in (answered, Answered(answered.call, None, TOO_MUCH)):
            if (size := size_of(one)) <= left:
                found.append(one)
                left -= size
                break
    return tuple(found)
