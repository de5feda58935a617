"""What a peer may send: good messages, events and frames, and what must hold of every other bytes in their place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from agvent.errors import WireError
from agvent.event import Event, Int32
from agvent.filters.subscription import Subscription
from agvent.types import AdvertisedAttribute, AgventType
from agvent.wire.broker_messages import (
    Adverts,
    Applied,
    Confirm,
    Considered,
    Copies,
    Delta,
    Entry,
    Hello,
    Interest,
    Routed,
    Seek,
    Took,
)
from agvent.wire.client_messages import Advertise, Attach, Deliver, Gap, Publish, Subscribe, Subscribed
from agvent.wire.codec import decode_event, decode_message, encode_event, encode_message, framed, unframed
from agvent.wire.host_messages import Admit, Admitted, Dispose, GetHostKey, HostKey, Invoke, Invoked, Load
from agvent.wire.link import LinkEnd
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Answered, BehaviourCall, Entered, Publication, Target

BOOK: Final = AgventType(name="Book", attributes=(AdvertisedAttribute("pages", "int", "Printed pages"),))
GOOD_EVENTS: Final = (
    encode_event(Event(type="Book", ancestors=("Item",), attributes={"pages": 200, "price": 12.5, "n": Int32(-7)})),
    encode_event(
        Event(topic="Sports/NBA", channel=42, time=datetime(2026, 3, 1, tzinfo=UTC), attributes={"é": "日本"})
    ),
    encode_event(Event(attributes={"list": [1, True, None, b"\0\1", {"deep": [2.5]}]}, xml="<a b='1'/>")),
)
PUBLICATION: Final = Publication("p", 3, GOOD_EVENTS[0], "floor = 3", ("ada",), 1_700_000_000_000_000)
WANTED: Final = Subscription(id="ada/s1", type="Book", filter="pages > 100", context={"floor": 3})
MESSAGES: Final[tuple[AnyMessage, ...]] = (
    Hello("AS1", 1, {"AS1": (1, 4), "AS2": (2, 1)}),
    Adverts(
        owner="AS1",
        incarnation=1,
        since=3,
        version=4,
        entries=(Entry(4, "p", BOOK, True),),
        trace=(("AS1", 2048), ("AS2", 128)),
    ),
    Copies(
        entered=Entered("AS1", 1, 7),
        publication=PUBLICATION,
        targets=(Target("AS3", 1, 2, 1), Target("AS4", 1, 5, 0)),
        trace=(("AS1", 2048),),
    ),
    Took(entry="AS1", incarnation=1, publisher="p", sequence=3, boot=0, homes=("AS3", "AS4")),
    Routed(
        targets=("AS1", "AS2"),
        trace=(("AS3", 128),),
        body=Delta(
            home="AS3",
            incarnation=1,
            previous=0,
            number=(1 << 32) + 1,
            position=4,
            considered=(Considered("AS1", 1, 4),),
            roots=(Interest(1, WANTED),),
            ended=("ada/s0",),
        ),
    ),
    Routed(
        targets=("AS3",),
        trace=(("AS1", 128),),
        body=Applied(entry="AS1", incarnation=1, number=9, position=4, epoch=12, settled=3),
    ),
    Routed(
        targets=("AS1",),
        trace=(("AS3", 128),),
        body=Confirm(home="AS3", incarnation=1, durable={"p": 3}, fast={"p": 9}, boot=2),
    ),
    Routed(targets=("AS12",), trace=(("AS8", 128),), body=Seek("AS8"), sender="AS8", broadcast=5),
    Attach(client="ada", incarnation=1, received=5, fast_received=0, sequence=4, fast_sequence=1),
    Subscribe(1, 1, WANTED),
    Subscribed(1, {"AS1": 4}, ("AS2",)),
    Publish(PUBLICATION),
    Deliver(
        number=4,
        after=3,
        behind=0,
        publisher="p",
        sequence=3,
        fast=False,
        event=GOOD_EVENTS[1],
        subscriptions=("s1", "s2"),
    ),
    Deliver(
        number=6,
        after=4,
        behind=0,
        publisher="p",
        sequence=5,
        fast=False,
        event=b'{"n":1}\n{"n":2}',
        subscriptions=("s1", "s2"),
        count=3,
        places=b"\0\0\2\0",
        picked=(b"", b"\1\0"),
    ),
    Gap(number=5, after=4, behind=4, publisher="p", first=4, last=9, fast=False, reason="quota", subscriptions=("s1",)),
    Adverts(owner="AS1", incarnation=1, since=4, version=5, entries=(Entry(5, "p", BOOK, True, b"code"),), trace=()),
    Advertise(2, BOOK, b"code"),
    GetHostKey(3),
    Load(3, AgventType(name="Book"), b"code"),
    HostKey(3, b"k" * 32),
    Admit(4, 17, False, "s1"),
    Admitted(4, BOOK, ({"offer": 10},), ""),
    Invoke(request=5, publisher="p", sequence=3, fast=False, call=BehaviourCall("price", (10, "Oslo"))),
    Invoked(5, Answered(BehaviourCall("price", (10, "Oslo")), 7.5)),
    Dispose(6, "p", 3, False),
)
GOOD_MESSAGES: Final = tuple(encode_message(message) for message in MESSAGES)


def check_message(content: bytes) -> bool:
    """Bytes are a message that comes back as it was, or a WireError."""
    try:
        message = decode_message(content)
    except WireError:
        return False
    assert decode_message(encode_message(message)) == message
    return True


def check_event(content: bytes) -> bool:
    """Bytes are an event that comes back as it was, or a WireError."""
    try:
        event = decode_event(content)
    except WireError:
        return False
    assert encode_event(decode_event(encode_event(event))) == encode_event(event)
    return True


def good_frames() -> tuple[bytes, ...]:
    """What one end sends to another: a sign of life, messages, a chunk."""
    ends = LinkEnd(1, 1), LinkEnd(1, 1)
    out = list(ends[0].frames(2))
    for frame in out:
        ends[1].receive(frame, 3)
    for frame in ends[1].frames(4):
        ends[0].receive(frame, 5)
    for message in MESSAGES:
        ends[0].send(message)
    ends[0].send(Publish(Publication("p", 4, bytes(100_000))))
    return tuple(bytes(unframed(frame)[:4_000]) for frame in (*out, *ends[0].frames(6)))


GOOD_FRAMES: Final = good_frames()


def check_frame(content: bytes) -> bool:
    """A frame with a right checksum and any content does not break an end, and leaves it able to take a good one."""
    end = LinkEnd(1, 1)
    end.receive(framed(content), 2)
    end.frames(3)
    assert end.deadline() > 0
    return not end.damaged
