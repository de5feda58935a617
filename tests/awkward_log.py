"""A log of awkward events for the tests of replay: values that do not fit what was advertised, numbers as topics, two
versions of a type, subtypes, events without a type, XML, and an event that was accepted twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from hypothesis import Phase, given, seed, settings

from agvent.event import Event, EventId
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType
from tests import strategies

START = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

ITEM = AgventType(
    name="Item",
    attributes=(
        AdvertisedAttribute("a", "int"),
        AdvertisedAttribute("b", "float"),
        AdvertisedAttribute("c", "str"),
        AdvertisedAttribute("list", "list[int]"),
        AdvertisedAttribute("o", "object"),
    ),
)
BOOK = AgventType(
    name="Book",
    ancestors=("Item",),
    attributes=(AdvertisedAttribute("a", "float"), AdvertisedAttribute("b", "int32"), AdvertisedAttribute("c", "bool")),
)
SECOND_BOOK = AgventType(
    name="Book",
    ancestors=("Item",),
    attributes=(
        AdvertisedAttribute("a", "str"),
        AdvertisedAttribute("b", "timestamp"),
        AdvertisedAttribute("c", "bytes"),
    ),
)
TYPES = ("Item", "Book", "Paper", None)
"""Of the events in turn; nobody advertises papers."""


def awkward_log(path: Path, *, count: int = 240) -> Path:
    """Makes the log: the events in the order they were accepted, a minute apart, of three publishers."""
    create_log(path)
    with LogWriter(path) as log:
        events = drawn_events(count)
        log.append_catalogue(advertisements=[advertised(ITEM), advertised(BOOK)])
        half = [record(event, number) for number, event in enumerate(events[: count // 2])]
        log.append_events(half)
        log.append_catalogue(advertisements=[advertised(SECOND_BOOK)])
        rest = [record(event, number) for number, event in enumerate(events[count // 2 :], count // 2)]
        again = msgspec.structs.replace(half[0], entry_broker="b2", accepted_at=half[0].accepted_at + MINUTE)
        log.append_events([*rest, again])
    return path


def advertised(type_: AgventType) -> Advertisement:
    return Advertisement(type=type_, publisher="p", broker="b1", advertised_at=START, realm="eu")


def record(event: Event, number: int) -> LoggedEvent:
    named = TYPES[number % len(TYPES)]
    ancestors = ("Item",) if named in ("Book", "Paper") else ()
    made = msgspec.structs.replace(
        event, type=named, ancestors=ancestors, id=EventId(f"p{number % 3}", number // 3 + 1)
    )
    return LoggedEvent(event=made, accepted_at=START + number * MINUTE, entry_broker="b1", epoch=0)


def drawn_events(count: int) -> list[Event]:
    """Random events, always the same."""
    found: list[Event] = []

    @seed(1)
    @settings(max_examples=count, phases=(Phase.generate,), database=None)
    @given(strategies.events())
    def collect(event: Event) -> None:
        found.append(event)

    collect()
    assert len(found) >= count
    return found[:count]
