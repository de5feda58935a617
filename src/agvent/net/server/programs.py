"""The sandbox host beside a broker: started when it is first needed, asked from threads, its answers given as inputs.

What gathers for a publisher's programs while they run is the next batch: a slow one delays its own publisher only, and
under load a request carries hundreds of calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from agvent import limits
from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Quarantined, Sandbox, Task
from agvent.agents.execution.signed_programs import decode_code
from agvent.agents.travel.stop import Decision, Stop
from agvent.broker.interface import Execute, Executed, Input, Ran, Run
from agvent.broker.records import Brought
from agvent.broker.tables.code import Code
from agvent.errors import AdmissionError, CallerError, SandboxFault, WireError
from agvent.net.server.config import Config
from agvent.net.server.logs import Log
from agvent.sandbox.host_process import HostProcess
from agvent.wire.codec import decode_program
from agvent.wire.parts import Answered

T = TypeVar("T")

NO_CODE = "no publisher has brought code"


class ProgramTask(NamedTuple):
    """Something for a program of a publisher's, and who is told what came of it."""

    what: Task | Arrival | Stop
    tell: Callable[[Any], None]


class ProgramRunner:
    """Runs programs in the sandbox host of a broker. `code` is the code that publishers brought; `give` takes the
    answers as inputs, `fail` a bug. Everything except the work in `_threads` happens on the event loop."""

    def __init__(
        self,
        config: Config,
        code: Code,
        *,
        give: Callable[[Iterable[Input]], None],
        fail: Callable[[BaseException], None],
        log: Log,
    ) -> None:
        self._config, self._brought = config, code
        self._give, self._fail, self._log = give, fail, log
        self._host: HostProcess | None = None
        self._starting = threading.Lock()  # held while the host starts
        self._code: dict[str, list[Brought]] = {}  # by the program's hash, as far as `_seen`
        self._seen = 0  # of the code that this broker was brought
        self._refused: dict[tuple[str, str], str] = {}  # publisher, program -> why the host did not take it
        self._refusals: deque[dict[str, str]] = deque()  # of code, until they are logged
        self._waiting: dict[str, list[ProgramTask]] = {}  # a publisher is in here while something of it runs
        self._threads = ThreadPoolExecutor(limits.HOST_REQUESTS_MAX, "sandbox host")
        self._tasks: set[asyncio.Task[None]] = set()
        self.quarantined: tuple[Quarantined, ...] = ()  # as the host said when it was last looked at
        self._is_looking = False

    # What the broker and its clients ask

    def run(self, run: Run) -> None:
        """Has the calls of an event answered; Ran comes when they are."""

        def tell(answers: tuple[Answered, ...]) -> None:
            self._give([Ran(run.number, answers)])

        task = Task(run.publisher, run.event, run.calls)
        if self._brought:
            self._ask(run.publisher, ProgramTask(task, tell))
        else:
            tell(_faults(task, NO_CODE))

    def execute(self, execute: Execute) -> None:
        """Has an agvent's route executed; Executed comes when it has decided."""

        def tell(decision: Decision) -> None:
            self._give([Executed(execute.number, decision)])

        if self._brought:
            self._ask(execute.stop.principal, ProgramTask(execute.stop, tell))
        else:
            tell(Decision(fault=NO_CODE))

    async def answers(self, task: Task) -> tuple[Answered, ...]:
        """The answers to a subscriber's calls."""
        answer: asyncio.Future[tuple[Answered, ...]] = asyncio.get_running_loop().create_future()
        self._ask(task.principal, ProgramTask(task, answer.set_result))
        return await answer

    async def arrive(self, arrival: Arrival) -> ArrivalReply:
        """What an agvent says to a subscriber that lets it arrive."""
        answer: asyncio.Future[ArrivalReply] = asyncio.get_running_loop().create_future()
        self._ask(arrival.principal, ProgramTask(arrival, answer.set_result))
        return await answer

    def _ask(self, publisher: str, asked: ProgramTask) -> None:
        if publisher in self._waiting:
            self._waiting[publisher].append(asked)
        else:
            self._waiting[publisher] = [asked]
            self.spawn(self._work(publisher))

    async def _work(self, publisher: str) -> None:
        """Has a publisher's programs run, batch after batch, until nothing waits for them."""
        await asyncio.sleep(0)  # the step that asks has more
        while batch := self._waiting[publisher]:
            self._waiting[publisher] = []
            work = [asked.what for asked in batch]
            self._see_code()

            def ask(host: HostProcess, work: list[Task | Arrival | Stop] = work) -> list[Any]:
                self._bring(host, publisher, work)
                return answers_of(host, work)

            try:
                answers = await self.ask_host(ask)
            except SandboxFault as error:
                answers = [_fault(what, error.message) for what in work]
            for asked, answer in zip(batch, answers, strict=True):
                asked.tell(answer)
        del self._waiting[publisher]

    # Quarantine

    def look(self) -> None:
        """Has the host say who is in quarantine, if there is a host; asked for again and again."""
        if self._host is not None and not self._is_looking:
            self._is_looking = True
            self.spawn(self._look())

    async def _look(self) -> None:
        try:
            held = await self.ask_host(lambda host: host.quarantined())
        except SandboxFault:
            held = ()
        for one in held:
            if one not in self.quarantined:
                about = {"publisher": one.principal, "type": one.type, "call": one.call, "reason": one.fault}
                self._log.say("quarantined", **about)
        self.quarantined, self._is_looking = held, False

    def release(self, name: str) -> None:
        """Ends the quarantine of the programs of a type, or of the one with this hash."""
        programs = [one.program for one in self.quarantined if name in (one.type, one.program)]
        if not programs:
            held = ", ".join(sorted({one.type for one in self.quarantined}))
            raise CallerError(
                f"type {name!r} is not in quarantine at this broker", hint=f"in quarantine: {held or 'none'}"
            )
        self.spawn(self._release(programs))

    async def _release(self, programs: list[str]) -> None:
        with suppress(SandboxFault):  # a host that died has forgotten them all
            await self.ask_host(lambda host: [host.release(program) for program in programs])

    # The host

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Has something done beside the steps; whatever it raises is a bug."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def ask_host(self, ask: Callable[[HostProcess], T]) -> T:
        """The answer of the host; a SandboxFault if there is no host."""
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, lambda: ask(self._ready()))
        while self._refusals:
            self._log.say("code rejected", **self._refusals.popleft())
        return answer

    def _ready(self) -> HostProcess:
        """In a thread: the host, started."""
        with self._starting:
            if self._host is None:
                self._host = self._started()
            return self._host

    def _started(self) -> HostProcess:
        config = self._config
        workers = config.sandbox.workers if config.sandbox is not None else limits.SANDBOX_WORKERS
        return HostProcess(config.host_key, make_key=config.sandbox is None, workers=workers).__enter__()

    # Code

    def _see_code(self) -> None:
        """Takes note of what publishers brought since it was last looked at."""
        code = self._brought
        if self._seen == code.count:
            return
        self._seen, found = code.count, dict[str, list[Brought]]()
        for brought in code:
            found.setdefault(brought.program, []).append(brought)
        self._code = found
        self._refused = {
            (publisher, program): why for (publisher, program), why in self._refused.items() if program in found
        }

    def _bring(self, host: HostProcess, publisher: str, work: list[Task | Arrival | Stop]) -> None:
        """In a thread: the host gets the programs of these agvents that it has not, the publisher's own if there are
        several of that hash. So nobody waits for a program that it does not need."""
        for program in {_program(what.event) for what in work}:
            if not host.has(program):
                for brought in sorted(self._code.get(program, ()), key=lambda one: one.publisher != publisher):
                    if self._admit(host, brought):
                        break

    def _admit(self, host: HostProcess, brought: Brought) -> bool:
        """Its entry let the code in by the grants of a certificate or token; the rest is checked here again."""
        try:
            signed = decode_code(brought.code)
            if signed.principal != brought.publisher:
                raise AdmissionError(f"it is signed for {signed.principal!r}"[:200])
            if signed.program.hash != brought.program:
                raise AdmissionError("it is another program")
            host.grant(signed.principal, signed.key)
            host.admit(signed)
        except AdmissionError as error:
            self._refuse(brought, error.message)
            return False
        return True

    def _refuse(self, brought: Brought, reason: str) -> None:
        """It is tried again when an agvent needs it, and logged again if there is another reason."""
        if self._refused.get((brought.publisher, brought.program)) != reason:
            self._refused[brought.publisher, brought.program] = reason
            said = {"publisher": brought.publisher, "program": brought.program, "reason": reason}
            self._refusals.append(said)

    async def load(self, code: bytes) -> None:
        """Has the host take code that was checked at the door; an AdmissionError says why it does not."""
        signed = decode_code(code)

        def load(host: HostProcess) -> None:
            host.grant(signed.principal, signed.key)
            host.admit(signed)

        await self.ask_host(load)

    @property
    def pid(self) -> int:
        """The host's process, 0 if there is none."""
        return self._host.pid if self._host is not None else 0

    async def close(self) -> None:
        """Ends the host. What was asked has no answer any more: the broker stops."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)
        host, self._host = self._host, None
        if host is not None:
            await asyncio.get_running_loop().run_in_executor(None, host.__exit__)


def answers_of(host: Sandbox, work: list[Task | Arrival | Stop]) -> list[Any]:
    """In a thread: the answers of all tasks together, the decisions of all stops, and the arrivals one by one."""
    tasks = [what for what in work if isinstance(what, Task)]
    stops = [what for what in work if isinstance(what, Stop)]
    runs = iter(host.run(tasks) if tasks else ())
    decisions = iter(host.route(stops) if stops else ())
    return [
        next(runs) if isinstance(what, Task) else host.arrive(what) if isinstance(what, Arrival) else next(decisions)
        for what in work
    ]


def _program(event: bytes) -> str:
    try:
        return decode_program(event)
    except WireError:
        return ""  # the host says what is wrong with it


def _fault(what: Task | Arrival | Stop, reason: str) -> tuple[Answered, ...] | ArrivalReply | Decision:
    if isinstance(what, Arrival):
        return ArrivalReply(fault=reason)
    return Decision(fault=reason) if isinstance(what, Stop) else _faults(what, reason)


def _faults(task: Task, reason: str) -> tuple[Answered, ...]:
    return tuple(Answered(call, None, reason) for call in task.calls)
