"""This broker as a home: the subscriptions of its own clients, as one ordered stream of changes.

Each change has a position: a version opens at one and closes at another. A copy carries the position that its entry had
applied, and goes to the versions that were open at it. A version that was replaced is kept until no copy from before
can come any more (Settled); one that was unsubscribed is owed nothing.

A subscription's key is its client and its id, so that two clients may choose the same id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from agvent.agents.execution.answers import Answers
from agvent.broker.records import Closed, Marked, Opened, Settled, Stood
from agvent.broker.tables.covering import calls_behaviours
from agvent.event import Event
from agvent.filters.evaluate import Behaviours, evaluate
from agvent.filters.languages import parse
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.matching.subscriptions import Subscriptions
from agvent.wire.broker_messages import Interest
from agvent.wire.codec import decode_event
from agvent.wire.lines import lines_in, packed
from agvent.wire.names import name_of


def key_of(client: str, id: str) -> str:
    """The key of a client's subscription; a client's name has no slash."""
    return f"{client}/{id}"


class Version(msgspec.Struct):
    """One version of a subscription; `subscription.id` is its key. Open while `closed` is 0."""

    client: str
    number: int
    subscription: Subscription
    condition: Condition
    opened: int
    closed: int = 0
    moved: bool = False
    """It came with a client from another home, which answers for late copies from before it opened here."""

    def is_for(self, position: int, *, late: bool) -> bool:
        """Was it in force, if it is open now, for a copy that carries this position?"""
        return self.opened <= position or (late and not self.moved)


class MatchedLines(NamedTuple):
    """What a batch matches: versions, each with the places of its events. `is_sound`: as many lines as it should have,
    and every one an event."""

    found: list[tuple[Version, bytes]]
    is_sound: bool


class LocalSubscriptions:
    """`position` only grows, by one with each change."""

    def __init__(self) -> None:
        self.position = 0
        self.current: dict[str, Version] = {}
        self.replaced: list[Version] = []  # closed and still owed, in the order of `closed`
        self._index = Subscriptions()  # with `_calling` exactly the subscriptions of `current`
        self._calling = Subscriptions()  # those that call a behaviour
        self._foreseen: dict[int, tuple[Event, list[str]]] = {}  # of an event, what `_index` says at the position
        self._foreseen_at = 0

    def opened(self, record: Opened, *, moved: bool = False) -> None:
        assert record.position == self.position + 1
        self.position = record.position
        subscription = record.interest.subscription
        self.current[subscription.id] = Version(
            client=record.client,
            number=record.interest.version,
            subscription=subscription,
            condition=subscription.condition(),
            opened=record.position,
            moved=moved,
        )
        self._file(self.current[subscription.id])

    def closed(self, record: Closed) -> None:
        assert record.position == self.position + 1
        self.position = record.position
        version = self.current.pop(record.key)
        (self._calling if record.key in self._calling else self._index).remove(record.key)
        version.closed = record.position
        if record.replaced:
            self.replaced.append(version)
        else:
            self.replaced = [one for one in self.replaced if one.subscription.id != record.key]

    def marked(self, record: Marked) -> None:
        assert record.position == self.position + 1
        self.position = record.position

    def settled(self, record: Settled) -> None:
        others = {*record.others}
        self.replaced = [one for one in self.replaced if one.closed > record.position and one.closed not in others]

    def stand(self, record: Stood) -> None:
        """A version from a snapshot."""
        subscription = record.interest.subscription
        version = Version(
            client=record.client,
            number=record.interest.version,
            subscription=subscription,
            condition=subscription.condition(),
            opened=record.opened,
            closed=record.closed,
            moved=record.moved,
        )
        if record.closed:
            self.replaced.append(version)
        else:
            self.current[subscription.id] = version
            self._file(version)

    def _file(self, version: Version) -> None:
        (self._calling if calls_behaviours(version.condition) else self._index).add(version.subscription)

    def snapshot(self) -> Iterator[Stood]:
        for one in (*self.current.values(), *self.replaced):
            yield Stood(
                client=one.client,
                interest=Interest(one.number, one.subscription),
                opened=one.opened,
                closed=one.closed,
                moved=one.moved,
            )

    def replaced_of(self, key: str) -> list[Version]:
        """A subscription's versions that were replaced and are still owed something, the first one first."""
        return [one for one in self.replaced if one.subscription.id == key]

    def interest(self, key: str) -> Interest:
        version = self.current[key]
        return Interest(version.number, version.subscription)

    def match(
        self, event: Event, position: int, behaviours: Behaviours | None = None, *, late: bool = False
    ) -> list[Version]:
        """The versions in force for a copy that the event matches, in order of their keys: those open at its position;
        for a `late` one those that are open now, and those that nothing replaced when they closed after it."""
        foreseen = self._foreseen.get(id(event)) if self._foreseen_at == self.position else None
        keys: list[str] = []
        if foreseen is not None:
            keys = foreseen[1]
        elif len(self._index):
            keys = self._index.match(event)
        if len(self._calling):
            keys = [*keys, *self._calling.match(event, behaviours)]
        found = [self.current[key] for key in keys]
        found = [version for version in found if version.is_for(position, late=late)]
        owed = self._owed(position, late=late)
        found += [version for version in owed if evaluate(version.condition, event, behaviours)]
        return sorted(found, key=lambda version: version.subscription.id)

    def _owed(self, position: int, *, late: bool) -> list[Version]:
        """The versions that are closed, and were in force for a copy."""
        if late:  # of one that was replaced, the version in its place decides; a client that moved has left the last
            last = {one.subscription.id: one for one in self.replaced if one.subscription.id not in self.current}
            return [one for one in last.values() if position < one.closed]
        return [one for one in self.replaced if one.opened <= position < one.closed]

    def match_lines(
        self, content: bytes, count: int, position: int, behaviours: Behaviours | None = None, *, late: bool = False
    ) -> MatchedLines:
        """The same of a batch, in the order of the versions' keys, with the places of their events."""
        matched = self._index.match_json(content)
        found = matched.by_subscription()
        if len(self._calling):
            found |= self._calling.match_json(content, behaviours or Answers()).by_subscription()
        versions = [
            (version, places if len(places) < 2 * count else b"")  # none stands for all
            for version, places in zip(map(self.current.__getitem__, found), found.values(), strict=True)
            if version.is_for(position, late=late)
        ]
        owed = self._owed(position, late=late)
        if owed and not matched.rejected:
            events = [decode_event(line) for line in lines_in(content)]
            for version in owed:
                places = [at for at, event in enumerate(events) if evaluate(version.condition, event, behaviours)]
                if places:
                    versions.append((version, packed(places, count)))
        versions.sort(key=lambda one: one[0].subscription.id)
        return MatchedLines(versions, matched.event_count == count and not matched.rejected)

    def foresee(self, events: Sequence[Event]) -> None:
        """These events will be asked for: what they match is found together. None: those before are not any more."""
        self._foreseen = {}
        self._foreseen_at = self.position
        if events and len(self._index):
            found = dict(self._index.match_batch(events).by_event())
            self._foreseen = {id(event): (event, found.get(number, [])) for number, event in enumerate(events)}

    def in_force(self, position: int, *, late: bool = False) -> list[Version]:
        """The versions in force for a copy, in order of their keys."""
        found = [version for version in self.current.values() if version.is_for(position, late=late)]
        found += self._owed(position, late=late)
        return sorted(found, key=lambda version: version.subscription.id)

    def of_client(self, client: str) -> list[Version]:
        """A client's versions: those that are open, and those that are still owed something."""
        return [one for one in (*self.current.values(), *self.replaced) if one.client == client]

    def check(self) -> None:
        assert len(self._index) + len(self._calling) == len(self.current)
        for version in self.replaced:
            assert 0 < version.opened < version.closed <= self.position


def admits(to: Condition | None, destinations: tuple[str, ...], version: Version) -> bool:
    """Publisher-side filtering: does the publisher want this subscriber? (ABDES §3: double side filtering.)"""
    if destinations and name_of(version.client) not in destinations:
        return False
    return to is None or evaluate(to, version.subscription.context or {}) is True


def parsed_to(text: str) -> Condition | None:
    return parse(text) if text else None
