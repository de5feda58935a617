"""What a client and its broker say to each other."""

from __future__ import annotations

from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.parts import Message, Part, Publication


class Source(Part, frozen=True):
    """Where a client was at home before: its key there, and the last delivery it had from there."""

    broker: str
    incarnation: int
    client: str
    received: int


class Attach(Message, frozen=True, kw_only=True, tag=20):
    """A client's first message on a link: the last deliveries it has, the first sequences it will send, and the broker
    of which that is true. A client that knows of no broker says incarnation 0 and is told by Attached. `moves` counts
    the homes it had before that one. Of a `guest`'s name nobody comes again."""

    client: str
    incarnation: int
    received: int
    fast_received: int
    sequence: int
    fast_sequence: int
    broker: str = ""
    moves: int = 0
    guest: bool = False


class Attached(Message, frozen=True, kw_only=True, tag=21):
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
    """The request is carried out, durably. Without `had`, there was nothing to end."""

    request: int
    had: bool = True


class Refused(Message, frozen=True, tag=29):
    """The request or publication was the caller's mistake, and changed nothing. Without a request or sequence it is the
    attaching that is refused, or ended: now, or where it is `final`, for good."""

    request: int
    sequence: int
    reason: str
    fast: bool = False
    final: bool = False

    @property
    def is_of_attaching(self) -> bool:
        return not self.request and not self.sequence


class GetAdvertisements(Message, frozen=True, tag=30):
    """All advertisements, or those of a type and its subtypes."""

    request: int
    type: str = ""


class AdvertisementsFound(Message, frozen=True, tag=31):
    """For each advertisement its owner broker, its publisher and its type."""

    request: int
    found: tuple[tuple[str, str, AgventType], ...]


class Publish(Message, frozen=True, tag=32):
    publication: Publication


class Published(Message, frozen=True, kw_only=True, tag=33):
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


class Stopped(Message, frozen=True, kw_only=True, tag=60):
    """To a publisher: a behaviour of an agvent failed at its entry, or one that finds its own way failed or ran out of
    its budget at a broker. It will not come to the homes in `declined`."""

    sequence: int
    broker: str
    reason: str
    declined: tuple[str, ...]
    fast: bool = False


class TypeGone(Message, frozen=True, tag=37):
    """The last publisher of a type and its subtypes is gone (NotifyUnadvertisement)."""

    type: str


class Deliver(Message, frozen=True, kw_only=True, tag=34):
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
    life: int = 0  # of its publisher: another process of that name may have the same sequences

    @property
    def first(self) -> int:
        """The sequence of its batch's first event."""
        return self.sequence - self.count + 1

    @property
    def last(self) -> int:
        """The sequence of its batch's last event."""
        return self.sequence

    @property
    def event_count(self) -> int:
        return len(self.places) // 2 or self.count

    @property
    def event_bytes(self) -> int:
        return len(self.event)

    @property
    def number_count(self) -> int:
        """How many numbers it takes in its client's queue: each event has one."""
        return self.event_count


class Gap(Message, frozen=True, kw_only=True, tag=35):
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

    @property
    def event_count(self) -> int:
        return 0

    @property
    def event_bytes(self) -> int:
        return 0

    @property
    def number_count(self) -> int:
        return 1
