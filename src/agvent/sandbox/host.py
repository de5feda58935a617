"""The sandbox host: tasks in, answers out, whatever the programs do.

A turn is a chunk of calls of one principal's program. If it breaches a limit, its calls run again alone: the one that
did it has the fault, the others have their answers. What a turn raises that nobody foresaw ends there too: it is a
fault of that turn's, and where it was raised is on standard error.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Self

from agvent import limits
from agvent.agents.code import Programs, SignedProgram
from agvent.agents.hiding import HostKeys
from agvent.agents.inside import run_inside
from agvent.agents.manager_agent import ManagerAgent
from agvent.agents.program import Program
from agvent.agents.quarantine import Quarantine
from agvent.agents.sandbox import NO_ROUTE, Arrival, Arrived, Opened, Quarantined, Task, Visit, opened, said
from agvent.agents.snapshots import belongs_to, close_snapshot, open_snapshot
from agvent.agents.stops import Decision, Stop
from agvent.errors import AdmissionError, SecretError, WireError
from agvent.sandbox.kept import Kept
from agvent.sandbox.lanes import Lanes
from agvent.sandbox.session import Allowance, Breach, Session
from agvent.sandbox.workers import Workers
from agvent.wire.codec import encode_value
from agvent.wire.parts import Answered

QUARANTINED = "in quarantine"
OUT_OF_TIME = "the batch's time is over"


class Asked(NamedTuple):
    """One call that a worker must answer: its visit, its place there, what the driver is given, and its key if kept."""

    visit: Visit
    place: int
    name: str
    args: tuple[Any, ...] | None
    key: bytes


class SandboxHost:
    """Programs of strangers in worker processes. Threads may use one host together."""

    def __init__(
        self,
        programs: Programs,
        keys: HostKeys | None = None,
        *,
        workers: int = 2,
        allowances: Mapping[str, Allowance] | None = None,
    ) -> None:
        self.programs, self.keys = programs, keys
        self.workers = Workers(workers)
        self._allowances = dict(allowances or {})
        self._quarantine = Quarantine()
        self._kept = Kept()

    def __enter__(self) -> Self:
        self.workers.__enter__()
        self._lanes = Lanes(self.workers.count)
        return self

    def __exit__(self, *_: object) -> None:
        self._lanes.close()
        self.workers.close()

    def admit(self, signed: SignedProgram) -> Program:
        """Takes code if its principal may bring it and it loads in a worker; an AdmissionError says why not."""
        known = signed.program.hash in self.programs
        program = self.programs.admit(signed)
        allowance = self._allowance(signed.principal)
        faults: list[str] = []

        def load() -> None:
            try:
                with self.workers.session(signed.principal, program, allowance, allowance.batch_seconds_max):
                    pass
            except Breach as breach:
                faults.append(breach.fault)
            except Exception as error:  # noqa: BLE001  the boundary of a turn
                faults.append(self._escaped(signed.principal, program, error))

        self._lanes.submit(signed.principal, load).result()
        if faults:
            if not known:
                self.programs.forget(program.hash)
            raise AdmissionError(f"{program.type} does not load: {faults[0]}")
        return program

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        return run_inside(tasks, self._run)

    def _run(self, tasks: Sequence[Task], inside: bool) -> list[tuple[Answered, ...]]:
        batch = Opened(tasks, self.programs, self.keys, inside=inside)
        turns: list[Future[None]] = []
        for principal, program, chunk in self._chunks(batch):

            def turn(principal: str = principal, program: Program = program, chunk: list[Asked] = chunk) -> None:
                self._turn(batch, principal, program, chunk)

            turns.append(self._lanes.submit(principal, turn))
        for done in turns:
            done.result()
        return batch.answers()

    def arrive(self, arrival: Arrival) -> Arrived:
        try:
            program, state = opened(arrival.principal, arrival.event, self.programs, self.keys)
        except (AdmissionError, SecretError, WireError) as error:
            return Arrived(fault=error.message)
        if not program.arrives:
            return Arrived()
        came: list[Arrived] = []

        def turn() -> None:
            try:
                came.append(self._arrived(arrival, program, state))
            except Exception as error:  # noqa: BLE001  the boundary of a turn
                came.append(Arrived(fault=self._escaped(arrival.principal, program, error)))

        self._lanes.submit(arrival.principal, turn).result()
        return came[0]

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        decided: list[Decision] = [Decision()] * len(stops)
        turns: list[Future[None]] = []
        for number, stop in enumerate(stops):

            def turn(number: int = number, stop: Stop = stop) -> None:
                decided[number] = self._routed(stop)

            turns.append(self._lanes.submit(stop.principal, turn))
        for done in turns:
            done.result()
        return decided

    def quarantined(self) -> tuple[Quarantined, ...]:
        return self._quarantine.held(now_us())

    def release(self, program: str) -> bool:
        return self._quarantine.release(program, now_us())

    def _allowance(self, principal: str) -> Allowance:
        return self._allowances.get(principal, DEFAULT)

    # Turns

    def _chunks(self, batch: Opened) -> Iterator[tuple[str, Program, list[Asked]]]:
        """The calls of each principal's program, as many to a chunk as a worker takes at once."""
        order = sorted(batch.visits, key=_whose)
        for _, visits in groupby(order, key=_whose):
            asked = [one for visit in visits for one in _asked(visit)]
            for first in range(0, len(asked), limits.BATCH_CALLS_MAX):
                chunk = asked[first : first + limits.BATCH_CALLS_MAX]
                yield chunk[0].visit.principal, chunk[0].visit.program, chunk

    def _turn(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> None:
        try:
            self._ran(batch, principal, program, chunk)
        except Exception as error:  # noqa: BLE001  the boundary of a turn
            fault = self._escaped(principal, program, error)
            for one in chunk:
                if batch.answered(one.visit.number, one.place) is None:
                    batch.fault(one.visit.number, one.place, fault)

    def _escaped(self, principal: str, program: Program, error: Exception) -> str:
        """The fault for what nobody foresaw; it counts as a limit does."""
        report(error)
        fault = f"{type(error).__name__} in the sandbox host"
        self._quarantine.fault(principal, program, fault, now_us())
        return fault

    def _ran(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> None:
        if self._quarantine.holds(principal, program.hash, now_us()):
            for one in chunk:
                batch.fault(one.visit.number, one.place, QUARANTINED)
            return
        fresh, same = self._to_ask(batch, chunk)
        allowance = self._allowance(principal)
        try:
            if fresh:
                run, seconds = partial(Session.run, tasks=_tasks(fresh)), allowance.batch_seconds_max
                values, faults = self.workers.worked(principal, program, allowance, seconds, run)
                for number, (one, value) in enumerate(zip(fresh, values, strict=True)):
                    self._answer(batch, one, value, faults.get(number, ""))
        except Breach as breach:
            if breach.blameless:
                for one in fresh:
                    batch.fault(one.visit.number, one.place, breach.fault)
            else:
                self._alone(batch, principal, program, fresh)
        for one, first in same:
            answered = batch.answered(first.visit.number, first.place)
            assert answered is not None
            batch.answer(one.visit, one.place, answered.value, answered.fault)

    def _to_ask(self, batch: Opened, chunk: list[Asked]) -> tuple[list[Asked], list[tuple[Asked, Asked]]]:
        """The calls to ask, and those that are the same as one of them. What is kept is answered here."""
        fresh: dict[bytes, Asked] = {}
        same: list[tuple[Asked, Asked]] = []
        for one in chunk:
            kept = self._kept.get(one.key)
            if kept is not None:
                batch.answer(one.visit, one.place, kept[0], "")
            elif one.key in fresh:
                same.append((one, fresh[one.key]))
            else:
                fresh[one.key] = one
        return list(fresh.values()), same

    def _answer(self, batch: Opened, one: Asked, value: Any, fault: str) -> None:
        answered = batch.answer(one.visit, one.place, value, fault)
        if not answered.fault:
            self._kept.put(one.key, (value,))

    def _alone(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> None:
        """Each call by itself, within the time of one batch for all."""
        allowance = self._allowance(principal)
        seconds, end = allowance.call_seconds_max, time.monotonic() + allowance.batch_seconds_max
        for one in chunk:
            if self._quarantine.holds(principal, program.hash, now_us()):
                batch.fault(one.visit.number, one.place, QUARANTINED)
            elif time.monotonic() > end:
                batch.fault(one.visit.number, one.place, OUT_OF_TIME)
            else:
                try:
                    run = partial(Session.run, tasks=_tasks([one]))
                    (value,), faults = self.workers.worked(principal, program, allowance, seconds, run)
                    self._answer(batch, one, value, faults.get(0, ""))
                except Breach as breach:
                    batch.fault(one.visit.number, one.place, breach.fault)
                    if not breach.blameless:
                        self._quarantine.fault(principal, program, breach.fault, now_us())
        if time.monotonic() > end:
            self._quarantine.fault(principal, program, OUT_OF_TIME, now_us())

    def _arrived(self, arrival: Arrival, program: Program, state: dict[str, Any]) -> Arrived:
        principal, allowance = arrival.principal, self._allowance(arrival.principal)
        if self._quarantine.holds(principal, program.hash, now_us()):
            return Arrived(fault=QUARANTINED)
        try:
            arrive = partial(Session.arrive, state=state, name=arrival.subscriber, context=arrival.context)
            seconds = allowance.arrival_seconds_max
            told, answered = self.workers.worked(principal, program, allowance, seconds, arrive)
        except Breach as breach:
            if breach.spoiled and not breach.blameless:
                self._quarantine.fault(principal, program, breach.fault, now_us())
            return Arrived(fault=breach.fault)
        fault = said((*told, *answered))
        return Arrived(fault=fault) if fault else Arrived(tuple(told), tuple(answered))

    def _routed(self, stop: Stop) -> Decision:
        principal = stop.principal
        try:
            program, state = opened(principal, stop.event, self.programs, self.keys)
        except (AdmissionError, SecretError, WireError) as error:
            return Decision(fault=error.message)
        if not program.routes:
            return Decision(fault=NO_ROUTE)
        if self._quarantine.holds(principal, program.hash, now_us()):
            return Decision(fault=QUARANTINED)
        try:
            return self._executed(stop, program, state)
        except Exception as error:  # noqa: BLE001  the boundary of a turn
            return Decision(fault=self._escaped(principal, program, error))

    def _executed(self, stop: Stop, program: Program, state: dict[str, Any]) -> Decision:
        principal, allowance = stop.principal, self._allowance(stop.principal)
        seconds, bound = allowance.stop_seconds_max, belongs_to(principal, stop.event)
        try:
            if stop.snapshot:
                agent, paused = ManagerAgent(stop.surroundings), open_snapshot(self._keys(), stop.snapshot, bound)
                with self.workers.empty(program, allowance, seconds) as session:
                    dump = session.resume(paused, agent)
            else:
                begin = partial(_begun, state=state, stop=stop)
                agent, dump = self.workers.worked(principal, program, allowance, seconds, begin)
            return agent.decision(close_snapshot(self._keys(), dump, bound, os.urandom) if dump else b"")
        except SecretError as error:
            return Decision(fault=error.message)
        except Breach as breach:
            if breach.spoiled and not breach.blameless:
                self._quarantine.fault(principal, program, breach.fault, now_us())
            return Decision(fault=breach.fault)

    def _keys(self) -> HostKeys:
        if self.keys is None:
            raise SecretError("this sandbox has no key for snapshots")
        return self.keys


DEFAULT = Allowance()


def _begun(session: Session, state: dict[str, Any], stop: Stop) -> tuple[ManagerAgent, bytes]:
    """A route from its first line: whom it talked to, and the dump if it moves."""
    agent = ManagerAgent(stop.surroundings)
    dump = session.route(state, agent)
    if dump:
        session.batches = limits.SESSION_BATCHES_MAX  # it stands in the middle of its program
    return agent, dump


def now_us() -> int:
    """Quarantine is for seconds of this machine, so its clock is one that nobody sets."""
    return time.monotonic_ns() // 1_000


def _whose(visit: Visit) -> tuple[str, str]:
    return visit.principal, visit.program.hash


def _asked(visit: Visit) -> Iterator[Asked]:
    """The calls of a visit, each with the key of its answer: equal only for the same program, principal and state."""
    signatures = visit.program.signatures
    known = encode_value([visit.principal, visit.program.hash, visit.state])
    for place, call in visit.calls:
        args = None if signatures[call.name].opaque else call.args
        yield Asked(visit, place, call.name, args, known + encode_value([call.name, call.args]))


def _tasks(chunk: list[Asked]) -> list[tuple[dict[str, Any], list[tuple[str, Any]]]]:
    """What the driver of a program takes: each agvent's state once, with its calls."""
    tasks: list[tuple[dict[str, Any], list[tuple[str, Any]]]] = []
    last = None
    for visit, _, name, args, _ in chunk:
        if visit is not last:
            tasks.append((visit.state, []))
            last = visit
        tasks[-1][1].append((name, args))
    return tasks


def report(error: Exception) -> None:
    """Says on standard error where something failed, and not with what: an error's text may quote what is hidden."""
    where = "".join(traceback.format_tb(error.__traceback__))
    print(f"{type(error).__name__} in the sandbox host, raised at\n{where}", end="", file=sys.stderr, flush=True)
