"""The sandbox host: tasks in, answers out, whatever the programs do.

A *turn* is a chunk of calls of one principal's program, in one worker. A principal has one turn at a time
(principal_queues.py), so it cannot take the workers from others. Each call of a turn goes one of these ways:

    quarantined   its program or this call ran into limits before: a fault, nothing runs
    kept          the same call on the same state was answered: behaviours are pure, the answer is given again
    together      it runs with the other calls of the chunk, in one feed of the worker
    alone         it runs by itself: it ran into a limit before, or a chunk that it was in did

If a chunk breaches a limit, nobody knows which call did it. So its calls run again, each alone: the guilty one has the
fault, the others have their answers. Calls that were answered before go first, suspects last, and all of them share the
time of one batch. Invariants:

- every call of a task has exactly one answer, a value or a fault, and an answer is judged before it leaves;
- a fault counts against the call that caused it, or against the program if it failed before any call began;
- nothing that a program does ends another principal's turn;
- an error that nobody foresaw ends at the boundary of its turn. It is a fault of that turn, and standard error says
  where it was raised, never with which values: those may be hidden fields.

To blame the whole program at the first breach is the obvious alternative, and wrong: arguments are a subscriber's
choice, so a stranger could put a publisher's program into quarantine. To run every call alone is another: a feed of the
worker costs more than most calls.

Cost: a chunk of BATCH_CALLS_MAX calls is one exchange with a worker; a breach costs at most the time of one more
batch and of the call that overruns it.
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
from agvent.agents.authoring.program import Program
from agvent.agents.execution.opaque_conditions import run_inside
from agvent.agents.execution.quarantine import Quarantine
from agvent.agents.execution.sandbox import (
    NO_ROUTE,
    Arrival,
    ArrivalReply,
    Driven,
    OpenedTasks,
    Quarantined,
    Task,
    Visit,
    driven,
    opened,
    said,
)
from agvent.agents.execution.signed_programs import Programs, SignedProgram
from agvent.agents.secrecy.hidden_fields import HostKeys
from agvent.agents.secrecy.paused_programs import belongs_to, close_snapshot, open_snapshot
from agvent.agents.travel.manager_agent import ManagerAgent
from agvent.agents.travel.stop import Decision, Stop
from agvent.errors import AdmissionError, SecretError, WireError
from agvent.sandbox.answer_cache import AnswerCache
from agvent.sandbox.principal_queues import PrincipalQueues
from agvent.sandbox.program_session import Allowance, Breach, ProgramSession
from agvent.sandbox.workers import Workers
from agvent.wire.codec import encode_value
from agvent.wire.parts import Answered

QUARANTINED = "in quarantine"
OUT_OF_TIME = "the batch's time is over"


class PendingCall(NamedTuple):
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
        self._kept = AnswerCache()
        self._known = AnswerCache(limits.CALLS_KNOWN_MAX)  # the calls that ended within their limits, by digest

    def __enter__(self) -> Self:
        self.workers.__enter__()
        self._queues = PrincipalQueues(self.workers.count)
        return self

    def __exit__(self, *_: object) -> None:
        self._queues.close()
        self.workers.close()

    def admit(self, signed: SignedProgram, *, load: bool = True) -> Program:
        """Takes code if its principal may bring it and it loads in a worker; an AdmissionError says why not."""
        known = signed.program.hash in self.programs
        program = self.programs.admit(signed)
        fault: list[str] = []

        def turn() -> None:
            fault.append(self._tried(signed.principal, program))

        if load:
            self._queues.submit(signed.principal, turn).result()
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
        batch = OpenedTasks(tasks, self.programs, self.keys, inside=inside)
        turns: list[Future[None]] = []
        for principal, program, chunk in self._chunks(batch):

            def turn(principal: str = principal, program: Program = program, chunk: list[PendingCall] = chunk) -> None:
                self._turn(batch, principal, program, chunk)

            turns.append(self._queues.submit(principal, turn))
        for done in turns:
            done.result()
        return batch.answers()

    def arrive(self, arrival: Arrival) -> ArrivalReply:
        try:
            program, state = opened(arrival.principal, arrival.event, self.programs, self.keys)
        except (AdmissionError, SecretError, WireError) as error:
            return ArrivalReply(fault=error.message)
        if not program.arrives:
            return ArrivalReply()
        came: list[ArrivalReply] = []

        def turn() -> None:
            try:
                came.append(self._arrived(arrival, program, state))
            except Exception as error:  # noqa: BLE001  the boundary of a turn
                came.append(ArrivalReply(fault=self._escaped(arrival.principal, program, error)))

        self._queues.submit(arrival.principal, turn).result()
        return came[0]

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        decided: list[Decision] = [Decision()] * len(stops)
        turns: list[Future[None]] = []
        for number, stop in enumerate(stops):

            def turn(number: int = number, stop: Stop = stop) -> None:
                decided[number] = self._routed(stop)

            turns.append(self._queues.submit(stop.principal, turn))
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

    def _chunks(self, batch: OpenedTasks) -> Iterator[tuple[str, Program, list[PendingCall]]]:
        """The calls of each principal's program, as many to a chunk as a worker takes at once."""
        order = sorted(batch.visits, key=_whose)
        for _, visits in groupby(order, key=_whose):
            asked = [one for visit in visits for one in _asked(visit)]
            for first in range(0, len(asked), limits.BATCH_CALLS_MAX):
                chunk = asked[first : first + limits.BATCH_CALLS_MAX]
                yield chunk[0].visit.principal, chunk[0].visit.program, chunk

    def _turn(self, batch: OpenedTasks, principal: str, program: Program, chunk: list[PendingCall]) -> None:
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

    def _ran(self, batch: OpenedTasks, principal: str, program: Program, chunk: list[PendingCall]) -> None:
        fresh, same = self._to_ask(batch, self._allowed(batch, principal, program, chunk))
        suspects = self._quarantine.suspects(principal, program.hash)
        alone = [one for one in fresh if one.call in suspects]
        together = [one for one in fresh if one.call not in suspects]
        allowance = self._allowance(principal)
        try:
            if together:
                run, seconds = partial(ProgramSession.run, tasks=_driven(together)), allowance.batch_seconds_max
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

    def _allowed(
        self, batch: OpenedTasks, principal: str, program: Program, chunk: list[PendingCall]
    ) -> list[PendingCall]:
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

    def _to_ask(
        self, batch: OpenedTasks, chunk: list[PendingCall]
    ) -> tuple[list[PendingCall], list[tuple[PendingCall, PendingCall]]]:
        """The calls to ask, and those that are the same as one of them. What is kept is answered here."""
        fresh: dict[bytes, PendingCall] = {}
        same: list[tuple[PendingCall, PendingCall]] = []
        for one in chunk:
            kept = self._kept.get(one.key)
            if kept is not None:
                batch.answer(one.visit, one.place, kept[0], "")
            elif one.key in fresh:
                same.append((one, fresh[one.key]))
            else:
                fresh[one.key] = one
        return list(fresh.values()), same

    def _answer(self, batch: OpenedTasks, one: PendingCall, value: Any, fault: str) -> None:
        answered = batch.answer(one.visit, one.place, value, fault)
        self._known.put(one.call, True)
        if not answered.fault:
            size = 0 if type(value) in (bool, int, float) else len(encode_value(answered.value))
            self._kept.put(one.key, (value,), size)

    def _alone(self, batch: OpenedTasks, principal: str, program: Program, chunk: list[PendingCall]) -> None:
        """Each call by itself, within the time of one batch for all."""
        allowance = self._allowance(principal)
        seconds, end = allowance.call_seconds_max, time.monotonic() + allowance.batch_seconds_max
        took: list[tuple[float, PendingCall]] = []
        for one in chunk:
            began = time.monotonic()
            if self._refuses(principal, program, one.call):
                batch.fault(one.visit.number, one.place, QUARANTINED)
            elif began > end:
                batch.fault(one.visit.number, one.place, OUT_OF_TIME)
            else:
                try:
                    run = partial(ProgramSession.run, tasks=_driven([one]))
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

    def _arrived(self, arrival: Arrival, program: Program, state: dict[str, Any]) -> ArrivalReply:
        principal, allowance = arrival.principal, self._allowance(arrival.principal)
        call = _digest(encode_value([principal, program.hash, ["arrive", [arrival.subscriber, arrival.context]]]))
        if self._refuses(principal, program, call):
            return ArrivalReply(fault=QUARANTINED)
        try:
            arrive = partial(ProgramSession.arrive, state=state, name=arrival.subscriber, context=arrival.context)
            seconds = allowance.arrival_seconds_max
            told, answered = self.workers.worked(principal, program, allowance, seconds, arrive)
        except Breach as breach:
            if breach.spoiled:
                self._breached(principal, program, (call, f"arrive({arrival.subscriber[:80]!r})"), breach)
            return ArrivalReply(fault=breach.fault)
        self._known.put(call, True)
        fault = said((*told, *answered))
        return ArrivalReply(fault=fault) if fault else ArrivalReply(tuple(told), tuple(answered))

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


def _begun(session: ProgramSession, state: dict[str, Any], stop: Stop) -> tuple[ManagerAgent, bytes]:
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


def _asked(visit: Visit) -> Iterator[PendingCall]:
    """The calls of a visit, each with the key of its answer: equal only for the same program, principal and state."""
    signatures = visit.program.signatures
    whose, known = encode_value([visit.principal, visit.program.hash]), _digest(encode_value(visit.state))
    for place, call in visit.calls:
        args = None if signatures[call.name].opaque else call.args
        said = _digest(whose + encode_value([call.name, call.args]))
        yield PendingCall(visit, place, call.name, args, said, said + known)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _words(one: PendingCall, *, inside: bool) -> str:
    """A call as a person is shown it; without its arguments if they may be of what is opaque."""
    said = "…" if inside else ", ".join(repr(arg)[:80] for arg in one.args or ())
    return f"{one.name}({said})"[: limits.FAULT_CHARS_MAX]


def _slowest(took: list[tuple[float, PendingCall]]) -> list[PendingCall]:
    """Those that took longest, half of the time together."""
    left, found = sum(seconds for seconds, _ in took) / 2, []
    for seconds, one in sorted(took, key=lambda pair: -pair[0]):
        if left > 0:
            found.append(one)
        left -= seconds
    return found


def _driven(chunk: list[PendingCall]) -> list[Driven]:
    return driven((one.visit, one.name, one.args) for one in chunk)


def _escape(error: Exception) -> str:
    return f"{type(error).__name__} in the sandbox host"


def report(error: Exception) -> None:
    """Says on standard error where something failed, and not with what: an error's text may quote what is hidden."""
    where = "".join(traceback.format_tb(error.__traceback__))
    print(f"{type(error).__name__} in the sandbox host, raised at\n{where}", end="", file=sys.stderr, flush=True)
