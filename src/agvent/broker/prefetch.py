"""What the events of one step match, asked of the indexes together before the first of them is looked at.

An index answers sixty events in little more time than one. What it said holds as long as it does not change; after a
change in the middle of a step the rest are asked one by one. So this changes no answer, only what it costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agvent.broker.interface import Input, MessageCame
from agvent.broker.tables.tables import Tables
from agvent.errors import AgventError
from agvent.event import Event
from agvent.wire.broker_messages import Copies
from agvent.wire.client_messages import Publish
from agvent.wire.codec import decode_event
from agvent.wire.parts import Publication

EVENTS_MIN: Final = 3
"""Fewer are asked one by one at the same price."""


class Prefetch:
    """The events of the step under way, decoded once, by the identity of their publications."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._events: dict[int, tuple[Publication, Event]] = {}

    def look(self, inputs: Iterable[Input]) -> None:
        """Looks at what came in."""
        published, arriving = self._publications(inputs)
        if len(published) + len(arriving) < EVENTS_MIN:
            return
        entering = self._decoded(published)
        here = self._decoded(arriving)
        self.tables.interests.foresee(entering)
        self.tables.local.foresee([*entering, *here])

    def _publications(self, inputs: Iterable[Input]) -> tuple[list[Publication], list[Publication]]:
        """Those that enter here, and those that have come to their home. A batch is asked together by itself."""
        published: list[Publication] = []
        arriving: list[Publication] = []
        for given in inputs:
            if not isinstance(given, MessageCame):
                continue
            message = given.message
            if isinstance(message, Publish):
                published.append(message.publication)
            elif isinstance(message, Copies) and not message.lost and self._is_target(message):
                arriving.append(message.publication)
        published, arriving = ([one for one in some if one.count == 1] for some in (published, arriving))
        return published, arriving

    def _is_target(self, copies: Copies) -> bool:
        return any(target.home == self.tables.name for target in copies.targets)

    def _decoded(self, publications: list[Publication]) -> list[Event]:
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
