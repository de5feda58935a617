"""What comes into a broker and what comes out of it. A link is named by the driver; it leads to a broker or a
client."""

from __future__ import annotations

import msgspec

from agvent.agents.travel.stop import Decision, Stop
from agvent.broker.records import Record
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Answered, BehaviourCall

# Inputs


class MessageCame(msgspec.Struct, frozen=True, gc=False):
    """A message came over a link."""

    link: str
    message: AnyMessage


class LinkUp(msgspec.Struct, frozen=True, gc=False):
    """A link can be used; `to_broker` tells a neighbour's from a client's. `rtt_us` is 0 if not yet measured."""

    link: str
    to_broker: bool
    rtt_us: int = 0


class LinkDown(msgspec.Struct, frozen=True, gc=False):
    """Whatever was on its way over this link may be lost."""

    link: str


class Measured(msgspec.Struct, frozen=True, gc=False):
    """What a link costs now: its round trip, and the messages that wait for it."""

    link: str
    rtt_us: int
    queued: int


class Synced(msgspec.Struct, frozen=True, gc=False):
    """Every record up to this number is on disk."""

    number: int


class Tick(msgspec.Struct, frozen=True, gc=False):
    """The time asked for with Wake has come."""


class Forget(msgspec.Struct, frozen=True, gc=False):
    """The operator's word that a broker never returns; its own name: this broker leaves for good."""

    broker: str


class Ran(msgspec.Struct, frozen=True, gc=False):
    """The answers to the calls of a Run, one for each."""

    number: int
    answers: tuple[Answered, ...]


class Executed(msgspec.Struct, frozen=True, gc=False):
    """What the route of an Execute decided."""

    number: int
    decision: Decision


Input = MessageCame | LinkUp | LinkDown | Measured | Synced | Tick | Forget | Ran | Executed

# Effects


class Send(msgspec.Struct, frozen=True, gc=False):
    """Put a message on a link."""

    link: str
    message: AnyMessage


class Append(msgspec.Struct, frozen=True, gc=False):
    """Write records to the journal, sync, and say so with Synced: `number` is that of the last one."""

    records: tuple[Record, ...]
    number: int


class Wake(msgspec.Struct, frozen=True, gc=False):
    """Give a Tick at this time; a later Wake replaces an earlier one."""

    at: int


class Run(msgspec.Struct, frozen=True, gc=False):
    """Call these behaviours of a publisher's event, each once and within its budget; give the answers with Ran."""

    number: int
    publisher: str
    event: bytes
    calls: tuple[BehaviourCall, ...]


class Execute(msgspec.Struct, frozen=True, gc=False):
    """Execute an agvent's route at this broker, once and within its budget; give what it decided with Executed."""

    number: int
    stop: Stop


class Forgotten(msgspec.Struct, frozen=True, gc=False):
    """Stop, and say why: an operator told the network that this broker never returns, and that is on disk here."""


Effect = Send | Append | Wake | Run | Execute | Forgotten
