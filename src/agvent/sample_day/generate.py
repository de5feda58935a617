"""Writes a day as an event log, slice by slice, as brokers would: catalogue, events, deliveries, traces."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.event import EPOCH, MICROSECOND
from agvent.sample_day.day_plan import SECOND, DayPlan
from agvent.sample_day.defects import Planted, plant
from agvent.sample_day.deliveries import delivery_table, epochs_of, event_key, receipts
from agvent.sample_day.events import DayEvents, day_events
from agvent.sample_day.interests import BEFORE, DayInterests, day_interests
from agvent.sample_day.network import DayNetwork, network
from agvent.store.log_reader import check_free, create_log
from agvent.store.log_schema import TIME
from agvent.store.log_writer import LogWriter
from agvent.types import Advertisement

RETRIED: Final = 5
"""Durable events that their publisher sent again to another entry broker, and which are in the log twice."""

Progress = Callable[[str, int, int], None]
"""Told the name of the stage, how much of it is done, and how much there is."""


class DayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written; planted.json in the log has the same."""

    plan: DayPlan
    events: int
    deliveries: int
    expected: int
    planted: list[dict[str, Any]]


def generate(path: str | os.PathLike[str], plan: DayPlan, *, progress: Progress = lambda *_: None) -> DayReport:
    """Makes a log in a new or empty folder. `expected` counts the deliveries that are due, declared losses included."""
    check_free(Path(path))
    progress("events", 0, plan.events)
    events, net = day_events(plan), network(plan)
    interests = day_interests(plan, net.delays)
    epoch = epochs_of(interests, net, events.entry, events.accepted)
    due = receipts(plan, events, interests, net, epoch=epoch, progress=progress)
    planted = plant(plan, events, due)
    tables = _Tables(plan, events, interests, net, epoch, planted)
    create_log(path)
    with LogWriter(path) as log:
        log.append_catalogue(advertisements=_advertisements(events, net))
        begin = np.iinfo(np.int64).min
        for number, end in enumerate(plan.slices):
            tables.write(log, begin, end)
            progress("writing", number + 1, len(plan.slices))
            begin = end
        log.snapshot()
    report = DayReport(
        plan=plan,
        events=len(events),
        deliveries=len(planted.receipts.event),
        expected=len(due.event),
        planted=[_named(events, planted, pair) for pair in planted.at],
    )
    (Path(path) / "planted.json").write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    return report


def _advertisements(events: DayEvents, net: DayNetwork) -> list[Advertisement]:
    at = EPOCH + BEFORE * MICROSECOND
    return [
        Advertisement(type=type_, publisher=events.publishers[0], broker=net.names[0], advertised_at=at, realm="market")
        for type_ in events.types
        if type_ is not None
    ]


def _named(events: DayEvents, planted: Planted, pair: tuple[int, int]) -> dict[str, Any]:
    event, version = pair
    row = planted.receipts.versions.slice(version, 1).to_pylist()[0]
    key = {name: values[0] for name, values in pa.table(event_key(events, np.array([event]))).to_pydict().items()}
    return {**key, "subscription": row["subscription"], "version": row["version"]}


class _Tables:
    """All rows of a day, and the slice of each table that lies between two moments."""

    def __init__(
        self, plan: DayPlan, events: DayEvents, interests: DayInterests, net: DayNetwork, epoch: Any, planted: Planted
    ) -> None:
        self.events = events
        self.interests = interests
        self.net = net
        self.event_tables = self._with_fixed(epoch)
        name, quotes = self.event_tables[0]
        self.event_tables[0] = (name, self._with_retries(plan, quotes))
        self.deliveries = delivery_table(events, planted.receipts, net, epoch)
        self.gaps = self._gaps(planted)
        hops = planted.receipts.hops
        keyed = pa.table(event_key(events, hops["event"].to_numpy()))
        for name in keyed.column_names:
            hops = hops.append_column(name, keyed[name])
        self.traces = hops.drop_columns("event").sort_by("sent_at")

    def write(self, log: LogWriter, begin: int, end: int) -> None:
        """One slice: first the catalogue, then the events that need it, then what became of them."""
        log.append_catalogue(
            subscriptions=_between(self.interests.subscriptions, "created_at", begin, end),
            changes=_between(self.interests.changes, "changed_at", begin, end),
            epochs=_between(self.interests.epochs, "applied_at", begin, end),
        )
        parts = [(name, _between(table, "accepted_at", begin, end)) for name, table in self.event_tables]
        log.append_event_tables(parts)
        for table, rows, column in (
            ("deliveries", self.deliveries, "delivered_at"),
            ("gaps", self.gaps, "noticed_at"),
            ("traces", self.traces, "sent_at"),
        ):
            part = _between(rows, column, begin, end)
            if part.num_rows:
                log.append(table, part)

    def _with_fixed(self, epoch: Any) -> list[tuple[str | None, Any]]:
        found = []
        for kind, (type_, table) in enumerate(zip(self.events.types, self.events.tables, strict=True)):
            at = self.events.rows(kind)
            columns = {
                **event_key(self.events, at),
                "accepted_at": pa.array(self.events.accepted[at], TIME),
                "entry_broker": pa.array(self.net.names).take(pa.array(self.events.entry[at])),
                "epoch": pa.array(epoch[at]),
            }
            for name, values in columns.items():
                table = table.append_column(name, values)
            found.append((None if type_ is None else type_.name, table))
        return found

    def _with_retries(self, plan: DayPlan, table: Any) -> Any:
        """The quotes, and a few again: accepted by another entry broker two seconds later, at that broker's epoch."""
        rows = np.flatnonzero(~self.events.fast[self.events.rows(0)])
        if plan.brokers == 1 or not len(rows):
            return table
        at = np.sort(plan.draw("retries").choice(rows, size=min(RETRIED, len(rows)), replace=False))
        event = self.events.rows(0)[at]
        entry, accepted = (self.events.entry[event] + 1) % plan.brokers, self.events.accepted[event] + 2 * SECOND
        changed = {
            "accepted_at": pa.array(accepted, TIME),
            "entry_broker": pa.array(self.net.names).take(pa.array(entry)),
            "epoch": pa.array(epochs_of(self.interests, self.net, entry, accepted)),
        }
        again = table.take(pa.array(at))
        for column, values in changed.items():
            again = again.set_column(again.column_names.index(column), column, values)
        return pa.concat_tables([table, again])

    def _gaps(self, planted: Planted) -> Any:
        event, version = (np.array([pair[side] for pair in planted.gaps], np.int64) for side in (0, 1))
        which = planted.receipts.versions.take(pa.array(version))
        key = event_key(self.events, event)
        return pa.table(
            {
                **{name: which[name] for name in ("home_broker", "subscription", "subscriber")},
                "publisher": key["publisher"],
                "first_sequence": key["sequence"],
                "last_sequence": key["sequence"],
                "quality": key["quality"],
                "reason": pa.array(["retention", "crash"]).take(pa.array(self.events.fast[event].astype(np.int64))),
                "noticed_at": pa.array(self.events.accepted[event] + SECOND, TIME),
            }
        )


def _between(table: Any, column: str, begin: int, end: int) -> Any:
    """The rows from `begin` to before `end`, in microseconds."""
    ticks = table[column].cast(pa.int64())
    return table.filter(pc.and_(pc.greater_equal(ticks, begin), pc.less(ticks, end)))
