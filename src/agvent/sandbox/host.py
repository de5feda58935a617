"""The sandbox host: tasks in, answers out, whatever the programs do.

A turn is a chunk of calls of one principal's program. If it breaches a limit, its calls run again alone: the one that
did it has the fault, the others have their answers. A call that did it before runs alone from the start, after the
others. What a turn raises that nobody foresaw ends there too: it is a fault of that turn's, and where it was raised is
on standard error.
"""

from __future__ import annotations

import hashlib
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
from agvent.agents.sandbox import (
    NO_ROUTE,
    Arrival,
    Arrived,
    Driven,
    Opened,
    Quarantined,
    Task,
    Visit,
    driven,
    opened,
    said,
)
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
    """One call that a worker must answer: its visit, its place there, what the driver is given, the digest of the call
    on whatever agvent of its program, and the key of its answer."""

    visit: Visit
    place: int
    name: str
    args: tuple[Any, ...] | None
    call: bytes
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
        self._known = Kept(limits.CALLS_KNOWN_MAX)  # the calls that ended within their limits, by digest

    def __enter__(self) -> Self:
        self.workers.__enter__()
        self._lanes = Lanes(self.workers.count)
        return self

    def __exit__(self, *_: object) -> None:
        self._lanes.close()
        self.workers.close()

    def admit(self, signed: SignedProgram, *, load: bool = True) -> Program:
        """Takes code if its principal may bring it and it loads in a worker; an AdmissionError says why not."""
        known = signed.program.hash in self.programs
        program = self.programs.admit(signed)
        fault: list[str] = []

        def turn() -> None:
            fault.append(self._tried(signed.principal, program))

        if load:
            self._lanes.submit(signed.principal, turn).result()
        if any(fault):
            if not known:
                self.programs.forget(program.hash)
            raise AdmissionError(f"{program.type} does not load: {fault[0]}")
        return program

    def _tried(self, principal: str, program: Program) -> str:
        """Why a program does not load in a worker; empty if it does. A limit counts against its principal: the next
        program could be as slow."""
        if self._quarantine.holds_loads(principal, now_us()):
            return QUARANTINED
        allowance = self._allowance(principal)
        try:
            with self.workers.session(principal, program, allowance, allowance.batch_seconds_max):
                return ""
        except Breach as breach:
            if breach.spoiled and not breach.blameless:
                self._quarantine.load_fault(principal, program, breach.fault, now_us())
            return breach.fault
        except Exception as error:  # noqa: BLE001  the boundary of a turn
            report(error)
            self._quarantine.load_fault(principal, program, _escape(error), now_us())
            return _escape(error)

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
        self._quarantine.fault(principal, program, _escape(error), now_us())
        return _escape(error)

    def _ran(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> None:
        fresh, same = self._to_ask(batch, self._allowed(batch, principal, program, chunk))
        suspects = self._quarantine.suspects(principal, program.hash)
        alone = [one for one in fresh if one.call in suspects]
        together = [one for one in fresh if one.call not in suspects]
        allowance = self._allowance(principal)
        try:
            if together:
                run, seconds = partial(Session.run, tasks=_driven(together)), allowance.batch_seconds_max
                values, faults = self.workers.worked(principal, program, allowance, seconds, run)
                for number, (one, value) in enumerate(zip(together, values, strict=True)):
                    self._answer(batch, one, value, faults.get(number, ""))
        except Breach as breach:
            if breach.blameless:
                for one in together:
                    batch.fault(one.visit.number, one.place, breach.fault)
            else:
                alone = sorted(together, key=lambda one: self._known.get(one.call) is None) + alone
        self._alone(batch, principal, program, alone)
        for one, first in same:
            answered = batch.answered(first.visit.number, first.place)
            assert answered is not None
            batch.answer(one.visit, one.place, answered.value, answered.fault)

    def _allowed(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> list[Asked]:
        """The calls that are not in quarantine; the others have that for a fault."""
        if not self._quarantine.knows(principal, program.hash):
            return chunk
        refused = {one.call for one in chunk if self._refuses(principal, program, one.call)}
        for one in chunk:
            if one.call in refused:
                batch.fault(one.visit.number, one.place, QUARANTINED)
        return [one for one in chunk if one.call not in refused]

    def _refuses(self, principal: str, program: Program, call: bytes) -> bool:
        answered = self._known.get(call) is not None
        return self._quarantine.holds_call(principal, program.hash, call, now_us(), answered=answered)

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
        self._known.put(one.call, True)
        if not answered.fault:
            size = 0 if type(value) in (bool, int, float) else len(encode_value(answered.value))
            self._kept.put(one.key, (value,), size)

    def _alone(self, batch: Opened, principal: str, program: Program, chunk: list[Asked]) -> None:
        """Each call by itself, within the time of one batch for all."""
        allowance = self._allowance(principal)
        seconds, end = allowance.call_seconds_max, time.monotonic() + allowance.batch_seconds_max
        took: list[tuple[float, Asked]] = []
        for one in chunk:
            began = time.monotonic()
            if self._refuses(principal, program, one.call):
                batch.fault(one.visit.number, one.place, QUARANTINED)
            elif began > end:
                batch.fault(one.visit.number, one.place, OUT_OF_TIME)
            else:
                try:
                    run = partial(Session.run, tasks=_driven([one]))
                    (value,), faults = self.workers.worked(principal, program, allowance, seconds, run)
                    self._answer(batch, one, value, faults.get(0, ""))
                    took.append((time.monotonic() - began, one))
                except Breach as breach:
                    batch.fault(one.visit.number, one.place, breach.fault)
                    self._breached(principal, program, (one.call, _words(one, inside=batch.inside)), breach)
        if time.monotonic() > end:
            over = Breach(OUT_OF_TIME, spoiled=True)
            for one in _slowest(took):
                self._breached(principal, program, (one.call, _words(one, inside=batch.inside)), over)

    def _breached(self, principal: str, program: Program, call: tuple[bytes, str], breach: Breach) -> None:
        """Counts what a call ran into: against the program if it had not even loaded."""
        if breach.loading and not breach.blameless:
            self._quarantine.fault(principal, program, breach.fault, now_us())
        elif not breach.blameless:
            self._known.drop(call[0])
            self._quarantine.call_fault(principal, program, call, breach.fault, now_us())

    def _arrived(self, arrival: Arrival, program: Program, state: dict[str, Any]) -> Arrived:
        principal, allowance = arrival.principal, self._allowance(arrival.principal)
        call = _digest(encode_value([principal, program.hash, ["arrive", [arrival.subscriber, arrival.context]]]))
        if self._refuses(principal, program, call):
            return Arrived(fault=QUARANTINED)
        try:
            arrive = partial(Session.arrive, state=state, name=arrival.subscriber, context=arrival.context)
            seconds = allowance.arrival_seconds_max
            told, answered = self.workers.worked(principal, program, allowance, seconds, arrive)
        except Breach as breach:
            if breach.spoiled:
                self._breached(principal, program, (call, f"arrive({arrival.subscriber[:80]!r})"), breach)
            return Arrived(fault=breach.fault)
        self._known.put(call, True)
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
                agent = ManagerAgent(stop.surroundings)
                paused = open_snapshot(self._keys(), stop.snapshot, state, bound)
                with self.workers.empty(program, allowance, seconds) as session:
                    dump = session.resume(paused, agent)
            else:
                begin = partial(_begun, state=state, stop=stop)
                agent, dump = self.workers.worked(principal, program, allowance, seconds, begin)
            return agent.decision(close_snapshot(self._keys(), dump, state, bound, os.urandom) if dump else b"")
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
    whose, known = encode_value([visit.principal, visit.program.hash]), _digest(encode_value(visit.state))
    for place, call in visit.calls:
        args = None if signatures[call.name].opaque else call.args
        said = _digest(whose + encode_value([call.name, call.args]))
        yield Asked(visit, place, call.name, args, said, said + known)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _words(one: Asked, *, inside: bool) -> str:
    """A call as a person is shown it; without its arguments if they may be of what is opaque."""
    said = "…" if inside else ", ".join(repr(arg)[:80] for arg in one.args or ())
    return f"{one.name}({said})"[: limits.FAULT_CHARS_MAX]


def _slowest(took: list[tuple[float, Asked]]) -> list[Asked]:
    """Those that took longest, half of the time together."""
    left, found = sum(seconds for seconds, _ in took) / 2, []
    for seconds, one in sorted(took, key=lambda pair: -pair[0]):
        if left > 0:
            found.append(one)
        left -= seconds
    return found


def _driven(chunk: list[Asked]) -> list[Driven]:
    return driven((one.visit, one.name, one.args) for one in chunk)


def _escape(error: Exception) -> str:
    return f"{type(error).__name__} in the sandbox host"


def report(error: Exception) -> None:
    """Says on standard error where something failed, and not with what: an error's text may quote what is hidden."""
    where = "".join(traceback.format_tb(error.__traceback__))
    print(f"{type(error).__name__} in the sandbox host, raised at\n{where}", end="", file=sys.stderr, flush=True)
