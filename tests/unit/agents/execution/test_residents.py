"""Agvents at their subscriber's home: kept, called, disposed of; and as the subscriber holds them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agvent import Agvent, limits
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.execution.ask import AskedAgvent
from agvent.agents.execution.received_agvent import ReceivedAgvent
from agvent.agents.execution.residents import Residents
from agvent.agents.execution.sandbox import Task
from agvent.errors import AdmissionError, BehaviourError, EventError
from agvent.event import Event, EventId
from agvent.wire.codec import decode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.publishing_house import Book
from tests.sandboxes import booked, trusted

FIRST = EventId("house", 1)
CALLS = (BehaviourCall("margin", ()),)


def test_an_agvent_stays_until_it_is_disposed_of() -> None:
    """For its own subscriber only."""
    residents, came = Residents(), AskedAgvent("house", b"event")
    residents.keep("ann", FIRST, came, 0, subscription="s")
    assert residents.task("ann", FIRST, CALLS, 1) == Task("house", b"event", CALLS)
    with pytest.raises(AdmissionError, match="house's agvent 1 is not here for ben"):
        residents.task("ben", FIRST, CALLS, 1)
    assert residents.dispose("ann", FIRST)
    assert not residents.dispose("ann", FIRST)
    with pytest.raises(AdmissionError, match="house's agvent 1 is not here for ann"):
        residents.task("ann", FIRST, CALLS, 1)


def test_its_time_ends_its_stay() -> None:
    """At its expiry, and without one after an hour, whether or not anybody looked."""
    residents, came = Residents(), AskedAgvent("house", b"event")
    residents.keep("ann", FIRST, came, 0, subscription="s", expires=10)
    residents.keep("ann", EventId("house", 2), came, 0, subscription="s")
    with pytest.raises(AdmissionError):
        residents.task("ann", FIRST, CALLS, 10)
    assert (residents.expire(10, always), residents.expire(10, always)) == (1, 0)
    assert residents.expire(limits.RESIDENCE_US, always) == 1


def always(_subscriber: str, _subscription: str) -> bool:
    return True


def test_a_subscriber_keeps_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest makes room, by number and by bytes; if all have too much, the oldest of whoever has most."""
    monkeypatch.setattr(limits, "RESIDENTS_MAX", 3)
    monkeypatch.setattr(limits, "RESIDENTS_BYTES_MAX", 30)
    monkeypatch.setattr(limits, "HOME_RESIDENTS_BYTES_MAX", 40)
    ids = [EventId("house", number) for number in range(4)]

    def left(*sizes: int, also: int = 0) -> list[bool]:
        """Which of ann's are there, after one of ben's came."""
        residents = Residents()
        for id, size in zip(ids, sizes, strict=False):
            residents.keep("ann", id, AskedAgvent("house", bytes(size)), 0, subscription="s")
        residents.keep("ben", FIRST, AskedAgvent("house", bytes(also)), 0, subscription="s")
        return [residents.dispose("ann", id) for id in ids[: len(sizes)]]

    assert left(1, 1, 1, 1) == [False, True, True, True]
    assert left(10, 10, 10) == [True, True, True]
    assert left(10, 10, 11) == [False, True, True]
    assert left(10, 10, 10, also=10) == [True, True, True]
    assert left(10, 10, 10, also=15) == [False, True, True]
    assert left(31) == [False]


def test_who_gives_up_a_subscription_keeps_none_of_its_agvents() -> None:
    """Unless they came by another one too."""
    residents, came = Residents(), AskedAgvent("house", b"event")
    for number, names in enumerate((("a",), ("b",), ("a", "b"))):
        for name in names:
            residents.keep("ann", EventId("house", number), came, 0, subscription=name)
    assert residents.expire(1, lambda subscriber, subscription: (subscriber, subscription) == ("ann", "b")) == 1
    assert [residents.dispose("ann", EventId("house", number)) for number in range(3)] == [False, True, True]


def received() -> ReceivedAgvent:
    """A book at a subscriber, whose calls a sandbox in this process answers."""
    event, sandbox = booked(), trusted(Book)

    async def ask(call: BehaviourCall) -> Answered:
        ((answered,),) = sandbox.run([Task("house", event, (call,))])
        return answered

    return ReceivedAgvent(decode_event(event), type_of(Book), ask)


def test_a_subscriber_reads_attributes_and_awaits_behaviours() -> None:
    """By place or by name; `dir` and docstrings say what there is."""
    book = received()

    async def calls() -> list[Any]:
        return [
            await book.wholesale_price(1000, "Istanbul"),
            await book.wholesale_price(1000, destination="Istanbul"),
            await book.wholesale_price(amount=1),
        ]

    assert (book.pages, book.isbn, book.dimensions) == (320, None, [240.0, 160.0, 30.0])
    assert asyncio.run(calls()) == [40_900.0, 40_900.0, 1_140.0]
    assert book.references_contain.__doc__ == "Does the book cite this author?"
    assert {"pages", "margin", "wholesale_price"} <= set(dir(book))


def test_what_is_hidden_is_not_at_the_subscriber() -> None:
    """Neither its value nor a way to it."""
    book = received()
    for name in ("_references", "contract", "arrive"):
        with pytest.raises(AttributeError, match=f"the agvent has no attribute or behaviour '{name}'"):
            getattr(book, name)
    with pytest.raises(BehaviourError, match=r"Book.margin: margin is opaque: filters compare it, nobody reads it"):
        asyncio.run(call_of(book.margin))


async def call_of(behaviour: Any) -> Any:
    return await behaviour()


def test_a_fault_is_raised_where_it_was_called() -> None:
    """With the fault's own words; arguments without a place are refused at once."""
    book = received()

    async def call(*args: Any, **named: Any) -> Any:
        return await book.wholesale_price(*args, **named)

    with pytest.raises(BehaviourError, match=r"Book.wholesale_price: argument 1 of wholesale_price is not of kind int"):
        asyncio.run(call("many"))
    for args, named in (((1,), {"amount": 2}), ((), {"destination": "Oslo"}), ((), {"price": 3})):
        with pytest.raises(EventError, match=r"wholesale_price takes \(amount, destination\)"):
            asyncio.run(call(*args, **named))


class Parcel(Agvent):
    """An agvent with names that whoever holds it could have for itself."""

    event: str
    ask: int

    def type(self) -> str:
        return "parcel"


def test_every_name_is_the_agvents_own() -> None:
    """`event` and `type` too: what a subscriber holds has none of its own without an underscore."""

    async def ask(call: BehaviourCall) -> Answered:
        return Answered(call, "parcel")

    parcel = ReceivedAgvent(Event(attributes={"event": "moved", "ask": 3}), type_of(Parcel), ask)
    assert (parcel.event, parcel.ask, asyncio.run(call_of(parcel.type))) == ("moved", 3, "parcel")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**70, "argument 1 of wholesale_price: 1180591620717411303424 does not fit in 64 bits"),
        (object(), "a value of type object cannot be an event's"),
        ([{1: 2}], "argument 1 of wholesale_price[0]: the key 1 is not a string"),
    ],
    ids=["integer", "object", "key"],
)
def test_an_argument_that_no_message_carries_is_refused_at_the_call(value: Any, message: str) -> None:
    """By place or by name, and nothing is asked."""
    asked: list[BehaviourCall] = []

    async def ask(call: BehaviourCall) -> Answered:
        asked.append(call)
        return Answered(call, 1.0)

    book = ReceivedAgvent(Event(), type_of(Book), ask)

    async def call(*args: Any, **named: Any) -> Any:
        return await book.wholesale_price(*args, **named)

    for args, named in (((value,), {}), ((), {"amount": value})):
        with pytest.raises(EventError) as raised:
            asyncio.run(call(*args, **named))
        assert raised.value.message == message
    assert asked == []
