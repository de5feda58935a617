"""Elvin notifications as events, and back.

A notification is a set of named values of five types; an event carries each without loss:

| Elvin | event |
|---|---|
| int32 | Int32, an int that knows it had 32 bits |
| int64 | int |
| real64 | float, NaN and the infinities included |
| string | str |
| opaque | bytes |

The way back refuses what Elvin has no type for: headers, null, booleans, timestamps, lists and objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event, Int32


class ElvinValue(NamedTuple):
    """A value of a notification: its type as Elvin names it, and the value as Python has it."""

    type: str
    value: int | float | str | bytes


Notification = Mapping[str, ElvinValue]


def _int64(value: Any) -> int:
    if not limits.INT_MIN <= value <= limits.INT_MAX:
        raise EventError(f"{str(value)[:40]} does not fit in 64 bits")
    return int(value)


def _string(value: str) -> str:
    if "\x00" in value:
        raise EventError("a string of Elvin's has no NUL")
    return value


READ: Final[dict[str, tuple[type, Callable[[Any], Any]]]] = {
    "int32": (int, Int32),
    "int64": (int, _int64),
    "real64": (float, float),
    "string": (str, _string),
    "opaque": (bytes, bytes),
}
"""For each type of Elvin's: what Python calls it, and what an event carries."""

TYPE_OF: Final[dict[type, str]] = {Int32: "int32", int: "int64", float: "real64", str: "string", bytes: "opaque"}


def event_of_notification(notification: Notification) -> Event:
    """The event that carries a notification, a value under each name.

    >>> event_of_notification({"Age": ElvinValue("int32", 42)}).attributes
    {'Age': 42}
    """
    return Event(attributes={name: _read(name, value) for name, value in notification.items()})


def _read(name: str, value: ElvinValue) -> Any:
    if value.type not in READ:
        raise EventError(f"{name}: {value.type!r} is not a type of Elvin", hint=f"they are {', '.join(READ)}")
    expected, read = READ[value.type]
    if not isinstance(value.value, expected) or isinstance(value.value, bool):
        raise EventError(f"{name}: {type(value.value).__name__} is not {value.type}")
    return _named(name, read, value.value)


def notification_of(event: Event) -> dict[str, ElvinValue]:
    """The notification an event carries; an EventError names what Elvin has no type for.

    >>> notification_of(Event(attributes={"Age": Int32(42), "Pay": 42}))["Age"]
    ElvinValue(type='int32', value=42)
    """
    for header in ("type", "topic", "channel", "time", "xml"):
        if getattr(event, header) is not None:
            raise EventError(f"${header}: a notification has attributes and no headers")
    return {name: _written(name, value) for name, value in event.attributes.items()}


def _written(name: str, value: Any) -> ElvinValue:
    type_name = TYPE_OF.get(type(value))
    if type_name is None:
        raise EventError(f"{name}: Elvin has no type for {type(value).__name__}", hint=f"it has {', '.join(READ)}")
    plain = _named(name, READ[type_name][0] if type_name != "string" else _string, value)
    return ElvinValue(type_name, plain)


def _named(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    """What `read` makes of the value; its error names the attribute."""
    try:
        return read(value)
    except EventError as error:
        raise EventError(f"{name}: {error.message}", hint=error.hint) from None
