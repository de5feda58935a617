"""Where a stream over the events of a log stands, and how far its next batch goes.

    {"ev": {"b1": 118000, "b2": 64000}, "sub": 57}

Both members are from one head of the events: how many events of each entry broker are behind, and the catalogue version
that holds every epoch those carry. Spark journals an offset before it runs the batch, so a batch that runs again has
the same events and the same catalogue.
"""

from __future__ import annotations

from typing import Any

from agvent.errors import LogError
from agvent.store.heads import Head

Offset = dict[str, Any]


def beginning() -> Offset:
    """Before the first event."""
    return {"ev": {}, "sub": 0}


def end_of(head: Head) -> Offset:
    """Behind the last event that a head of the events names."""
    return {"ev": dict(head.ends), "sub": head.catalogue}


def event_count(offset: Offset) -> int:
    """How many events lie before an offset."""
    return sum(offset["ev"].values())


def advanced(start: Offset, end: Offset, events_max: int | None = None) -> Offset:
    """The offset at most `events_max` events further, of every entry broker in proportion to what it has.

    The catalogue version never moves alone: without a new event the offset stays as it is.
    """
    waiting = {broker: count - start["ev"].get(broker, 0) for broker, count in end["ev"].items()}
    if any(count < 0 for count in waiting.values()) or start["ev"].keys() - end["ev"].keys():
        raise LogError(
            f"the log has {event_count(end):,} events, and this stream has read {event_count(start):,} already",
            hint="the checkpoint belongs to another log; use a new checkpoint for this log",
        )
    total = sum(waiting.values())
    if not total:
        return start
    if events_max is None or total <= events_max:
        return end
    shares = {broker: count * events_max // total for broker, count in waiting.items()}
    left = events_max - sum(shares.values())
    for broker in sorted(broker for broker, count in waiting.items() if count > shares[broker])[:left]:
        shares[broker] += 1
    return {"ev": {broker: start["ev"].get(broker, 0) + share for broker, share in shares.items()}, "sub": end["sub"]}
