"""Every kind of notice: what one part tells another at the end of the step.

Each is a frozen struct. A record gives notices when it is applied, and a part gives one with `Outbox.notify`; the part
that each is for takes it from the outbox when the step ends.
"""

from __future__ import annotations

import msgspec

from agvent.broker.records import InstanceKey
from agvent.wire.client_messages import Stopped


class Notice(msgspec.Struct, frozen=True, gc=False):
    """Something that one part tells another at the end of the step."""


class QueuesChanged(Notice, frozen=True):
    """These clients' queues changed: something may have to be sent to them, or dropped."""

    clients: tuple[str, ...]


class ErrandsBegun(Notice, frozen=True):
    """Errands that began with a record: they may leave when it is on disk."""

    instances: tuple[InstanceKey, ...]


class AgventStopped(Notice, frozen=True):
    """Something went wrong with an agvent: its publisher is to be told, if it is here."""

    publisher: str
    stopped: Stopped


class TypesGone(Notice, frozen=True):
    """The last publishers of these types went: the clients that ask for them are to be told."""

    types: tuple[str, ...]


class SpeaksUntyped(Notice, frozen=True):
    """Events without a type enter here, and nobody was told of it: the homes that want them are to answer."""


class ClientClaimed(Notice, frozen=True):
    """Another home claimed a client: its links here are of the past."""

    client: str
