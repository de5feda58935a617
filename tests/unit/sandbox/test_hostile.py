"""No program harms the host: after each of them it answers the next call of somebody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.execution.sandbox import Task
from agvent.agents.execution.signed_programs import Programs
from agvent.event import Cargo, Event
from agvent.sandbox.host import SandboxHost
from agvent.sandbox.program_session import Allowance
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.hostile import HOSTILE
from tests.publishing_house import Book
from tests.sandboxes import KEYS, booked

SMALL = Allowance(call_seconds_max=0.1, batch_seconds_max=0.2)
HARM = BehaviourCall("harm", ())
PRICE = BehaviourCall("wholesale_price", (1000, "Istanbul"))


@pytest.fixture(scope="module")
def host() -> Iterator[SandboxHost]:
    programs = Programs()
    programs.trust(program_of(Book))
    with SandboxHost(programs, KEYS, workers=1, allowances={"eve": SMALL}) as host:
        yield host


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_harms_nobody_else(host: SandboxHost, name: str) -> None:
    """It has a fault, or an answer that is a value of its own; the next good call has its answer."""
    source, expected = HOSTILE[name]
    program = Program(type="Evil", source=source, behaviours=(Signature("harm", "any"),))
    host.programs.trust(program)
    event = encode_event(Event(type="Evil", cargo=Cargo(program.hash)))
    ((answer,), (good,)) = host.run([Task("eve", event, (HARM,)), Task("house", booked(), (PRICE,))])
    assert answer.call == HARM
    assert answer.fault in expected.split("|")
    assert good == Answered(PRICE, 40_900.0)
    assert host.run([Task("house", booked(list_price=70.0), (PRICE,))]) == [(Answered(PRICE, 35_900.0),)]


def test_there_are_enough_of_them() -> None:
    """At least forty."""
    assert len(HOSTILE) >= 40
