"""The records of the journal: each is one change of the durable tables, complete in itself.

They are also what the event log is written from: an Accepted is an event, Opened and Closed are changes of a home's
stream, Heard is an epoch, Acknowledged a delivery, Noticed a gap.
"""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec

from agvent.errors import WireError
from agvent.types import AgventType
from agvent.wire.broker_messages import Copies, Entry, Interest, Journey, Passed, Report
from agvent.wire.client_messages import Deliver, Gap, Source
from agvent.wire.codec import extended, extension
from agvent.wire.parts import Entered, Publication, Target, Trace

Deliveries = tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
"""For each client the subscriptions that an event goes to, as (key, version)."""


class HomePart(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A client's part of a home: the broker, and the client's key there."""

    broker: str
    client: str


NO_PART: Final = HomePart("", "")


def part_of(source: Source) -> HomePart:
    return HomePart(source.broker, source.client)


class InstanceFields(TypedDict):
    """The fields of an InstanceKey by their names."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]


class InstanceKey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What makes an instance of a self-routing agvent one: its event, and the numbers of the clones that lead to it."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]

    @property
    def fields(self) -> InstanceFields:
        """The fields that messages and records about an instance have too."""
        return {
            "entry": self.entry,
            "incarnation": self.incarnation,
            "publisher": self.publisher,
            "sequence": self.sequence,
            "path": self.path,
        }


class Record(msgspec.Struct, frozen=True, array_like=True, tag_field="$", gc=False):
    """One change; its tag is its number in the journal and is never given to another."""


class Booted(Record, frozen=True, tag=1):
    """The broker started for the `boot`th time with this disk."""

    boot: int


class Owned(Record, frozen=True, tag=2):
    """An owner's advertisements up to a version: all of them if the incarnation is a new one."""

    owner: str
    incarnation: int
    version: int
    entries: tuple[Entry, ...]
    gone: bool


class Opened(Record, frozen=True, tag=3):
    """A version of a local subscription comes into force at this position."""

    position: int
    client: str
    interest: Interest
    epoch: int


class Closed(Record, frozen=True, tag=4):
    """The version of a local subscription ends at this position; `replaced` if another one opens in its place, else
    what waits for the subscription is owed to nobody."""

    position: int
    key: str
    replaced: bool
    epoch: int


class Settled(Record, frozen=True, tag=5):
    """No copy can come any more from before this position: versions that ended before it are let go, and those that
    ended at the positions in `others`, which no entry with copies was told of."""

    position: int
    others: tuple[int, ...] = ()


class Heard(Record, frozen=True, kw_only=True, tag=6):
    """Another home's stream applied up to a number, which made this epoch. `whole`: it replaces what there was."""

    home: str
    incarnation: int
    number: int
    position: int
    considered: int
    whole: bool
    roots: tuple[Interest, ...]
    ended: tuple[str, ...]
    epoch: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """What came of an agvent's route at a stop: who gets it here, the legs that begin, the homes that it declined, the
    homes that are left to the default route, and what its publisher is told. `skipped` are the subscriptions here that
    it matched and did not choose."""

    deliveries: Deliveries
    legs: tuple[Journey, ...] = ()
    declined: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    fault: str = ""
    skipped: tuple[str, ...] = ()


class Accepted(Record, frozen=True, kw_only=True, tag=7):
    """An event entered here, for these homes. With an `outcome` it finds its own way, and has arrived here already."""

    entered: Entered
    publication: Publication
    targets: tuple[Target, ...]
    at: int
    outcome: Outcome | None = None


class Kept(Record, frozen=True, tag=8):
    """Copies that this broker took over from another."""

    copies: Copies


class Released(Record, frozen=True, kw_only=True, tag=9):
    """This broker no longer answers for the copies of an event to these homes."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    homes: tuple[str, ...]


class Confirmed(Record, frozen=True, tag=10):
    """A home has, of each publisher, everything up to this sequence."""

    home: str
    incarnation: int
    sequences: dict[str, int]


class Arrived(Record, frozen=True, kw_only=True, tag=11):
    """A copy reached its home, in its turn: for each client the subscriptions it goes to, as (key, version).

    `lost`: the entry let go of what came after sequence `after` up to this one, and why; where the publisher is empty,
    the entry is no more, and nobody knows of what. `trace`: the way it came. Of a
    batch, `places` has for each of those subscriptions the events that go to it. `late`: its entry did not know what is
    wanted here, and it went to what was in force here then, as if it had entered here."""

    entered: Entered
    publication: Publication
    after: int
    lost: str
    deliveries: Deliveries
    trace: Trace = ()
    places: tuple[tuple[bytes, ...], ...] = ()
    late: bool = False


class Ended(Record, frozen=True, tag=42):
    """A client wants nothing more of a subscription that is not open here: what waits for it is owed to nobody."""

    key: str


class Joined(Record, frozen=True, tag=12):
    """A client is attached here for the first time. `moved`: it was elsewhere before and will say where (Moved); what
    arrives for it until then waits. Of a `guest`'s name nobody comes again."""

    client: str
    moved: bool = False
    guest: bool = False


class Acknowledged(Record, frozen=True, tag=13):
    """A client has every delivery up to this number."""

    client: str
    number: int
    at: int


class Noticed(Record, frozen=True, tag=14):
    """Deliveries up to this number were let go: the client gets a gap notice in their place."""

    client: str
    number: int
    reason: str


class Lost(Record, frozen=True, tag=15):
    """The entry let an event go for this home: a copy without its event keeps the chain."""

    publisher: str
    sequence: int
    home: str
    reason: str


class Timed(Record, frozen=True, tag=22):
    """The records after it were written at this time: the driver's word to whoever reads the journal later."""

    at: int


class Moved(Record, frozen=True, tag=23):
    """A client is at home here now and was at these brokers before, the last one first: what arrives for it waits until
    they have handed over what they have."""

    client: str
    sources: tuple[Source, ...]


class Handed(Record, frozen=True, tag=24):
    """A delivery that the client's last home passed on, with that home's number."""

    client: str
    number: int
    passed: Passed


class HandedOver(Record, frozen=True, kw_only=True, tag=25):
    """The client's last home has nothing more for it; or, for a reason, nobody will ever know: then the homes before
    that one are asked. `mark` is the position of a Marked: when nothing from before it can come, the client has
    everything. `given_up`: that home may return, and then has to close the client's part."""

    client: str
    reason: str
    subscriptions: tuple[str, ...]
    mark: int
    given_up: bool = False


class Parted(Record, frozen=True, tag=43):
    """A home that was given up has closed a client's part, or never will."""

    broker: str
    client: str


class RejectedHere(Record, frozen=True, tag=45):
    """An event of a publisher's was refused here, though later ones were accepted: whoever sends it again is refused
    again."""

    publisher: str
    sequence: int
    fast: bool
    reason: str


class GivenUp(Record, frozen=True, tag=44):
    """Of a snapshot: homes that were given up and have to close a client's part when they return."""

    homes: tuple[Source, ...]


class Marked(Record, frozen=True, tag=30):
    """A position of this home's stream at which nothing changed: what comes from before it can be told by it."""

    position: int
    epoch: int


class CaughtUp(Record, frozen=True, tag=31):
    """What a client's homes have for it is one queue now."""

    client: str


class Curtailed(Record, frozen=True, tag=41):
    """Of what arrived for a client that has not everything of before, so many of the oldest were let go: a gap notice
    for each of their publishers stands in their place."""

    client: str
    count: int
    reason: str


class Claimed(Record, frozen=True, tag=26):
    """The client's next home has every delivery up to this number on its disk."""

    client: str
    number: int
    at: int


class Left(Record, frozen=True, tag=27):
    """A client that moved, and has nothing here any more."""

    client: str


# Of agvents that find their own way


class Visited(Record, frozen=True, kw_only=True, tag=32):
    """An agvent was executed here: what it did and where it goes on, together. `arrives`: it is at a home of its own,
    in its turn after sequence `after`."""

    entered: Entered
    publication: Publication
    journey: Journey
    arrives: bool
    after: int
    outcome: Outcome
    at: int


class LegEnded(Record, frozen=True, kw_only=True, tag=33):
    """A leg landed, or a report did; or a leg was halted, and is reported."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]
    report: Report | None = None


class Reported(Record, frozen=True, tag=34):
    """What the entry of an agvent was told of an instance of it."""

    report: Report
    at: int


class Travelling(Record, frozen=True, tag=35):
    """Of a snapshot: a leg that has not landed."""

    entered: Entered
    publication: Publication
    journey: Journey


class Reporting(Record, frozen=True, tag=36):
    """Of a snapshot: a report that has not landed."""

    report: Report


class Delegated(Record, frozen=True, tag=37):
    """Of a snapshot: homes to which an agvent that entered here is finding its own way."""

    publisher: str
    sequence: int
    homes: tuple[str, ...]


class ExecutedHere(Record, frozen=True, tag=38):
    """Of a snapshot: instances that were executed here."""

    instances: tuple[InstanceKey, ...]


# Of a snapshot: what the tables hold, without how it came about. With Owned and Kept they say everything.


class Counted(Record, frozen=True, tag=16):
    """How far this broker had counted: its boots, the positions of its stream, its epochs."""

    boot: int
    position: int
    epoch: int


class Stood(Record, frozen=True, tag=17):
    """A version of a local subscription: open, or closed at a position and still owed what is on its way."""

    client: str
    interest: Interest
    opened: int
    closed: int
    moved: bool = False


class Wanted(Record, frozen=True, kw_only=True, tag=18):
    """What another home wants here, as it said last."""

    home: str
    incarnation: int
    number: int
    position: int
    considered: int
    roots: tuple[Interest, ...]


class ChainReach(msgspec.Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The last sequence of a publisher's chain: to a home, or from an entry."""

    broker: str
    incarnation: int
    publisher: str
    sequence: int


class Reached(Record, frozen=True, tag=19):
    """The last sequences: of each publisher that entered here, of each chain from here to a home, of each chain from an
    entry that arrives here."""

    accepted: dict[str, int]
    chains: tuple[ChainReach, ...]
    arrived: tuple[ChainReach, ...]


class Queued(Record, frozen=True, tag=20):
    """A client's numbered queue, without what waits in it."""

    client: str
    number: int
    received: int
    guest: bool = False


class Waited(Record, frozen=True, tag=21):
    """A delivery in the queue of the client named last."""

    client: str
    delivery: Deliver | Gap
    expires: int


class Remembered(Record, frozen=True, tag=28):
    """A life of a publisher: the sequences that came last, as (last, first), and in each range that it sent to two
    entries."""

    publisher: str
    life: int
    recent: tuple[tuple[int, int], ...]
    retried: tuple[tuple[tuple[int, int], tuple[int, ...]], ...]


class MoveInProgress(Record, frozen=True, kw_only=True, tag=29):
    """Where a client's move stands, or stood: what it was handed, and what waits beside that."""

    client: str
    claimed: bool
    origin: HomePart
    sources: tuple[Source, ...]
    taken: int
    handed: tuple[Passed, ...]
    waiting: tuple[Passed, ...]
    mark: int
    is_done: bool
    ended: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()


class Brought(Record, frozen=True, tag=40):
    """Code that came with an advertisement which is another one now, or gone, and the type as it was advertised."""

    publisher: str
    program: str
    code: bytes
    type: AgventType | None = None


AnyRecord = (
    Booted | Owned | Opened | Closed | Settled | Heard | Accepted | Kept | Released | Confirmed | Arrived | Joined
    | Acknowledged | Noticed | Lost | Counted | Stood | Wanted | Reached | Queued | Waited | Timed | Moved | Handed
    | HandedOver | Claimed | Left | Remembered | MoveInProgress | Marked | CaughtUp | Visited | LegEnded | Reported
    | Travelling | Reporting | Delegated | ExecutedHere | Brought | Curtailed | Ended | Parted | GivenUp | RejectedHere
)  # fmt: skip

_encoder = msgspec.msgpack.Encoder(enc_hook=extended)
_decoder = msgspec.msgpack.Decoder(AnyRecord, ext_hook=extension)


def encode_record(record: Record) -> bytes:
    """The bytes of a record, for whoever keeps the journal."""
    return _encoder.encode(record)


def decode_record(content: bytes) -> Record:
    """The record of these bytes; what keeps the journal has seen to it that they are whole."""
    try:
        record: Record = _decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not a record: {str(error)[:200]}") from None
    return record
