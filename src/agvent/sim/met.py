"""What a run met: which message came in which state, which record in which mix of faults, which fault in which phase.

A sweep that never gave a message to a broker whose disk was just syncing says nothing about that. `Met` sits beside a
world and counts such pairs; coverage.py says which of all possible ones were never met. A pair belongs to a table, and
has a row and a column in it:

    messages × states    a message, and the state of the broker or client that it came to
    kinds × mixes        a message or record, and the mix of faults of the run
    kinds × faults       a message or record, and a fault that happened in the run
    faults × phases      something done to a broker, and what that was busy with
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from agvent.broker.interface import Input, MessageCame
from agvent.broker.records import AnyRecord, Record
from agvent.wire.broker_messages import Adverts, Body, Copies, Hello, Routed, Took, Travel
from agvent.wire.client_messages import (
    Advertised,
    AdvertisementsFound,
    Attach,
    Attached,
    Deliver,
    Done,
    Gap,
    Published,
    Refused,
    Stopped,
    Subscribed,
    TypeGone,
)  # fmt: skip
from agvent.wire.host_messages import Admit, Admitted, Dispose, GetHostKey, HostKey, Invoke, Invoked, Load
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode, ClientNode
    from agvent.sim.scenario import Scenario
    from agvent.sim.world import World

STATES, MIXES_OF, FAULTS_OF, PHASES = "messages × states", "kinds × mixes", "kinds × faults", "faults × phases"


class Pair(NamedTuple):
    """One thing that can be met."""

    table: str
    row: str
    column: str


HOST: Final = (Admit, Admitted, Dispose, GetHostKey, HostKey, Invoke, Invoked, Load)
"""What is between a broker and a sandbox host. No host is simulated."""

TO_CLIENTS: Final = (
    Advertised, AdvertisementsFound, Attached, Deliver, Done, Gap, Published, Refused, Stopped, Subscribed, TypeGone,
)  # fmt: skip
BETWEEN_BROKERS: Final = (Hello, Adverts, Copies, Took, Travel, *get_args(Body))
FROM_CLIENTS: Final = tuple(
    one for one in get_args(AnyMessage) if one not in {*HOST, *TO_CLIENTS, *BETWEEN_BROKERS, Routed}
)

CLIENT_STATES: Final = ("attaching", "attached", "asking", "publishing", "moved", "a next process", "a guest")
BROKER_PHASES: Final = (
    "calm", "starting", "cut off", "syncing", "saving", "disk full", "moving", "asking", "holding", "early", "matching",
    "seeking", "travelling",
)  # fmt: skip
SENDER_STATES: Final = ("of a client at home", "of a client that moves", "of a guest", "of nobody yet")


def kind_of(message: AnyMessage) -> str:
    """The message's, or that of its body."""
    return type(message.body if isinstance(message, Routed) else message).__name__


def phases_of(node: BrokerNode) -> Iterator[str]:
    """What a broker is busy with now."""
    tables, broker = node.broker.tables, node.broker
    now = {
        "starting": node.world.now - node.started_at < 1_000_000 and tables.boot > 1,
        "cut off": not all(end.up for end in node.ends.values()),
        "syncing": bool(node.unsynced),
        "saving": node.disk.snapshot is not None,
        "disk full": node.disk.is_full,
        "moving": bool(tables.deliveries.moving),
        "asking": bool(broker.clients.requests.open),
        "holding": bool(tables.custody.held),
        "early": bool(tables.chains.early),
        "matching": bool(broker.entry.waiting()),
        "seeking": bool(broker.router.seeks),
        "travelling": bool(tables.journeys.errands),
    }
    yield from (name for name, is_so in now.items() if is_so)
    if not any(now.values()):
        yield "calm"


def _sender_state(node: BrokerNode, link: str) -> str:
    client = next((one for one in node.broker.tables.deliveries.clients.values() if one.link == link), None)
    if client is None:
        return "of nobody yet"
    if client.guest:
        return "of a guest"
    return "of a client that moves" if client.is_moving or client.claimed else "of a client at home"


def _client_states(node: ClientNode) -> Iterator[str]:
    session = node.session
    yield "attached" if session.attached else "attaching"
    yield from (
        name
        for name, is_so in {
            "asking": bool(session.requests),
            "publishing": bool(session.unacknowledged_events),
            "moved": len(node.homes) > 1,
            "a next process": session.life > 0,
            "a guest": session.guest,
        }.items()
        if is_so
    )


class Met:
    """What the run of one world met."""

    def __init__(self) -> None:
        self.pairs: set[Pair] = set()
        self.kinds: set[str] = set()  # messages and records

    def came(self, node: BrokerNode, inputs: Iterable[Input]) -> None:
        """Messages come to a broker."""
        came = [given for given in inputs if isinstance(given, MessageCame)]
        phases = list(phases_of(node)) if came else []
        for given in came:
            kind = kind_of(given.message)
            self.kinds.add(kind)
            self.pairs.update(Pair(STATES, kind, phase) for phase in phases)
            if type(given.message) in FROM_CLIENTS:
                self.pairs.add(Pair(STATES, kind, _sender_state(node, given.link)))

    def heard(self, node: ClientNode, message: AnyMessage) -> None:
        """A message comes to a client."""
        kind = kind_of(message)
        self.kinds.add(kind)
        self.pairs.update(Pair(STATES, kind, state) for state in _client_states(node))

    def written(self, records: Iterable[Record]) -> None:
        """Records come to be on a disk, one by one or in a snapshot."""
        self.kinds.update(type(record).__name__ for record in records)

    def done(self, world: World, what: str, names: Iterable[Any]) -> None:
        """Something is done to brokers, or to clients that are at home there."""
        for name in (name for name in names if isinstance(name, str)):
            client = world.clients.get(name)
            node = world.brokers.get(client.home if client else name)
            if node is not None and node.alive and what in STRIKES:
                self.pairs.update(Pair(PHASES, what, phase) for phase in phases_of(node))

    def all_of(self, scenario: Scenario, faults: Iterable[str]) -> set[Pair]:
        """Everything, at the end of a run in which these faults happened."""
        mixes = {Pair(MIXES_OF, kind, scenario.mix) for kind in self.kinds}
        happened = {Pair(FAULTS_OF, kind, fault) for kind in self.kinds for fault in faults}
        return self.pairs | mixes | happened


STRIKES: Final = (
    "crash", "trap_crash", "pause", "slow_disk", "full_disk", "cut", "trap_cut", "worsen", "retire", "move",
    "leave", "end",
)  # fmt: skip
"""What is done to brokers and their clients, as doings.py names it."""


SEEN_ELSEWHERE: Final = {"Timed"}
"""Every group on a disk begins with it; disk.py writes it."""


def possible(mixes: Iterable[str], faults: Iterable[str]) -> set[Pair]:
    """All pairs that there are, with these mixes and kinds of faults."""
    to_brokers = [one.__name__ for one in (*FROM_CLIENTS, *BETWEEN_BROKERS)]
    records = [one.__name__ for one in get_args(AnyRecord) if one.__name__ not in SEEN_ELSEWHERE]
    names = [*to_brokers, *(one.__name__ for one in TO_CLIENTS), *records]
    return {
        *(Pair(STATES, row, column) for row in to_brokers for column in BROKER_PHASES),
        *(Pair(STATES, one.__name__, column) for one in FROM_CLIENTS for column in _senders_of(one)),
        *(Pair(STATES, one.__name__, column) for one in TO_CLIENTS for column in _states_for(one)),
        *(Pair(MIXES_OF, row, column) for row in names for column in mixes),
        *(Pair(FAULTS_OF, row, column) for row in names for column in faults),
        *(Pair(PHASES, row, column) for row in STRIKES for column in BROKER_PHASES),
    }


def _senders_of(message: type[AnyMessage]) -> Iterable[str]:
    """A link is nobody's until its client attaches, which it does first of all."""
    return ("of nobody yet",) if message is Attach else SENDER_STATES[:-1]


def _states_for(message: type[AnyMessage]) -> Iterable[str]:
    """What a client is told before it is attached is that, or that it is not."""
    if message is Attached:
        return [state for state in CLIENT_STATES if state != "attached"]
    return CLIENT_STATES if message is Refused else CLIENT_STATES[1:]
