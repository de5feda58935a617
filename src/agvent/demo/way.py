"""The way of one agvent through the network, from what the brokers remember of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from agvent.event import EventId
from agvent.net.link.address import Address
from agvent.net.link.dial import ask


class TimedLeg(msgspec.Struct, frozen=True):
    """A copy came from one broker to the next, so many milliseconds after the agvent entered the network."""

    start: str
    end: str
    after_ms: float


class AgventWay(msgspec.Struct, frozen=True):
    """The legs of the copy for one home until that had it, in order of time. A copy that was sent again shows all that
    it went. `delivered_ms` is when its turn came at home: after those that were published before it."""

    event: str
    home: str
    legs: list[TimedLeg]
    delivered_ms: float


async def way_of(event: EventId, addresses: Iterable[Address], home: str) -> AgventWay | None:
    """Asks every broker what it remembers of an event; None if the entry or the home has forgotten it."""
    questions = [ask(one, "trace", publisher=event.publisher, sequence=event.sequence) for one in addresses]
    answers = await asyncio.gather(*questions)
    return followed(f"{event.publisher}:{event.sequence}", [hop for answer in answers for hop in answer], home)


def followed(event: str, hops: Iterable[Mapping[str, Any]], home: str) -> AgventWay | None:
    """The way that these hops tell of.

    >>> entered = {"at": 5_000, "what": "entered", "broker": "B1", "peer": "", "homes": ["B2", "B3"]}
    >>> came = {"at": 7_500, "what": "came", "broker": "B2", "peer": "B1", "homes": ["B2"]}
    >>> arrived = {"at": 8_000, "what": "arrived", "broker": "B2", "peer": "", "homes": []}
    >>> followed("ada:1", [arrived, came, entered, {**came, "broker": "B3", "homes": ["B3"]}], "B2")
    AgventWay(event='ada:1', home='B2', legs=[TimedLeg(start='B1', end='B2', after_ms=2.5)], delivered_ms=3.0)
    """
    ordered = sorted(hops, key=lambda hop: hop["at"])
    began = next((hop["at"] for hop in ordered if hop["what"] == "entered"), 0)
    legs: list[TimedLeg] = []
    for hop in ordered:
        after_ms = (hop["at"] - began) / 1000
        if hop["what"] == "arrived" and hop["broker"] == home:
            return AgventWay(event, home, legs, after_ms) if began else None
        if hop["what"] == "came" and home in hop["homes"] and not (legs and legs[-1].end == home):
            legs.append(TimedLeg(hop["peer"], hop["broker"], after_ms))
    return None
