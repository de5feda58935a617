"""A feed that writes an event log while its subscriptions change, and what every delivery of that log should be.

Two entry brokers, of which the second hears of changes a step late; types with different columns, one of them with XML;
every language of filters that reads them. All of it follows from a seed.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.store.catalogue import compiled, subscription_row
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

START = datetime(2026, 3, 1, tzinfo=UTC)
QUOTE = AgventType(
    name="Quote", attributes=(AdvertisedAttribute("symbol", "str"), AdvertisedAttribute("price", "float"))
)
BOOK = AgventType(name="Book", attributes=(AdvertisedAttribute("pages", "int"), AdvertisedAttribute("price", "float")))
STREAMS = ("catalogue", "events", "snapshots")
"""What a feed writes; the deliveries are left to others."""

Delivery = tuple[str, int, str, str, int]
"""Publisher, sequence, quality, subscription, version."""


class Feed:
    """Each `step` is a change of the subscriptions and then some events, as two commits."""

    def __init__(self, log: LogWriter, *, seed: int) -> None:
        self.log = log
        self.random = random.Random(seed)
        self.clock = START
        self.sequence = 0
        self.position = 0
        self.applied: dict[str, list[int]] = {"b1": [], "b2": []}
        self.open: dict[str, int] = {}
        self.versions: defaultdict[str, int] = defaultdict(int)
        advertised = [
            Advertisement(type=one, publisher="feed", broker="b1", advertised_at=START) for one in (QUOTE, BOOK)
        ]
        log.append_catalogue(advertisements=advertised)

    def step(self, events: int) -> None:
        """Changes some subscriptions, lets the brokers hear of it, and publishes events to both."""
        heard = self.position
        subscriptions, changes = self._changed()
        epochs = [self._epoch("b1", self.position)] + ([self._epoch("b2", heard)] if heard else [])
        self.log.append_catalogue(subscriptions=subscriptions, changes=changes, epochs=epochs)
        self.log.append_events([self._event() for _ in range(events)])

    def _changed(self) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
        subscriptions, changes = [], []
        for id in self.random.sample([f"s{number}" for number in range(12)], 3):
            if id in self.open:
                changes.append(self._change("close", id, self.open.pop(id)))
            if self.random.random() < 0.8:
                self.versions[id] += 1
                self.open[id] = self.versions[id]
                made = self._subscription(id)
                subscriptions.append(
                    subscription_row(
                        made, version=self.open[id], subscriber=f"c{id}", home_broker="b1", created_at=self._now()
                    )
                )
                changes.append(self._change("open", id, self.open[id]))
        return subscriptions, changes

    def _subscription(self, id: str) -> Subscription:
        draw = self.random.randrange(4)
        if draw == 0:
            return Subscription(id=id, type="Book", language="xpath", filter=f"//book[@shelf = '{self._letter()}']")
        if draw == 1:
            return Subscription(id=id, type="Quote", filter=f"symbol = '{self._letter()}'")
        if draw == 2:
            return Subscription(id=id, filter=f"price < {self.random.randrange(10)}")
        return Subscription(id=id, language="elvin", filter=f'price > 5 && symbol != "{self._letter()}"')

    def _event(self) -> LoggedEvent:
        self.sequence += 1
        id, price = EventId("feed", self.sequence), float(self.random.randrange(10))
        if self.random.random() < 0.5:
            event = Event(type="Quote", attributes={"symbol": self._letter(), "price": price}, id=id)
        else:
            xml = f"<shop><book shelf='{self._letter()}'/></shop>"
            event = Event(type="Book", attributes={"pages": self.sequence, "price": price}, xml=xml, id=id)
        broker = self.random.choice(["b1", "b2"])
        return LoggedEvent(event=event, accepted_at=self._now(), entry_broker=broker, epoch=len(self.applied[broker]))

    def _change(self, change: str, id: str, version: int) -> dict[str, object]:
        self.position += 1
        row: dict[str, object] = {"home_broker": "b1", "position": self.position, "change": change}
        return {**row, "subscription": id, "version": version, "changed_at": self._now()}

    def _epoch(self, broker: str, position: int) -> dict[str, object]:
        self.applied[broker].append(position)
        row: dict[str, object] = {"entry_broker": broker, "epoch": len(self.applied[broker]), "home_broker": "b1"}
        return {**row, "position": position, "applied_at": self._now()}

    def _letter(self) -> str:
        return self.random.choice("abc")

    def _now(self) -> datetime:
        self.clock += timedelta(seconds=1)
        return self.clock


def expected(log: Path) -> list[Delivery]:
    """The deliveries a log calls for: one event at a time, and the epoch test in plain words."""
    reader = LogReader(log)
    intervals = defaultdict(list)
    for row in reader.in_force().to_pylist():
        intervals[f"{row['subscription']}@{row['version']}", row["entry_broker"]].append(row)
    index = compiled(reader.versions().to_pylist())
    return sorted(due for record in reader.events() for due in _due(record, index.match(record.event), intervals))


def _due(
    record: LoggedEvent, matched: list[str], intervals: dict[tuple[str, str], list[dict[str, int]]]
) -> Iterator[Delivery]:
    assert record.event.id is not None
    for id in matched:
        for row in intervals.get((id, record.entry_broker), []):
            if row["from_epoch"] <= record.epoch and (row["to_epoch"] is None or record.epoch < row["to_epoch"]):
                subscription, _, version = id.rpartition("@")
                key = record.event.id
                yield key.publisher, key.sequence, record.quality, subscription, int(version)


def delivered(log: Path) -> list[Delivery]:
    """The deliveries that a log records, some perhaps twice."""
    columns = ["publisher", "sequence", "quality", "subscription", "version"]
    return sorted(tuple(row[name] for name in columns) for row in LogReader(log).table("deliveries").to_pylist())
