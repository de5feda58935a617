"""Values as JSON that loses nothing: attributes without a column, contexts, results of behaviours.

Kinds that JSON lacks are objects of one member: `{"$timestamp": …}`, `{"$bytes": …}` (base64), `{"$int32": …}` and
`{"$float": "nan" | "inf" | "-inf"}`; an object of one member that looks like one of these is `{"$object": {…}}`.
"""

from __future__ import annotations

import binascii
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from agvent.errors import EventError, LogFileError
from agvent.event import Int32

_encoder: Final = msgspec.json.Encoder()


def encode_values(values: Mapping[str, Any]) -> str:
    """An object of values as text. Its own keys are names of attributes, so the outermost is never a form.

    >>> encode_values({"pages": Int32(5), "mark": b"x"})
    '{"pages":{"$int32":5},"mark":{"$bytes":"eA=="}}'
    """
    return _encoder.encode({name: _written(value) for name, value in values.items()}).decode()


def decode_values(text: str) -> dict[str, Any]:
    """What `encode_values` wrote."""
    try:
        return {name: _read(value) for name, value in msgspec.json.decode(text).items()}
    except (ValueError, AttributeError, KeyError, TypeError, EventError, RecursionError) as error:
        raise LogFileError(f"{text[:80]!r} is not JSON of values: {error}") from None


def encode_value(value: Any) -> str:
    """One value as text."""
    return _encoder.encode(_written(value)).decode()


def decode_value(text: str) -> Any:
    """What `encode_value` wrote."""
    return decode_values(f'{{"value":{text}}}')["value"]


def _written(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Int32):
        return {"$int32": int(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, bytes):
        return {"$bytes": binascii.b2a_base64(value, newline=False).decode()}
    if isinstance(value, datetime):
        return {"$timestamp": in_utc(value).isoformat()}
    if isinstance(value, Mapping):
        inner = {key: _written(item) for key, item in value.items()}
        return {"$object": inner} if len(inner) == 1 and next(iter(inner)).startswith("$") else inner
    if isinstance(value, (list, tuple)):
        return [_written(item) for item in value]
    return int(value)


def in_utc(time: datetime) -> datetime:
    """The same instant in UTC; within a day of year 1 or 9999, where UTC may have no such year, as it is."""
    try:
        return time.astimezone(UTC)
    except OverflowError:
        return time


def _instant(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return in_utc(time)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, content)] = value.items()
        if key.startswith("$"):
            return _FORMS[key](content)
    return {key: _read(item) for key, item in value.items()}


_FORMS: Final[Mapping[str, Any]] = {
    "$timestamp": _instant,
    "$bytes": lambda text: binascii.a2b_base64(text, strict_mode=True),
    "$int32": Int32,
    "$float": float,
    "$object": lambda inner: {key: _read(item) for key, item in inner.items()},
}
