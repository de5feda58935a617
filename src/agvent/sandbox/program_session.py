"""One program in one Monty worker. Every way in which that can fail is a Breach; the host decides whose fault it is.

The worker has no files, no sockets and no environment. Its clock stands still, its random numbers are seeded and its
sleep takes no time, so that a behaviour has nothing to depend on but its agvent and its arguments.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final

import msgspec
import pydantic_monty as monty

from agvent import limits
from agvent.agents.authoring.program import Program
from agvent.agents.travel.manager_agent import ManagerAgent
from agvent.event import EPOCH

if find_spec("opentelemetry") is None:
    # Monty looks for it at every feed, through all of sys.path, which is twice the feed itself. None says: not there.
    sys.modules["opentelemetry"] = None  # type: ignore[assignment]

STILL: Final[monty.OSPolicy] = {
    "datetime": EPOCH,
    "timezone": "utc",
    "sleep": "zero",
    "process_time": "zero",
    "random_start": {"seed": 0},
}
"""What a program sees of the world: nothing that changes."""


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """What a principal's programs may use. The defaults are those of limits.py."""

    call_seconds_max: float = limits.CALL_SECONDS_MAX
    batch_seconds_max: float = limits.BATCH_SECONDS_MAX
    arrival_seconds_max: float = limits.ARRIVAL_SECONDS_MAX
    stop_seconds_max: float = limits.STOP_SECONDS_MAX
    memory_bytes_max: int = limits.SANDBOX_BYTES_MAX
    depth_max: int = limits.SANDBOX_DEPTH_MAX
    printed_bytes_max: int = limits.PRINTED_BYTES_MAX


class Breach(Exception):
    """A limit, a crash or a lie. `spoiled`: the session cannot be used again; `blameless`: it never began, because
    there was no worker; `worn`: what ran before it had used the session up; `loading`: the program had not loaded yet.
    Never leaves this room."""

    def __init__(self, fault: str, *, spoiled: bool, blameless: bool = False, worn: bool = False) -> None:
        super().__init__(fault)
        self.fault, self.spoiled, self.blameless, self.worn = fault, spoiled, blameless, worn
        self.loading = False


class ProgramSession:
    """A program that is loaded and ready to be called; `seconds` is the time of each feed. With `load` False there is
    nothing in it yet, and `resume` puts a paused program there."""

    def __init__(
        self, pool: monty.Monty, program: Program, allowance: Allowance, seconds: float, *, load: bool = True
    ) -> None:
        self.program, self.allowance, self._seconds = program, allowance, seconds
        self.batches = 0
        self._session = pool.checkout(
            script_name=f"{program.type}.py", limits=_limits(allowance, seconds), os_policy=STILL
        )
        try:
            self._session.__enter__()
        except (OSError, RuntimeError, monty.MontyError) as error:
            raise Breach(f"no worker: {type(error).__name__}", spoiled=True, blameless=True) from None
        try:
            if load:
                self._feed(program.text)
        except BaseException as error:
            if isinstance(error, Breach):
                error.loading = True
            self.close()
            raise

    def run(self, tasks: list[tuple[dict[str, Any], list[tuple[str, Any]]]]) -> tuple[list[Any], dict[int, str]]:
        """What the driver of the program says to these tasks: a value for each call, and which of them raised what."""
        self.batches += 1
        given = self._feed("_agvent_run(tasks)", {"tasks": tasks})
        asked = sum(len(calls) for _, calls in tasks)
        if not (isinstance(given, tuple) and len(given) == 2 and _are_answers(*given, asked)):
            raise Breach("the program gave no answers", spoiled=True)
        return given

    def arrive(self, state: dict[str, Any], name: str, context: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """What an agvent says on its arrival."""
        self.batches += 1
        given = self._feed("_agvent_arrive(state, name, context)", {"state": state, "name": name, "context": context})
        if not (isinstance(given, tuple) and len(given) == 2 and all(isinstance(one, list) for one in given)):
            raise Breach("the program gave no answers", spoiled=True)
        return given

    def route(self, state: dict[str, Any], agent: ManagerAgent) -> bytes:
        """Executes a route from its first line; gives the dump if it moves, else nothing."""
        self.batches += 1
        inputs = {"state": state, "name": agent.surroundings.server}
        return self._talk(
            lambda: self._session.feed_start(
                "_agvent_route(state, name)", inputs=inputs, print_callback=self._printed()
            ),
            agent,
        )

    def resume(self, dump: bytes, agent: ManagerAgent) -> bytes:
        """Goes on where a program moved, as `route`."""
        self.batches += 1
        welcome: monty.ExternalResult = {"return_value": agent.welcome()}

        def load() -> monty.SyncSnapshot:
            paused = self._session.load_snapshot(dump, print_callback=self._printed())
            return paused.resume(welcome) if isinstance(paused, monty.FunctionSnapshot) else paused

        return self._talk(load, agent)

    def _talk(self, begin: Callable[[], monty.SyncSnapshot], agent: ManagerAgent) -> bytes:
        end = time.monotonic() + self._seconds * limits.STOP_CLOCK_FACTOR
        with self._breaches():
            paused = begin()
            while not isinstance(paused, monty.MontyComplete):
                if isinstance(paused, monty.FunctionSnapshot) and paused.function_name == SAY and len(paused.args) == 1:
                    reply = agent.reply(paused.args[0])
                    if agent.moving:
                        return paused.dump()
                    if agent.is_tired:
                        raise Breach("too many messages to the manager agent", spoiled=True)
                    if time.monotonic() > end:
                        raise Breach("TimeoutError", spoiled=True)
                    paused = paused.resume({"return_value": reply})
                elif isinstance(paused, monty.NameLookupSnapshot):
                    paused = paused.resume()
                elif isinstance(paused, monty.FunctionSnapshot) and paused.is_os_function:
                    paused = paused.resume_not_handled()
                else:
                    raise Breach("the program asked for what there is not", spoiled=True)
        return b""

    @property
    def worker(self) -> int | None:
        """The process that this session is in."""
        return self._session.worker_pid

    def close(self) -> None:
        """Gives the worker back; the pool clears it."""
        self._session.__exit__(None, None, None)

    def _printed(self) -> monty.CollectString:
        return monty.CollectString(max_bytes=self.allowance.printed_bytes_max)

    def _feed(self, code: str, inputs: dict[str, Any] | None = None) -> Any:
        with self._breaches():
            return self._session.feed_run(code, inputs=inputs, print_callback=self._printed())

    @contextmanager
    def _breaches(self) -> Iterator[None]:
        """Whatever a worker does wrong is a breach."""
        try:
            yield
        except monty.MontyCrashedError as error:
            raise Breach("the worker died" if not error.timed_out else "TimeoutError", spoiled=True) from None
        except monty.MontyError as error:
            cause = error.exception()
            if str(cause) == SUSPENDED:
                raise Breach("it asked too much", spoiled=True, worn=self.batches > 1) from None
            fault = type(cause).__name__
            raise Breach(fault, spoiled=fault in SPOILING) from None
        except (RuntimeError, RecursionError, ValueError) as error:
            raise Breach(f"{type(error).__name__} of the worker", spoiled=True) from None


SAY: Final = "_agvent_say"
"""The one function that a worker asks its host for."""

SUSPENDED: Final = f"suspension limit {limits.SESSION_SUSPENSIONS_MAX} exceeded"
"""How Monty ends a program whose session has asked for too much; every later one in it would end so too."""

SPOILING: Final = ("MemoryError", "TimeoutError")
"""What leaves a session in a state that is not known: half a batch may have run, or its memory is full."""


def _are_answers(values: object, faults: object, asked: int) -> bool:
    if not isinstance(values, list) or len(values) != asked or not isinstance(faults, dict):
        return False
    return all(isinstance(number, int) and isinstance(fault, str) for number, fault in faults.items())


def _limits(allowance: Allowance, seconds: float) -> monty.ResourceLimits:
    return {
        "max_feed_duration_secs": seconds,
        "max_memory": allowance.memory_bytes_max,
        "max_recursion_depth": allowance.depth_max,
        "max_suspensions": limits.SESSION_SUSPENSIONS_MAX,
    }
