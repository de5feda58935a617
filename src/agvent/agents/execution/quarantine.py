"""Who runs into limits too often is not run for a while: longer each time, and visible.

A limit that a program ran into by itself, in its route, counts against the program; while it was tried, against its
principal, whose programs are then not tried. The arguments of a
call are a subscriber's choice, so what a call ran into counts against that call. Several such calls put all calls of
the program into quarantine but those that were answered before: whoever asks for those goes on to be answered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

from agvent import limits
from agvent.agents.authoring.program import Program
from agvent.agents.execution.sandbox import Quarantined


class Suspect(NamedTuple):
    """A program of a principal's."""

    principal: str
    program: str


class _Record:
    """One that is counted. After a term it has one fault left: it was warned."""

    def __init__(self, program: Program, call: str = "") -> None:
        self.type, self.program, self.call = program.type, program.hash, call
        self.faults = 0  # limits and crashes since the last quarantine
        self.terms = 0  # quarantines so far
        self.until = 0
        self.fault = ""

    def count(self, fault: str, now: int) -> None:
        self.faults += 1
        if self.faults < (1 if self.terms else limits.FAULTS_MAX):
            return
        term = min(limits.QUARANTINE_US << self.terms, limits.QUARANTINE_MAX_US)
        self.faults, self.fault, self.until = 0, fault, now + term
        self.terms += 1


class _File:
    """What there is against a program: by itself, by calls of it, each of them counted once, and by each call."""

    def __init__(self, program: Program) -> None:
        self.whole, self.calls = _Record(program), _Record(program)
        self.each: dict[bytes, _Record] = {}

    def records(self) -> Iterator[_Record]:
        yield from (self.whole, self.calls, *self.each.values())


class Quarantine:
    """Counts limits and crashes. Times are µs and come in as arguments. Threads may use it together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[Suspect, _File] = {}
        self._loads: dict[str, _Record] = {}  # by principal

    def load_fault(self, principal: str, program: Program, fault: str, now: int) -> None:
        """Notes a limit or a crash of a program that was tried."""
        with self._lock:
            record = self._loads.setdefault(principal, _Record(program, "loading"))
            record.type, record.program = program.type, program.hash
            record.count(fault, now)

    def holds_loads(self, principal: str, now: int) -> bool:
        """Are this principal's programs not to be tried?"""
        record = self._loads.get(principal)
        return record is not None and now < record.until

    def fault(self, principal: str, program: Program, fault: str, now: int) -> None:
        """Notes a limit or a crash that no subscriber chose."""
        with self._lock:
            self._file(principal, program).whole.count(fault, now)

    def call_fault(self, principal: str, program: Program, call: tuple[bytes, str], fault: str, now: int) -> None:
        """Notes a limit that a call ran into. `call` is its digest, and how it is shown."""
        digest, words = call
        with self._lock:
            file = self._file(principal, program)
            if digest not in file.each:
                file.calls.count(fault, now)
                file.each[digest] = _Record(program, words)
                if len(file.each) > limits.SUSPECT_CALLS_MAX:
                    del file.each[next(iter(file.each))]
            file.each[digest].count(fault, now)

    def _file(self, principal: str, program: Program) -> _File:
        return self._files.setdefault(Suspect(principal, program.hash), _File(program))

    def knows(self, principal: str, program: str) -> bool:
        """Is there anything against this program, or a call of it?"""
        return Suspect(principal, program) in self._files

    def holds(self, principal: str, program: str, now: int) -> bool:
        """Is this program in quarantine, by itself?"""
        file = self._files.get(Suspect(principal, program))
        return file is not None and now < file.whole.until

    def holds_call(self, principal: str, program: str, call: bytes, now: int, *, answered: bool) -> bool:
        """Is this call of a program in quarantine? `answered`: it was, before."""
        file = self._files.get(Suspect(principal, program))
        if file is None:
            return False
        own = file.each.get(call)
        until = max(file.whole.until, own.until if own is not None else 0, 0 if answered else file.calls.until)
        return now < until

    def suspects(self, principal: str, program: str) -> frozenset[bytes]:
        """The calls of a program that ran into a limit, by their digests."""
        file = self._files.get(Suspect(principal, program))
        if file is None:
            return frozenset()
        with self._lock:
            return frozenset(file.each)

    def held(self, now: int) -> tuple[Quarantined, ...]:
        """All that are in quarantine now."""
        with self._lock:
            records = [*self._loads.items()]
            records += [(suspect.principal, one) for suspect, file in self._files.items() for one in file.records()]
        return tuple(
            Quarantined(principal, one.program, one.type, one.until, one.fault, one.call)
            for principal, one in records
            if now < one.until
        )

    def release(self, program: str, now: int) -> bool:
        """Forgets what a program did; was it in quarantine, or a call of it?"""
        with self._lock:
            freed = [suspect for suspect in self._files if suspect.program == program]
            terms = [one.until for suspect in freed for one in self._files.pop(suspect).records()]
            loading = [principal for principal, one in self._loads.items() if one.program == program]
            terms += [self._loads.pop(principal).until for principal in loading]
        return any(now < until for until in terms)
