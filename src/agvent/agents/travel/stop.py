"""A stop of an agvent that finds its own way, as data: what its program is told of the broker, and what it decided."""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.event import Budget


class Way(msgspec.Struct, frozen=True, gc=False):
    """Another broker that has matching subscribers: what the cheapest way there costs in µs, and the neighbour through
    which it goes on; empty if there is none but where the agvent has been."""

    broker: str
    cost: int
    via: str


class Neighbour(msgspec.Struct, frozen=True, gc=False):
    """A broker with a link to this one, and the link's cost in µs."""

    broker: str
    cost: int


class Local(msgspec.Struct, frozen=True, gc=False):
    """A matching subscriber of this broker: its subscription's key, its name, what it says about itself."""

    id: str
    name: str
    context: dict[str, Any]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a broker's manager agent knows when an agvent stops there. `agvent` is who speaks: event and path."""

    server: str
    agvent: str
    targets: tuple[Way, ...]
    neighbours: tuple[Neighbour, ...]
    subscribers: tuple[Local, ...]
    budget: Budget
    event_bytes: int
    now: int


class Stop(msgspec.Struct, frozen=True, gc=False):
    """An agvent to be executed: from the beginning, or from a snapshot that another stop made."""

    principal: str
    event: bytes
    snapshot: bytes
    surroundings: Surroundings


class Departure(msgspec.Struct, frozen=True, gc=False):
    """An instance that leaves for another broker, with the targets that it has still to do with."""

    broker: str
    targets: tuple[str, ...]


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What a route decided at a stop: whom to deliver to here, by key, and who leaves.

    `moved` is the instance that goes on in the middle of its program, from `snapshot`. `refused` says which requests a
    budget did not allow. With a `fault` nothing was decided.
    """

    delivered: tuple[str, ...] = ()
    clones: tuple[Departure, ...] = ()
    moved: Departure | None = None
    snapshot: bytes = b""
    refused: tuple[str, ...] = ()
    fault: str = ""
