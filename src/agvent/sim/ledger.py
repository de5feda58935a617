"""Who should have received what, from what came to be on disks: the audit of DESIGN's delivery contract, in small.

Each broker's records are in the order of its journal. An Accepted stands after the changes that its epoch had applied,
so walking the journal gives for each event the position of every home, and the homes' Opened and Closed give the
versions that were open there. The filter's own evaluator decides the rest.

An event that its publisher sent to two entries is due to whom it is due by both: a home takes the first that comes.
An agvent that finds its own way is due to those whom its route chose, as the stops have it on disk; a route chooses
among those who match. Where a broker lost its disk or left, it may go the default route instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from agvent.broker.records import (
    Accepted,
    Arrived,
    Closed,
    Heard,
    InstanceKey,
    Marked,
    Opened,
    Owned,
    Reported,
    Visited,
)
from agvent.broker.tables.journeys import instance_in, instance_of
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.sim.oracle import Clause, Question, admits, clauses_of, entered
from agvent.sim.world import OnDisk, RunHistory
from agvent.wire.batches import deliveries_in, taken_apart
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.names import name_of

READ: Final = frozenset({Accepted, Arrived, Closed, Heard, Marked, Opened, Owned, Reported, Visited})
"""The records that say who should have received what."""


class DueDelivery(NamedTuple):
    """A durable event for a subscription."""

    client: str
    subscription: str
    publisher: str
    sequence: int


class Known(msgspec.Struct):
    """A version of a subscription at its home."""

    client: str
    id: str
    subscription: Subscription
    clauses: tuple[Clause, ...]
    version: int
    opened: int
    closed: int = 0
    ended: bool = False  # its subscription was unsubscribed, then or later


class Heads(msgspec.Struct, frozen=True):
    """How far an entry had applied a home's stream, and which version of its advertisements that answered."""

    incarnation: int
    position: int
    considered: int = 0


class AcceptedEvent(msgspec.Struct):
    """An event, and for each home how far its entry had applied its stream; `version` is that of the entry's
    advertisements."""

    record: Accepted
    question: Question
    at: int
    homes: dict[str, Heads]
    version: int

    @property
    def event(self) -> Event:
        return self.question.event

    @property
    def late_homes(self) -> tuple[str, ...]:
        """Those of which the entry did not know what they want, if it had heard of their stream at all."""
        return tuple(target.home for target in self.record.targets if target.late)


def accepted_event(record: Accepted, at: int, homes: dict[str, Heads], version: int) -> AcceptedEvent:
    question = entered(record.publication.event, record.entered.answers)
    return AcceptedEvent(record=record, question=question, at=at, homes=homes, version=version)


def _is_late(record: Visited, broker: str) -> bool:
    """Did the entry of an agvent not know what is wanted where it stopped?"""
    return any(target.late for target in record.journey.targets if target.home == broker)


def matches(accepted: AcceptedEvent, known: Known) -> bool:
    return accepted.question.matches(known.clauses)


def is_for(accepted: AcceptedEvent, known: Known) -> bool:
    """Does the event match the subscription, and does its publisher want that subscriber?"""
    publication = accepted.record.publication
    if publication.destinations and known.client not in publication.destinations:
        return False
    if not matches(accepted, known):
        return False
    return admits(publication.to, known.subscription)


class Ledger:
    """What a run's history says. `due` must have been received, `allowed` may have been."""

    def __init__(self, history: RunHistory) -> None:
        self.versions: dict[tuple[str, int], list[Known]] = {}
        self.events: list[AcceptedEvent] = []
        self.late: list[AcceptedEvent] = []  # arrivals at a home that was not known at the entry, as if entered there
        self.positions: dict[tuple[str, int], dict[int, dict[str, Heads]]] = {}  # entry -> epoch -> homes
        self.stops: list[tuple[str, Accepted | Visited]] = []  # of agvents that find their own way, with the broker
        self.chosen: dict[tuple[InstanceKey, str], set[str]] = {}  # agvent, home -> the keys that its route chose
        self.waived: set[tuple[InstanceKey, str]] = set()  # agvent, home that its budget did not reach, as known so far
        self._read(history)
        self.is_reclaimed = bool(history.lost_disks or history.faults.get("leave"))
        self.received = [
            DueDelivery(told.client, id, one.publisher, one.sequence)
            for told in history.told
            if isinstance(told.message, Deliver) and not told.message.fast
            for one in deliveries_in(told.message)
            for id in one.subscriptions
        ]
        self.gaps = [
            (told.client, told.message)
            for told in history.told
            if isinstance(told.message, Gap) and not told.message.fast
        ]
        self.allowed: set[DueDelivery] = set()
        self.in_force: set[DueDelivery] = set()  # matching and in force, whatever an agvent's own route chose
        lost = set(history.lost_disks)
        due: dict[tuple[EventId, str], set[DueDelivery]] = {}
        for accepted in self.events:
            publication = accepted.record.publication
            event = EventId(publication.publisher, publication.sequence)
            for home, found in self._judge(accepted, lost).items():
                due[event, home] = due.get((event, home), found) & found
            for home in accepted.late_homes:
                due[event, home] = set()
        self._judge_late(lost)
        self.due: set[DueDelivery] = set().union(*due.values())

    def _read(self, history: RunHistory) -> None:
        applied: dict[tuple[str, int], dict[str, Heads]] = {}
        versions: dict[str, int] = {}
        unsubscribed = {(one.client, one.args[0]) for one in history.asked if one.method == "unsubscribe"}
        for on_disk in history.on_disk:
            record = on_disk.record
            if type(record) not in READ:
                continue
            broker = (on_disk.broker, on_disk.incarnation)
            here = applied.setdefault(broker, {})
            if isinstance(record, Opened):
                subscription = record.interest.subscription
                id = subscription.id.partition("/")[2]
                client = name_of(record.client)
                known = Known(
                    client=client,
                    id=id,
                    subscription=subscription,
                    clauses=clauses_of(subscription),
                    version=record.interest.version,
                    opened=record.position,
                )
                known.ended = (client, id) in unsubscribed
                self.versions.setdefault(broker, []).append(known)
            elif isinstance(record, Closed):
                self._close(broker, record)
            if isinstance(record, (Opened, Closed, Marked)):
                here[on_disk.broker] = Heads(on_disk.incarnation, record.position)
                self.positions.setdefault(broker, {})[record.epoch] = dict(here)
            elif isinstance(record, Heard):
                here[record.home] = Heads(record.incarnation, record.position, record.considered)
                self.positions.setdefault(broker, {})[record.epoch] = dict(here)
            elif isinstance(record, Accepted):
                for publication in taken_apart(record.publication):
                    single = msgspec.structs.replace(record, publication=publication)
                    version = versions.get(on_disk.broker, 0)
                    self.events.append(accepted_event(single, on_disk.at, dict(here), version))
            elif isinstance(record, Arrived) and record.late and not record.lost:
                self._late(on_disk, record, here)
            elif isinstance(record, Owned) and record.owner == on_disk.broker:
                versions[record.owner] = record.version
            if isinstance(record, Reported):
                agvent = msgspec.structs.replace(instance_in(record.report), path=())
                self.waived |= {(agvent, home) for home in record.report.declined}
            if isinstance(record, Visited) and record.arrives and _is_late(record, on_disk.broker):
                self._late(on_disk, record, here)
            if isinstance(record, Visited) or (isinstance(record, Accepted) and record.outcome is not None):
                self._stopped(on_disk.broker, record)

    def _late(self, on_disk: OnDisk, record: Arrived | Visited, here: dict[str, Heads]) -> None:
        """A late copy arrived: what was in force at its home then decides."""
        heads = here.get(on_disk.broker, Heads(on_disk.incarnation, 0))
        for publication in taken_apart(record.publication):
            accepted = Accepted(entered=record.entered, publication=publication, targets=(), at=on_disk.at)
            self.late.append(accepted_event(accepted, on_disk.at, {on_disk.broker: heads}, 0))

    def _stopped(self, broker: str, record: Accepted | Visited) -> None:
        """What a route chose at a stop: subscriptions there, and homes that it will not go to."""
        self.stops.append((broker, record))
        assert record.outcome is not None
        agvent = instance_of(record.entered, record.publication, ())
        if isinstance(record, Accepted) or record.arrives:
            keys = {key for _, versions in record.outcome.deliveries for key, _ in versions}
            self.chosen[agvent, broker] = keys
        for home in record.outcome.declined:
            self.chosen[agvent, home] = set()

    def _close(self, broker: tuple[str, int], record: Closed) -> None:
        for known in self.versions[broker]:
            if known.subscription.id == record.key:
                known.closed = known.closed or record.position
                known.ended = known.ended or not record.replaced

    def _judge_late(self, lost: set[tuple[str, int]]) -> None:
        """What went to a home whose entry did not know it: it is allowed to whom it would have gone from there. Whether
        it is due, what clients were told decides (promises.py)."""
        for late in self.late:
            self._judge(late, lost)
            publication = late.record.publication
            for home, heads in late.homes.items():  # and to a client that has moved on since, and left its part here
                known = [
                    one for one in self.versions.get((home, heads.incarnation), []) if one.opened <= heads.position
                ]
                self.allowed |= {
                    DueDelivery(one.client, one.id, publication.publisher, publication.sequence)
                    for one in known
                    if one.closed and is_for(late, one)
                }

    def _judge(self, accepted: AcceptedEvent, lost: set[tuple[str, int]]) -> dict[str, set[DueDelivery]]:
        """To whom an event is due by this entry, for each home."""
        due: dict[str, set[DueDelivery]] = {}
        publication = accepted.record.publication
        for home, heads in accepted.homes.items():
            found = due[home] = set()
            for known in self.open_at(home, heads):
                if not is_for(accepted, known):
                    continue
                owed = DueDelivery(known.client, known.id, publication.publisher, publication.sequence)
                self.in_force.add(owed)
                is_chosen = self._is_chosen(accepted, home, known)
                if is_chosen or self.is_reclaimed:
                    self.allowed.add(owed)
                entry = (accepted.record.entered.entry, accepted.record.entered.incarnation)
                spared = known.ended or publication.expires or {entry, (home, heads.incarnation)} & lost
                agvent = instance_of(accepted.record.entered, publication, ())
                spared = spared or (agvent, home) in self.waived
                if is_chosen and not spared and not self._has_gap(owed):
                    found.add(owed)
        return due

    def open_at(self, home: str, heads: Heads) -> Iterator[Known]:
        """The versions at a home that were in force where its stream had been applied so far."""
        for known in self.versions.get((home, heads.incarnation), []):
            if known.opened <= heads.position and not 0 < known.closed <= heads.position:
                yield known

    def _is_chosen(self, accepted: AcceptedEvent, home: str, known: Known) -> bool:
        agvent = instance_of(accepted.record.entered, accepted.record.publication, ())
        chosen = self.chosen.get((agvent, home))
        return chosen is None or known.subscription.id in chosen

    def _has_gap(self, due: DueDelivery) -> bool:
        return any(
            client == due.client
            and (not gap.publisher or (gap.publisher == due.publisher and gap.first <= due.sequence <= gap.last))
            and due.subscription in gap.subscriptions
            for client, gap in self.gaps
        )
