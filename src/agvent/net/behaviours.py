"""The sandbox host beside a broker: started when it is first needed, asked from threads, its answers given as inputs.

A publisher's calls that gather while its last ones run are the next batch: a slow program delays its own publisher, and
under load a request carries hundreds of calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from agvent import limits
from agvent.agents.code import decode_code
from agvent.agents.sandbox import Task
from agvent.broker.interface import Ran, Run
from agvent.errors import AdmissionError, SandboxFault
from agvent.net.connection import Connection
from agvent.sandbox.process import HostProcess
from agvent.wire.messages import Answered, AnyMessage, GetHostKey, HostKey, Refused

if TYPE_CHECKING:
    from agvent.net.server import BrokerServer

T = TypeVar("T")

NO_CODE = "no publisher has brought code"


class Behaviours:
    """What a broker has its sandbox host do. All but what runs in `_threads` happens on the event loop."""

    def __init__(self, server: BrokerServer) -> None:
        self._server = server
        self._host: HostProcess | None = None
        self._starting = threading.Lock()  # held while the host starts, and while it is given code
        self._seen = 0  # of the code that this broker was brought, how much is on its way to the host
        self._unadmitted: deque[bytes] = deque()
        self._refusals: deque[dict[str, str]] = deque()  # of code, until they are logged
        self._waiting: dict[str, list[Run]] = {}  # publisher -> what it is asked; in here while something of it runs
        self._threads = ThreadPoolExecutor(limits.HOST_REQUESTS_MAX, "sandbox host")
        self._tasks: set[asyncio.Task[None]] = set()

    # What the broker asks

    def run(self, run: Run) -> None:
        """Has the calls of an event answered; Ran comes when they are."""
        if not self._server.broker.tables.code:
            self._server.give([Ran(run.number, _faults(run, NO_CODE))])
        elif run.publisher in self._waiting:
            self._waiting[run.publisher].append(run)
        else:
            self._waiting[run.publisher] = [run]
            self.spawn(self._ask(run.publisher))

    async def _ask(self, publisher: str) -> None:
        """Runs a publisher's calls, batch after batch, until nothing is left to ask."""
        await asyncio.sleep(0)  # the step that asked has more
        while runs := self._waiting[publisher]:
            self._waiting[publisher] = []
            try:
                answers = await self.asked(lambda host, runs=runs: _answers(host, runs))  # type: ignore[misc]
            except SandboxFault as error:
                answers = [_faults(run, error.message) for run in runs]
            self._server.give([Ran(run.number, found) for run, found in zip(runs, answers, strict=True)])
        del self._waiting[publisher]

    async def tell_key(self, connection: Connection, asked: GetHostKey) -> None:
        """Tells a publisher whom it hides fields for."""
        try:
            answer: AnyMessage = HostKey(asked.request, await self.asked(lambda host: host.key))
        except SandboxFault as error:
            answer = Refused(asked.request, 0, error.message)
        self.tell(connection, answer)

    def tell(self, connection: Connection, message: AnyMessage) -> None:
        """Answers a client, if it is still there: one that comes back asks again."""
        if connection.end is not None and not connection.is_lost:
            connection.end.send(message)
            connection.pump()

    # The host

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Has something done beside the steps; whatever it raises is a bug."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._server.fail(error)

    async def asked(self, ask: Callable[[HostProcess], T]) -> T:
        """What the host answers, when it has all the code there is; a SandboxFault if there is no host."""
        code = self._server.broker.tables.code
        if self._seen < code.count:
            self._unadmitted.extend(list(code)[self._seen - code.count :])
            self._seen = code.count
        answer = await asyncio.get_running_loop().run_in_executor(self._threads, lambda: ask(self._ready()))
        while self._refusals:
            self._server.log.say("code refused", **self._refusals.popleft())
        return answer

    def _ready(self) -> HostProcess:
        """In a thread: the host, started, with all the code that was known when it was asked."""
        with self._starting:
            if self._host is None:
                self._host = self._started()
            while self._unadmitted:
                self._admit(self._host, self._unadmitted[0])
                self._unadmitted.popleft()
            return self._host

    def _started(self) -> HostProcess:
        config = self._server.config
        workers = config.sandbox.workers if config.sandbox is not None else limits.SANDBOX_WORKERS
        return HostProcess(config.host_key, make_key=config.sandbox is None, workers=workers).__enter__()

    def _admit(self, host: HostProcess, code: bytes) -> None:
        signed = decode_code(code)
        host.grant(signed.principal, signed.key)  # its entry let it in by the grants of its certificate or token
        try:
            host.admit(signed)
        except AdmissionError as error:
            said = {"publisher": signed.principal, "type": signed.program.type, "reason": error.message}
            self._refusals.append(said)

    @property
    def pid(self) -> int:
        """The host's process, 0 if there is none."""
        return self._host.pid if self._host is not None else 0

    async def close(self) -> None:
        """Ends the host. What was asked has no answer any more: the broker stops."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        host, self._host = self._host, None
        if host is not None:
            await asyncio.get_running_loop().run_in_executor(None, host.__exit__)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _answers(host: HostProcess, runs: list[Run]) -> list[tuple[Answered, ...]]:
    return host.run([Task(run.publisher, run.event, run.calls) for run in runs])


def _faults(run: Run, reason: str) -> tuple[Answered, ...]:
    return tuple(Answered(call, None, reason) for call in run.calls)
