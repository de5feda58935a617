"""What the events of one step match, asked of the indexes together before the first of them is looked at.

An index answers sixty events in little more time than one. What it said holds as long as it does not change; after a
change in the middle of a step the rest are asked one by one. So this changes no answer, only what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from agvent.broker.interface import Input, MessageCame
from agvent.broker.tables.tables import Tables
from agvent.errors import AgventError
from agvent.event import Event
from agvent.wire.broker_messages import Copies
from agvent.wire.client_messages import Publish
from agvent.wire.codec import decode_event
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication

EVENTS_MIN: Final = 3
"""Fewer are asked one by one at the same price."""


class Sought(msgspec.Struct, frozen=True, gc=False):
    """An event that will be asked for: it enters here, or has come to its home."""

    publication: Publication
    is_entering: bool


class Prefetch:
    """The events of the step under way, decoded once, by the identity of their publications."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.messages: dict[type[AnyMessage], Callable[[Any], Sought | None]] = {
            Publish: self._published,
            Copies: self._arriving,
        }
        self._events: dict[int, tuple[Publication, Event]] = {}

    def look(self, inputs: Sequence[Input]) -> None:
        """Looks at what came in."""
        if len(inputs) < EVENTS_MIN:
            return
        sought = self._sought(inputs)
        if len(sought) < EVENTS_MIN:
            return
        entering = self._decoded(one.publication for one in sought if one.is_entering)
        here = self._decoded(one.publication for one in sought if not one.is_entering)
        self.tables.interests.foresee(entering)
        self.tables.local.foresee([*entering, *here])

    def _sought(self, inputs: Iterable[Input]) -> list[Sought]:
        """The single events of a step. A batch is asked together by itself."""
        messages = (given.message for given in inputs if type(given) is MessageCame)
        found = [look(message) for message in messages if (look := self.messages.get(type(message))) is not None]
        return [one for one in found if one is not None and one.publication.count == 1]

    def _published(self, publish: Publish) -> Sought | None:
        return Sought(publish.publication, is_entering=True)

    def _arriving(self, copies: Copies) -> Sought | None:
        is_target = any(target.home == self.tables.name for target in copies.targets)
        return Sought(copies.publication, is_entering=False) if is_target and not copies.lost else None

    def _decoded(self, publications: Iterable[Publication]) -> list[Event]:
        """The events of publications that have one; whoever looks at the others says what is wrong with them."""
        found: list[Event] = []
        for publication in publications:
            try:
                event = decode_event(publication.event)
            except AgventError:
                continue
            self._events[id(publication)] = (publication, event)
            found.append(event)
        return found

    def event(self, publication: Publication) -> Event:
        """The event of a publication."""
        known = self._events.get(id(publication))
        return known[1] if known is not None else decode_event(publication.event)

    def forget(self) -> None:
        """The step is over."""
        if self._events:
            self._events.clear()
            self.tables.interests.foresee([])
            self.tables.local.foresee([])
