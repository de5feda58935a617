"""The messages, as data. docs/broker.md says when each is sent.

A tag is a message's number on the wire and is never given to another. Names of brokers, clients, types and
subscriptions are text; times are microseconds since 1970 UTC; a sequence, version, position, epoch or number counts
from 1, and 0 stands for none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.event import Budget
from agvent.filters.subscription import Subscription
from agvent.types import AgventType

Trace = tuple[tuple[str, int], ...]
"""The brokers a message passed, the first one first, each with the cost in µs of the link it then went out on."""


class Part(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What messages are made of. Arrays on the wire: half the bytes of maps."""


class Message(Part, frozen=True, tag_field="$"):
    """A part that can stand alone; its tag says which it is."""


# Events


class Publication(Part, frozen=True):
    """An event as its publisher sent it. Brokers on the way keep `event` as bytes and do not read it.

    `to` is an SQL filter over a subscriber's context, `destinations` the clients it is for (all if empty). `life` tells
    a publisher's process from one before it that had the same name. `retried` are the sequences, from one to another,
    that this life sent to a second entry because the first had not acknowledged them: a home drops the repeat.

    A batch is `count` events, the last of which has this sequence; `event` is then a line for each (lines.py).
    """

    publisher: str
    sequence: int
    event: bytes
    to: str = ""
    destinations: tuple[str, ...] = ()
    expires: int = 0
    fast: bool = False
    life: int = 0
    retried: tuple[tuple[int, int], ...] = ()
    count: int = 1

    @property
    def first(self) -> int:
        """The sequence of its first event."""
        return self.sequence - self.count + 1


class Call(Part, frozen=True):
    """A call of a behaviour that some filter makes."""

    name: str
    args: tuple[Any, ...]


class Answered(Part, frozen=True):
    """What a call gave: null where it failed, and then why."""

    call: Call
    value: Any
    fault: str = ""


class Entered(Part, frozen=True):
    """Where and when an event entered: the entry broker, its incarnation, its epoch; what its behaviours said there."""

    entry: str
    incarnation: int
    epoch: int
    answers: tuple[Answered, ...] = ()


class Target(Part, frozen=True):
    """One home a copy is for: the home's position that the entry had applied, and the predecessor's sequence."""

    home: str
    incarnation: int
    position: int
    predecessor: int


# Between neighbours


class Hello(Message, frozen=True, tag=1):
    """The first message of a link: who I am, and which version of each owner's advertisements I have."""

    broker: str
    incarnation: int
    known: dict[str, tuple[int, int]]


class Entry(Part, frozen=True):
    """One advertisement of an owner's, or its tombstone: `type` says what it was, `live` whether it still is.

    `code` is the signed program of an agvent type: with the advertisement it is brought to every broker once."""

    version: int
    publisher: str
    type: AgventType
    live: bool
    code: bytes = b""


class Adverts(Message, frozen=True, tag=2):
    """An owner's changes after version `since` up to `version`; what changed twice stands here once."""

    owner: str
    incarnation: int
    since: int
    version: int
    entries: tuple[Entry, ...]
    trace: Trace
    gone: bool = False


class Copies(Message, frozen=True, tag=3):
    """One event for several homes that lie in the same direction. `attempt` grows when the entry sends it again."""

    entered: Entered
    publication: Publication
    targets: tuple[Target, ...]
    trace: Trace
    attempt: int = 0
    lost: str = ""
    """Why the entry let the event go (retention, expired): the copy then only keeps the chain whole."""


class Took(Message, frozen=True, tag=4):
    """The copies for these homes are on my disk."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    fast: bool
    homes: tuple[str, ...]


class Journey(Part, frozen=True):
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


class Travel(Message, frozen=True, tag=6):
    """An agvent on a leg. Brokers between pass it on; its origin sends it again until it has landed."""

    entered: Entered
    publication: Publication
    journey: Journey
    trace: Trace
    attempt: int = 0


# Deliveries, from a home to a client and to its next home


class Deliver(Message, frozen=True, tag=34):
    """One event for all the client's subscriptions that it matched.

    `after` is the number sent before it, `behind` that of the same publisher's one before it: a large event may come
    later than what was sent after it, and holds back its own publisher's events only.

    Of a batch of `count` it has the events at `places`, and for each subscription which of those (batches.py). Each
    event has a number: `number` is the last one's, and so is `sequence`.
    """

    number: int
    after: int
    behind: int
    publisher: str
    sequence: int
    fast: bool
    event: bytes
    subscriptions: tuple[str, ...]
    count: int = 1
    places: bytes = b""
    picked: tuple[bytes, ...] = ()

    @property
    def first(self) -> int:
        """The sequence of its batch's first event."""
        return self.sequence - self.count + 1

    @property
    def event_count(self) -> int:
        return len(self.places) // 2 or self.count


class Gap(Message, frozen=True, tag=35):
    """Events that will not come: in the numbered stream of deliveries, so that it has its place and is acknowledged."""

    number: int
    after: int
    behind: int
    publisher: str
    first: int
    last: int
    fast: bool
    reason: str
    subscriptions: tuple[str, ...]


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


class Delta(Message, frozen=True, tag=10):
    """A home's stream from one number to the next. `previous` 0: this is everything, forget what you had."""

    home: str
    incarnation: int
    previous: int
    number: int
    position: int
    considered: tuple[Considered, ...]
    roots: tuple[Interest, ...]
    ended: tuple[str, ...]


class Applied(Message, frozen=True, tag=11):
    """An entry has a home's stream up to this number, and since this epoch. `settled`: the least position that a copy
    still under way carries."""

    entry: str
    incarnation: int
    number: int
    position: int
    epoch: int
    settled: int


class Confirm(Message, frozen=True, tag=12):
    """All that the entry sent to this home, of each publisher up to this sequence, has arrived. Keys: durable, fast."""

    home: str
    incarnation: int
    durable: dict[str, int]
    fast: dict[str, int]


class Seek(Message, frozen=True, tag=13):
    """A broker that has copies for the target and no way to it (ABDES §6.3: the targeted advertisement)."""

    broker: str


class Answer(Message, frozen=True, tag=14):
    """What the target of a Seek sends back; each broker on its way has proof of a path."""

    broker: str
    incarnation: int


class Source(Part, frozen=True):
    """Where a client was at home before: its key there, and the last delivery it had from there."""

    broker: str
    incarnation: int
    client: str
    received: int


class Claim(Message, frozen=True, tag=15):
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


class Handing(Message, frozen=True, tag=16):
    """The answer to a Claim: deliveries after `taken`. `drained`: nothing more will come."""

    source: Source
    client: str
    taken: int
    deliveries: tuple[Passed, ...]
    drained: bool


class Landed(Message, frozen=True, tag=17):
    """To the origin of a leg, or the sender of a report: what came of it is on disk here."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]


class Halted(Message, frozen=True, tag=18):
    """To the origin of a leg: it ran out of its budget on the way."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]
    broker: str
    reason: str


class Report(Message, frozen=True, tag=19):
    """To the entry of an agvent: homes that an instance of it declined, homes that are to go the default route, and
    what its publisher should know. Answered by Landed."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]
    broker: str
    declined: tuple[str, ...]
    returned: tuple[str, ...]
    reasons: tuple[str, ...]


class Inquiry(Message, frozen=True, tag=61):
    """To a home: has an agvent that entered here, and finds its own way, arrived? Answered by Confirm, if it has."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int


Body = Delta | Applied | Confirm | Seek | Answer | Claim | Handing | Landed | Halted | Report | Inquiry


class Routed(Message, frozen=True, tag=5):
    """A body for its targets alone. `broadcast` is 0, or the number its sender gave to a targeted broadcast."""

    targets: tuple[str, ...]
    trace: Trace
    body: Body
    sender: str = ""
    broadcast: int = 0


# Between a client and its broker


class Attach(Message, frozen=True, tag=20):
    """A client's first message on a link: the last deliveries it has, the first sequences it will send, and the broker
    of which that is true. A client that knows of no broker says incarnation 0 and is told by Attached. `moves` counts
    the homes it had before that one."""

    client: str
    incarnation: int
    received: int
    fast_received: int
    sequence: int
    fast_sequence: int
    broker: str = ""
    moves: int = 0


class Attached(Message, frozen=True, tag=21):
    """The broker's answer: what it has of this client, which may have been another process then. Another incarnation
    than last time: the broker lost its disk, and with it this client."""

    broker: str
    incarnation: int
    credit: int
    sequence: int = 0  # the last ones that entered here
    fast_sequence: int = 0
    received: int = 0  # the last deliveries acknowledged: the next one sent comes after it
    fast_received: int = 0
    version: int = 0  # the highest of its subscriptions
    moves: int = 0  # what to call it here: its `key_of_client`


class Advertise(Message, frozen=True, tag=22):
    request: int
    type: AgventType
    code: bytes = b""


class Unadvertise(Message, frozen=True, tag=23):
    request: int
    type: str


class Advertised(Message, frozen=True, tag=24):
    """Who answered the advertisement with what it wants, and who has not yet."""

    request: int
    confirmed: tuple[str, ...]
    pending: tuple[str, ...]


class Subscribe(Message, frozen=True, tag=25):
    request: int
    version: int
    subscription: Subscription


class Unsubscribe(Message, frozen=True, tag=26):
    request: int
    subscription: str


class Subscribed(Message, frozen=True, tag=27):
    """Since which epoch each entry broker has it, and who has not yet. Sent again when those change."""

    request: int
    confirmed: dict[str, int]
    pending: tuple[str, ...]


class Done(Message, frozen=True, tag=28):
    """The request is carried out, durably."""

    request: int


class Refused(Message, frozen=True, tag=29):
    """The request or publication was the caller's mistake, and changed nothing."""

    request: int
    sequence: int
    reason: str
    fast: bool = False


class GetAdvertisements(Message, frozen=True, tag=30):
    """All advertisements, or those of a type and its subtypes."""

    request: int
    type: str = ""


class Advertisements(Message, frozen=True, tag=31):
    """For each advertisement its owner broker, its publisher and its type."""

    request: int
    found: tuple[tuple[str, str, AgventType], ...]


class Publish(Message, frozen=True, tag=32):
    publication: Publication


class Published(Message, frozen=True, tag=33):
    """Everything up to this sequence is accepted; `credit` more may be on their way unacknowledged."""

    sequence: int
    fast: bool
    entry: str
    epoch: int
    credit: int


class Received(Message, frozen=True, tag=36):
    """The client has every delivery up to these numbers: of durable events, of fast ones."""

    number: int
    fast_number: int


class Move(Message, frozen=True, tag=38):
    """The client is at home here now, and was at these brokers before, the last one first: what they have for it is to
    come here. Its subscriptions were said before this. Done: the home will see to it."""

    request: int
    sources: tuple[Source, ...]


class Stopped(Message, frozen=True, tag=60):
    """To a publisher: an agvent that finds its own way failed or ran out of its budget at a broker. It will not come to
    the homes in `declined`."""

    sequence: int
    broker: str
    reason: str
    declined: tuple[str, ...]


class TypeGone(Message, frozen=True, tag=37):
    """The last publisher of a type and its subtypes is gone (NotifyUnadvertisement)."""

    type: str


# Between a client and the sandbox host beside its broker. The broker itself has no part in them.


class GetHostKey(Message, frozen=True, tag=50):
    """A publisher asks whom it hides fields for."""

    request: int


class HostKey(Message, frozen=True, tag=51):
    """The public key of the network's sandbox hosts."""

    request: int
    key: bytes


class Admit(Message, frozen=True, tag=52):
    """A subscriber lets an agvent in: the delivery of this number, which it has not acknowledged."""

    request: int
    number: int
    fast: bool
    subscription: str


class Admitted(Message, frozen=True, tag=53):
    """What the agvent told the subscriber on its arrival, and its type; or why it was not let in."""

    request: int
    type: AgventType
    told: tuple[Any, ...] = ()
    refusal: str = ""


class Invoke(Message, frozen=True, tag=54):
    """A subscriber calls a behaviour of an agvent that it let in."""

    request: int
    publisher: str
    sequence: int
    fast: bool
    call: Call


class Invoked(Message, frozen=True, tag=55):
    request: int
    answered: Answered


class Dispose(Message, frozen=True, tag=56):
    """A subscriber needs an agvent no more. Answered by Done."""

    request: int
    publisher: str
    sequence: int
    fast: bool


ForHost = GetHostKey | Admit | Invoke | Dispose


AnyMessage = (
    Hello | Adverts | Copies | Took | Routed | Attach | Attached | Advertise | Unadvertise | Advertised | Subscribe
    | Unsubscribe | Subscribed | Done | Refused | GetAdvertisements | Advertisements | Publish | Published | Deliver
    | Gap | Received | TypeGone | Move | GetHostKey | HostKey | Admit | Admitted | Invoke | Invoked | Dispose | Travel
    | Stopped
)  # fmt: skip
