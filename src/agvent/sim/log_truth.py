"""Is each row of an event log true, and none missing? By what came to be on the brokers' disks.

What the log must have is made here from records in the plainest way, as tuples. Of deliveries and gaps checkers/log.py
judges: clients were told of them, and log_audit.py says which were due.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from agvent.broker.records import Accepted, Arrived, Closed, Heard, Kept, Marked, Opened, Outcome, Visited
from agvent.event import EPOCH
from agvent.sim.memory_log import MemoryLog
from agvent.sim.world import OnDisk, RunHistory
from agvent.store.catalogue import subscription_in
from agvent.store.event_columns import LoggedEvent
from agvent.store.values import decode_value
from agvent.wire.batches import taken_apart
from agvent.wire.codec import decode_event
from agvent.wire.parts import Publication, Trace

SHOWN: Final = 2
"""Rows of a kind that a violation names."""

FAR: Final = 253_402_300_800_000_000
"""The end of the year 9999: an event that lives longer has no end in the log."""

Row = tuple[Any, ...]
Rows = dict[str, Counter[Row]]


class LogNames:
    """What the log calls brokers, by their incarnations in the order in which they began."""

    def __init__(self, history: RunHistory, numbers: dict[str, list[int]]) -> None:
        self.numbers = numbers
        self.lost = {self.of(*one) for one in history.lost_disks}

    def of(self, broker: str, incarnation: int) -> str:
        known = self.numbers.get(broker, [])
        number = known.index(incarnation) + 1 if incarnation in known else 0
        return broker if number == 1 else f"{broker}~{number}"


def moment(at: int) -> datetime:
    return EPOCH + timedelta(microseconds=at)


def public(key: str) -> str:
    """A subscription as its client knows it."""
    client, _, id = key.partition("/")
    return f"{client.partition('~')[0]}/{id}"


class LogTruth:
    """What the log of a run must have: rows by table. It may lack those that are `spared`."""

    def __init__(self, history: RunHistory, names: LogNames, *, has_clocks: bool) -> None:
        self.names, self.has_clocks = names, has_clocks
        self.rows: dict[str, Counter[Row]] = defaultdict(Counter)
        self.spared: dict[str, Counter[Row]] = defaultdict(Counter)
        self.epochs: dict[str, int] = {}  # broker -> its epoch so far
        self.versions: dict[str, int] = {}  # broker and subscription -> its version
        self.senders = {key for one in history.on_disk for key in _held(one)}
        for one in history.on_disk:
            self._take(one, names.of(one.broker, one.incarnation))

    def differences(self, log: MemoryLog) -> Iterator[str]:
        """Rows that are missing, and rows that are not true."""
        had = rows_of(log, has_clocks=self.has_clocks)
        for table in sorted({*self.rows, *had}):
            wanted, found = self.rows[table], had.get(table, Counter())
            missing, more = wanted - found, found - wanted - self.spared[table]
            if missing:
                yield f"the log lacks {_shown(table, missing)}"
            if more:
                yield f"the log has {_shown(table, more)}, which is not so"

    def _take(self, one: OnDisk, name: str) -> None:
        record, at = one.record, self._time(one.at)
        rows = self.spared if name in self.names.lost else self.rows
        if isinstance(record, (Opened, Closed, Marked)):
            self._changed(rows, record, name, at)
            self._applied(rows, (name, record.epoch, name, record.position, at))
        elif isinstance(record, Heard):
            home = self.names.of(record.home, record.incarnation)
            self._applied(rows, (name, record.epoch, home, record.position, at))
        elif isinstance(record, Accepted):
            self._entered(rows, record, name, record.entered.epoch, record.at)
        elif isinstance(record, Arrived):
            if record.late and not record.lost:
                self._entered(rows, record, name, self.epochs.get(name, 0), one.at)
            self._came(rows, record.publication, record.trace, (name,), name)
        elif isinstance(record, Kept):
            copies = record.copies
            homes = tuple(self.names.of(to.home, to.incarnation) for to in copies.targets if to.home != one.broker)
            self._came(rows, copies.publication, copies.trace, homes, name)
        elif isinstance(record, Visited):
            journey = record.journey
            if record.arrives and any(to.late for to in journey.targets if to.home == one.broker):
                self._entered(rows, record, name, self.epochs.get(name, 0), one.at)
            homes = tuple(self.names.of(to.home, to.incarnation) for to in journey.targets)
            self._came(rows, record.publication, ((journey.origin, 0),) * len(journey.passed), homes, name)
        if isinstance(record, (Accepted, Visited)) and record.outcome is not None:
            self._stopped(rows, record, record.outcome, name)

    def _time(self, at: int) -> datetime | None:
        return None if self.has_clocks else moment(at)

    def _changed(self, rows: Rows, record: Opened | Closed | Marked, name: str, at: datetime | None) -> None:
        if isinstance(record, Marked):
            change: Row = ("mark", "", 0)
        elif isinstance(record, Opened):
            subscription, version = record.interest.subscription, record.interest.version
            self.versions[f"{name} {subscription.id}"] = version
            change = ("open", public(subscription.id), version)
            said = (subscription.language, subscription.filter, subscription.type, subscription.pattern)
            more = (subscription.topic, subscription.channel, _sorted(subscription.context))
            subscriber = record.client.partition("~")[0]
            rows["subscriptions"][(name, *change[1:], subscriber, *said, *more, at)] += 1
        else:
            change = ("close", public(record.key), self.versions.get(f"{name} {record.key}", 0))
        rows["changes"][(name, record.position, *change, at)] += 1

    def _applied(self, rows: Rows, row: Row) -> None:
        self.epochs[row[0]] = row[1]
        rows["epochs"][row] += 1

    def _entered(self, rows: Rows, record: Accepted | Arrived | Visited, name: str, epoch: int, at: int) -> None:
        time = self._time(at)
        for one in taken_apart(record.publication):
            event, key = decode_event(one.event), (one.publisher, one.sequence, name)
            content = (event.type, event.topic, event.channel, _sorted(event.attributes), one.to, one.destinations)
            expires = moment(one.expires) if 0 < one.expires < FAR else None
            rows["events"][(*key, epoch, *content, expires, time)] += 1
            for answered in record.entered.answers:
                result = None if answered.fault else repr(answered.value)
                rows["behaviours"][(*key, answered.call.name, result, answered.fault or None, time)] += 1
            if event.cargo is not None and isinstance(record, Accepted):
                rows["cargoes"][(*key, event.cargo.program, time)] += 1

    def _came(self, rows: Rows, one: Publication, trace: Trace, homes: Iterable[str], name: str) -> None:
        """Hops that ended here. When it was sent is not known of a sender that lost its disk, or ended before the copy
        was on it."""
        if trace:
            sender, _ = trace[-1]
            is_known = (one.publisher, one.sequence, sender) in self.senders
            is_lost = any(lost.partition("~")[0] == sender for lost in self.names.lost)
            wanted = rows if is_known and not is_lost else self.spared
            size = len(one.event) // one.count
            for sequence in range(one.first, one.sequence + 1):
                for home in homes:
                    row = (one.publisher, sequence, home, len(trace), sender, name.partition("~")[0], size)
                    wanted["traces"][row] += 1

    def _stopped(self, rows: Rows, record: Accepted | Visited, outcome: Outcome, name: str) -> None:
        one = record.publication
        delivered = tuple(public(key) for _, versions in outcome.deliveries for key, _ in versions)
        key = (one.publisher, one.sequence, name)
        rows["stops"][
            (*key, delivered, outcome.declined, outcome.returned, outcome.fault or None, self._time(record.at))
        ] += 1


def _held(one: OnDisk) -> Iterator[tuple[str, int, str]]:
    """The event that a record put on a broker's disk to be sent on, with the broker."""
    record = one.record
    if isinstance(record, Accepted):
        publication, is_sent = record.publication, any(to.home != one.broker for to in record.targets)
    elif isinstance(record, Kept):
        publication, is_sent = record.copies.publication, any(to.home != one.broker for to in record.copies.targets)
    elif isinstance(record, Visited):
        publication, is_sent = record.publication, bool(record.outcome.legs)
    else:
        return
    if is_sent:
        yield publication.publisher, publication.sequence, one.broker


def rows_of(log: MemoryLog, *, has_clocks: bool) -> Rows:
    """The rows that a log has, as `LogTruth` has them."""

    def time(value: datetime) -> datetime | None:
        return None if has_clocks else value

    called = [
        (row["call"].partition("(")[0], row, (row["publisher"], row["sequence"], row["entry_broker"]))
        for row in log.of("behaviours")
    ]
    return {
        "changes": Counter((*(row[name] for name in CHANGE), time(row["changed_at"])) for row in log.of("changes")),
        "epochs": Counter((*(row[name] for name in EPOCHS), time(row["applied_at"])) for row in log.of("epochs")),
        "subscriptions": Counter(_subscription(row, time(row["created_at"])) for row in log.of("subscriptions")),
        "events": Counter(_event(logged, time(logged.accepted_at)) for _, logged in log.events),
        "behaviours": Counter(
            (*key, name, _result(row["result"]), row["fault"], time(row["called_at"]))
            for name, row, key in called
            if name != ROUTE
        ),
        "stops": Counter(
            (*key, *_decided(row["result"]), row["fault"], time(row["called_at"]))
            for name, row, key in called
            if name == ROUTE
        ),
        "cargoes": Counter((*(row[name] for name in CARGO), time(row["accepted_at"])) for row in log.of("cargoes")),
        "traces": Counter(tuple(row[name] for name in HOP) for row in log.of("traces")),
    }


ROUTE: Final = "route"
CHANGE: Final = ("home_broker", "position", "change", "subscription", "version")
EPOCHS: Final = ("entry_broker", "epoch", "home_broker", "position")
CARGO: Final = ("publisher", "sequence", "entry_broker", "program")
HOP: Final = ("publisher", "sequence", "destination", "hop", "from_broker", "to_broker", "bytes")


def _subscription(row: dict[str, Any], at: datetime | None) -> Row:
    one = subscription_in(row)
    said = (one.language, one.filter, one.type, one.pattern, one.topic, one.channel, _sorted(one.context))
    return (row["home_broker"], one.id, row["version"], row["subscriber"], *said, at)


def _event(logged: LoggedEvent, at: datetime | None) -> Row:
    event = logged.event
    assert event.id is not None
    content = (event.type, event.topic, event.channel, _sorted(event.attributes), logged.to, logged.destinations)
    return (*event.id, logged.entry_broker, logged.epoch, *content, logged.expires_at, at)


def _result(text: str | None) -> str | None:
    return None if text is None else repr(decode_value(text))


def _decided(text: str) -> Row:
    decided = decode_value(text)
    return tuple(tuple(decided[name]) for name in ("delivered", "declined", "returned"))


def _sorted(values: Any) -> Row | None:
    return None if values is None else tuple(sorted((name, repr(value)) for name, value in values.items()))


def _shown(table: str, rows: Counter[Row]) -> str:
    shown = "; ".join(str(row)[:300] for row in sorted(rows, key=str)[:SHOWN])
    return f"{rows.total()} of {table}: {shown}"
