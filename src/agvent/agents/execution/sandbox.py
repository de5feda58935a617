"""The interface of a sandbox: tasks go in, answers come out, faults are answers too.

Two implementations: TrustedSandbox (trusted.py), in this process and without limits, and SandboxHost (in the room
sandbox/), which drives workers. What they share is here: a task is opened, its calls are checked against the program's
signatures, and every answer is judged before it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from agvent import limits
from agvent.agents.authoring.annotations import fits
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.authoring.purity import copied, is_shared
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.secrecy.hidden_fields import HostKeys, bound_to
from agvent.agents.travel.stop import Decision, Stop
from agvent.errors import AdmissionError, EventError, SecretError, WireError
from agvent.event import Value, checked
from agvent.wire.codec import decode_visitor, encode_value
from agvent.wire.parts import Answered, BehaviourCall

NO_ROUTE: Final = "its program has no route"


class Task(msgspec.Struct, frozen=True, gc=False):
    """One agvent, as the bytes of its event, and the calls on it. `principal` is its publisher."""

    principal: str
    event: bytes
    calls: tuple[BehaviourCall, ...]


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """An agvent that reached a subscriber which lets it `arrive`."""

    principal: str
    event: bytes
    subscriber: str
    context: dict[str, Any]


class ArrivalReply(msgspec.Struct, frozen=True, gc=False):
    """What an agvent said on its arrival: to the subscriber, and to its publisher. Nothing if it had a fault."""

    told: tuple[Any, ...] = ()
    answered: tuple[Any, ...] = ()
    fault: str = ""


class Quarantined(msgspec.Struct, frozen=True, gc=False):
    """A program of a principal's that is not run until a time (µs), and the fault that was one too many. With `call` it
    is that call of it which is not."""

    principal: str
    program: str
    type: str
    until: int
    fault: str
    call: str = ""


class Sandbox(Protocol):
    """Whoever runs programs."""

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        """The answers of each task's calls, in order."""

    def arrive(self, arrival: Arrival) -> ArrivalReply:
        """Lets an agvent arrive."""

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        """What each agvent's route decides at its stop."""

    def quarantined(self) -> tuple[Quarantined, ...]:
        """Who is in quarantine now."""

    def release(self, program: str) -> bool:
        """Ends the quarantine of a program; was it in one?"""


class Visit(NamedTuple):
    """An agvent that may run: the number of its task, its program, its state, and the calls that fit."""

    number: int
    principal: str
    program: Program
    state: dict[str, Value]
    calls: list[tuple[int, BehaviourCall]]


Driven = tuple[dict[str, Any], list[tuple[str, Any]]]
"""What the driver of a program takes: the state of an agvent, and calls, each a name and arguments, or None to read."""


def driven(asked: Iterable[tuple[Visit, str, tuple[Any, ...] | None]]) -> list[Driven]:
    """The calls on visits of one program. Each agvent's state stands once; where a call could change it, or its
    arguments, each call has its own."""
    given: list[Driven] = []
    last = None
    for visit, name, args in asked:
        if visit.program.may_change and (is_shared(args) or any(map(is_shared, visit.state.values()))):
            given.append((copied(visit.state), [(name, copied(args))]))
            last = None
        else:
            if visit is not last:
                given.append((visit.state, []))
            given[-1][1].append((name, args))
            last = visit
    return given


class OpenedTasks:
    """Tasks as they run: `visits` are for the programs, `answers` fill up, beginning with the faults known already.

    `inside`: the answers stay in the sandbox, so opaque attributes may be read.
    """

    def __init__(
        self, tasks: Sequence[Task], programs: Programs, keys: HostKeys | None, *, inside: bool = False
    ) -> None:
        self.tasks, self.inside = tasks, inside
        self.visits: list[Visit] = []
        self._answers: list[list[Any]] = [[None] * len(task.calls) for task in tasks]
        self._open = sum(len(task.calls) for task in tasks)
        for number, task in enumerate(tasks):
            try:
                program, state = opened(task.principal, task.event, programs, keys)
            except (AdmissionError, SecretError, WireError) as error:
                for place in range(len(task.calls)):
                    self.fault(number, place, error.message)
                continue
            self.visits.append(Visit(number, task.principal, program, state, self._fitting(number, task, program)))

    def _fitting(self, number: int, task: Task, program: Program) -> list[tuple[int, BehaviourCall]]:
        fitting = []
        for place, call in enumerate(task.calls):
            signature = program.signatures.get(call.name)
            misfit = signature.misfit(call.args) if signature else f"{program.type} has no behaviour {call.name}"
            if signature is not None and signature.opaque and not self.inside:
                misfit = f"{call.name} is opaque: filters compare it, nobody reads it"
            if misfit:
                self.fault(number, place, misfit)
            else:
                fitting.append((place, call))
        return fitting

    def fault(self, number: int, place: int, fault: str) -> None:
        self._answers[number][place] = Answered(self.tasks[number].calls[place], None, fault)
        self._open -= 1

    def answer(self, visit: Visit, place: int, value: Any, fault: str) -> Answered:
        """Judges what a program gave for a call. A tuple is the list that an event has for it."""
        value = list(value) if type(value) is tuple else value
        call = self.tasks[visit.number].calls[place]
        fault = fault[: limits.FAULT_CHARS_MAX] or misjudged(value, visit.program.signatures[call.name])
        answer = Answered(call, None if fault else value, fault)
        self._answers[visit.number][place] = answer
        self._open -= 1
        return answer

    def answered(self, number: int, place: int) -> Answered | None:
        """The answer that a call has by now."""
        answer: Answered | None = self._answers[number][place]
        return answer

    def answers(self) -> list[tuple[Answered, ...]]:
        """Every answer; each call has one."""
        assert self._open == 0
        return [tuple(answers) for answers in self._answers]


def opened(principal: str, event: bytes, programs: Programs, keys: HostKeys | None) -> tuple[Program, dict[str, Value]]:
    """An agvent's program, and the state that its behaviours see: the fields that they read, hidden ones too."""
    came = decode_visitor(event)
    if came.cargo is None:
        raise AdmissionError("the event has no program")
    program = programs.get(came.cargo.program)
    if came.type not in (None, program.type):  # one that is published under a topic alone has no type
        raise AdmissionError(f"the program is of type {program.type}, the event of {came.type}"[:200])
    fields = came.attributes
    if came.cargo.hidden:
        if keys is None:
            raise SecretError("this sandbox has no key for hidden fields")
        fields |= keys.reveal(came.cargo.hidden, bound_to(principal, program.type, program.hash))
    return program, {name: fields[name] for name in program.reads if name in fields}


PLAIN: Final[dict[str, tuple[type, ...]]] = {"bool": (bool,), "float": (float,)}
"""Answers that need no second look: every value of these types is one of an event, and small."""


def misjudged(value: Any, signature: Signature) -> str:
    """Why this cannot be the answer; empty if it can."""
    if type(value) in PLAIN.get(signature.returns, ()):
        return ""
    try:
        if not fits(value, signature.returns):
            return f"the answer is not of kind {signature.returns}"
        checked(value)
        size = len(encode_value(value))
    except (EventError, ValueError, TypeError, OverflowError, RecursionError):
        return "the answer is not a value that an event can hold"
    return "" if size <= limits.ANSWER_BYTES_MAX else f"the answer has {size} bytes"


def said(values: Iterable[Any]) -> str:
    """Why these cannot be what an agvent says on arrival; empty if they can."""
    size = 0
    try:
        for value in values:
            size += len(encode_value(checked(value)))
    except (EventError, ValueError, TypeError, OverflowError, RecursionError):
        return "its message is not a value that an event can hold"
    return "" if size <= limits.ANSWER_BYTES_MAX else f"its messages have {size} bytes"
