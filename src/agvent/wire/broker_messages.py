"""What brokers say to each other: to a neighbour, and routed to any broker."""

from __future__ import annotations

from agvent.event import Budget
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.client_messages import Deliver, Gap, Source
from agvent.wire.parts import Entered, InstanceMessage, Message, Part, Publication, Target, Trace


class Hello(Message, frozen=True, tag=1):
    """The first message of a link: who I am, and which version of each owner's advertisements I have."""

    broker: str
    incarnation: int
    known: dict[str, tuple[int, int]]


class Entry(Part, frozen=True):
    """One advertisement of an owner's, or, where it is not `live`, its tombstone: of the `type` that has the name
    alone.

    `code` is the signed program of an agvent type: with the advertisement it is brought to every broker once."""

    version: int
    publisher: str
    type: AgventType
    live: bool
    code: bytes = b""


class Adverts(Message, frozen=True, kw_only=True, tag=2):
    """An owner's changes after version `since` up to `version`; what changed twice stands here once."""

    owner: str
    incarnation: int
    since: int
    version: int
    entries: tuple[Entry, ...]
    trace: Trace
    gone: bool = False


class Copies(Message, frozen=True, kw_only=True, tag=3):
    """One event for several homes that lie in the same direction. `attempt` grows when the entry sends it again."""

    entered: Entered
    publication: Publication
    targets: tuple[Target, ...]
    trace: Trace
    attempt: int = 0
    lost: str = ""
    """Why the entry let the event go (retention, expired): the copy then only keeps the chain whole."""
    before: tuple[str, ...] = ()
    """The brokers it passed before its trace began anew."""


class Took(Message, frozen=True, kw_only=True, tag=4):
    """The copies for these homes are on my disk; of a fast event, which has a `boot`, in memory."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    boot: int
    homes: tuple[str, ...]


class Journey(Part, frozen=True, kw_only=True):
    """A leg of an agvent that finds its own way: one instance of it, from its origin to the next broker where it stops.

    `path` says which instance: the number of each departure since the entry; `passed` are the brokers where it stopped.
    `targets` are the homes it still has to do with, `snapshot` its program where it paused, empty if it begins there.
    It has until `deadline`.
    """

    path: tuple[int, ...]
    origin: str
    to: str
    targets: tuple[Target, ...]
    snapshot: bytes
    budget: Budget
    deadline: int
    passed: tuple[str, ...] = ()


class Travel(Message, frozen=True, kw_only=True, tag=6):
    """An agvent on a leg. Brokers between pass it on; its origin sends it again until it has landed."""

    entered: Entered
    publication: Publication
    journey: Journey
    trace: Trace
    attempt: int = 0


# Routed bodies


class Interest(Part, frozen=True):
    """A root of a home's subscriptions, as an entry broker holds it."""

    version: int
    subscription: Subscription


class Considered(Part, frozen=True):
    """The version of one entry's advertisements that a Delta answers."""

    entry: str
    incarnation: int
    version: int


class Delta(Message, frozen=True, kw_only=True, tag=10):
    """A home's stream from one number to the next. `previous` 0: this is everything, forget what you had. It takes
    effect when all its `parts` are there; this is the one of this number, from 0."""

    home: str
    incarnation: int
    previous: int
    number: int
    position: int
    considered: tuple[Considered, ...]
    roots: tuple[Interest, ...]
    ended: tuple[str, ...]
    part: int = 0
    parts: int = 1


class Applied(Message, frozen=True, kw_only=True, tag=11):
    """An entry has a home's stream up to this number, and since this epoch. `settled`: the least position that a copy
    still under way carries."""

    entry: str
    incarnation: int
    number: int
    position: int
    epoch: int
    settled: int


class Confirm(Message, frozen=True, kw_only=True, tag=12):
    """All that the entry sent to this home, of each publisher up to this sequence, has arrived: of its durable events,
    and of the fast ones that it has accepted since this `boot` of it."""

    home: str
    incarnation: int
    durable: dict[str, int]
    fast: dict[str, int]
    boot: int = 0


class Seek(Message, frozen=True, tag=13):
    """A broker that has copies for the target and no way to it (ABDES §6.3: the targeted advertisement)."""

    broker: str


class Answer(Message, frozen=True, tag=14):
    """What the target of a Seek sends back; each broker on its way has proof of a path."""

    broker: str
    incarnation: int


class Claim(Message, frozen=True, kw_only=True, tag=15):
    """A client's new home asks an earlier one for what it still has for the client, after number `taken`.

    `close`: the client's subscriptions are in force from the new home everywhere, so here they may end. `before` are
    the homes before that one, for it to ask if the client never told it."""

    home: str
    client: str
    source: Source
    taken: int
    close: bool
    before: tuple[Source, ...]


class Passed(Part, frozen=True):
    """A delivery on its way from one home to the next."""

    delivery: Deliver | Gap
    expires: int


class Handing(Message, frozen=True, kw_only=True, tag=16):
    """The answer to a Claim: deliveries after `taken`. `drained`: nothing more will come."""

    source: Source
    client: str
    taken: int
    deliveries: tuple[Passed, ...]
    drained: bool


class Landed(InstanceMessage, frozen=True, tag=17):
    """To the origin of a leg, or the sender of a report: what came of it is on disk here."""


class Halted(InstanceMessage, frozen=True, kw_only=True, tag=18):
    """To the origin of a leg: it ran out of its budget on the way."""

    broker: str
    reason: str


class Report(InstanceMessage, frozen=True, kw_only=True, tag=19):
    """To the entry of an agvent: homes that an instance of it declined, homes that are to go the default route, and
    what its publisher should know. Answered by Landed."""

    broker: str
    declined: tuple[str, ...]
    returned: tuple[str, ...]
    reasons: tuple[str, ...]
    nor_here: bool = False
    """Subscribers at `broker` will not get it either. It has come there, so nothing waits for that."""
    sender: str = ""
    """Who waits for Landed, if that is not `broker`: a leg may be halted between two stops, and its origin reports."""


class Inquiry(Message, frozen=True, tag=61):
    """To a home: has an agvent that entered here, and finds its own way, arrived? Answered by Confirm, if it has."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int


class Astray(Message, frozen=True, tag=62):
    """To the entry of copies that this broker passed on: the neighbour that took them, on the way to these homes, has
    them on its disk and cannot be reached any more."""

    homes: tuple[str, ...]


Body = Delta | Applied | Confirm | Seek | Answer | Claim | Handing | Landed | Halted | Report | Inquiry | Astray


class Routed(Message, frozen=True, kw_only=True, tag=5):
    """A body for its targets alone. `broadcast` is 0, or the number its sender gave to a targeted broadcast."""

    targets: tuple[str, ...]
    trace: Trace
    body: Body
    sender: str = ""
    broadcast: int = 0
