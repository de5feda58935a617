"""Who received what on a day: the real matcher and the epochs decide, the network says when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.sample_day.day_plan import DayPlan
from agvent.sample_day.events import DayEvents
from agvent.sample_day.interests import DayInterests
from agvent.sample_day.network import DayNetwork, in_order, travel
from agvent.store.catalogue import NEVER, compiled, in_force, versions_in_force
from agvent.store.event_batches import match_rows
from agvent.store.event_columns import ancestor_column
from agvent.store.log_schema import TABLES, TIME
from agvent.store.positions import ranks
from agvent.types import AgventType, unadvertised

HANDED_OVER: Final = 200
"""Microseconds from arrival at the home broker to the subscriber's acknowledgement."""


class DayReceipts(msgspec.Struct, frozen=True):
    """Deliveries as arrays: event, row of `versions`, time. `hops` is the table of what the copies went through."""

    versions: Any
    event: Any
    version: Any
    delivered: Any
    hops: Any


def epochs_of(interests: DayInterests, net: DayNetwork, entry: Any, accepted: Any) -> Any:
    """The epoch of each entry broker at each time: how many of its epochs were applied by then."""
    found = np.zeros(len(entry), np.int64)
    for number, name in enumerate(net.names):
        own = interests.epochs.filter(pc.equal(interests.epochs["entry_broker"], name))
        applied = own["applied_at"].cast(pa.int64()).to_numpy()
        here = np.flatnonzero(entry == number)
        found[here] = np.searchsorted(applied, accepted[here], side="right")
    return found


def receipts(
    plan: DayPlan,
    events: DayEvents,
    interests: DayInterests,
    net: DayNetwork,
    *,
    epoch: Any,
    progress: Callable[[str, int, int], None],
) -> DayReceipts:
    """Every delivery that is due, in the order of events."""
    intervals = in_force(interests.changes, interests.epochs)
    versions = versions_in_force(interests.subscriptions, intervals)
    event, version = _matches(events, versions, progress)
    begin, end = _intervals(intervals, versions, net)
    entry = events.entry[event]
    due = (begin[entry, version] <= epoch[event]) & (epoch[event] < end[entry, version])
    event, version = event[due], version[due]
    homes = pc.index_in(versions["home_broker"], pa.array(net.names)).to_numpy()
    return _travelled(plan, events, net, versions, event=event, version=version, home=homes[version])


def _matches(events: DayEvents, versions: Any, progress: Callable[[str, int, int], None]) -> tuple[Any, Any]:
    """All pairs of an event and a version that match, whatever the epoch, ascending."""
    index = compiled(versions.to_pylist())
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    done = 0
    for kind, (type_, table) in enumerate(zip(events.types, events.tables, strict=True)):
        name, known = (None, unadvertised(None)) if type_ is None else (type_.name, type_)
        rows = events.rows(kind)
        for matched, ids, unanswered in match_rows(index, _with_headers(table, known), known, name):
            assert not unanswered, "the XPath of a made-up day is cheap"
            at = pc.index_in(ids, versions["id"].combine_chunks()).to_numpy()
            pairs.append((rows[matched.to_numpy()], at.astype(np.int64)))
            progress("matching", done + int(matched[-1].as_py()) if len(matched) else done, len(events))
        done += len(rows)
    event, version = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    order = np.lexsort((version, event))
    return event[order], version[order]


def _with_headers(table: Any, type_: AgventType) -> Any:
    """The table with the columns a matcher of log rows looks at."""
    empty = {"topic": pa.string(), "channel": pa.string(), "xml": pa.string(), "rest": pa.string()}
    numbers = {"topic_number": pa.int64(), "channel_number": pa.int64()}
    for column, kind in {**empty, **numbers}.items():
        if column not in table.column_names:
            table = table.append_column(column, pa.nulls(table.num_rows, kind))
    return _event_keys(table.append_column("ancestors", ancestor_column(type_, table.num_rows)))


def _event_keys(table: Any) -> Any:
    """Rows that become whole events need an id; its value is not looked at."""
    rows = table.num_rows
    keys = {
        "publisher": pa.repeat("", rows),
        "sequence": pa.repeat(0, rows),
        "quality": pa.repeat("durable", rows),
        "accepted_at": table["event_time"],
        "entry_broker": pa.repeat("", rows),
        "epoch": pa.repeat(0, rows),
        "position": pa.repeat(0, rows),
        "exact": pa.repeat(True, rows),
    }
    schema = TABLES["events"].schema
    keys |= {name: pa.nulls(rows, schema.field(name).type) for name in ("payload", "to", "destinations", "expires_at")}
    for name, values in keys.items():
        table = table.append_column(name, values)
    return table


def _intervals(intervals: Any, versions: Any, net: DayNetwork) -> tuple[Any, Any]:
    """For each entry broker and version the epochs from and to, none where it never came into force."""
    begin = np.full((len(net.names), versions.num_rows), NEVER)
    end = np.full((len(net.names), versions.num_rows), NEVER)
    text = intervals["version"].cast(pa.string())
    ids = pc.binary_join_element_wise(intervals["subscription"], text, "@")
    version = pc.index_in(ids, versions["id"].combine_chunks()).to_numpy()
    entry = pc.index_in(intervals["entry_broker"], pa.array(net.names)).to_numpy()
    begin[entry, version] = intervals["from_epoch"].to_numpy()
    end[entry, version] = pc.fill_null(intervals["to_epoch"], NEVER).to_numpy()
    return begin, end


def _travelled(
    plan: DayPlan, events: DayEvents, net: DayNetwork, versions: Any, *, event: Any, version: Any, home: Any
) -> DayReceipts:
    count = len(net.names)
    copies, copy = np.unique(event * count + home, return_inverse=True)
    of_event, to = copies // count, copies % count
    way = travel(net, plan.draw("travel"), entry=events.entry[of_event], home=to, accepted=events.accepted[of_event])
    order = (events.publisher[of_event] * 2 + events.fast[of_event]) * count + to
    arrived = in_order(way.arrived, order)
    at = pa.array(of_event).take(way.hops["copy"]).to_numpy()
    destination = pa.array(net.names).take(pa.array(to).take(way.hops["copy"]))
    hops = way.hops.drop_columns("copy").append_column("event", pa.array(at)).append_column("destination", destination)
    return DayReceipts(versions, event, version, arrived[copy] + HANDED_OVER, hops)


def event_key(events: DayEvents, at: Any) -> dict[str, Any]:
    """The columns that name events."""
    return {
        "publisher": pa.array(events.publishers).take(pa.array(events.publisher[at])),
        "sequence": pa.array(events.sequence[at]),
        "quality": pa.array(["durable", "fast"]).take(pa.array(events.fast[at].astype(np.int64))),
    }


def delivery_table(events: DayEvents, found: DayReceipts, net: DayNetwork, epoch: Any) -> Any:
    """The rows of `deliveries`, in the order of time."""
    order = np.lexsort((found.event, found.delivered))
    event, version, delivered = found.event[order], found.version[order], found.delivered[order]
    which = found.versions.take(pa.array(version))
    subscription = which["subscription"].combine_chunks().dictionary_encode().indices.to_numpy()
    return pa.table(
        {
            **event_key(events, event),
            **{name: which[name] for name in ("subscription", "version", "subscriber", "home_broker")},
            "entry_broker": pa.array(net.names).take(pa.array(events.entry[event])),
            "epoch": epoch[event],
            "position": ranks(subscription) + 1,
            "attempts": pa.repeat(pa.scalar(1, pa.int32()), len(order)),
            "delivered_at": pa.array(delivered, TIME),
        }
    )
