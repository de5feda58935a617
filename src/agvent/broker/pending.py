"""Every kind of work that a broker can have before it.

Each is a frozen struct: who is to be told what, by names and numbers, never by an object that may be replaced.
`Broker` has the table from each kind to the method that does it. Where work waits, and what inspects it:

    for the disk                   `Outbox`, with the number of the record that it waits for; `Outbox.check`
    for the answers of behaviours  `EventEntry`: the `then` of each entering event, done in its publisher's order;
    or an agvent's route           `EventEntry.check`. Events that wait behind those are in the same queues.
    for the route of an agvent     `Stops`: no work, but the agvent that landed and who asked; `Stops.check`
    that landed here

What waits for a program is not in the outbox, because answers come in any order and the disk in one. `Broker.check`
calls all three.
"""

from __future__ import annotations

from agvent.broker.interface import Effect
from agvent.broker.outbox import Work
from agvent.broker.records import InstanceKey
from agvent.broker.tables.chains import Chain
from agvent.broker.tables.custody import EventKey
from agvent.wire.broker_messages import Adverts, Body, Claim, Handing, Hello, Took
from agvent.wire.client_messages import Refused
from agvent.wire.messages import AnyMessage

# Events


class LetLeave(Work, frozen=True):
    """An event that entered here is on disk: its copies may leave."""

    key: EventKey


class SendTook(Work, frozen=True):
    """Copies are on disk: the neighbour they came from need not answer for them any more."""

    neighbour: str
    took: Took


class NoteArrival(Work, frozen=True):
    """A chain's arrival is on disk up to this sequence: its entry is told with the step's other confirmations."""

    chain: Chain
    reached: int


class StartErrands(Work, frozen=True):
    """Legs and reports that began here are on disk: they may leave."""

    instances: tuple[InstanceKey, ...]


class SendRouted(Work, frozen=True):
    """A message for another broker."""

    to: str
    body: Body


# Interest


class AnswerHello(Work, frozen=True):
    """A neighbour is sent the advertisements that it lacks, and from then on every change."""

    hello: Hello


class Flood(Work, frozen=True):
    """A change of this broker's own advertisements goes to all neighbours."""

    adverts: Adverts


class Emit(Work, frozen=True):
    """An effect that must not come before its record is on disk."""

    effect: Effect


# Clients


class WelcomeClient(Work, frozen=True):
    """An attached client is told where it stands. `attachment` is the number of its attachment: if another process or
    link took its place meanwhile, nobody is told."""

    link: str
    attachment: int
    client: str
    accepted: tuple[int, int]


class TellClient(Work, frozen=True):
    """A message for a client, if it is still attached as it was."""

    link: str
    attachment: int
    message: AnyMessage


class SettlePublication(Work, frozen=True, kw_only=True):
    """A publication had its turn at the entry: it is acknowledged, and before that refused if something was wrong with
    it."""

    link: str
    attachment: int
    sequence: int
    fast: bool
    refused: Refused | None = None


class OpenSubscribe(Work, frozen=True, kw_only=True):
    """A subscription is on disk: the entries that it concerns are awaited. `at` is when it was asked for. An answer to
    another process of the client would be taken for that one's own."""

    link: str
    attachment: int
    client: str
    request: int
    type: str | None
    position: int
    at: int


class OpenAdvertise(Work, frozen=True, kw_only=True):
    """An advertisement is on disk: the homes are awaited."""

    link: str
    attachment: int
    client: str
    request: int
    version: int
    at: int


class DeliverQueues(Work, frozen=True):
    """Deliveries are on disk: each client is sent its durable queue up to a number. A crash gives later numbers to
    other events."""

    until: tuple[tuple[str, int], ...]
    at: int


class SendClaim(Work, frozen=True):
    """A move is on disk here: the old home is asked for the queue."""

    claim: Claim
    at: int


class SendHanding(Work, frozen=True):
    """What the old home hands over, or says of it, is on its disk."""

    home: str
    handing: Handing
    at: int
