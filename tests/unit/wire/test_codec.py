"""Bytes on the wire: what comes back, and what is refused."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.errors import WireError
from agvent.event import Event, Int32
from agvent.wire.codec import decode_event, decode_message, encode_event, encode_message, framed, unframed
from tests.fuzz.wire import GOOD_MESSAGES, MESSAGES


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was(message: object) -> None:
    """A message survives its bytes."""
    assert decode_message(encode_message(message)) == message  # type: ignore[arg-type]


def test_an_event_keeps_its_kinds() -> None:
    """An Int32 comes back as one, and large integers and floats stay apart."""
    event = Event(attributes={"a": Int32(7), "b": 7, "c": 7.0, "d": 9007199254740993})
    back = decode_event(encode_event(event))
    assert back == event
    assert [type(value) for value in back.attributes.values()] == [Int32, int, float, int]


def test_an_event_that_is_none_is_refused() -> None:
    """What could not be an event is no event because it came over a link."""
    content = encode_event(Event(attributes={"price": 1})).replace(b"\xa5price", b"\xa5$rice")
    with pytest.raises(WireError, match="'\\$rice' cannot name an attribute"):
        decode_event(content)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda frame: frame[:5], "a frame of 5 bytes has no prefix"),
        (lambda frame: frame[:-1], "bytes and has"),
        (lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]), "a frame's checksum is wrong"),
    ],
    ids=["no prefix", "cut short", "a flipped bit"],
)
def test_a_damaged_frame_is_refused(damage: object, complaint: str) -> None:
    """A frame that is short, or has one bit flipped, is refused."""
    frame = framed(GOOD_MESSAGES[0])
    assert unframed(frame) == GOOD_MESSAGES[0]
    with pytest.raises(WireError, match=complaint):
        unframed(damage(frame))  # type: ignore[operator]


def test_a_message_is_bounded() -> None:
    """More bytes than a message may have are not looked at."""
    with pytest.raises(WireError, match="are not a message: at most"):
        decode_message(bytes(limits.MESSAGE_BYTES_MAX + 1))
