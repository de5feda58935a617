"""A small log for tests: one type, two brokers, a subscription that is replaced while events flow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.store.catalogue import subscription_row
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTE = AgventType(
    name="Quote",
    ancestors=("Instrument",),
    attributes=(AdvertisedAttribute("symbol", "str"), AdvertisedAttribute("price", "float")),
)
QUOTES = Advertisement(type=QUOTE, publisher="nyse", broker="b1", advertised_at=NOON, realm="eu/ankara")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def quote(sequence: int, price: Any, *, broker: str = "b1", epoch: int = 1, **attributes: Any) -> LoggedEvent:
    """A quote of IBM, accepted as many seconds after noon as its sequence says."""
    event = Event(
        type="Quote",
        ancestors=("Instrument",),
        attributes={"symbol": "IBM", "price": price, **attributes},
        id=EventId("nyse", sequence),
    )
    return LoggedEvent(event=event, accepted_at=after(sequence), entry_broker=broker, epoch=epoch)


def change(position: int, what: str, version: int, *, home: str = "b1", subscription: str = "s") -> dict[str, Any]:
    return {
        "home_broker": home,
        "position": position,
        "change": what,
        "subscription": subscription,
        "version": version,
        "changed_at": after(position),
    }


def epoch(number: int, position: int, *, entry: str = "b1", home: str = "b1") -> dict[str, Any]:
    return {
        "entry_broker": entry,
        "epoch": number,
        "home_broker": home,
        "position": position,
        "applied_at": after(position),
    }


def version(number: int, filter: str, subscription: str = "s") -> dict[str, Any]:
    whole = Subscription(id=subscription, type="Quote", filter=filter)
    return subscription_row(whole, version=number, subscriber="ann", home_broker="b1", created_at=NOON)


def delivery(sequence: int, position: int) -> dict[str, Any]:
    return {
        "publisher": "nyse",
        "sequence": sequence,
        "quality": "durable",
        "subscription": "s",
        "version": 1,
        "subscriber": "ann",
        "home_broker": "b1",
        "entry_broker": "b1",
        "epoch": 1,
        "position": position,
        "attempts": 1,
        "delivered_at": after(sequence + 1),
    }


def small_log(path: Path) -> Path:
    """A log with two catalogue versions, two commits of events, and deliveries."""
    create_log(path)
    with LogWriter(path) as log:
        log.append_catalogue(
            advertisements=[QUOTES],
            subscriptions=[version(1, "price < 10")],
            changes=[change(1, "open", 1)],
            epochs=[epoch(1, 1)],
        )
        log.append_events([quote(1, 7.5), quote(2, 12.0)])
        log.append_catalogue(
            subscriptions=[version(2, "price >= 10")],
            changes=[change(2, "close", 1), change(3, "open", 2)],
            epochs=[epoch(2, 3)],
        )
        log.append_events([quote(3, 7.5, epoch=2), quote(4, 12.0, epoch=2)])
        log.append("deliveries", [delivery(1, 1), delivery(4, 2)])
        log.snapshot()
    return path
