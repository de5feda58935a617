"""This broker as an entry: what the other homes want of the events that enter here.

The epoch counts the changes applied, those of this broker's own clients included. An event takes the epoch when it is
accepted; with the journal's Heard, Opened and Closed that says for ever which versions were in force for it.

Matching decides homes only, never single subscribers: the index has one destination for each home, and skips a home's
other subscriptions once one matched (Narada §7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from agvent import limits
from agvent.broker.records import Heard, Wanted
from agvent.broker.tables.covering import calls_behaviours
from agvent.errors import AgventError
from agvent.event import Event
from agvent.filters.evaluate import Behaviours
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.wire.broker_messages import Delta, Interest


class Home(msgspec.Struct):
    """What one home said last. Within an incarnation `number` and `position` only grow."""

    ordinal: int  # its destination in the index
    incarnation: int = 0
    number: int = 0
    position: int = 0
    considered: int = 0  # the version of this broker's advertisements it has answered
    roots: dict[str, int] = {}


class PartialDelta(msgspec.Struct):
    """The parts of a home's newest Delta that have come, by their places."""

    incarnation: int
    number: int
    parts: dict[int, Delta]


class Interests:
    """`epoch` only grows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = 0
        self.homes: dict[str, Home] = {}
        self._known: dict[str, int] = {}  # the other brokers there are, with their incarnations
        self._ordinals: list[str] = []
        self._index = Subscriptions()  # every root of every home that calls no behaviour, under home/key
        self._calling = Subscriptions()  # those that do: each is asked, or its home would lack its answers
        self._answered: int | None = None  # the least version that the other brokers have answered, if known
        self._changes = 0  # of `_index`
        self._foreseen: dict[int, tuple[Event, list[int]]] = {}  # of an event, its words of `_index`
        self._foreseen_at = 0
        self._partial: dict[str, PartialDelta] = {}  # by home; none whose parts are all here
        self.refused = 0  # roots that could not be filed, since the start

    def gathered(self, delta: Delta) -> Delta | None:
        """A Delta of which all parts are here; None as long as some are not."""
        if delta.parts == 1:
            return delta
        known = self._partial.get(delta.home)
        if known is None or (known.incarnation, known.number) < (delta.incarnation, delta.number):
            known = self._partial[delta.home] = PartialDelta(delta.incarnation, delta.number, {})
        if (known.incarnation, known.number) != (delta.incarnation, delta.number):
            return None
        known.parts[delta.part] = delta
        if len(known.parts) < delta.parts:
            return None
        del self._partial[delta.home]
        parts = [known.parts[place] for place in sorted(known.parts)]
        roots = tuple(root for part in parts for root in part.roots)
        ended = tuple(key for part in parts for key in part.ended)
        return msgspec.structs.replace(delta, roots=roots, ended=ended, part=0, parts=1)

    def heard(self, delta: Delta) -> Heard | None:
        """The change a Delta makes here; None if it was applied before, or does not continue what was."""
        home = self.homes.get(delta.home)
        had = home.number if home is not None and home.incarnation == delta.incarnation else 0
        if home is not None and delta.incarnation < home.incarnation:
            return None
        if delta.number <= had or delta.previous not in (0, had):
            return None
        considered = [one.version for one in delta.considered if one.entry == self.name]
        roots = tuple(root for root in delta.roots if _can_be_filed(delta.home, root))
        self.refused += len(delta.roots) - len(roots)
        return Heard(
            home=delta.home,
            incarnation=delta.incarnation,
            number=delta.number,
            position=delta.position,
            considered=considered[0],
            whole=delta.previous == 0,
            roots=roots,
            ended=delta.ended,
            epoch=self.epoch + 1,
        )

    def apply(self, record: Heard) -> None:
        home = self._home(record.home)
        if record.whole or home.incarnation != record.incarnation:
            self._end(record.home, list(home.roots))
        self._end(record.home, record.ended)
        self._add(record.home, record.roots)
        home.incarnation, home.number, home.position = record.incarnation, record.number, record.position
        home.considered, self._answered = record.considered, None
        assert record.epoch == self.epoch + 1
        self.epoch = record.epoch

    def _add(self, name: str, roots: tuple[Interest, ...]) -> None:
        home = self.homes[name]
        for root in roots:
            key = root.subscription.id
            filed = _filed_as(name, root)
            self._end(name, (key,))
            self._changes += 1
            index = self._calling if calls_behaviours(filed.condition()) else self._index
            index.add(filed, destination=home.ordinal)
            home.roots[key] = root.version

    def recall(self, record: Wanted) -> None:
        """A home from a snapshot."""
        home = self._home(record.home)
        home.incarnation, home.number, home.position = record.incarnation, record.number, record.position
        home.considered, self._answered = record.considered, None
        self._add(record.home, record.roots)

    def snapshot(self) -> Iterator[Wanted]:
        for name in self._ordinals:
            home = self.homes[name]
            roots = tuple(Interest(version, self._filed(name, key)) for key, version in home.roots.items())
            yield Wanted(
                home=name,
                incarnation=home.incarnation,
                number=home.number,
                position=home.position,
                considered=home.considered,
                roots=roots,
            )

    def _filed(self, name: str, key: str) -> Subscription:
        filed = f"{name}/{key}"
        index = self._calling if filed in self._calling else self._index
        return msgspec.structs.replace(index.get(filed), id=key)

    def _home(self, name: str) -> Home:
        if name not in self.homes:
            self.homes[name] = Home(len(self._ordinals), roots={})
            self._ordinals.append(name)
        return self.homes[name]

    def _end(self, name: str, keys: list[str] | tuple[str, ...]) -> None:
        roots = self.homes[name].roots
        for key in keys:
            if roots.pop(key, None) is not None:
                self._changes += 1
                filed = f"{name}/{key}"
                (self._calling if filed in self._calling else self._index).remove(filed)

    def meet(self, name: str, incarnation: int, *, gone: bool) -> None:
        """There is a broker of this name; or it has left."""
        if name == self.name or self._known.get(name, 0) == (0 if gone else incarnation):
            return
        self._known[name], self._answered = incarnation, None
        if gone:
            del self._known[name]

    def void(self, name: str, incarnation: int) -> None:
        """A home lost its disk or left: what it wanted before is no more."""
        self._partial.pop(name, None)
        home = self.homes.get(name)
        if home is not None and home.incarnation < incarnation:
            self._end(name, list(home.roots))
            self.homes[name], self._answered = Home(ordinal=home.ordinal, incarnation=incarnation, roots={}), None

    def changed_here(self, epoch: int) -> None:
        """A subscription of this broker's own clients opened or closed."""
        assert epoch == self.epoch + 1
        self.epoch = epoch

    def wanting(self, event: Event, behaviours: Behaviours) -> list[str]:
        """The homes that want the event, in the order they became known."""
        ordinals: set[int] = set()
        if len(self._index):
            foreseen = self._foreseen.get(id(event)) if self._foreseen_at == self._changes else None
            words = foreseen[1] if foreseen is not None else self._index.destinations((event,))[0].tolist()
            ordinals = _bits(words)
        if len(self._calling):
            found = self._calling.match(event, behaviours)
            ordinals |= self._ordinals_of(found)
        return [self._ordinals[ordinal] for ordinal in sorted(ordinals)]

    def wanting_lines(self, content: bytes, behaviours: Behaviours) -> list[str]:
        """The homes that want an event of a batch, in the order they became known."""
        ordinals: set[int] = set()
        if len(self._index):
            words = np.bitwise_or.reduce(self._index.destinations(content), axis=0)
            ordinals = _bits(words.tolist())
        if len(self._calling):
            ordinals |= self._ordinals_of(self._calling.match_json(content, behaviours).ids())
        return [self._ordinals[ordinal] for ordinal in sorted(ordinals)]

    def _ordinals_of(self, filed: Iterable[str]) -> set[int]:
        return {self.homes[one.partition("/")[0]].ordinal for one in filed}

    def foresee(self, events: Sequence[Event]) -> None:
        """These events will be asked for: what they match is found together. None: those before are not any more."""
        self._foreseen = {}
        self._foreseen_at = self._changes
        if events and len(self._index):
            words = self._index.destinations(events).tolist()
            self._foreseen = {id(event): (event, words[number]) for number, event in enumerate(events)}

    def unanswered(self, version: int) -> list[str]:
        """The brokers that have not answered this version of the advertisements: what they want may not be here yet.
        One that was never heard of may want everything."""
        if self._answered is None:
            self._answered = min(map(self._considered, self._known), default=limits.INT_MAX)
        if version <= self._answered:
            return []
        return [name for name in self._known if self._considered(name) < version]

    def heard_of(self, name: str) -> tuple[int, int]:
        """The incarnation of a home, and the position of its stream that was applied here."""
        known, home = self._known.get(name, 0), self.homes.get(name)
        return (home.incarnation, home.position) if home is not None and home.incarnation >= known else (known, 0)

    def unheard(self) -> list[str]:
        """The brokers that have told this one nothing yet."""
        return self.unanswered(0)

    def _considered(self, name: str) -> int:
        """The version of this broker's advertisements that another has answered; -1 if it never said anything."""
        home = self.homes.get(name)
        is_heard = home is not None and home.number and home.incarnation >= self._known[name]
        return home.considered if home is not None and is_heard else -1

    def check(self) -> None:
        assert len(self._index) + len(self._calling) == sum(len(home.roots) for home in self.homes.values())
        least = min(map(self._considered, self._known), default=limits.INT_MAX)
        assert self._answered is None or self._answered == least
        assert all(self._ordinals[home.ordinal] == name for name, home in self.homes.items())


def _filed_as(home: str, root: Interest) -> Subscription:
    """A root under the name of its home."""
    return msgspec.structs.replace(root.subscription, id=f"{home}/{root.subscription.id}")


def _can_be_filed(home: str, root: Interest) -> bool:
    """Can the index here hold it? A home of another make may send what this one has no words for."""
    try:
        _filed_as(home, root).condition()
    except AgventError:
        return False
    return True


def _bits(words: list[int]) -> set[int]:
    return {64 * at + bit for at, word in enumerate(words) if word for bit in range(64) if word >> bit & 1}
