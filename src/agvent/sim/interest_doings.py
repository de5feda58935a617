"""What clients do to bring brokers' knowledge of interests and types into all its states.

Filters that cover each other come and go in any order; several clients want the same; a version is wide, then narrow.
So many subscriptions come at once that they travel in parts. Types come and go at all brokers at one moment, some of
them with code that makes their advertisement larger than a chunk, so that the next one overtakes it.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AdvertisedAttribute, AgventType

if TYPE_CHECKING:
    from agvent.sim.nodes import ClientNode
    from agvent.sim.world import World

SOON_US: Final = (1, 3_000, 50_000, 400_000, 3_000_000)
"""When what was begun is taken back: at once, before it is on disk, before all brokers know it, or later."""

PLAIN: Final = tuple(
    AgventType(name=f"T{number}", ancestors=("T0",) if number % 3 else ()) for number in (0, 1, 2, 3, 5, 7, 8)
)
"""Types without a program; some have a common ancestor."""

CODE_BYTES: Final = (0, 0, 100, 700, 3_000)


class InterestDoings:
    """A part of workload.py's actors."""

    world: World
    random: Random
    types: tuple[AgventType, ...]
    names: list[str]
    subscribed: dict[str, dict[str, Subscription]]
    advertised: dict[str, list[str]]
    ended: dict[str, tuple[dict[str, None], dict[str, None]]]
    _ids: int
    _ask: Callable[..., None]
    _open: Callable[[str, Subscription], None]
    _subscription: Callable[[str], Subscription]
    _node: Callable[[str], ClientNode]

    def _next_id(self) -> str:
        self._ids += 1
        return f"s{self._ids}"

    def _soon(self, then: Callable[..., None], *args: Any) -> None:
        self.world.doing(self.world.now + self.random.choice(SOON_US), self._if_there, then, args)

    def _if_there(self, then: Callable[..., None], args: tuple[Any, ...]) -> None:
        name = args[0]
        if name in self.names and not self._node(name).is_over:
            then(*args)

    def _end(self, name: str, ids: tuple[str, ...]) -> None:
        for id in ids:
            if self.subscribed[name].pop(id, None) is not None:
                self.ended[name][0][id] = None
                self._ask(name, "unsubscribe", id)

    def _others(self, name: str) -> list[Subscription]:
        """Subscriptions of everybody at this client's home, or of everybody."""
        home = self._node(name).home
        near = [one for one in self.names if self._node(one).home == home]
        found = [one for client in near for one in self.subscribed[client].values()]
        return found or [one for client in self.names for one in self.subscribed[client].values()]

    def _cover(self, name: str) -> None:
        """Somebody asks for everything of a type of which others have a part, and soon for that no longer."""
        if others := self._others(name):
            general = msgspec.structs.replace(self.random.choice(others), id=self._next_id(), filter="", context=None)
            self._open(name, general)
            self._soon(self._end, name, (general.id,))

    def _echo(self, name: str) -> None:
        """Somebody asks for what somebody else has, and either of the two ends it."""
        if others := self._others(name):
            same = msgspec.structs.replace(self.random.choice(others), id=self._next_id())
            self._open(name, same)
            if self.random.random() < 0.5:
                self._soon(self._end, name, (same.id,))

    def _widen(self, name: str) -> None:
        """A subscription is widened, and soon is what it was."""
        if self.subscribed[name]:
            before = self.random.choice(list(self.subscribed[name].values()))
            self._open(name, msgspec.structs.replace(before, filter=""))
            self._soon(self._narrow, name, before)

    def _narrow(self, name: str, before: Subscription) -> None:
        if before.id in self.subscribed[name]:
            self._open(name, before)

    def _many(self, name: str) -> None:
        """Many subscriptions at once, none of which covers another; soon they end, all at once."""
        first = self._subscription(self._next_id())
        ids = [first.id]
        for low in range(self.random.choice((4, 12, 25))):
            one = msgspec.structs.replace(first, id=self._next_id(), filter=f"price = {low}")
            ids.append(one.id)
            self._open(name, one)
        self._soon(self._end, name, tuple(ids))

    def _campaign(self, name: str) -> None:
        """Everybody changes what it publishes, one after another within a moment."""
        for client in list(self.names):
            if not self._node(client).is_over:
                self.world.doing(
                    self.world.now + self.random.choice((0, 0, 1_000)), self._if_there, self._switch, (client,)
                )

    def _switch(self, name: str) -> None:
        for _ in range(self.random.choice((1, 2, 4))):
            type, has = self.random.choice(self.types), self.advertised[name]
            if type.name in has:
                has.remove(type.name)
                self.ended[name][1][type.name] = None
                self._ask(name, "unadvertise", type.name)
            else:
                has.append(type.name)
                self._announce(name, type)

    def _announce(self, name: str, type: AgventType) -> None:
        if code := self.random.randbytes(self.random.choice(CODE_BYTES) if type.name[1:].isdecimal() else 0):
            type = msgspec.structs.replace(type, program=sha256(code).hexdigest())
            self._ask(name, "advertise", type, code=code)
        else:
            self._ask(name, "advertise", type)

    def _revise(self, name: str) -> None:
        """A type gets another attribute, or its code changes."""
        types = [type for type in self.types if type.name in self.advertised[name]]
        if types:
            type = self.random.choice(types)
            attributes = (*type.attributes, AdvertisedAttribute(f"more{self.random.randrange(3)}", "int"))
            self._announce(name, msgspec.structs.replace(type, attributes=attributes))


def is_plain(event: Event) -> bool:
    """Is it of a type without a program?"""
    return any(type.name == event.type for type in PLAIN)
