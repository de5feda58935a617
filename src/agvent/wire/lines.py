"""Events as lines of JSON, so that many travel as one: a batch's content is a line for each of its events.

A line says what event_json.py reads in it. An event that a line says exactly is a line already when it is alone, so
that several are put together without being read again; every other one (bytes, timestamps, an agvent's cargo) is
MessagePack, and travels alone. The first byte tells them apart.

Places are which events of a batch are meant: two bytes each, ascending; none stands for all.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.event import Event

BRACE: Final = b"{"
FEED: Final = b"\n"
ADDRESS_KINDS: Final = {"$type": (str, list), "$topic": (str, int), "$channel": (str, int)}
CERTAIN_KINDS: Final = (str, bool, type(None))
JSON_KINDS: Final = (*CERTAIN_KINDS, int, float, list, dict)
SHAPES_KEPT: Final = 4_096
LONG_LINE_BYTES: Final = 256

_encoder = msgspec.json.Encoder()


def is_lines(content: bytes) -> bool:
    """Is it JSON? MessagePack has no map that begins with a brace."""
    return content[:1] == BRACE


def line_of(source: Event | Mapping[str, Any]) -> bytes | None:
    """The line of an event, given as it may be published; None if no line says it exactly, or it is no event."""
    plain = _members(source) if isinstance(source, Event) else source
    if type(plain) is not dict or not _is_plain(plain):
        return None
    try:
        return _encoder.encode(plain)
    except UnicodeEncodeError:  # a lone surrogate
        return None


def lines_of(sources: Sequence[Event | Mapping[str, Any]]) -> bytes | None:
    """The lines of several events at once, for a third of what it costs one by one; None if one of them has none, or is
    not given as a dict."""
    if not all(type(source) is dict and _is_plain(source) for source in sources):
        return None
    try:
        return _encoder.encode_lines(sources)[:-1]
    except UnicodeEncodeError:
        return None


def _is_plain(members: dict[Any, Any]) -> bool:
    doubtful = _doubtful(tuple(members), tuple(map(type, members.values())))
    return doubtful is not None and all(_fits(name, members[name]) for name in doubtful)


@lru_cache(SHAPES_KEPT)
def _doubtful(names: tuple[Any, ...], kinds: tuple[type, ...]) -> tuple[str, ...] | None:
    """The members of an event whose values decide whether a line says it; None if none does, whatever they are.
    Publishers' events have few shapes, so this is asked once for each."""
    doubtful = []
    for name, kind in zip(names, kinds, strict=True):
        if type(name) is not str or kind not in (ADDRESS_KINDS.get(name, ()) if name[:1] == "$" else JSON_KINDS):
            return None
        if kind not in CERTAIN_KINDS:
            doubtful.append(name)
    return tuple(doubtful)


def _fits(name: str, value: Any) -> bool:
    if name == "$type":
        return bool(value) and all(type(one) is str for one in value)
    return _is_json(value)


def _members(event: Event) -> dict[str, Any] | None:
    if event.cargo is not None or event.xml is not None or event.time is not None:
        return None
    types = [event.type, *event.ancestors] if event.ancestors else event.type
    values = (types, event.topic, event.channel)
    return {
        **{name: value for name, value in zip(ADDRESS_KINDS, values, strict=True) if value is not None},
        **event.attributes,
    }


def _is_json(value: Any, depth: int = 1) -> bool:
    """Does JSON say this value, and nothing else that this value is not?"""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(limits.INT_MIN <= value <= limits.INT_MAX)
    if kind is float:
        return bool(value - value == 0.0)  # neither infinite nor NaN
    if depth >= limits.EVENT_DEPTH_MAX:
        return False
    if kind is list:
        return all(_is_json(item, depth + 1) for item in value)
    if kind is dict:
        if len(value) == 1 and next(iter(value)) in ("$timestamp", "$bytes"):
            return False
        return all(type(key) is str and _is_json(item, depth + 1) for key, item in value.items())
    return False


class TypeLine(msgspec.Struct, gc=False):
    """Of a line its type alone: the rest is passed over."""

    type: str | list[str] | None = msgspec.field(name="$type", default=None)


_heads = msgspec.json.Decoder(TypeLine)


def types_in(content: bytes) -> set[tuple[str, ...]]:
    """The types of a batch's events, each with its ancestors after it. A MsgspecError if a line that may have one is no
    object."""
    if b'"$type"' not in content and b"\\" not in content:
        return set()
    types = {
        (one,) if type(one) is str else tuple(one or ()) for one in [head.type for head in _heads.decode_lines(content)]
    }
    types.discard(())
    return types


def has_lines(content: bytes, count: int) -> bool:
    """Are there so many lines, and does each begin as an event does? The index passes over a blank one.

    >>> has_lines(b'{"n":1}\\n{"n":2}', 2), has_lines(b'{"n":1}\\n \\n{"n":2}', 3)
    (True, False)
    """
    if len(content) > LONG_LINE_BYTES * count:
        lines = lines_in(content)
        return len(lines) == count and all(map(is_lines, lines))
    return is_lines(content) and content.count(FEED) == content.count(FEED + BRACE) == count - 1


def lines_in(content: bytes) -> list[bytes]:
    """
    >>> lines_in(b'{"n":1}\\n{"n":2}')
    [b'{"n":1}', b'{"n":2}']
    """
    end = content.find(FEED)
    if end < LONG_LINE_BYTES:
        return content.split(FEED)
    lines, start = [], 0
    while end >= 0:  # a search for the end of a long line looks at many bytes at once, a split at each
        lines.append(content[start:end])
        start = end + 1
        end = content.find(FEED, start)
    return [*lines, content[start:]]


def packed(places: Sequence[int], count: int) -> bytes:
    """
    >>> packed([0, 2], 3), packed([0, 1, 2], 3)
    (b'\\x00\\x00\\x02\\x00', b'')
    """
    if len(places) == count:
        return b""
    if len(places) == 1:
        return places[0].to_bytes(2, "little")
    return struct.pack(f"<{len(places)}H", *places)


def places_in(places: bytes, count: int) -> Sequence[int]:
    """
    >>> places_in(b'\\x00\\x00\\x02\\x00', 3), places_in(b'', 3)
    ((0, 2), range(0, 3))
    """
    if not places:
        return range(count)
    if len(places) == 2:
        return (int.from_bytes(places, "little"),)
    return struct.unpack(f"<{len(places) // 2}H", places)
