"""A broker on sockets and a disk: connections to inputs, one step for all that came in, effects carried out.

A link is a connection after its introduction. Whatever is wrong inside a step is our own bug: the process ends with
it, and the journal is as good as after a crash.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.interface import (
    Append,
    Came,
    Execute,
    Forget,
    Forgotten,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Run,
    Send,
    Synced,
    Tick,
    Wake,
)
from agvent.broker.records import decode_record
from agvent.errors import AgventError, ForgottenError
from agvent.net.admin import AdminPort
from agvent.net.allowance import Allowances
from agvent.net.behaviours import Behaviours
from agvent.net.budget import Budgets
from agvent.net.clock import Clock
from agvent.net.commit import GroupCommit
from agvent.net.config import Config, Tls, check_name, identity
from agvent.net.connection import Connection
from agvent.net.door import Door, Principal
from agvent.net.grants import ALL
from agvent.net.hops import Memory
from agvent.net.introduction import Introduction, TurnedAway, Welcome, introduction_of
from agvent.net.logs import Log, to_stderr
from agvent.net.neighbours import Neighbours
from agvent.net.operator import Operator
from agvent.net.own_client import MARK, OwnClient
from agvent.net.strangers import Strangers, places
from agvent.net.tls import dial_context, peer_of, server_context
from agvent.net.visits import Visits
from agvent.store.journal import Journal
from agvent.wire.batches import taken_apart
from agvent.wire.broker_messages import Hello
from agvent.wire.client_messages import Attach, Publish, Subscribe
from agvent.wire.host_messages import ForHost
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage
from agvent.wire.names import name_of

MEASURE_SECONDS = 1.0


class BrokerServer:
    """One broker process. `links` has the connection of each link by its name."""

    def __init__(self, config: Config, *, write: Callable[[str], None] = to_stderr) -> None:
        self.config = config
        self.log = Log(config.name, write)
        self.admin: AdminPort | None = None
        self.clock = Clock()
        self.links: dict[str, Connection] = {}
        self.clients: dict[str, str] = {}  # link -> the client that introduced itself there
        self.draining = False
        self.stopping = asyncio.Event()
        self.error: BaseException | None = None
        self.memory = Memory(config.name)
        self.door, self.dial_tls, listen_tls = _door(config.tls)
        self.places = places(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self.strangers = Strangers(self.places.strangers, listen_tls, self._made, self._stranger_gone)
        self.principals: dict[str, Principal] = {}  # link -> whose it is, of clients
        self.allowances = Allowances()
        self._budgets = Budgets(self._kept)
        self._inputs: list[Input] = []
        self._is_due = False
        self._is_deaf = False  # it stops: what comes now was not heard
        self._is_over = False  # the journal is closed: no step any more
        self._was_full = False
        self._wake: asyncio.TimerHandle | None = None
        self._links_made = 0

    # Start and stop

    async def start(self) -> None:
        """Reads the journal, listens and dials."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(lambda _, context: self.fail(context.get("exception") or _bug(context)))
        journal = Journal(self.config.journal, archive=self.config.archive)
        self.started = self.clock.now()
        self.identity = identity(self.config.data, self.config.name, is_new=journal.recovery.next == 1)
        records = (decode_record(content) for content in journal.recovery.contents())
        self.broker = Broker(self.config.name, self.identity.incarnation, records, now=self.started)
        self.commit = GroupCommit(
            journal,
            now=self.clock.now,
            image=lambda: list(self.broker.tables.snapshot()),
            synced=lambda number: self.give([Synced(number)]),
            failed=self.fail,
        )
        self.operator = Operator(self)
        self.behaviours, self.own = Behaviours(self), OwnClient(self)
        self.visits = Visits(self, self.behaviours, self.own)
        self.neighbours = Neighbours(self, self.config.neighbours)
        self.give([])
        if self.config.admin is not None:  # first: a broker that listens has started
            self.admin = AdminPort(self.operator.status)
            await self.admin.start(self.config.admin)
        await self.strangers.listen(self.config.listen)
        self.neighbours.start()
        self._say_started(journal)
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)

    def _say_started(self, journal: Journal) -> None:
        recovery = journal.recovery
        self.log.say(
            "started",
            address=f"{self.config.listen.host}:{self.port}",
            incarnation=self.identity.incarnation,
            boot=self.broker.tables.boot,
            records=recovery.count,
            torn_bytes=recovery.torn,
        )

    @property
    def port(self) -> int:
        """Where it listens, if it asked for any port."""
        return self.strangers.port

    async def run(self) -> None:
        """Runs until `stopping` is set, or it fails."""
        await self.stopping.wait()
        await self.stop()
        if self.error is not None:
            raise self.error

    async def stop(self) -> None:
        """Says nothing new, syncs what is pending, lets acknowledgements go out, and closes."""
        self.strangers.stop_listening()
        if self.admin is not None:
            self.admin.close()
        self._measuring.cancel()
        await self.neighbours.stop()
        self._is_deaf = True
        if self._wake is not None:
            self._wake.cancel()
        while self._is_well and (self._inputs or not self.commit.is_idle):
            await self.commit.idle()
            self._step()
        self._is_over = True
        if self._is_well:
            await self.commit.close()
        await self.behaviours.close()
        await self.strangers.close()
        connections = [*self.links.values(), *self.operator.connections]
        for connection in connections:
            connection.close("the broker stops")
        await asyncio.gather(*(connection.wait_closed() for connection in connections))
        self.log.say("stopped", error=repr(self.error) if self.error is not None else "")

    @property
    def _is_well(self) -> bool:
        """Can what is pending still be written? On a full disk a stop is as good as a crash."""
        return self.error is None and not self.commit.full

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
        if self.error is not None or self._is_over:
            return
        inputs, self._inputs = self._inputs, []
        now = self.clock.now()
        names = dict(self.broker.router.names) if inputs else {}
        effects = self.broker.step(inputs, now)
        self.memory.counts["steps"] += 1
        self.memory.counts["step_microseconds"] += self.clock.now() - now
        self.memory.note(inputs, effects, {**names, **self.broker.router.names}, now)
        touched: dict[str, None] = {}
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect, touched)
            elif isinstance(effect, Append):
                self.commit.append(effect.records, effect.number)
            elif isinstance(effect, Run):
                self.behaviours.run(effect)
            elif isinstance(effect, Execute):
                self.behaviours.execute(effect)
            elif isinstance(effect, Forgotten):
                self.fail(ForgottenError(self.config.name))
            else:
                self._wake_at(effect, now)
        for link in touched:
            self.links[link].pump()

    def _send(self, effect: Send, touched: dict[str, None]) -> None:
        connection = self.links.get(effect.link)
        if connection is None or connection.end is None or connection.is_closing:
            if effect.link == self.own.link:
                self.own.hear(effect.message)
            return
        oversized = connection.end.oversized
        connection.end.send(effect.message)
        if connection.end.oversized > oversized:
            self.memory.counts["oversized"] += 1
            self.log.say("too large", link=effect.link, message=type(effect.message).__name__)
        touched[effect.link] = None
        if effect.link in self.clients:
            if connection.end.queued > limits.CLIENT_BACKLOG_MESSAGES_MAX:
                connection.abort("it does not read what it is told")
            self.weigh(self.principals[effect.link], connection)

    def _wake_at(self, effect: Wake, now: int) -> None:
        if self._wake is not None:
            self._wake.cancel()
        if self._is_deaf:
            return
        self._wake = self._loop.call_later(max(effect.at - now, 0) / 1e6, self.give, [Tick()])

    def _measure(self) -> None:
        self._measuring = self._loop.call_later(MEASURE_SECONDS, self._measure)
        self._say_room()
        self._end_expired()
        self.behaviours.look()
        self.visits.expire()
        self.give(
            Measured(link, connection.end.rtt_us, connection.end.queued)
            for link, connection in self.links.items()
            if link not in self.clients and connection.end is not None and connection.end.rtt_us
        )

    def _say_room(self) -> None:
        if bool(self.commit.full) != self._was_full:
            self._was_full = bool(self.commit.full)
            self.log.say("disk full" if self._was_full else "room again", trouble=self.commit.full)

    def _end_expired(self) -> None:
        """Whoever's certificate or token is over is cut off; when it comes again it is told why."""
        now = time.time()
        for connection in [*self.links.values(), *self.operator.connections]:
            if 0 < connection.expires <= now:
                connection.abort("its certificate or token has expired")

    # Connections

    def _made(self) -> Connection:
        return Connection(self, self.clock)

    def _stranger_gone(self, address: str, reason: str) -> None:
        self.log.say("stranger gone", reason=reason, address=address)

    def weigh(self, principal: Principal, connection: Connection) -> None:
        """Cuts off the connection that keeps most, if its principal keeps too much in memory."""
        if not connection.is_closing:
            greatest = self._budgets.note(principal.name, connection)
            if greatest is not None:
                greatest.abort("its principal keeps too much in the broker's memory")

    def _kept(self, connection: Connection) -> int:
        attachment = self.broker.clients.attached.get(connection.link)
        return connection.kept_bytes + (attachment.early_bytes if attachment is not None else 0)

    def said(self, connection: Connection, content: bytes) -> None:
        """An introduction, or an operator's request."""
        if connection not in self.strangers:
            self.operator.asked(connection, content)
            return
        introduction = introduction_of(content)
        try:
            check_name(introduction.name, chars_max=limits.CLIENT_NAME_CHARS_MAX)
            principal = self.door.principal(introduction, peer_of(connection.transport))
        except AgventError as error:
            self.turn_away(connection, error.message, final=True)
            return
        reason = self._objection(introduction, principal)
        if reason:
            self.turn_away(connection, reason)
            return
        self.strangers.introduced(connection)
        connection.expires = principal.expires
        connection.say(msgspec.json.encode(self._welcome(introduction.name)))
        if introduction.kind == "operator":
            self.operator.welcome(connection, principal)
        elif introduction.kind == "broker":
            self.neighbours.came(introduction.name, connection)
        else:
            link = self.link(connection, introduction.name)
            self.clients[link], self.principals[link] = introduction.name, principal

    def _objection(self, introduction: Introduction, principal: Principal) -> str:
        """Why an introduction is not welcome; empty if it is."""
        if introduction.to not in ("", self.config.name):
            return f"the introduction is for {introduction.to!r}, and this is {self.config.name!r}"
        is_crowded = len(self.links) >= self.places.links
        if introduction.kind == "broker":
            is_crowded = is_crowded and introduction.name not in self.config.neighbours
            return "too many connections" if is_crowded else self.neighbours.objection(introduction.name)
        if introduction.kind == "operator":
            return ""
        if introduction.name.startswith(MARK):
            return f"names that begin with {MARK} are the brokers' own"
        if self.draining:
            return f"{self.config.name!r} is being drained"
        if is_crowded:
            return "too many connections"
        theirs = sum(one.name == principal.name for one in self.principals.values())
        if theirs >= limits.PRINCIPAL_CONNECTIONS_MAX:
            return f"{principal.name!r} has {theirs} connections already"
        names = {name_of(key) for key in self.broker.tables.deliveries.clients}
        if principal.has_enough_clients(names, introduction.name):
            return f"{principal.name!r} has {limits.PRINCIPAL_CLIENTS_MAX} clients at home here already"
        return ""

    def _welcome(self, name: str) -> Welcome:
        deliveries = self.broker.tables.deliveries
        known = deliveries.clients.get(deliveries.current(name))
        home = known is not None and not known.claimed
        return Welcome(
            broker=self.config.name, incarnation=self.identity.incarnation, load=len(self.clients), home=home
        )

    def turn_away(self, connection: Connection, reason: str, *, final: bool = False) -> None:
        self.log.say("turned away", reason=reason, address=_address(connection))
        connection.say(msgspec.json.encode(TurnedAway(reason=reason, final=final)))
        connection.close(reason)

    def link(self, connection: Connection, name: str, *, stall_us: int = limits.LINK_SILENCE_US) -> str:
        """Begins a link on a connection that is introduced."""
        self._links_made += 1
        link = f"{name}#{self._links_made}"
        self.links[link] = connection
        self.log.say("link begun", link=link, address=_address(connection))
        connection.link = link
        connection.begin(stall_us=stall_us)
        return link

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        if self._is_deaf:
            return
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
            elif isinstance(one, ForHost) and link in self.clients:
                self.visits.came(connection, one)
            elif link in self.clients:
                for part in self._parts(link, one):
                    self._admit(connection, part, inputs)
            else:
                inputs.append(Came(link, one))
        if inputs:
            self.give(inputs)
        if link in self.clients:
            self._charge(connection, len(what))

    def _charge(self, connection: Connection, messages: int) -> None:
        """A principal that says too much is not read for a while, and keeps only so much in memory."""
        self.weigh(self.principals[connection.link], connection)
        size, connection.received_bytes = connection.received_bytes, 0
        wait = self.allowances.take(self.principals[connection.link].name, messages, size, self.clock.now())
        if wait:
            self.memory.counts["held"] += 1
            connection.hold(wait)

    def _parts(self, link: str, message: AnyMessage) -> list[AnyMessage]:
        """A message; a batch of one who may not publish everything, event by event."""
        if not isinstance(message, Publish) or self.principals[link].grants is ALL:
            return [message]
        if not 1 < message.publication.count <= limits.BATCH_EVENTS_MAX:
            return [message]
        return [Publish(single) for single in taken_apart(message.publication)]

    def _admit(self, connection: Connection, message: AnyMessage, inputs: list[Input]) -> None:
        """A client's message, if it may say it. A publication that it may not make is settled as one without an
        event: its place among the client's sequences must be taken."""
        client = self.clients[connection.link]
        held = self._subscriptions(client) if isinstance(message, Subscribe) else 0
        denied = self.door.denial(self.principals[connection.link], client, message, held)
        if denied is None:
            inputs.append(Came(connection.link, message))
            return
        assert connection.end is not None
        connection.end.send(denied)
        if isinstance(message, Publish):
            emptied = msgspec.structs.replace(message.publication, event=b"")
            inputs.append(Came(connection.link, Publish(emptied)))
        elif isinstance(message, Attach):
            connection.abort("it attaches as somebody else")

    def _subscriptions(self, client: str) -> int:
        """How many subscriptions a client has here; 0 while all clients together have few enough."""
        current = self.broker.tables.homes.current
        if len(current) < limits.CLIENT_SUBSCRIPTIONS_MAX:
            return 0
        return sum(name_of(version.client) == client for version in current.values())

    def lost(self, connection: Connection, reason: str) -> None:
        self.strangers.lost(connection, reason)
        self._budgets.forget(connection)
        if self.links.pop(connection.link, None) is not None:
            self.log.say("link ended", link=connection.link, reason=reason)
            self.clients.pop(connection.link, None)
            self.principals.pop(connection.link, None)
            self.allowances.keep({principal.name for principal in self.principals.values()})
            self.neighbours.lost(connection)
            self.give([LinkDown(connection.link)])
        self.operator.lost(connection)

    def forget(self, broker: str) -> None:
        self.give([Forget(broker)])


def _door(tls: Tls | None) -> tuple[Door, ssl.SSLContext | None, ssl.SSLContext | None]:
    """The door, and the contexts for dialling and for listening."""
    if tls is None:
        return Door(is_locked=False, keys=[]), None, None
    from agvent.net.tokens import read_public_key  # noqa: PLC0415 - a compiled library, for those who have keys

    door = Door(is_locked=True, keys=[read_public_key(path) for path in tls.tokens])
    files = (tls.authority, tls.certificate, tls.key)
    return door, dial_context(*files), server_context(*files)


def _address(connection: Connection) -> str:
    peer = connection.transport.get_extra_info("peername") or ("", 0)
    return f"{peer[0]}:{peer[1]}"


def _bug(context: dict[str, Any]) -> BaseException:
    return RuntimeError(str(context.get("message")))
