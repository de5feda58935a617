"""The past of one subscription: what would have come, once, in order, and nothing that comes by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agvent.errors import SubscriptionError
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.store.event_columns import LoggedEvent
from agvent.store.history import History, PastQuery
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTE = AgventType(name="Quote", attributes=(AdvertisedAttribute("price", "int"),))
EPOCHS = 9


def logged(publisher: str, sequence: int, second: int, **options: Any) -> LoggedEvent:
    given = {"entry_broker": "b1", "epoch": 1, "type": "Quote", **options}
    event = Event(type=given.pop("type"), attributes={"price": sequence}, id=EventId(publisher, sequence))
    return LoggedEvent(event=event, accepted_at=NOON + timedelta(seconds=second), **given)


def log_of(path: Path, *commits: list[LoggedEvent]) -> LogReader:
    create_log(path)
    with LogWriter(path) as writer:
        writer.append_catalogue(
            advertisements=[Advertisement(type=QUOTE, publisher="p", broker="b1", advertised_at=NOON)],
            epochs=[
                {"entry_broker": broker, "epoch": epoch, "home_broker": "b1", "position": 0, "applied_at": NOON}
                for broker in ("b1", "b2")
                for epoch in range(1, EPOCHS + 1)
            ],
        )
        for records in commits:
            writer.append_events(records)
    return LogReader(path)


def past(log: LogReader, filter: str = "", **options: Any) -> list[tuple[str, int]]:
    given = {"subscriber": "ann", "since": None, "now": NOON + timedelta(hours=1), "in_force": {}, **options}
    history = History(log, PastQuery(Subscription(id="s", filter=filter), **given))
    found = [record.event.id for records in history.chunks() for record in records if record.event.id]
    assert len(history) == len(found)
    return [(id.publisher, id.sequence) for id in found]


def test_events_of_all_types_come_by_time_and_each_publishers_in_order(tmp_path: Path) -> None:
    """A publisher that moved to a broker whose clock is behind still has its events in the order of their sequence."""
    log = log_of(
        tmp_path / "log",
        [logged("p", 1, 10), logged("p", 2, 20, type=None), logged("q", 1, 15, type="Other")],
        [logged("p", 3, 5, entry_broker="b2"), logged("q", 2, 30)],
    )
    assert past(log) == [("p", 1), ("q", 1), ("p", 2), ("p", 3), ("q", 2)]
    assert past(log, "price < 2") == [("p", 1), ("q", 1)]
    assert past(log, since=NOON + timedelta(seconds=20)) == [("p", 2), ("q", 2)]


def test_an_event_that_entered_twice_comes_once(tmp_path: Path) -> None:
    """A repeat at a second broker is the same event; if either copy comes live, none is the past's."""
    twice = [logged("p", 1, 1), logged("p", 1, 2, entry_broker="b2", epoch=5), logged("p", 2, 3)]
    log = log_of(tmp_path / "log", twice)
    assert past(log) == [("p", 1), ("p", 2)]
    assert past(log, in_force={"b2": [(5, None)]}) == [("p", 2)]


def test_what_came_while_the_subscription_was_in_force_is_not_the_past(tmp_path: Path) -> None:
    """Epochs from the first on, up to the last but not with it, at that broker and no other."""
    log = log_of(tmp_path / "log", [logged("p", n, n, epoch=n) for n in range(1, 7)])
    assert past(log, in_force={"b1": [(2, 4), (6, None)], "b2": [(1, None)]}) == [("p", 1), ("p", 4), ("p", 5)]


def test_publishers_choose_their_subscribers(tmp_path: Path) -> None:
    """By name, by what subscribers say of themselves, and until when."""
    log = log_of(
        tmp_path / "log",
        [
            logged("p", 1, 1, destinations=("ann",)),
            logged("p", 2, 2, destinations=("ben",)),
            logged("p", 3, 3, to="floor = 3"),
            logged("p", 4, 4, expires_at=NOON + timedelta(minutes=5)),
            logged("p", 5, 5, expires_at=NOON + timedelta(hours=5)),
        ],
    )
    assert past(log) == [("p", 1), ("p", 5)]


def test_a_filter_that_calls_is_refused(tmp_path: Path) -> None:
    """The past has no agvents to ask."""
    log = log_of(tmp_path / "log")
    with pytest.raises(SubscriptionError, match="calls cites"):
        past(log, "cites('Alonso')")
