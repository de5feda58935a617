"""What one subscription would have received of a log's past, with pyarrow and the matcher alone: no Spark.

The log is gone through once, segment by segment; of what matches, the key and the place are kept. Then the events are
read in their order: by time, and each publisher's by sequence. Cost: some 50 bytes for each event that matches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.errors import SubscriptionError
from agvent.event import time_of
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Call, Condition, walk
from agvent.matching.subscriptions import Subscriptions
from agvent.store.catalogue import subscription_in
from agvent.store.event_batches import match_rows
from agvent.store.event_columns import LoggedEvent, records_of
from agvent.store.heads import Segment
from agvent.store.log_reader import LogReader, type_and_schema
from agvent.store.log_schema import TIME
from agvent.store.segments import read_segment

TOGETHER: Final = 1_024
"""Events that are read at once."""

TABLES_KEPT: Final = 8
"""Segments that are kept while events are read in order: neighbours in time lie in few of them."""

Intervals = dict[str, list[tuple[int, int | None]]]
"""For each entry broker the epochs, the last one excluded, in which a subscription was in force."""


class PastQuery(NamedTuple):
    """Whose past, since when, and which epochs are not part of it: their events came, or will come, by themselves."""

    subscription: Subscription
    subscriber: str
    since: datetime | None
    now: datetime
    in_force: Intervals


class History:
    """The past of a subscription, as a log has it. `dropped` says whether retention took some of it."""

    def __init__(self, log: LogReader, asked: PastQuery) -> None:
        condition_of(asked.subscription)
        self.log, self.asked = log, asked
        self._index = Subscriptions([asked.subscription])
        self.segments = [one for one in log.segments("events") if _last(one, "accepted_at") >= _text(asked.since)]
        ends = [facts["accepted_at"][1] for facts in log.heads["events"].dropped.ranges.values()]
        self.dropped = bool(ends) and max(ends) >= _text(asked.since)
        self._tables: OrderedDict[int, Any] = OrderedDict()
        self._order = _ordered([self._found(number) for number in range(len(self.segments))])

    def __len__(self) -> int:
        return len(self._order)

    def chunks(self) -> Iterator[list[LoggedEvent]]:
        """The events, in order, some at a time."""
        for start in range(0, len(self._order), TOGETHER):
            yield self._read(self._order[start : start + TOGETHER])

    def _read(self, places: Any) -> list[LoggedEvent]:
        found: list[LoggedEvent | None] = [None] * len(places)
        for number in np.unique(places[:, 0]):
            at = np.flatnonzero(places[:, 0] == number)
            name, schema = type_and_schema(self.segments[number].path)
            rows = self._table(int(number)).take(pa.array(places[at, 1]))
            for place, record in zip(at, records_of(rows, self.log.type_of(name, schema), name), strict=True):
                found[place] = record
        return [one for one in found if one is not None]

    def _table(self, number: int) -> Any:
        if number not in self._tables:
            self._tables[number] = read_segment(self.log.path, self.segments[number])
            if len(self._tables) > TABLES_KEPT:
                self._tables.popitem(last=False)
        self._tables.move_to_end(number)
        return self._tables[number]

    # What matches

    def _found(self, number: int) -> Any:
        """The keys and places of a segment's events that match."""
        name, schema = type_and_schema(self.segments[number].path)
        table = read_segment(self.log.path, self.segments[number])
        rows = np.flatnonzero(self._may_come(table))
        kept = table.take(pa.array(rows))
        matches = [part.rows for part in match_rows(self._index, kept, self.log.type_of(name, schema), name)]
        hits = np.sort(np.concatenate([np.asarray(part) for part in matches])) if matches else np.empty(0, np.int64)
        chosen = kept.take(pa.array(hits, pa.int64()))
        wanted = self._is_wanted(chosen)
        chosen, hits = chosen.filter(pa.array(wanted)), hits[wanted]
        publisher = pc.binary_join_element_wise(chosen["publisher"], chosen["quality"], "\n")
        return pa.table(
            {
                "publisher": publisher,
                "sequence": chosen["sequence"],
                "at": chosen["accepted_at"].cast(pa.int64()),
                "live": pa.array(self._is_live(chosen)),
                "segment": pa.array(np.full(len(hits), number, np.int64)),
                "row": pa.array(rows[hits]),
            }
        )

    def _may_come(self, table: Any) -> Any:
        """The events of the time that is asked for, which have not expired."""
        asked = self.asked
        expires = pc.fill_null(pc.greater(table["expires_at"], pa.scalar(asked.now, TIME)), True)
        if asked.since is None:
            return expires.to_numpy()
        return pc.and_(expires, pc.greater_equal(table["accepted_at"], pa.scalar(asked.since, TIME))).to_numpy()

    def _is_wanted(self, table: Any) -> Any:
        """Publisher-side filtering: is the subscriber named, and is its context such?"""
        context = self.asked.subscription.context or {}
        addressed = zip(table["destinations"].to_pylist(), table["to"].to_pylist(), strict=True)
        return np.array(
            [
                (not names or self.asked.subscriber in names) and (not to or evaluate(parse(to), context) is True)
                for names, to in addressed
            ],
            bool,
        )

    def _is_live(self, table: Any) -> Any:
        """Was the subscription in force where and when each event entered?"""
        found = np.zeros(table.num_rows, bool)
        entries, epochs = np.array(table["entry_broker"].to_pylist(), object), table["epoch"].to_numpy()
        for entry, intervals in self.asked.in_force.items():
            for first, end in intervals:
                found |= (entries == entry) & (epochs >= first) & (True if end is None else epochs < end)
        return found


def condition_of(subscription: Subscription) -> Condition:
    """What the subscription asks for; one that asks agvents is refused, because a replay has none to ask."""
    condition = subscription.condition()
    calls = [node.name for node in walk(condition) if isinstance(node, Call)]
    if calls:
        raise SubscriptionError(
            f"the filter calls {calls[0]}(), and a replay has no agvents to ask",
            hint="leave the call out: the rest of the filter gives the events it could be true of",
        )
    return condition


def _ordered(parts: list[Any]) -> Any:
    """The places (segment, row) of each event once, as it was accepted first, and of none that came by itself."""
    if not parts:
        return np.empty((0, 2), np.int64)
    table = pa.concat_tables(parts)
    codes = table["publisher"].combine_chunks().dictionary_encode().indices.to_numpy()
    sequence, at, live, segment, row = (table[name].to_numpy() for name in ("sequence", "at", "live", "segment", "row"))
    by_event = np.lexsort((at, sequence, codes))
    codes, sequence, at, live = codes[by_event], sequence[by_event], at[by_event], live[by_event]
    if not len(codes):
        return np.empty((0, 2), np.int64)
    first = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (sequence[1:] != sequence[:-1])))
    first = first[~np.logical_or.reduceat(live, first)]
    order = first[np.lexsort((sequence[first], codes[first], _rising(codes[first], at[first])))]
    places = by_event[order]
    return np.stack([segment[places], row[places]], axis=1)


def _rising(codes: Any, at: Any) -> Any:
    """Times that do not fall within a publisher, whose events are in the order of their sequences here."""
    cuts = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate([np.maximum.accumulate(part) for part in np.split(at, cuts)]) if len(at) else at


def intervals(log: LogReader, subscription: Subscription) -> tuple[Intervals, set[str]]:
    """The epochs in which some version of a subscription was in force at each entry broker, and the brokers at which
    one with these very words still is. Its id is as the log has it: `client/id`."""
    catalogue = log.heads["catalogue"].number
    versions, table = log.table("subscriptions"), log.in_force(catalogue=catalogue)
    rows = versions.filter(pc.equal(versions["subscription"], subscription.id)).to_pylist()
    same = {row["version"] for row in rows if subscription_in(row) == subscription}
    found: Intervals = {}
    still: set[str] = set()
    for row in table.filter(pc.equal(table["subscription"], subscription.id)).to_pylist():
        found.setdefault(row["entry_broker"], []).append((row["from_epoch"], row["to_epoch"]))
        if row["to_epoch"] is None and row["version"] in same:
            still.add(row["entry_broker"])
    return found, still


def _last(segment: Segment, column: str) -> str:
    return max(str(facts[column][1]) for facts in segment.ranges.values())


def _text(time: datetime | None) -> str:
    """As heads have times: text of one width that compares as time does."""
    return "" if time is None else time_of(time.isoformat()).isoformat(timespec="microseconds")
