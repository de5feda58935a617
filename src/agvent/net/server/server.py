"""A broker as a process: its parts are put together, started and stopped.

Connections come through the listener to the reception, where they introduce themselves. Those of clients and neighbours
become links, whose messages are inputs of the broker; the driver steps the broker and carries out its effects.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from agvent.broker.broker import Broker
from agvent.broker.interface import Execute, Forget, Run, Send
from agvent.errors import CallerError
from agvent.net.link.clock import Clock
from agvent.net.link.connection import Connection
from agvent.net.link.tls import dial_context, server_context
from agvent.net.server.access import AccessControl
from agvent.net.server.admin import AdminPort
from agvent.net.server.commit import GroupCommit
from agvent.net.server.config import Config, TlsConfig
from agvent.net.server.driver import BrokerDriver
from agvent.net.server.identity import identity
from agvent.net.server.links import Links
from agvent.net.server.listener import Listener, connection_limits
from agvent.net.server.logs import Log, to_stderr
from agvent.net.server.memory_budget import MemoryBudgets
from agvent.net.server.neighbours import Neighbours
from agvent.net.server.operator import OperatorRequest, OperatorRequests
from agvent.net.server.own_client import OwnClient
from agvent.net.server.programs import ProgramRunner
from agvent.net.server.ready_file import remove_ready, write_ready
from agvent.net.server.recent_hops import RecentHops
from agvent.net.server.reception import Reception
from agvent.net.server.status import StatusReport
from agvent.net.server.visits import Visits
from agvent.store.journal import JournalWriter

MEASURE_SECONDS: Final = 1.0

KILL_SECONDS: Final = 0.02
"""How long `kill` waits, so that its answer is sent first."""


class BrokerServer:
    """One broker process. `start` it, then `run` it until `stopping` is set."""

    def __init__(self, config: Config, *, write: Callable[[str], None] = to_stderr) -> None:
        self.config = config
        self.log = Log(config.name, write)
        self.clock = Clock()
        self.hops = RecentHops(config.name)
        self.admin: AdminPort | None = None
        self._access, self._dial_tls, self._listen_tls = _access(config.tls)
        self._was_full = False

    # Start and stop

    async def start(self) -> None:
        """Reads the journal, listens, and dials the neighbours."""
        self._loop = asyncio.get_running_loop()
        journal = JournalWriter(self.config.journal, archive=self.config.archive)
        self._identity = identity(self.config.data, self.config.name, is_new=journal.recovery.next == 1)
        name, incarnation = self.config.name, self._identity.incarnation
        self.driver = BrokerDriver(name, incarnation, journal, clock=self.clock, hops=self.hops)
        self._loop.set_exception_handler(lambda _, context: self.driver.fail(context.get("exception") or _bug(context)))
        self._assemble()
        self.driver.begin()
        if self.config.admin is not None:  # first: a broker that listens has started
            self.admin = AdminPort(self.status)
            await self.admin.start(self.config.admin)
        await self._listener.listen(self.config.listen)
        self.neighbours.start()
        self._log_start(journal)
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)

    def _assemble(self) -> None:
        driver, name = self.driver, self.config.name
        self._budgets = MemoryBudgets(self._kept_bytes)
        self.links = Links(driver, self._access, self._budgets, self.log)
        self.neighbours = Neighbours(name, self.config.neighbours, self.links, clock=self.clock, tls=self._dial_tls)
        self.programs = ProgramRunner(
            self.config, driver.broker.tables.code, give=driver.give, fail=driver.fail, log=self.log
        )
        self._own = OwnClient(name, driver.give)
        self._visits = Visits(
            driver.broker,
            self.programs,
            self._own,
            hops=self.hops,
            now=self.clock.now,
            denial=self.links.denial,
        )
        self.links.for_host = self._visits.came
        driver.carry_out |= {Send: self._send, Run: self.programs.run, Execute: self.programs.execute}
        driver.after_step = self.links.flush
        self._report = StatusReport(self.config, self._identity, driver, self.neighbours, self.programs)
        self._operators = OperatorRequests(self._actions(), self._budgets)
        room = connection_limits(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._reception = Reception(
            self.config,
            self._identity.incarnation,
            self._access,
            links=self.links,
            neighbours=self.neighbours,
            operators=self._operators,
            deliveries=driver.broker.tables.deliveries,
            links_max=room.links,
            log=self.log,
        )
        self._listener = self._reception.listener = Listener(
            room.pending, self._listen_tls, lambda: Connection(self._reception, self.clock), self._closed_early
        )

    def _log_start(self, journal: JournalWriter) -> None:
        self.log.say(
            "started",
            address=f"{self.config.listen.host}:{self.port}",
            incarnation=self._identity.incarnation,
            boot=self.broker.tables.boot,
            records=journal.recovery.count,
            torn_bytes=journal.recovery.torn,
        )

    async def run(self) -> None:
        """Runs until `stopping` is set or a part fails. From now on it is ready, as `ready.json` says."""
        with suppress(OSError):  # the disk is full: a broker goes on
            write_ready(self.config.data, f"{self.config.listen.host}:{self.port}")
        await self.stopping.wait()
        await self.stop()
        if self.driver.error is not None:
            raise self.driver.error

    async def stop(self) -> None:
        """Takes nothing new, syncs pending records, lets acknowledgements go out, and closes."""
        remove_ready(self.config.data)
        self._listener.stop_listening()
        if self.admin is not None:
            self.admin.close()
        self._measuring.cancel()
        await self.neighbours.stop()
        self.driver.begin_closing()
        await self.driver.close()
        await self.programs.close()
        await self._listener.close()
        connections = self._connections()
        for connection in connections:
            connection.close("the broker is stopping")
        await asyncio.gather(*(connection.wait_closed() for connection in connections))
        error = self.driver.error
        self.log.say("stopped", error=repr(error) if error is not None else "")

    # Its parts, for those who run it

    @property
    def broker(self) -> Broker:
        return self.driver.broker

    @property
    def commit(self) -> GroupCommit:
        return self.driver.commit

    @property
    def stopping(self) -> asyncio.Event:
        return self.driver.stopping

    @property
    def port(self) -> int:
        """The port it listens on; the configuration may have asked for any free one."""
        return self._listener.port

    def status(self) -> dict[str, Any]:
        port = self.admin.port if self.admin is not None else 0
        return self._report.status(admin_port=port, is_draining=self._reception.is_draining)

    # Effects, and what happens every second

    def _send(self, effect: Send) -> None:
        if effect.link == self._own.link:
            self._own.hear(effect.message)
        else:
            self.links.send(effect)

    def _measure(self) -> None:
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)
        self._log_disk()
        self._end_expired()
        self.programs.look()
        self._visits.expire()
        self.links.measure()

    def _log_disk(self) -> None:
        if bool(self.commit.full) != self._was_full:
            self._was_full = bool(self.commit.full)
            self.log.say("disk full" if self._was_full else "disk space available", error=self.commit.full)

    def _end_expired(self) -> None:
        """Closes connections whose certificate or token has expired; a reconnect is then rejected with the reason."""
        now = time.time()
        for connection in self._connections():
            if 0 < connection.expires <= now:
                connection.abort("certificate or token expired")

    def _connections(self) -> list[Connection]:
        return [*self.links.open.values(), *self._operators.connections]

    def _kept_bytes(self, connection: Connection) -> int:
        attachment = self.broker.clients.attached.get(connection.link)
        return connection.kept_bytes + (attachment.early_bytes if attachment is not None else 0)

    def _closed_early(self, address: str, reason: str) -> None:
        self.log.say("connection closed before hello", reason=reason, address=address)

    # Operators' requests

    def _actions(self) -> dict[str, Callable[[OperatorRequest], Any]]:
        return {
            "status": lambda _: self.status(),
            "types": lambda _: self._report.types(),
            "trace": lambda one: self.hops.find(one.publisher, one.sequence, self.clock.now(), fast=one.fast),
            "cut": lambda one: self.neighbours.cut_link(one.name),
            "heal": lambda one: self.neighbours.heal_link(one.name),
            "drain": lambda _: self._drain(),
            "forget": lambda one: self._forget(one.name),
            "release": lambda one: self.programs.release(one.name),
            "stop": lambda _: self.stopping.set(),
            "kill": lambda _: self._kill(),
        }

    def _drain(self) -> dict[str, int]:
        """Disconnects the clients and takes no new ones; gives the number of events that have still to be sent on."""
        self._reception.is_draining = True
        self.links.disconnect_clients("the broker is draining")
        return {"custody": len(self.broker.tables.custody.held)}

    def _kill(self) -> None:
        """Ends the process as a crash does, after the answer is sent."""
        self._loop.call_later(KILL_SECONDS, os.kill, os.getpid(), signal.SIGKILL)

    def _forget(self, name: str) -> None:
        if name == self.config.name:  # it would go on accepting events that nobody delivers
            hint = "drain it with `agvent broker drain`, stop it, then tell another broker to forget it"
            raise CallerError(f"broker {name!r} cannot forget itself", hint=hint)
        if name not in self.broker.tables.advertisements:
            raise CallerError(f"broker {name!r} is not known here")
        self.driver.give([Forget(name)])


def _access(tls: TlsConfig | None) -> tuple[AccessControl, ssl.SSLContext | None, ssl.SSLContext | None]:
    """The access control, and the TLS contexts for dialling and for listening."""
    if tls is None:
        return AccessControl(is_locked=False, keys=[]), None, None
    from agvent.net.server.tokens import read_public_key  # noqa: PLC0415 - a compiled library, for those who have keys

    access = AccessControl(is_locked=True, keys=[read_public_key(path) for path in tls.tokens])
    files = (tls.authority, tls.certificate, tls.key)
    return access, dial_context(*files), server_context(*files)


def _bug(context: dict[str, Any]) -> BaseException:
    return RuntimeError(str(context.get("message")))
