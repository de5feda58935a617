"""Who runs into limits too often is not run for a while: longer each time, and visible."""

from __future__ import annotations

import threading
from typing import NamedTuple

from agvent import limits
from agvent.agents.program import Program
from agvent.agents.sandbox import Quarantined


class Suspect(NamedTuple):
    """A program of a principal's."""

    principal: str
    program: str


class _Record:
    def __init__(self, type: str) -> None:
        self.type = type
        self.faults = 0  # limits and crashes since the last quarantine
        self.terms = 0  # quarantines so far
        self.until = 0
        self.fault = ""


class Quarantine:
    """Counts limits and crashes. Times are µs and come in as arguments.

    A program whose term is over has one fault left: it was warned. Threads may use it together.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[Suspect, _Record] = {}

    def fault(self, principal: str, program: Program, fault: str, now: int) -> bool:
        """Notes a limit or a crash; does the program go into quarantine for it?"""
        with self._lock:
            record = self._records.setdefault(Suspect(principal, program.hash), _Record(program.type))
            record.faults += 1
            if record.faults < (1 if record.terms else limits.FAULTS_MAX):
                return False
            term = min(limits.QUARANTINE_US << record.terms, limits.QUARANTINE_MAX_US)
            record.faults, record.fault, record.until = 0, fault, now + term
            record.terms += 1
            return True

    def holds(self, principal: str, program: str, now: int) -> bool:
        """Is this program in quarantine?"""
        record = self._records.get(Suspect(principal, program))
        return record is not None and now < record.until

    def held(self, now: int) -> tuple[Quarantined, ...]:
        """All that are in quarantine now."""
        with self._lock:
            return tuple(
                Quarantined(suspect.principal, suspect.program, record.type, record.until, record.fault)
                for suspect, record in self._records.items()
                if now < record.until
            )

    def release(self, program: str, now: int) -> bool:
        """Forgets what a program did; was it in quarantine?"""
        with self._lock:
            freed = [suspect for suspect in self._records if suspect.program == program]
            terms = [self._records.pop(suspect).until for suspect in freed]
        return any(now < until for until in terms)
