"""Small event logs, told event by event: what each test of the audit wants to happen, and nothing else.

Every subscription has its home at `h1` and comes into force at the epoch that is its number, the
same at each entry broker: an event that is accepted at epoch n sees the first n subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.store.catalogue import subscription_row
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTE = AgventType(
    name="Quote", attributes=(AdvertisedAttribute("symbol", "str"), AdvertisedAttribute("price", "float"))
)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark's settings for plans of many steps over few rows: compiling them takes longer than running them."""


@contextmanager
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with plans that are not compiled."""
    before = {name: spark.conf.get(name, None) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    try:
        yield spark
    finally:
        for name, known in before.items():
            spark.conf.unset(name) if known is None else spark.conf.set(name, known)


class Story:
    """Collects what happened and writes it as a log; each call of `write` is a commit of each stream."""

    def __init__(self, path: Path, *subscriptions: Subscription, entries: tuple[str, ...] = ("b1", "b2")) -> None:
        self.path = path
        self.events: list[LoggedEvent] = []
        self.deliveries: list[dict[str, Any]] = []
        self.gaps: list[dict[str, Any]] = []
        self.behaviours: list[dict[str, Any]] = []
        self._positions: dict[str, int] = {}
        create_log(path)
        with LogWriter(path) as log:
            log.append_catalogue(
                advertisements=[Advertisement(type=QUOTE, publisher="p", broker="b1", advertised_at=NOON)],
                subscriptions=[_row(one) for one in subscriptions],
                changes=[_opened(one, at + 1) for at, one in enumerate(subscriptions)],
                epochs=[_applied(entry, at + 1) for entry in entries for at in range(len(subscriptions))],
            )

    def event(
        self,
        publisher: str,
        sequence: int,
        *,
        epoch: int,
        entry: str = "b1",
        quality: str = "durable",
        at: float = 0,
        xml: str | None = None,
        **attributes: Any,
    ) -> None:
        event = Event(type="Quote", attributes=attributes, xml=xml, id=EventId(publisher, sequence))
        record = LoggedEvent(event=event, accepted_at=after(at), entry_broker=entry, epoch=epoch, quality=quality)
        self.events.append(record)

    def delivery(self, publisher: str, sequence: int, subscription: str, *, at: float = 1, **more: Any) -> None:
        position = self._positions[subscription] = self._positions.get(subscription, 0) + 1
        row = {"publisher": publisher, "sequence": sequence, "quality": "durable", "subscription": subscription}
        row |= {"version": 1, "subscriber": f"of {subscription}", "home_broker": "h1", "entry_broker": "b1", "epoch": 1}
        self.deliveries.append({**row, "position": position, "attempts": 1, "delivered_at": after(at), **more})

    def gap(self, reason: str, *, quality: str = "durable", **more: Any) -> None:
        self.gaps.append({"home_broker": "h1", "quality": quality, "reason": reason, "noticed_at": after(2), **more})

    def answer(
        self, publisher: str, sequence: int, call: str, *, result: str | None = None, fault: str | None = None
    ) -> None:
        key = {"publisher": publisher, "sequence": sequence, "quality": "durable", "entry_broker": "b1"}
        self.behaviours.append({**key, "call": call, "result": result, "fault": fault, "called_at": NOON})

    def write(self) -> Path:
        with LogWriter(self.path) as log:
            if self.events:
                log.append_events(self.events)
            for table in ("deliveries", "gaps", "behaviours"):
                if getattr(self, table):
                    log.append(table, getattr(self, table))
        self.events, self.deliveries, self.gaps, self.behaviours = [], [], [], []
        return self.path


def costly(path: Path) -> Path:
    """A log of three events; on the documents of the last two the one subscription's XPath could cost too much."""
    story = Story(path, Subscription(id="bomb", language="xpath", filter="//a[//a[//a]]"))
    for sequence, width in ((1, 1), (2, 2_000), (3, 2_000)):
        story.event("p", sequence, epoch=1, xml=f"<r>{'<a/>' * width}</r>")
    return story.write()


COMPLAINT = (
    "warning: 2 questions not answered and counted as no match; for example event p:2, subscription bomb: "
    "//a[//a[//a]] may need "
)
"""What a command that skips them says of that log, as far as the number of steps."""


def _row(subscription: Subscription) -> dict[str, Any]:
    return subscription_row(
        subscription, version=1, subscriber=f"of {subscription.id}", home_broker="h1", created_at=NOON
    )


def _opened(subscription: Subscription, position: int) -> dict[str, Any]:
    row = {"home_broker": "h1", "position": position, "change": "open", "subscription": subscription.id}
    return {**row, "version": 1, "changed_at": NOON}


def _applied(entry: str, position: int) -> dict[str, Any]:
    row = {"entry_broker": entry, "epoch": position, "home_broker": "h1", "position": position}
    return {**row, "applied_at": NOON}
