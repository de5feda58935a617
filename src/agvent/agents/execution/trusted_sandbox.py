"""A sandbox for trusted programs: in this process, without limits, the same every time.

For the simulator and for tests of a publisher's own agvents. Python runs the text of a program, not the class it came
from, so that what runs here is what runs in a worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final

from agvent.agents.authoring.program import Program
from agvent.agents.authoring.purity import copied
from agvent.agents.execution.opaque_conditions import run_inside
from agvent.agents.execution.sandbox import (
    NO_ROUTE,
    Arrival,
    ArrivalReply,
    OpenedTasks,
    Quarantined,
    Task,
    driven,
    opened,
    said,
)
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.secrecy.hidden_fields import HostKeys
from agvent.agents.travel.manager_agent import ManagerAgent
from agvent.agents.travel.replay import ProgramMoved, Replay
from agvent.agents.travel.stop import Decision, Stop
from agvent.errors import AdmissionError, SecretError, WireError
from agvent.wire.parts import Answered

PROGRAMS_KEPT: Final = 64
"""Compiled programs of this process: a simulator starts a sandbox for each broker of each run."""


@lru_cache(PROGRAMS_KEPT)
def _compiled(text: str, type: str) -> CodeType:
    """The code of a program; each sandbox has its own globals to run it in."""
    return compile(text, f"<{type}>", "exec")


class TrustedSandbox:
    """Runs the programs it was given."""

    def __init__(self, programs: Programs, keys: HostKeys | None = None) -> None:
        self.programs, self.keys = programs, keys
        self._loaded: dict[str, dict[str, Any]] = {}

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        return run_inside(tasks, self._run)

    def _run(self, tasks: Sequence[Task], inside: bool) -> list[tuple[Answered, ...]]:
        batch = OpenedTasks(tasks, self.programs, self.keys, inside=inside)
        for visit in batch.visits:
            signatures = visit.program.signatures
            asked = [(visit, call.name, None if signatures[call.name].opaque else call.args) for _, call in visit.calls]
            values, faults = self._load(visit.program)["_agvent_run"](driven(asked))
            for number, (place, _) in enumerate(visit.calls):
                batch.answer(visit, place, values[number], faults.get(number, ""))
        return batch.answers()

    def arrive(self, arrival: Arrival) -> ArrivalReply:
        try:
            program, state = opened(arrival.principal, arrival.event, self.programs, self.keys)
        except (AdmissionError, SecretError, WireError) as error:
            return ArrivalReply(fault=error.message)
        if not program.arrives:
            return ArrivalReply()
        try:
            told, answered = self._load(program)["_agvent_arrive"](state, arrival.subscriber, copied(arrival.context))
        except Exception as error:  # noqa: BLE001  a program may raise anything, and that is its fault
            return ArrivalReply(fault=type(error).__name__)
        fault = said((*told, *answered))
        return ArrivalReply(fault=fault) if fault else ArrivalReply(tuple(told), tuple(answered))

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        return [self._route(stop) for stop in stops]

    def _route(self, stop: Stop) -> Decision:
        try:
            program, state = opened(stop.principal, stop.event, self.programs, self.keys)
            replay = Replay(ManagerAgent(stop.surroundings), stop.snapshot)
        except (AdmissionError, SecretError, WireError) as error:
            return Decision(fault=error.message)
        if not program.routes:
            return Decision(fault=NO_ROUTE)
        scope = self._load(program)
        scope["_agvent_say"] = replay.say
        try:
            scope["_agvent_route"](state, replay.first)
        except ProgramMoved:
            return replay.agent.decision(replay.snapshot())
        except Exception as error:  # noqa: BLE001  a program may raise anything, and that is its fault
            return Decision(fault=type(error).__name__)
        return replay.agent.decision()

    def quarantined(self) -> tuple[Quarantined, ...]:
        """Nobody: what is trusted has no limits to run into."""
        return ()

    def release(self, program: str) -> bool:  # noqa: ARG002  the interface's
        return False

    def _load(self, program: Program) -> dict[str, Any]:
        if program.hash not in self._loaded:
            scope: dict[str, Any] = {}
            exec(_compiled(program.text, program.type), scope)
            self._loaded[program.hash] = scope
        return self._loaded[program.hash]
