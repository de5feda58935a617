"""A sandbox host as a process of its own, and the side of it that a broker's process holds.

The host has the private keys; this side has none, and sees events and answers only. A host that dies is started again
and told again what it had been told; what was under way is asked once more, each request alone, and if the host dies of
that too, it is a fault of that request's.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

from agvent import limits
from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Quarantined, Task
from agvent.agents.execution.signed_programs import SignedProgram
from agvent.agents.travel.stop import Decision, Stop
from agvent.errors import AdmissionError, SandboxFault, WireError
from agvent.sandbox.pipe_messages import (
    HostAdmit,
    HostArrive,
    HostBegin,
    HostForget,
    HostListQuarantined,
    HostRelease,
    HostRoute,
    HostRun,
    HostTrust,
    Request,
    fault_reply,
    read,
    write,
)
from agvent.sandbox.program_session import Allowance
from agvent.sandbox.request_gate import RequestGate
from agvent.wire.parts import Answered

DIED = "the sandbox host died"


class _Died(Exception):
    """The process ended before it replied."""


class _Running:
    """One process, from its start to its end."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._requests, self._replies = self.process.stdin, self.process.stdout
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self.ended = False
        self._reader = threading.Thread(target=self._read, name="sandbox replies", daemon=True)
        self._reader.start()

    def ask(self, request: Request) -> Any:
        """The reply to a request."""
        reply: Future[Any] = Future()
        try:
            with self._lock:
                if self.ended:
                    raise _Died
                self._waiting[request.number] = reply
                write(self._requests, request)
        except (OSError, ValueError):  # it is ending, or its pipe was closed here
            self.ended = True  # though its replies may not have ended: who asks again asks the next process
            raise _Died from None
        return reply.result()

    def _read(self) -> None:
        try:
            while (reply := read(self._replies)) is not None:
                self._waiting.pop(reply.number).set_result(reply)
        except (OSError, ValueError, WireError):
            self.process.kill()
        with self._lock:
            self.ended = True
            for waiting in self._waiting.values():
                waiting.set_exception(_Died())
            self._waiting.clear()

    def close(self) -> None:
        """Ends the process by ending its input, and waits for it; one that takes long is killed."""
        with self._lock:
            try:
                self._requests.close()
            except OSError:
                self.process.kill()  # it died with a request half read
        try:
            self.process.wait(limits.HOST_CLOSE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self._replies.close()


class HostProcess:
    """A sandbox whose programs, workers and keys are in another process. Threads may use it together."""

    def __init__(
        self,
        key_file: Path,
        *,
        make_key: bool = False,
        grants: Mapping[str, frozenset[bytes]] | None = None,
        allowances: Mapping[str, Allowance] | None = None,
        workers: int = 2,
    ) -> None:
        make = ["--make"] if make_key else []  # by the host, so that this process never has the private key
        self.command = [sys.executable, "-m", "agvent.sandbox", *make, str(key_file)]
        """What starts the host."""
        self._grants, self._allowances, self._workers = dict(grants or {}), dict(allowances or {}), workers
        self._numbers = count(1)
        self._gate = RequestGate()
        self._lock = threading.Lock()
        self._admitted: dict[str, SignedProgram] = {}  # the least recently needed first
        self._shedding = threading.Lock()  # held while programs make room: one that went may come again only after
        self._is_closed = False  # nobody starts it again
        self.starts = 0
        """How often the host was started: one more than it died."""
        self.key = b""
        """The public key that publishers hide fields for."""

    def __enter__(self) -> Self:
        self._running = self._start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
        self._running.close()

    @property
    def pid(self) -> int:
        """The process that the host is in now."""
        return self._running.process.pid

    def grant(self, principal: str, key: bytes) -> None:
        """Lets a principal bring code that is signed with this key."""
        with self._lock:
            self._grants[principal] = self._grants.get(principal, frozenset()) | {key}
        self._asked(lambda number: HostTrust(number, principal, key))

    def has(self, program: str) -> bool:
        """Was this program brought to the host? It counts as needed now."""
        with self._lock:
            signed = self._admitted.pop(program, None)
            if signed is not None:
                self._admitted[program] = signed
        return signed is not None

    def admit(self, signed: SignedProgram) -> None:
        """Brings code to the host; an AdmissionError says why it does not take it. If its principal has many there, or
        the host has, the least recently needed of those goes, and may be brought again."""
        self._make_room(signed.principal)
        try:
            reply = self._tried(lambda number: HostAdmit(number, signed))
        except _Died:
            raise AdmissionError(DIED) from None
        if reply.reason:
            raise AdmissionError(reply.reason)
        with self._lock:
            self._admitted[signed.program.hash] = signed

    def _make_room(self, principal: str) -> None:
        with self._shedding:
            while (program := self._excess(principal)) is not None:
                self._asked(lambda number, program=program: HostForget(number, program))  # type: ignore[misc]
                with self._lock:
                    del self._admitted[program]

    def _excess(self, principal: str) -> str | None:
        """The program that goes before another of this principal's comes: one of its own, or of whoever has most."""
        with self._lock:
            owners = [(one.principal, program) for program, one in self._admitted.items()]
        counts = Counter(owner for owner, _ in owners)
        if counts[principal] >= limits.PRINCIPAL_PROGRAMS_MAX:
            most = {principal}
        elif len(owners) >= limits.PROGRAMS_MAX - limits.HOST_REQUESTS_MAX:
            most = {owner for owner in counts if counts[owner] == max(counts.values())}
        else:
            return None
        return next(program for owner, program in owners if owner in most)

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        return list(self._answered(lambda number: HostRun(number, tuple(tasks))).answers)

    def arrive(self, arrival: Arrival) -> ArrivalReply:
        arrived: ArrivalReply = self._answered(lambda number: HostArrive(number, arrival)).arrived
        return arrived

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        return list(self._answered(lambda number: HostRoute(number, tuple(stops))).decisions)

    def quarantined(self) -> tuple[Quarantined, ...]:
        found: tuple[Quarantined, ...] = self._asked(HostListQuarantined).quarantined
        return found

    def release(self, program: str) -> bool:
        return bool(self._asked(lambda number: HostRelease(number, program)).held)

    def _answered(self, request: Callable[[int], Request]) -> Any:
        """The reply to a request for a program; a fault, if the host died of it."""
        try:
            return self._asked(request)
        except SandboxFault:
            return fault_reply(request(0), DIED)

    def _asked(self, request: Callable[[int], Request]) -> Any:
        try:
            return self._tried(request)
        except _Died:
            raise SandboxFault(DIED, hint="its last words are on standard error") from None

    def _tried(self, request: Callable[[int], Request]) -> Any:
        """The reply to a request; _Died if the host dies of it alone."""
        for at_host in (self._gate.together, self._gate.alone):
            with at_host(), suppress(_Died):
                return self._living().ask(request(next(self._numbers)))
        raise _Died

    def _living(self) -> _Running:
        """The process, started again if it has ended."""
        with self._lock:
            if self._is_closed:
                raise SandboxFault("the sandbox host was closed")
            if self._running.ended:
                self._running.close()
                self._running = self._start()
            return self._running

    def _start(self) -> _Running:
        self.starts += 1
        running = _Running(self.command)
        try:
            begin = HostBegin(next(self._numbers), self._grants, self._allowances, self._workers)
            self.key = running.ask(begin).key
            for signed in self._admitted.values():
                running.ask(HostAdmit(next(self._numbers), signed, load=False))
        except _Died:
            running.close()
            raise SandboxFault("the sandbox host does not start", hint="its last words are on standard error") from None
        return running
