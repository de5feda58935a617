"""Events and the values they carry.

A value is null, bool, int (64-bit), float, str, bytes, a timestamp (`datetime` with a zone), a list of values or an
object (a mapping with string keys). Rules that hold everywhere, in every language and engine:

- a missing attribute is null, and NaN is null: neither has a value to compare;
- integers and floats compare by their exact mathematical value, and -0.0 equals 0.0;
- a value compares only with its own kind, and bool is not a number;
- text is Unicode scalar values: a lone surrogate is refused;
- `xml` is a well-formed document within the bounds of xml.py, whether or not anybody asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple, Self

import msgspec

from agvent import limits
from agvent.errors import EventError
from agvent.xml import document

Scalar = bool | int | float | str | bytes | datetime
Value = Scalar | Sequence[Any] | Mapping[str, Any] | None
Path = tuple[str | int, ...]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Int32(int):
    """An integer of 32 bits, as Elvin has them. A number like every other: only its type says how wide it was."""

    __slots__ = ()

    def __new__(cls, value: int) -> Self:
        if not limits.INT32_MIN <= value <= limits.INT32_MAX:
            raise EventError(f"{str(value)[:40]} does not fit in 32 bits")
        return super().__new__(cls, value)


class Kind(IntEnum):
    """The kind of a value."""

    NULL = 0
    NUMBER = 1
    STRING = 2
    BOOL = 3
    TIME = 4
    BYTES = 5
    LIST = 6
    OBJECT = 7


NULL, NUMBER, STRING, BOOL, TIME, BYTES, LIST, OBJECT = Kind
"""The same by name: to look an enum's member up costs as much as to call a function."""

KIND_OF_TYPE: dict[type, Kind] = {
    type(None): Kind.NULL,
    bool: Kind.BOOL,
    int: Kind.NUMBER,
    Int32: Kind.NUMBER,
    float: Kind.NUMBER,
    str: Kind.STRING,
    bytes: Kind.BYTES,
    datetime: Kind.TIME,
    list: Kind.LIST,
    tuple: Kind.LIST,
    dict: Kind.OBJECT,
}


def kind_of(value: object) -> Kind:
    """The kind of a value; NaN is null."""
    kind = KIND_OF_TYPE.get(type(value))
    if kind is None:
        kind = _kind_of_subclass(value)
    if kind is NUMBER and value != value:  # NaN is the one number unequal to itself
        return NULL
    return kind


def _kind_of_subclass(value: object) -> Kind:
    for known, kind in KIND_OF_TYPE.items():
        if isinstance(value, known):
            return kind
    if isinstance(value, Mapping):
        return Kind.OBJECT
    raise EventError(
        f"a value of type {type(value).__name__} cannot be an event's",
        hint="use None, bool, int, float, str, bytes, datetime, list or dict",
    )


def microseconds(time: datetime) -> int:
    """A timestamp as microseconds since 1970 UTC; one without a zone is refused, because it names no instant."""
    if time.tzinfo is None:
        raise EventError(f"timestamp {time.isoformat()} has no time zone", hint="use datetime(..., tzinfo=UTC)")
    return (time - EPOCH) // MICROSECOND


def checked(value: Any, path: Path = ()) -> Value:
    """The value itself if every part of it may stand in an event, else an EventError that names the part."""
    kind = kind_of(value)
    if kind is NUMBER:
        if isinstance(value, int) and not limits.INT_MIN <= value <= limits.INT_MAX:
            shown = value if value.bit_length() < 128 else f"an integer of {value.bit_length()} bits"
            raise EventError(f"{name_of(path)}: {shown} does not fit in 64 bits")
    elif kind is STRING:
        check_text(value, path)
    elif kind is TIME:
        check_time(value, path)
    elif kind is LIST or kind is OBJECT:
        if len(path) >= limits.EVENT_DEPTH_MAX:
            raise EventError(f"{name_of(path)}: nested deeper than {limits.EVENT_DEPTH_MAX} levels")
        if kind is LIST:
            for position, item in enumerate(value):
                checked(item, (*path, position))
        else:
            for key, item in value.items():
                if not isinstance(key, str):
                    raise EventError(f"{name_of(path)}: the key {key!r} is not a string")
                check_text(key, (*path, key))
                checked(item, (*path, key))
    return value  # type: ignore[no-any-return]


def is_plain(value: object) -> bool:
    """Is it a value that needs no further look, as nearly all of an event's are? A tenth of the cost of `checked`."""
    kind = type(value)
    if kind is str:
        return value.isascii()  # type: ignore[attr-defined, no-any-return]
    if kind is int:
        return limits.INT_MIN <= value <= limits.INT_MAX  # type: ignore[operator]
    return kind is float or kind is bool or value is None


def check_text(text: str, path: Path = ()) -> None:
    """Refuses a lone surrogate: no encoding, peer or file format carries one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise EventError(f"{name_of(path)}: lone surrogate U+{ord(text[error.start]):04X} in text") from None


def check_time(time: datetime, path: Path = ()) -> None:
    """Refuses a time that names no instant, or one that UTC has no year for: its bytes are those of UTC."""
    microseconds(time)
    try:
        time.astimezone(UTC)
    except OverflowError:
        raise EventError(f"{name_of(path)}: {time.isoformat()} is outside the years 1 to 9999 of UTC") from None


def name_of(path: Path) -> str:
    """A path as filters write it: `order.lines[0].price`."""
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            shown += f".{step}" if shown else step
    return shown.encode("utf-8", "backslashreplace").decode() or "event"


def equal(a: Any, b: Any) -> bool:
    """Are two values of one kind and equal? Null equals nothing; lists and objects equal nothing (JMS has none)."""
    kind = kind_of(a)
    return NULL < kind < LIST and kind is kind_of(b) and bool(a == b)


class EventId(NamedTuple):
    """Who published it, and its place among that publisher's events.

    >>> EventId("ada", 17)
    EventId(publisher='ada', sequence=17)
    """

    publisher: str
    sequence: int


class Budget(msgspec.Struct, frozen=True, gc=False):
    """What an agvent that finds its own way may use: links, clones, bytes over links, time since it was accepted."""

    hops: int = limits.JOURNEY_HOPS_MAX
    clones: int = limits.JOURNEY_CLONES_MAX
    bytes: int = limits.JOURNEY_BYTES_MAX
    time_us: int = limits.JOURNEY_TIME_MAX_US


class Cargo(msgspec.Struct, frozen=True, gc=False):
    """What makes an event an agvent: the hash of its program, and its hidden and sealed fields, both encrypted.

    `opaque` are the names of its opaque attributes, whose values are among the hidden ones. `budget` is there if its
    program has a route of its own. Nothing here is an attribute: no filter, index or table reads it.
    """

    program: str
    hidden: bytes = b""
    sealed: bytes = b""
    opaque: tuple[str, ...] = ()
    budget: Budget | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event: attributes, and optionally type, topic, channel, time and XML.

    >>> quote = Event(attributes={"symbol": "IBM", "price": 99.5}, type="Quote", topic="stocks/NYSE")
    >>> quote.attributes["price"], quote.type
    (99.5, 'Quote')
    >>> quote.lookup(("$topic",))
    'stocks/NYSE'

    `ancestors` are the supertypes of `type`: a subscription to any of them receives the event. An event that was
    received has an `id`. An agvent has `cargo`.
    """

    attributes: Mapping[str, Any] = {}
    type: str | None = None
    ancestors: tuple[str, ...] = ()
    topic: str | int | None = None
    channel: str | int | None = None
    time: datetime | None = None
    xml: str | None = None
    id: EventId | None = None
    cargo: Cargo | None = None

    def __post_init__(self) -> None:
        for name, value in self.attributes.items():
            if not isinstance(name, str) or name[:1] == "$":
                raise EventError(f"{name!r} cannot name an attribute", hint="names that begin with $ are reserved")
            if not name.isascii():
                check_text(name)
            if not is_plain(value):
                checked(value, (name,))
        addresses = is_plain(self.type) and is_plain(self.topic) and is_plain(self.channel)
        if not addresses or self.ancestors or self.time is not None or self.xml is not None:
            self._check_headers()

    def _check_headers(self) -> None:
        for field in ("type", "ancestors", "topic", "channel", "time", "xml"):
            checked(getattr(self, field), (f"${field}",))
        if self.xml is not None:
            document(self.xml)

    def lookup(self, path: Path) -> Value:
        """The value at a path, null where there is none."""
        first = path[0]
        header = HEADERS.get(first) if isinstance(first, str) else None
        found: Any = header(self) if header else self.attributes.get(first)  # type: ignore[arg-type]
        for step in path[1:]:
            found = step_into(found, step)
        return found  # type: ignore[no-any-return]


def step_into(value: Any, step: str | int) -> Any:
    """The member or element of a value, null where there is none."""
    if isinstance(step, int):
        return value[step] if isinstance(value, (list, tuple)) and step < len(value) else None
    return value.get(step) if isinstance(value, Mapping) else None


TYPES = "$types"
"""The path of an event's type and its ancestors, as one list."""

HEADERS: dict[str, Any] = {
    "$type": lambda event: event.type,
    TYPES: lambda event: () if event.type is None else (event.type, *event.ancestors),
    "$topic": lambda event: event.topic,
    "$channel": lambda event: event.channel,
    "$time": lambda event: event.time,
    "$xml": lambda event: event.xml,
}


def event_of(source: Event | Mapping[str, Any]) -> Event:
    """An Event of a mapping of attributes, in which the reserved keys `$type`, `$topic`, … carry what they say.

    >>> event_of({"$topic": "Sports/NBA", "score": 101}).topic
    'Sports/NBA'
    """
    if isinstance(source, Event):
        return source
    if not isinstance(source, Mapping):
        raise EventError(f"an event is an object of attributes, not {type(source).__name__}")
    headers = {key[1:]: source[key] for key in source if isinstance(key, str) and key.startswith("$")}
    unknown = headers.keys() - RESERVED.keys()
    if unknown:
        raise EventError(
            f"${min(unknown)} is not a reserved key", hint=f"they are {', '.join('$' + k for k in RESERVED)}"
        )
    for name, value in headers.items():
        if value is not None and not RESERVED[name](value):
            raise EventError(f"${name} cannot be {value!r}"[:200])
    if isinstance(headers.get("time"), str):
        headers["time"] = time_of(headers["time"])
    if isinstance(headers.get("type"), (list, tuple)):
        headers["type"], *ancestors = headers["type"]
        headers["ancestors"] = tuple(ancestors)
    attributes = {key: value for key, value in source.items() if not (isinstance(key, str) and key.startswith("$"))}
    return Event(attributes=attributes, **headers)


def _is_type(value: object) -> bool:
    """A type's name, or the name followed by the names of its ancestors."""
    names = value if isinstance(value, (list, tuple)) and value else [value]
    return all(isinstance(name, str) for name in names)


def _is_address(value: object) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


RESERVED: dict[str, Any] = {
    "type": _is_type,
    "topic": _is_address,
    "channel": _is_address,
    "time": lambda value: isinstance(value, (str, datetime)),
    "xml": lambda value: isinstance(value, str),
}


def time_of(text: str) -> datetime:
    """A timestamp from ISO 8601 text; without a zone it is UTC, without a time of day it is midnight."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise EventError(
            f"{text!r} is not a timestamp", hint="write it as 2026-03-01 or 2026-03-01T12:00:00Z"
        ) from None
