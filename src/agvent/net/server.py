"""A broker on sockets and a disk: connections to inputs, one step for all that came in, effects carried out.

A link is a connection after its introduction. Whatever is wrong inside a step is our own bug: the process ends with
it, and the journal is as good as after a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.interface import (
    Append,
    Came,
    Forget,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Ran,
    Run,
    Send,
    Synced,
    Tick,
    Wake,
)
from agvent.broker.records import decode_record
from agvent.net.clock import Clock
from agvent.net.commit import GroupCommit
from agvent.net.config import Config, identity
from agvent.net.connection import Connection
from agvent.net.hops import Memory
from agvent.net.introduction import TurnedAway, Welcome, introduction_of
from agvent.net.neighbours import Neighbours
from agvent.net.operator import Operator
from agvent.store.journal import Journal
from agvent.wire.link import Change
from agvent.wire.messages import Answered, AnyMessage, Hello

MEASURE_SECONDS = 1.0

NO_SANDBOX = "this broker runs no programs"


class BrokerServer:
    """One broker process. `links` has the connection of each link by its name."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.clock = Clock()
        self.links: dict[str, Connection] = {}
        self.clients: dict[str, str] = {}  # link -> the client that introduced itself there
        self.strangers: dict[Connection, asyncio.TimerHandle] = {}
        self.draining = False
        self.stopping = asyncio.Event()
        self.error: BaseException | None = None
        self.memory = Memory(config.name)
        self._inputs: list[Input] = []
        self._is_due = False
        self._wake: asyncio.TimerHandle | None = None
        self._links_made = 0

    # Start and stop

    async def start(self) -> None:
        """Reads the journal, listens and dials."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda _, context: self.fail(context.get("exception") or _bug(context)))
        journal = Journal(self.config.journal)
        self.started = self.clock.now()
        self.identity = identity(self.config.data, self.config.name, is_new=journal.recovery.next == 1)
        records = (decode_record(content) for content in journal.recovery.contents())
        self.broker = Broker(self.config.name, self.identity.incarnation, records, now=self.started)
        self.commit = GroupCommit(
            journal,
            image=lambda: list(self.broker.tables.snapshot()),
            synced=lambda number: self.give([Synced(number)]),
            failed=self.fail,
        )
        self.operator = Operator(self)
        self.neighbours = Neighbours(self, self.config.neighbours)
        self.give([])
        self._server = await self._loop.create_server(self._accepted, *self.config.listen, backlog=1024)
        self.neighbours.start()
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)

    @property
    def port(self) -> int:
        """Where it listens, if it asked for any port."""
        return int(self._server.sockets[0].getsockname()[1])

    async def run(self) -> None:
        """Runs until `stopping` is set, or it fails."""
        await self.stopping.wait()
        await self.stop()
        if self.error is not None:
            raise self.error

    async def stop(self) -> None:
        """Says nothing new, syncs what is pending, lets acknowledgements go out, and closes."""
        self._server.close()
        self._measuring.cancel()
        await self.neighbours.stop()
        if self.error is None:
            await self.commit.close()
            self._step()
        if self._wake is not None:
            self._wake.cancel()
        for connection in (*self.links.values(), *self.strangers):
            connection.close("the broker stops")
        await asyncio.sleep(0)

    def fail(self, error: BaseException) -> None:
        """Ends the process with the first error."""
        self.error = self.error or error
        self.stopping.set()

    # Steps

    def give(self, inputs: Iterable[Input]) -> None:
        """Gives inputs to the next step, which comes when all sockets that were ready have been read."""
        self._inputs += inputs
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._step)

    def _step(self) -> None:
        self._is_due = False
        if self.error is not None:
            return
        inputs, self._inputs = self._inputs, []
        now = self.clock.now()
        names = dict(self.broker.router.names) if inputs else {}
        effects = self.broker.step(inputs, now)
        self.memory.note(inputs, effects, {**names, **self.broker.router.names}, now)
        touched: dict[str, None] = {}
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect, touched)
            elif isinstance(effect, Append):
                self.commit.append(effect.records, effect.number)
            elif isinstance(effect, Run):
                answers = tuple(Answered(call, None, NO_SANDBOX) for call in effect.calls)
                self.give([Ran(effect.number, answers)])
            else:
                self._wake_at(effect, now)
        for link in touched:
            self.links[link].pump()

    def _send(self, effect: Send, touched: dict[str, None]) -> None:
        connection = self.links.get(effect.link)
        if connection is None or connection.end is None:
            return
        connection.end.send(effect.message)
        touched[effect.link] = None
        if effect.link in self.clients and connection.end.queued > limits.CLIENT_BACKLOG_MESSAGES_MAX:
            connection.abort("it does not read what it is told")

    def _wake_at(self, effect: Wake, now: int) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake = self._loop.call_later(max(effect.at - now, 0) / 1e6, self.give, [Tick()])

    def _measure(self) -> None:
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)
        self.give(
            Measured(link, connection.end.rtt_us, connection.end.queued)
            for link, connection in self.links.items()
            if link not in self.clients and connection.end is not None and connection.end.rtt_us
        )

    # Connections

    def _accepted(self) -> Connection:
        is_full = len(self.links) + len(self.strangers) >= limits.CONNECTIONS_MAX
        connection = Connection(self, self.clock, unwelcome="too many connections" if is_full else "")
        late = limits.INTRODUCTION_SECONDS_MAX
        self.strangers[connection] = self._loop.call_later(late, connection.abort, "it did not introduce itself")
        return connection

    def said(self, connection: Connection, content: bytes) -> None:
        """An introduction, or an operator's request."""
        if connection not in self.strangers:
            self.operator.asked(connection, content)
            return
        introduction = introduction_of(content)
        reason = self._objection(introduction.kind, introduction.name, introduction.to)
        if reason:
            self.turn_away(connection, reason)
            return
        self.strangers.pop(connection).cancel()
        connection.say(msgspec.json.encode(self._welcome(introduction.name)))
        if introduction.kind == "operator":
            self.operator.welcome(connection)
        elif introduction.kind == "broker":
            self.neighbours.came(introduction.name, connection)
        else:
            self.clients[self.link(connection, introduction.name)] = introduction.name

    def _objection(self, kind: str, name: str, to: str) -> str:
        """Why an introduction is not welcome; empty if it is."""
        if to not in ("", self.config.name):
            return f"the introduction is for {to!r}, and this is {self.config.name!r}"
        if kind == "broker":
            return self.neighbours.objection(name)
        if kind == "client" and self.draining:
            return f"{self.config.name!r} is being drained"
        return ""

    def _welcome(self, name: str) -> Welcome:
        home = name in self.broker.tables.deliveries.clients
        return Welcome(
            broker=self.config.name, incarnation=self.identity.incarnation, load=len(self.clients), home=home
        )

    def turn_away(self, connection: Connection, reason: str) -> None:
        connection.say(msgspec.json.encode(TurnedAway(reason=reason)))
        connection.close(reason)

    def link(self, connection: Connection, name: str) -> str:
        """Begins a link on a connection that is introduced."""
        self._links_made += 1
        link = f"{name}#{self._links_made}"
        self.links[link] = connection
        connection.link = link
        connection.begin()
        return link

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        link = connection.link
        inputs: list[Input] = []
        for one in what:
            if one is Change.UP:
                assert connection.end is not None
                inputs.append(LinkUp(link, link not in self.clients, connection.end.rtt_us))
            elif isinstance(one, Change):
                connection.abort("the peer began anew")
            elif isinstance(one, Hello) and self.neighbours.linked.get(one.broker) is not connection:
                connection.abort(f"it says it is {one.broker!r}, and is not")
            else:
                inputs.append(Came(link, one))
        if inputs:
            self.give(inputs)

    def lost(self, connection: Connection, reason: str) -> None:
        timer = self.strangers.pop(connection, None)
        if timer is not None:
            timer.cancel()
        if self.links.pop(connection.link, None) is not None:
            self.clients.pop(connection.link, None)
            self.neighbours.lost(connection)
            self.give([LinkDown(connection.link)])
        self.operator.lost(connection)

    def forget(self, broker: str) -> None:
        self.give([Forget(broker)])


def _bug(context: dict[str, Any]) -> BaseException:
    return RuntimeError(str(context.get("message")))
