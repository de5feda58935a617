"""A sandbox for trusted programs: in this process, without limits, the same every time.

For the simulator and for tests of a publisher's own agvents. Python runs the text of a program, not the class it came
from, so that what runs here is what runs in a worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agvent.agents.code import Programs
from agvent.agents.hiding import HostKeys
from agvent.agents.inside import run_inside
from agvent.agents.manager_agent import ManagerAgent
from agvent.agents.mutation import copied
from agvent.agents.program import Program
from agvent.agents.replaying import Moved, Replay
from agvent.agents.sandbox import NO_ROUTE, Arrival, Arrived, Opened, Quarantined, Task, driven, opened, said
from agvent.agents.stops import Decision, Stop
from agvent.errors import AdmissionError, SecretError, WireError
from agvent.wire.parts import Answered


class TrustedSandbox:
    """Runs the programs it was given."""

    def __init__(self, programs: Programs, keys: HostKeys | None = None) -> None:
        self.programs, self.keys = programs, keys
        self._loaded: dict[str, dict[str, Any]] = {}

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        return run_inside(tasks, self._run)

    def _run(self, tasks: Sequence[Task], inside: bool) -> list[tuple[Answered, ...]]:
        batch = Opened(tasks, self.programs, self.keys, inside=inside)
        for visit in batch.visits:
            signatures = visit.program.signatures
            asked = [(visit, call.name, None if signatures[call.name].opaque else call.args) for _, call in visit.calls]
            values, faults = self._load(visit.program)["_agvent_run"](driven(asked))
            for number, (place, _) in enumerate(visit.calls):
                batch.answer(visit, place, values[number], faults.get(number, ""))
        return batch.answers()

    def arrive(self, arrival: Arrival) -> Arrived:
        try:
            program, state = opened(arrival.principal, arrival.event, self.programs, self.keys)
        except (AdmissionError, SecretError, WireError) as error:
            return Arrived(fault=error.message)
        if not program.arrives:
            return Arrived()
        try:
            told, answered = self._load(program)["_agvent_arrive"](state, arrival.subscriber, copied(arrival.context))
        except Exception as error:  # noqa: BLE001  a program may raise anything, and that is its fault
            return Arrived(fault=type(error).__name__)
        fault = said((*told, *answered))
        return Arrived(fault=fault) if fault else Arrived(tuple(told), tuple(answered))

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
        except Moved:
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
            exec(compile(program.text, f"<{program.type}>", "exec"), scope)
            self._loaded[program.hash] = scope
        return self._loaded[program.hash]
