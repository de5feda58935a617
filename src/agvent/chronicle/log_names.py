"""How the event log says things: brokers, times, subscriptions, events."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agvent.broker.tables.local_subscriptions import key_of
from agvent.chronicle.log_rows import Row
from agvent.event import EPOCH, MICROSECOND
from agvent.wire.names import name_of
from agvent.wire.parts import Publication

DURABLE: Final = "durable"
"""Fast events have no records, and so no rows."""


def logged_name(broker: str, incarnation: int) -> str:
    """What the log calls a broker.

    >>> logged_name("AS3", 1), logged_name("AS3", 2)
    ('AS3', 'AS3~2')
    """
    return broker if incarnation == 1 else f"{broker}~{incarnation}"


def moment(at: int) -> datetime:
    """Microseconds since 1970 as the log has them."""
    return EPOCH + at * MICROSECOND


def public(key: str) -> str:
    """A subscription as its client knows it, wherever that is at home.

    >>> public("ann/s1"), public("ann~2/s1")
    ('ann/s1', 'ann/s1')
    """
    client, _, id = key.partition("/")
    return key_of(name_of(client), id)


def event_key(publication: Publication) -> Row:
    """The columns that name an event in every table."""
    return {"publisher": publication.publisher, "sequence": publication.sequence, "quality": DURABLE}
