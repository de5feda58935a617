"""The warm sessions: one for each worker at most, the longest idle makes room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self, TypeVar

import pydantic_monty as monty

from agvent import limits
from agvent.agents.authoring.program import Program
from agvent.errors import SandboxFault
from agvent.sandbox.program_session import Allowance, Breach, ProgramSession

T = TypeVar("T")


class Key(NamedTuple):
    """Whose session it is: nothing is shared between two keys."""

    principal: str
    program: str
    seconds: float


NOBODY = Key("", "", 0.0)


class Workers:
    """`count` worker processes. At most `count` threads use them at once, each with one session."""

    def __init__(self, count: int) -> None:
        self._pool = monty.Monty(
            min_processes=count,
            max_processes=count,
            checkout_timeout=limits.WORKER_START_SECONDS_MAX,
            request_timeout=limits.WORKER_SILENCE_SECONDS_MAX,
            feed_duration_limit_grace=limits.WORKER_GRACE_SECONDS,
        )
        self.count = count
        self._lock = threading.Lock()
        self._idle: OrderedDict[Key, ProgramSession] = OrderedDict()
        self._busy = 0

    def __enter__(self) -> Self:
        try:
            self._pool.__enter__()
        except (OSError, RuntimeError, monty.MontyError) as error:
            raise SandboxFault(
                f"the sandbox's workers do not start: {error}"[:300], hint="is pydantic-monty-runtime installed?"
            ) from None
        return self

    def close(self) -> None:
        """Ends the sessions and the workers."""
        for session in self._idle.values():
            session.close()
        self._idle.clear()
        self._pool.__exit__(None, None, None)

    def worked(
        self,
        principal: str,
        program: Program,
        allowance: Allowance,
        seconds: float,
        work: Callable[[ProgramSession], T],
    ) -> T:
        """What some work in a session gives. If others had worn the session out, it is done once more in a new one."""
        try:
            with self.session(principal, program, allowance, seconds) as session:
                return work(session)
        except Breach as breach:
            if not breach.worn:
                raise
        with self.session(principal, program, allowance, seconds) as session:
            return work(session)

    @contextmanager
    def session(
        self, principal: str, program: Program, allowance: Allowance, seconds: float
    ) -> Iterator[ProgramSession]:
        """A session for a while, warm if there is one. One that was spoiled or has served its time is not kept."""
        key = Key(principal, program.hash, seconds)
        session = self._taken(key)
        try:
            if session is None:
                session = ProgramSession(self._pool, program, allowance, seconds)
            yield session
        except BaseException as error:
            is_sound = isinstance(error, Breach) and not error.spoiled
            if session is not None and not is_sound:
                session.batches = limits.SESSION_BATCHES_MAX
            raise
        finally:
            self._put(key, session)

    @contextmanager
    def empty(self, program: Program, allowance: Allowance, seconds: float) -> Iterator[ProgramSession]:
        """A session for one paused program, and for nothing after it."""
        self._taken(NOBODY)
        session = None
        try:
            session = ProgramSession(self._pool, program, allowance, seconds, load=False)
            yield session
        finally:
            if session is not None:
                session.batches = limits.SESSION_BATCHES_MAX
            self._put(NOBODY, session)

    def _taken(self, key: Key) -> ProgramSession | None:
        with self._lock:
            session = self._idle.pop(key, None)
            self._busy += 1
            full = session is None and len(self._idle) + self._busy > self.count
            gone = self._idle.popitem(last=False)[1] if full else None
        if gone is not None:
            gone.close()
        return session

    def _put(self, key: Key, session: ProgramSession | None) -> None:
        with self._lock:
            self._busy -= 1
            kept = session is not None and session.batches < limits.SESSION_BATCHES_MAX and key not in self._idle
            if kept and session is not None:
                self._idle[key] = session
        if session is not None and not kept:
            session.close()
