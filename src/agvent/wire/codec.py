"""Messages and events as bytes, and frames: length, checksum, content.

MessagePack carries every kind of an event's values; Elvin's 32-bit integers are an extension type, so that they come
back as what they were. An event that JSON says exactly is a line of it, so that many are a batch (lines.py).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from agvent import event_json, limits
from agvent.errors import AgventError, WireError
from agvent.event import Cargo, Event, Int32, event_of
from agvent.wire.lines import is_lines, line_of
from agvent.wire.messages import AnyMessage

PREFIX: Final = struct.Struct(">II")
"""A frame's first bytes: the length of its content and the CRC-32 of it."""

INT32_CODE: Final = 1
"""The MessagePack extension type of an Int32."""


def extended(value: object) -> Any:
    """The extension of a value that MessagePack has no kind for."""
    if isinstance(value, Int32):
        return msgspec.msgpack.Ext(INT32_CODE, int(value).to_bytes(4, "big", signed=True))
    raise TypeError(f"a value of type {type(value).__name__} has no bytes")


def extension(code: int, content: memoryview) -> Any:
    """The value of an extension."""
    if code != INT32_CODE or len(content) != 4:
        raise ValueError(f"no extension type {code} of {len(content)} bytes")
    return Int32(int.from_bytes(content, "big", signed=True))


class Visitor(msgspec.Struct, frozen=True, gc=False):
    """An event as a sandbox reads it. Its values are not checked again: nothing of them goes back into an event."""

    attributes: dict[str, Any] = {}
    type: str | None = None
    cargo: Cargo | None = None


class _Hold(msgspec.Struct, frozen=True, gc=False):
    program: str = ""


class _Aboard(msgspec.Struct, frozen=True, gc=False):
    cargo: _Hold | None = None


_encoder = msgspec.msgpack.Encoder(enc_hook=extended)
_messages = msgspec.msgpack.Decoder(AnyMessage, ext_hook=extension)
_events = msgspec.msgpack.Decoder(Event, ext_hook=extension)
_visitors = msgspec.msgpack.Decoder(Visitor, ext_hook=extension)
_aboard = msgspec.msgpack.Decoder(_Aboard)
_values = msgspec.msgpack.Decoder(ext_hook=extension)


def encode_message(message: AnyMessage) -> bytes:
    """The bytes of a message, without a frame."""
    return _encoder.encode(message)


def decode_message(content: bytes | bytearray) -> AnyMessage:
    """The message of these bytes."""
    return _decoded(_messages, content)  # type: ignore[no-any-return]


def content_of(source: Event | Mapping[str, Any]) -> bytes:
    """The bytes by which an event is published: a line if one says it, else MessagePack."""
    return line_of(source) or encode_event(event_of(source))


def encode_event(event: Event) -> bytes:
    """The bytes of an event; they come back as an equal event, kinds and all."""
    return _encoder.encode(event)


def decode_event(content: bytes) -> Event:
    """The event of these bytes, checked as every event is."""
    if is_lines(content):
        return _of_line(content)
    return _decoded(_events, content)  # type: ignore[no-any-return]


def decode_visitor(content: bytes) -> Visitor:
    """What a sandbox reads of an event."""
    if is_lines(content):
        event = _of_line(content)
        return Visitor({**event.attributes}, event.type)
    return _decoded(_visitors, content)  # type: ignore[no-any-return]


def decode_program(content: bytes) -> str:
    """The hash of an event's program, and nothing else of it; empty if it has none."""
    cargo = None if is_lines(content) else _decoded(_aboard, content).cargo
    return cargo.program if cargo is not None else ""


def has_cargo(content: bytes) -> bool:
    """Are these the bytes of an agvent? Costs a microsecond, and nothing for a line. Not if they are of no event."""
    try:
        return decode_program(content) != ""
    except WireError:
        return False


def encode_value(value: Any) -> bytes:
    """The bytes of an event's value."""
    return _encoder.encode(value)


def decode_value(content: bytes) -> Any:
    """The value of these bytes, not yet checked to be an event's."""
    return _decoded(_values, content)


def _of_line(content: bytes) -> Event:
    try:
        return event_json.decode_event(content)
    except AgventError as error:
        raise WireError(f"not an event: {error.message[:200]}") from None


def _decoded(decoder: msgspec.msgpack.Decoder[Any], content: bytes | bytearray) -> Any:
    if len(content) > limits.MESSAGE_BYTES_MAX:
        raise WireError(f"{len(content)} bytes are not a message: at most {limits.MESSAGE_BYTES_MAX} are read")
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError, AgventError) as error:
        raise WireError(f"not a message: {str(error)[:200]}") from None


def framed(content: bytes) -> bytes:
    """A frame around these bytes."""
    assert len(content) <= limits.FRAME_BYTES_MAX
    return PREFIX.pack(len(content), zlib.crc32(content)) + content


def unframed(frame: bytes | memoryview) -> memoryview:
    """The content of a whole frame, not copied; a WireError if length or checksum are wrong."""
    if len(frame) < PREFIX.size:
        raise WireError(f"a frame of {len(frame)} bytes has no prefix")
    length, checksum = PREFIX.unpack_from(frame)
    content = memoryview(frame)[PREFIX.size :]
    if length != len(content) or length > limits.FRAME_BYTES_MAX:
        raise WireError(f"a frame says {length} bytes and has {len(content)}")
    if zlib.crc32(content) != checksum:
        raise WireError("a frame's checksum is wrong")
    return content
