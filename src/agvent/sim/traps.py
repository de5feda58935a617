"""Traps: a fault waits for a broker to write or send something of a kind, instead of for a time.

A crash between an append and its sync, or between a message and its answer, is what protocols break at. Spread evenly
over a run, faults seldom come so close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from agvent.broker.interface import Append, Effect, Send
from agvent.wire.broker_messages import Routed

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode

TRAPS: Final = (
    "Accepted", "Acknowledged", "Arrived", "Booted", "CaughtUp", "Claimed", "Closed", "Confirmed", "Handed",
    "HandedOver", "Heard", "Joined", "Kept", "Left", "LegEnded", "Marked", "Moved", "Noticed", "Opened", "Owned",
    "Released", "Settled", "Visited", "Adverts", "Applied", "Attached", "Claim", "Confirm", "Copies", "Deliver",
    "Delta", "Done", "Gap", "Handing", "Hello", "Landed", "Published", "Report", "Seek", "Subscribed", "Took",
    "Travel",
)  # fmt: skip
"""The records and messages that a trap may wait for."""


SEVERAL: Final = "several records"
"""What a trap may wait for, too: records that are written together."""


class Trap(msgspec.Struct):
    """Springs when the `count`th effect of a kind comes: `spring` gets the broker, and the link of a message."""

    kind: str
    count: int
    spring: Callable[[Trap, BrokerNode, str], None]
    lasts: int


def kinds_of(effect: Effect) -> Iterator[tuple[str, str]]:
    """What an effect writes or sends, each with the link of a message."""
    if isinstance(effect, Append):
        yield from ((type(record).__name__, "") for record in effect.records)
        if len(effect.records) > 1:
            yield SEVERAL, ""
    elif isinstance(effect, Send):
        message = effect.message
        yield type(message.body if isinstance(message, Routed) else message).__name__, effect.link
