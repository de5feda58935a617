"""The durable state of a broker: the tables, and how each record changes them.

Applying the journal's records in order to empty tables gives the tables there were when the last one was written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from agvent.broker.notices import ErrandsBegun, Notice, QueuesChanged
from agvent.broker.records import (
    Accepted,
    Acknowledged,
    Arrived,
    Booted,
    Brought,
    CaughtUp,
    Claimed,
    Closed,
    Confirmed,
    Counted,
    Curtailed,
    Delegated,
    Ended,
    ExecutedHere,
    GivenUp,
    Handed,
    HandedOver,
    Heard,
    Joined,
    Kept,
    Left,
    LegEnded,
    Lost,
    Marked,
    Moved,
    MoveInProgress,
    Noticed,
    Opened,
    Outcome,
    Owned,
    Parted,
    Queued,
    Reached,
    Record,
    RejectedHere,
    Released,
    Remembered,
    Reported,
    Reporting,
    Settled,
    Stood,
    Timed,
    Travelling,
    Visited,
    Waited,
    Wanted,
)
from agvent.broker.tables.advertisements import Advertisements
from agvent.broker.tables.chains import Chain, Chains
from agvent.broker.tables.code import Code
from agvent.broker.tables.custody import Custody, HomeChain, key_of
from agvent.broker.tables.deliveries import Deliveries
from agvent.broker.tables.interests import Interests
from agvent.broker.tables.journeys import Journeys, report_of
from agvent.broker.tables.local_subscriptions import LocalSubscriptions
from agvent.wire.broker_messages import Report
from agvent.wire.names import name_of
from agvent.wire.parts import Series


class Tables:
    """One broker's tables."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.boot = 0
        self.advertisements = Advertisements()
        self.code = Code()
        self.local = LocalSubscriptions()
        self.interests = Interests(name)
        self.custody = Custody(name, incarnation)
        self.chains = Chains(name, incarnation)
        self.deliveries = Deliveries()
        self.journeys = Journeys(name, incarnation)
        self.fast_lost: Counter[str] = Counter()  # reason -> fast events lost here since the start; in no record
        self._apply: dict[type[Record], Callable[[Any], Notice | tuple[Notice, ...] | None]] = {
            Booted: self._booted,
            Owned: self._owned,
            Opened: self._opened,
            Closed: self._closed,
            Ended: self._ended,
            Settled: self.local.settled,
            Heard: self.interests.apply,
            Accepted: self._accepted,
            Kept: self._kept,
            Released: self.custody.release,
            Confirmed: self.custody.confirm,
            Arrived: self._arrived,
            Joined: self._joined,
            Acknowledged: self.deliveries.acknowledge,
            Noticed: self.deliveries.notice,
            Lost: self.custody.lose,
            Counted: self._counted,
            Stood: self.local.stand,
            Wanted: self.interests.recall,
            Reached: self._reached,
            Queued: self.deliveries.recall,
            Waited: self.deliveries.recall_waiting,
            Timed: self._timed,
            Moved: self.deliveries.move,
            Handed: self.deliveries.hand,
            HandedOver: self.deliveries.hand_over,
            CaughtUp: self.deliveries.catch_up,
            Marked: self._marked,
            Curtailed: self.deliveries.curtail,
            Claimed: self.deliveries.claim,
            Left: self.deliveries.leave,
            Parted: self.deliveries.part,
            GivenUp: self._given_up,
            RejectedHere: self.custody.reject,
            Remembered: self.chains.repeats.recall,
            MoveInProgress: self.deliveries.recall_held,
            Brought: self.code.bring,
            Visited: self._visited,
            LegEnded: self.journeys.end,
            Reported: self._reported,
            Travelling: self.journeys.travel,
            Reporting: self.journeys.resume_report,
            Delegated: self._delegated,
            ExecutedHere: self.journeys.recall,
        }

    @property
    def is_forgotten(self) -> bool:
        """Has another broker said that this one never returns?"""
        return self.advertisements.incarnation(self.name) > self.incarnation

    def apply(self, record: Record) -> tuple[Notice, ...]:
        """Changes the tables by a record, and says what the parts above have to do about it."""
        notices = self._apply[type(record)](record)
        if notices is None:
            return ()
        return notices if isinstance(notices, tuple) else (notices,)

    def lose_fast(self, reason: str, events: int) -> None:
        """Counts fast events that were lost here."""
        self.fast_lost[reason] += events

    def _booted(self, record: Booted) -> None:
        self.boot = record.boot
        self.deliveries.booted(record)

    def _owned(self, record: Owned) -> ErrandsBegun | None:
        before = self.advertisements.incarnation(record.owner)
        self.advertisements.apply(record)
        self.code.apply(record)
        if record.owner == self.name:
            for entry in record.entries:
                self.deliveries.advertised(entry.publisher, entry.type.name)
        self.interests.meet(record.owner, record.incarnation, gone=record.gone)
        if before >= record.incarnation and not record.gone:
            return None
        known = record.incarnation + record.gone
        self.interests.void(record.owner, known)
        self.custody.void(record.owner, known)
        self.chains.void(record.owner, known)
        begun = self.journeys.void(record.owner, known, gone=record.gone)
        if before:  # it may have had agvents that find their own way: what they are owed goes the default route
            for key, homes in list(self.custody.delegated()):
                self.custody.take_back(key, homes)
        return begun

    def _joined(self, record: Joined) -> None:
        self.deliveries.join(record)
        if record.moved:
            types = self.advertisements.types_of(self.name, name_of(record.client))
            self.deliveries.inherit(record.client, tuple(type.name for type in types))

    def _opened(self, record: Opened) -> None:
        client = self.deliveries.clients.get(record.client)
        self.local.opened(record, moved=client is not None and client.is_expected)
        self.interests.changed_here(record.epoch)

    def _marked(self, record: Marked) -> None:
        self.local.marked(record)
        self.interests.changed_here(record.epoch)

    def _closed(self, record: Closed) -> QueuesChanged | None:
        self.local.closed(record)
        self.interests.changed_here(record.epoch)
        return None if record.replaced else self.deliveries.void(record.key)

    def _accepted(self, record: Accepted) -> tuple[Notice, ...]:
        self.custody.accept(record)
        if record.outcome is not None:
            return self._accepted_agvent(record, record.outcome)
        self.chains.accept(record)
        return ()

    def _accepted_agvent(self, record: Accepted, outcome: Outcome) -> tuple[Notice, ...]:
        """One that finds its own way has been at its entry: what arrives here arrives with the same record."""
        key = key_of(record.entered, record.publication)
        self.custody.delegate(key, [target.home for leg in outcome.legs for target in leg.targets])
        notices: tuple[Notice, ...] = (self.journeys.accept(record, outcome),)
        for target in record.targets:
            if target.home == self.name:
                arrived = Arrived(
                    entered=record.entered,
                    publication=record.publication,
                    after=target.predecessor,
                    lost="",
                    deliveries=outcome.deliveries,
                )
                notices += (self._arrived(arrived),)
        return notices

    def _visited(self, record: Visited) -> tuple[Notice, ...]:
        notices: tuple[Notice, ...] = ()
        if record.arrives:
            arrived = Arrived(
                entered=record.entered,
                publication=record.publication,
                after=record.after,
                lost="",
                deliveries=record.outcome.deliveries,
            )
            notices = (self._arrived(arrived),)
        notices += (self.journeys.visit(record),)
        report = report_of(record, self.name)
        if report is not None and self.journeys.is_entry(report):
            self._settle(report)
        return notices

    def _reported(self, record: Reported) -> None:
        self.journeys.reported(record)
        self._settle(record.report)

    def _settle(self, report: Report) -> None:
        """What an agvent that entered here has left undone."""
        key = self.custody.own_key(report.publisher, report.sequence)
        self.custody.decline(key, report.declined)
        self.custody.take_back(key, report.returned)

    def _delegated(self, record: Delegated) -> None:
        self.custody.delegate(self.custody.own_key(record.publisher, record.sequence), record.homes)

    def _ended(self, record: Ended) -> QueuesChanged:
        return self.deliveries.void(record.key)

    def _given_up(self, record: GivenUp) -> None:
        self.deliveries.give_up(record.homes)

    def _timed(self, record: Timed) -> None:
        """Says when records before it were written, for the event log: no table has it."""

    def _kept(self, record: Kept) -> None:
        self.custody.keep(record)
        self.chains.keep(record)

    def _arrived(self, record: Arrived) -> QueuesChanged:
        self.chains.apply(record)
        return self.deliveries.arrive(record)

    # Snapshots

    def snapshot(self) -> Iterator[Record]:
        """Records that give these tables again when they are applied to empty ones; fast events are in none.

        The order counts: Owned ends what an owner was before, and a copy that waits here is no copy in custody."""
        yield Counted(self.boot, self.local.position, self.interests.epoch)
        yield from self.code.snapshot(self.advertisements)
        yield from self.advertisements.snapshot()
        yield from self.code.shared(self.advertisements)
        yield from self.local.snapshot()
        yield from self.interests.snapshot()
        yield Reached(self.custody.entered(), self.custody.chains(), self.chains.chains())
        yield from self.chains.repeats.snapshot()
        yield from self.chains.snapshot()
        yield from self.custody.snapshot()
        for key, homes in self.custody.delegated():
            yield Delegated(key.publisher, key.sequence, homes)
        yield from self.journeys.snapshot()
        yield from self.deliveries.snapshot()

    def _counted(self, record: Counted) -> None:
        self._booted(Booted(record.boot))
        self.local.position, self.interests.epoch = record.position, record.epoch

    def _reached(self, record: Reached) -> None:
        accepted = record.accepted.items()
        self.custody.accepted = {Series(publisher, fast=False): sequence for publisher, sequence in accepted}
        self.custody.chain = {
            HomeChain(one.broker, one.incarnation, one.publisher, fast=False): one.sequence for one in record.chains
        }
        self.chains.last = {
            Chain(one.broker, one.incarnation, one.publisher, boot=0): one.sequence for one in record.arrived
        }

    def check(self) -> None:
        for table in (
            self.advertisements, self.code, self.local, self.interests, self.custody, self.chains, self.deliveries,
            self.journeys,
        ):  # fmt: skip
            table.check()
