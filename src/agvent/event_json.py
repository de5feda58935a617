"""One line of JSON to one event, and back: the reference for what an event's text means.

The object's members are the attributes; the reserved keys `$type`, `$topic`, `$channel`, `$time` and `$xml` carry what
their names say. Two kinds that JSON lacks are written as objects of one member, anywhere below the top:
`{"$timestamp": "2026-03-01T12:00:00Z"}` and `{"$bytes": "AAEC"}` (base64).

A number without a fraction or exponent is an integer of 64 bits, every other one the nearest float64; of two members
with one name the last stands. What is not exactly JSON in UTF-8 (NaN, lone surrogates, trailing text) is refused.
"""

from __future__ import annotations

import binascii
import math
import re
from typing import Any

import msgspec

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event, Kind, Path, event_of, kind_of, name_of, time_of

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Some programs begin a UTF-8 file with it. It is no part of JSON: who opens a file skips it."""

_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F])|.)")
"""One escape of a JSON string, a surrogate pair as one; group 1 is a surrogate without its other half."""


def decode_event(line: bytes) -> Event:
    """The event a line of JSON says, or an EventError that says why it is none.

    >>> decode_event(b'{"$topic": "Sports/NBA", "score": 101}').attributes
    {'score': 101}
    """
    return _event(decode_line(line))


def encode_event(event: Event) -> bytes:
    """A line that `decode_event` reads as this event, but for its id, and for NaN, which is null.

    A value that a line cannot say is an EventError: an infinite float, an object that reads as a timestamp or bytes.

    >>> encode_event(Event(topic="Sports/NBA", attributes={"score": 101}))
    b'{"$topic":"Sports/NBA","score":101}'
    """
    types = [event.type, *event.ancestors] if event.ancestors else event.type
    time = None if event.time is None else event.time.isoformat()
    headers = {"$type": types, "$topic": event.topic, "$channel": event.channel, "$time": time, "$xml": event.xml}
    attributes = {name: _written(value, (name,)) for name, value in event.attributes.items()}
    present = {key: value for key, value in headers.items() if value is not None}
    return msgspec.json.encode({**present, **attributes}, enc_hook=int)  # of an Int32, which is not an int to msgspec


def _written(value: Any, path: Path) -> Any:
    match kind_of(value):
        case Kind.NULL:
            return None
        case Kind.TIME:
            return {"$timestamp": value.isoformat()}
        case Kind.BYTES:
            return {"$bytes": binascii.b2a_base64(value, newline=False).decode()}
        case Kind.LIST:
            return [_written(item, (*path, position)) for position, item in enumerate(value)]
        case Kind.OBJECT:
            if len(value) == 1 and value.keys() <= _FORMS.keys():
                raise EventError(f"{name_of(path)}: no line of JSON has an object with the one member {min(value)}")
            return {key: _written(item, (*path, key)) for key, item in value.items()}
        case Kind.NUMBER if math.isinf(value):
            raise EventError(f"{name_of(path)}: no line of JSON has an infinite number")
        case _:
            return value


def _event(source: Any) -> Event:
    if not isinstance(source, dict):
        raise EventError(f"an event is a JSON object, not {_JSON_NAMES[type(source)]}")
    return event_of({key: _revived(value, (key,)) for key, value in source.items()})


def decode_source(line: bytes) -> Event | dict[str, Any]:
    """The same event, as a plain dict if it has only scalars and perhaps XML: an encoder reads that quicker."""
    source = decode_line(line)
    if type(source) is dict and all(map(_is_plain, source, source.values())):
        return source
    return _event(source)


def _is_plain(key: str, value: Any) -> bool:
    if key[:1] == "$" and key != "$xml":
        return False
    kind = type(value)
    return kind is str or kind is float or (kind is int and limits.INT_MIN <= value <= limits.INT_MAX)


def decode_line(line: bytes) -> Any:
    """The value a line of JSON says, or an EventError that says why it is no JSON."""
    if len(line) > limits.EVENT_BYTES_MAX:
        raise EventError(f"the line has {len(line)} bytes, at most {limits.EVENT_BYTES_MAX} are read")
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise EventError(_complaint(line, error)) from None


def _revived(value: Any, path: Path) -> Any:
    """The value with its timestamps and bytes read; what lies too deep is left for the event to refuse."""
    if len(path) > limits.EVENT_DEPTH_MAX:
        return value
    if isinstance(value, list):
        return [_revived(item, (*path, position)) for position, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, content)] = value.items()
        if key in _FORMS:
            return _FORMS[key](content, path)
    return {key: _revived(item, (*path, key)) for key, item in value.items()}


def _timestamp(content: Any, path: Path) -> Any:
    if not isinstance(content, str):
        raise EventError(f"{name_of(path)}: $timestamp holds ISO 8601 text, not {_JSON_NAMES[type(content)]}")
    try:
        return time_of(content)
    except EventError as error:
        raise EventError(f"{name_of(path)}: {error.message}", hint=error.hint) from None


def _bytes(content: Any, path: Path) -> bytes:
    if not isinstance(content, str):
        raise EventError(f"{name_of(path)}: $bytes holds base64 text, not {_JSON_NAMES[type(content)]}")
    try:
        return binascii.a2b_base64(content, strict_mode=True)
    except ValueError as error:
        raise EventError(f"{name_of(path)}: $bytes is not base64 ({error})") from None


_FORMS = {"$timestamp": _timestamp, "$bytes": _bytes}

_JSON_NAMES: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def _complaint(line: bytes, error: Exception) -> str:
    """What is wrong with the line, in words; the decoder's own where they are right."""
    if not line.strip():
        return "an empty line is not an event"
    if line.startswith(BYTE_ORDER_MARK):
        return "JSON is malformed: a byte order mark stands before it"
    try:
        line.decode()
    except UnicodeDecodeError as undecodable:
        return f"byte {undecodable.start} is not UTF-8"
    if isinstance(error, RecursionError):
        return f"nested deeper than {limits.EVENT_DEPTH_MAX} levels"
    if isinstance(error, msgspec.ValidationError):
        return "a number does not fit: integers have 64 bits, floats reach to 1.8e308"
    for escape in _ESCAPE.finditer(line):
        if escape[1]:
            return f"lone surrogate at byte {escape.start()}"
    return "the line ends before its JSON does" if "truncated" in str(error) else str(error)
