"""The world: a clock that jumps from one happening to the next, the nodes, and what is known of the run.

`History` is what checkers judge: what came to be on disk, what clients asked, what clients were told. All in the order
in which it happened.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import deque
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec

from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Effect, Input, LinkDown, LinkUp, MessageCame, Send
from agvent.broker.records import Record
from agvent.sim.chronicler import Chronicler
from agvent.sim.doings import Doings
from agvent.sim.machine import Machine, any_of
from agvent.sim.memory_use import memory_use
from agvent.sim.met import Met
from agvent.sim.network import GOOD, Conditions, Network
from agvent.sim.nodes import BrokerNode, ClientNode, Node
from agvent.sim.resends import Resends
from agvent.sim.restarts import Restarts
from agvent.sim.topology import Edge
from agvent.sim.trace import Trace
from agvent.sim.traps import Trap, kinds_of
from agvent.sim.watched_link import LinkWatch
from agvent.sim.write_ahead import WriteAhead
from agvent.wire.broker_messages import Copies
from agvent.wire.messages import AnyMessage

START_US = 1_700_000_000_000_000
"""Virtual time begins at a round second of 2023, so that times look like times."""

MACHINE = Machine()

FIRST = 1 << 60
"""What is done to the world at a time comes before what happens in it at the same time."""

CHECK_EVERY = 16
"""Steps between two looks at a broker's invariants: each look costs as much as a step."""

WATCH_LINKS_OF = 3
"""Of so many seeds the links of one are watched."""


class OnDisk(msgspec.Struct, frozen=True):
    """A record came to be on a broker's disk."""

    at: int
    broker: str
    incarnation: int
    record: Record


class ClientCall(msgspec.Struct, frozen=True):
    """A process of a client called its session: the method, what it gave back, and the arguments. `order` counts calls
    and words of a run together."""

    at: int
    client: str
    method: str
    result: int
    args: tuple[Any, ...]
    process: str = ""
    life: int = 0
    order: int = 0


class ClientTold(msgspec.Struct, frozen=True):
    """A client's session gave its caller a message."""

    at: int
    client: str
    message: AnyMessage
    home: str = ""
    process: str = ""
    order: int = 0


class SeenEvent(NamedTuple):
    """An event as hops name it; of a batch, the last one."""

    publisher: str
    sequence: int
    fast: bool


class SeenHop(msgspec.Struct):
    """A copy's way over one link: the `hop`th of its way. Times are 0 where it was not sent or not received."""

    event: SeenEvent
    source: str
    target: str
    hop: int
    homes: tuple[str, ...]
    sent: int = 0
    received: int = 0
    queue: int = 0
    bytes: int = 0
    events: int = 1


def seen_event(copies: Copies) -> SeenEvent:
    publication = copies.publication
    return SeenEvent(publication.publisher, publication.sequence, publication.fast)


class RunHistory(msgspec.Struct):
    """Everything a checker may look at, beside the world itself."""

    on_disk: list[OnDisk] = []
    asked: list[ClientCall] = []
    told: list[ClientTold] = []
    lost_disks: list[tuple[str, int]] = []  # broker, the incarnation that ended
    faults: dict[str, int] = {}
    read: tuple[Any, Any] | None = None  # promises.py: what was made of it, and of how much


class World:
    """A network of brokers and clients under one seed."""

    def __init__(
        self,
        seed: int,
        edges: list[Edge],
        *,
        conditions: Conditions | None = None,
        trace: Trace | None = None,
        machine: Machine = MACHINE,
    ) -> None:
        self.seed, self.random = seed, Random(seed)
        self.doings = Doings(self)
        self.met: Met | None = None  # what this run met, where that is counted
        self.machine = machine
        self.small_limits: Mapping[str, int] = {}  # those that are not the real ones
        self.now = self.began = START_US
        self.edges: list[Edge] = []
        self.first_edges: tuple[Edge, ...] = ()  # of the brokers that are there from the beginning
        self.network = Network(seed)
        self.trace = trace
        self.history = RunHistory([], [], [], [], {})
        self.digest = hashlib.blake2b(digest_size=16)
        self.steps = 0
        self.check_every = CHECK_EVERY
        self.chronicler: Chronicler | None = None
        self._token = 0
        self._count = 0
        self._words = 0
        self._agenda: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.brokers: dict[str, BrokerNode] = {}
        self.clients: dict[str, ClientNode] = {}
        self._neighbours: dict[str, list[str]] = {}
        self._broker_names: list[str] = []
        self.most: dict[str, dict[str, int]] = {}  # broker -> the most that it kept in memory
        self.restarts = Restarts(seed)
        self.write_ahead = WriteAhead(self)
        self.traps: list[Trap] = []
        self.resends = Resends()
        self.messages = 0  # that brokers sent
        self.records = 0  # that they wrote
        self.client_messages = 0  # that came to brokers
        self.link_changes = 0  # of links between brokers
        self.calm: Any = None  # calm.py: what was published when everything had come right
        self.idle = (0, 0)  # messages and records of brokers while nothing happened
        self.links: LinkWatch | None = LinkWatch(self) if seed % WATCH_LINKS_OF == 0 else None
        self.hops: list[SeenHop] = []
        self._under_way: dict[tuple[SeenEvent, str, str], deque[SeenHop]] = {}  # sent and not yet received
        self.build(edges, conditions)

    @property
    def is_ordinary(self) -> bool:
        """Has it the real limits?"""
        return not self.small_limits

    def build(self, edges: list[Edge], conditions: Conditions | None = None) -> None:
        """Lays links between brokers."""
        self.edges += edges
        self._broker_names = list(dict.fromkeys(name for edge in self.edges for name in edge))
        for a, b in edges:
            self.network.connect(a, b, conditions or self._usual(a, b))
            self._neighbours.setdefault(a, []).append(b)
            self._neighbours.setdefault(b, []).append(a)

    def start(self, make: type[Broker] = Broker) -> None:
        """Switches the brokers on."""
        self.first_edges = tuple(self.edges)
        for name in self._broker_names:
            self.brokers[name] = BrokerNode(self, name, make)

    def join(self, name: str, neighbours: list[str], make: type[Broker] = Broker) -> None:
        """A new broker, linked to some that are there."""
        self.build([(other, name) for other in neighbours])
        self.brokers[name] = BrokerNode(self, name, make)
        for other in neighbours:
            if self.brokers[other].alive:
                self.brokers[other].open(name)

    @property
    def keeps_history(self) -> bool:
        """Are journals kept for the event log?"""
        return self.chronicler is not None

    def is_connected_without(self, name: str) -> bool:
        """Would the brokers that stay reach each other without this one?"""
        stay = [node.name for node in self.brokers.values() if not node.left and node.name != name]
        reached = set(stay[:1])
        while more := {b for a, b in self._both_ways() if a in reached and b in stay} - reached:
            reached |= more
        return bool(stay) and len(reached) == len(stay)

    def _both_ways(self) -> list[Edge]:
        return [*self.edges, *((b, a) for a, b in self.edges)]

    def attach(
        self,
        process: str,
        home: str,
        conditions: Conditions | None = None,
        *,
        client: str = "",
        life: int = 0,
        guest: bool = False,
    ) -> ClientNode:
        """A new process at a broker: of a client of that name, unless another is given."""
        over = tuple(node.name for node in self.clients.values() if node.client == client and node.is_over)
        options = {"home": home, "client": client, "life": life, "guest": guest, "after": over}
        self.doings.note(process, "attach", {name: value for name, value in options.items() if value})
        self._wire(process, home, conditions)
        made = self.clients[process] = ClientNode(self, process, home, client=client, life=life, guest=guest)
        return made

    def move(self, client: str, home: str) -> None:
        """A client goes to another broker."""
        if client not in self._neighbours.get(home, []):
            self._wire(client, home)
        self.clients[client].move(home)

    def _wire(self, client: str, home: str, conditions: Conditions | None = None) -> None:
        self.network.connect(client, home, conditions or self._usual(client, home))
        self._neighbours.setdefault(home, []).append(client)
        if self.brokers[home].alive:
            self.brokers[home].open(client)

    def living(self) -> list[ClientNode]:
        """The processes of clients that have not ended."""
        return [node for node in self.clients.values() if not node.is_over]

    def random_of(self, *names: str) -> Random:
        """The chance of a part of the world: what happens elsewhere has no influence on it."""
        return Random(" ".join((str(self.seed), *names)))

    def _usual(self, a: str, b: str) -> Conditions:
        """Those of a new link."""
        delay_us = any_of(self.random_of(a, b, "usual"), self.machine.delay_us)
        return GOOD if delay_us == GOOD.delay_us else Conditions(delay_us=delay_us)

    # Time

    def at(self, time: int, then: Callable[..., None], *args: Any) -> None:
        self._count += 1
        heapq.heappush(self._agenda, (max(time, self.now), self._count, then, args))

    def doing(self, time: int, then: Callable[..., None], *args: Any) -> None:
        """Something is done to the world at a time."""
        self._count += 1
        heapq.heappush(self._agenda, (max(time, self.now), self._count - FIRST, then, args))

    def is_last_now(self) -> bool:
        """Is nothing else to happen at this moment?"""
        return not self._agenda or self._agenda[0][0] > self.now

    def run(self, until: int, *, done: Callable[[], bool] | None = None) -> bool:
        """Lets time pass; True if `done` came true, which is asked once each virtual half second."""
        ask, agenda = self.now, self._agenda
        while agenda and (at := agenda[0][0]) <= until:
            if done is not None and at > ask:
                if done():
                    return True
                ask += (at - ask) // 500_000 * 500_000 + 500_000
            self.now, _, then, args = heapq.heappop(agenda)
            then(*args)
        self.now = until
        return done is not None and done()

    # The network

    def transmit(self, source: str, target: str, frame: bytes) -> None:
        self.digest.update(f"{self.now} {source} {target} ".encode() + frame)
        for at, data in self.network.arrivals(source, target, frame, self.now):
            self.at(at, self._arrive, source, target, data)

    def _arrive(self, source: str, target: str, data: bytes) -> None:
        node = self.node(target)
        if node is not None and node.alive and not self.network.paths[source, target].cut:
            node.frame(source, data)

    def node(self, name: str) -> Node | None:
        return self.brokers.get(name) or self.clients.get(name)

    def peers(self, name: str) -> list[str]:
        return self._neighbours.get(name, [])

    def is_broker(self, name: str) -> bool:
        return name in self._neighbours and name not in self.clients

    def next_token(self) -> int:
        self._token += 1 << 20
        return self._token

    # What nodes report

    def stepped(self, node: BrokerNode, inputs: list[Input], effects: list[Effect]) -> None:
        self.steps += 1
        if self.steps % self.check_every == 0:
            node.broker.check()
            self._count_up(node)
        for given in inputs:
            if type(given) is MessageCame:
                if type(given.message) is Copies:
                    self._hop_ended(node, given.link, given.message)
                elif given.link not in self.brokers:
                    self.client_messages += 1
            elif isinstance(given, (LinkUp, LinkDown)) and given.link in self.brokers:
                self.link_changes += 1
        for effect in effects:
            if type(effect) is Send:
                self.messages += 1
                if type(effect.message) is Copies:
                    self._hop_began(node, effect.link, effect.message)
            elif type(effect) is Append:
                self.records += len(effect.records)
        self.write_ahead.stepped(node, inputs, effects)
        self.resends.stepped(node, inputs, effects, self.now)
        if self.traps:
            self._try_traps(node, effects)
        if self.trace is not None:
            self.trace.step(self.now - START_US, node.name, inputs, effects)

    def _try_traps(self, node: BrokerNode, effects: list[Effect]) -> None:
        met = [found for effect in effects for found in kinds_of(effect)]
        for trap in list(self.traps):
            for kind, link in met:
                if kind == trap.kind:
                    trap.count -= 1
                    if not trap.count:
                        self.traps.remove(trap)
                        trap.spring(trap, node, link)
                        break

    def _hop_began(self, node: BrokerNode, target: str, copies: Copies) -> None:
        queue = node.ends[target].queued if target in node.ends else 0
        hop = SeenHop(seen_event(copies), node.name, target, len(copies.trace), tuple(t.home for t in copies.targets))
        hop.sent, hop.queue, hop.bytes = self.now, queue, len(copies.publication.event)
        hop.events = copies.publication.count
        self.hops.append(hop)
        self._under_way.setdefault((hop.event, node.name, target), deque()).append(hop)

    def _hop_ended(self, node: BrokerNode, source: str, copies: Copies) -> None:
        under_way = self._under_way.get((seen_event(copies), source, node.name))
        while under_way:
            hop = under_way.popleft()
            if hop.homes == tuple(target.home for target in copies.targets):
                hop.received = self.now
                return

    def _count_up(self, node: BrokerNode) -> None:
        most = self.most.setdefault(node.name, {})
        for what, count in memory_use(node.broker).items():
            most[what] = max(count, most.get(what, 0))

    def synced(self, node: BrokerNode, records: list[Record]) -> None:
        if self.met is not None:
            self.met.written(records)
        node.kept += records
        self.write_ahead.synced(node, records)
        for record in records:
            self.history.on_disk.append(OnDisk(self.now, node.name, node.incarnation, record))

    def told(self, node: ClientNode, message: AnyMessage) -> None:
        order = self._next_word()
        self.history.told.append(ClientTold(self.now, node.client, message, node.home, node.name, order))
        if self.trace is not None:
            self.trace.told(self.now - START_US, node.name, message)

    def ask(self, process: str, method: str, *args: Any, **options: Any) -> int:
        """A process of a client calls its session."""
        node, order = self.clients[process], self._next_word()
        self.doings.note(process, method, {"given": args, **options})
        result: int = getattr(node.session, method)(*args, **options)
        call = ClientCall(
            at=self.now,
            client=node.client,
            method=method,
            result=result,
            args=(*args, options),
            process=process,
            life=node.session.life,
            order=order,
        )
        self.history.asked.append(call)
        if method in ("subscribe", "unsubscribe"):
            node.talk.wants(args[0])
        node.say()
        return result

    def _next_word(self) -> int:
        self._words += 1
        return self._words

    def fault(self, kind: str, detail: str) -> None:
        self.history.faults[kind] = self.history.faults.get(kind, 0) + 1
        if self.trace is not None:
            self.trace.fault(self.now - START_US, kind, detail)
