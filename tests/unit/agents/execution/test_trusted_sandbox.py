"""The sandbox in this process: what every sandbox answers, whoever runs the programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Task
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.execution.trusted_sandbox import TrustedSandbox
from agvent.event import Event
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.publishing_house import Book
from tests.sandboxes import KEYS, booked, faults, trusted


def test_a_task_has_an_answer_for_each_call() -> None:
    """Behaviours, inherited ones, defaults, timestamps as arguments, hidden fields, conditions on opaque ones."""
    calls = (
        BehaviourCall("references_contain", ("Alonso, E.",)),
        BehaviourCall("wholesale_price", (1000, "Istanbul")),
        BehaviourCall("wholesale_price", (1,)),
        BehaviourCall("is_new", (datetime(2003, 1, 1, tzinfo=UTC),)),
        BehaviourCall("holds", ("margin() > 0.2 AND pages = 320",)),
        BehaviourCall("holds", ("margin() > pages",)),
        BehaviourCall("holds", ("wholesale_price(1) > 1000 AND NOT margin() IN (0.1, 0.2)",)),
    )
    (answers,) = trusted(Book).run([Task("house", booked(), calls)])
    assert answers == tuple(map(Answered, calls, (True, 40_900.0, 1140.0, False, True, False, True)))


def test_a_call_that_does_not_fit_is_a_fault() -> None:
    """An unknown behaviour, a private method, too few or too many arguments, one of another kind."""
    calls = (
        BehaviourCall("discount", ()),
        BehaviourCall("margin", ()),
        BehaviourCall("holds", ("margin() >",)),
        BehaviourCall("holds", ([1],)),
        BehaviourCall("holds", ("margin(3) > 1",)),
        BehaviourCall("_Publication_wholesale_price", (1, "x")),
        BehaviourCall("arrive", (None,)),
        BehaviourCall("wholesale_price", ()),
        BehaviourCall("wholesale_price", (1, "x", 2)),
        BehaviourCall("wholesale_price", ("many",)),
        BehaviourCall("wholesale_price", (True,)),
    )
    assert faults(trusted(Book).run([Task("house", booked(), calls)])) == [
        "Book has no behaviour discount",
        "margin is opaque: filters compare it, nobody reads it",
        "expected a value, found the end",
        "holds takes the text of a condition",
        "margin takes 0 arguments, not 1",
        "Book has no behaviour _Publication_wholesale_price",
        "Book has no behaviour arrive",
        "wholesale_price takes 2 arguments, not 0",
        "wholesale_price takes 2 arguments, not 3",
        "argument 1 of wholesale_price is not of kind int",
        "argument 1 of wholesale_price is not of kind int",
    ]


class Odd(Agvent):
    """Answers what it should not."""

    def fails(self, secret: str) -> int:
        raise ValueError(secret)

    def lies(self) -> int:
        return "text"  # type: ignore[return-value]

    def overflows(self) -> int:
        return 2**70

    def too_long(self) -> str:
        return "x" * 70_000

    def odd(self) -> dict[str, Any]:
        return {"a": {1, 2}}

    def nothing(self) -> str | None:
        return None


def test_an_answer_that_is_none_is_a_fault() -> None:
    """An exception, of which only the type is told; another kind; no value; too many bytes. Null is an answer."""
    names = ("lies", "overflows", "too_long", "odd", "nothing")
    event = encode_event(published(Odd(), "house"))
    calls = (BehaviourCall("fails", ("canary",)), *(BehaviourCall(name, ()) for name in names))
    assert faults(trusted(Odd).run([Task("house", event, calls)])) == [
        "ValueError",
        "the answer is not of kind int",
        "the answer is not a value that an event can hold",
        "the answer has 70005 bytes",
        "the answer is not a value that an event can hold",
        "",
    ]


def test_an_agvent_that_cannot_be_opened_is_a_fault_of_all_its_calls() -> None:
    """No program, one that is not here, another type's, another publisher's hidden fields, no key, no event."""
    call = (BehaviourCall("margin", ()),)
    plain = encode_event(Event(type="Book"))
    stolen = published(Odd(), "house")
    tape = encode_event(Event(type="Tape", cargo=stolen.cargo))
    assert faults(
        trusted(Book).run([Task("house", plain, call), Task("eve", booked(), call), Task("house", b"?", call)])
    ) == [
        "the event has no program",
        "hidden fields were altered, or are another agvent's",
        "not a message: Expected `object`, got `int`",
    ]
    assert faults(TrustedSandbox(Programs(), KEYS).run([Task("house", booked(), call)])) == [
        f"the program {program_of(Book).hash[:12]} is not here"
    ]
    assert faults(trusted(Odd).run([Task("house", tape, call)])) == ["the program is of type Odd, the event of Tape"]
    programs = Programs()
    programs.trust(program_of(Book))
    assert faults(TrustedSandbox(programs).run([Task("house", booked(), call)])) == [
        "this sandbox has no key for hidden fields"
    ]


class Noisy(Agvent):
    """Says too much, or the wrong thing, on its arrival."""

    what: str

    def arrive(self, subscriber: Any) -> None:
        subscriber.tell("first")
        if self.what == "raise":
            raise KeyError(subscriber.name)
        subscriber.answer("x" * 70_000 if self.what == "long" else {1, 2})


def test_an_agvent_speaks_on_its_arrival() -> None:
    """To the subscriber and to its publisher; one without `arrive` says nothing."""
    arrival = Arrival("house", booked(), "ann", {"city": "Oslo"})
    assert trusted(Book).arrive(arrival) == ArrivalReply(({"hello": "ann", "price": 80.0},), (["Oslo", 2],))
    assert trusted(Odd).arrive(Arrival("house", encode_event(published(Odd(), "house")), "ann", {})) == ArrivalReply()


def test_what_a_faulty_arrival_said_does_not_count() -> None:
    """An exception, a set, too many bytes, no program."""
    for what, fault in (
        ("raise", "KeyError"),
        ("set", "its message is not a value that an event can hold"),
        ("long", "its messages have 70011 bytes"),
    ):
        event = encode_event(published(Noisy(what=what), "house"))
        assert trusted(Noisy).arrive(Arrival("house", event, "ann", {})) == ArrivalReply(fault=fault)
    plain = encode_event(Event(type="Book"))
    assert trusted(Book).arrive(Arrival("house", plain, "ann", {})) == ArrivalReply(fault="the event has no program")
