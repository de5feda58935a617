"""Agvents that find their own way, as far as this broker answers for them: legs that began here and have not landed,
reports that their entries have not taken, and which instances were executed here.

An errand is a leg or a report: something that is sent to one broker, again and again, until that says Landed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from agvent import limits
from agvent.broker.notices import ErrandsBegun
from agvent.broker.records import (
    Accepted,
    ExecutedHere,
    InstanceKey,
    LegEnded,
    Outcome,
    Reported,
    Reporting,
    Travelling,
    Visited,
)
from agvent.wire.broker_messages import Journey, Report
from agvent.wire.parts import Entered, InstanceMessage, Publication

EXECUTED_TOGETHER: Final = 1_024
"""Instances in one record of a snapshot, some 100 KB."""


class Leg(msgspec.Struct, frozen=True):
    """An agvent on its journey to the next broker where it stops."""

    entered: Entered
    publication: Publication
    journey: Journey


class Errand(msgspec.Struct):
    """A leg that began here, or a report for an agvent's entry. It waits, or is sent and has until `due`."""

    instance: InstanceKey
    to: str
    leg: Leg | None = None
    report: Report | None = None
    neighbour: str = ""
    due: int = 0
    wait_us: int = limits.ANSWER_WAIT_US
    attempt: int = 0


def instance_of(entered: Entered, publication: Publication, path: tuple[int, ...]) -> InstanceKey:
    return InstanceKey(
        entry=entered.entry,
        incarnation=entered.incarnation,
        publisher=publication.publisher,
        sequence=publication.sequence,
        path=path,
    )


class Journeys:
    """`errands` are exactly those that have not landed; `executed` only forgets the oldest."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.errands: dict[InstanceKey, Errand] = {}
        self.executed: dict[InstanceKey, None] = {}

    # Records

    def accept(self, record: Accepted, outcome: Outcome) -> ErrandsBegun:
        return ErrandsBegun(tuple(self._travel(record.entered, record.publication, leg) for leg in outcome.legs))

    def visit(self, record: Visited) -> ErrandsBegun:
        self._remember(instance_of(record.entered, record.publication, record.journey.path))
        begun = [self._travel(record.entered, record.publication, leg) for leg in record.outcome.legs]
        report = report_of(record, self.name)
        if report is not None and not self.is_entry(report):
            begun.append(self._report(report))
        return ErrandsBegun(tuple(begun))

    def travel(self, record: Travelling) -> None:
        """A leg from a snapshot."""
        self._travel(record.entered, record.publication, record.journey)

    def end(self, record: LegEnded) -> ErrandsBegun | None:
        self.errands.pop(instance_in(record), None)
        return ErrandsBegun((self._report(record.report),)) if record.report is not None else None

    def reported(self, record: Reported) -> None:
        """The entry's side: the leg that it is about may be one of its own."""
        self.errands.pop(instance_in(record.report), None)
        self._remember(told(record.report))

    def resume_report(self, record: Reporting) -> None:
        self._report(record.report)

    def recall(self, record: ExecutedHere) -> None:
        self.executed |= dict.fromkeys(record.instances)

    def _travel(self, entered: Entered, publication: Publication, journey: Journey) -> InstanceKey:
        instance = instance_of(entered, publication, journey.path)
        self.errands[instance] = Errand(instance=instance, to=journey.to, leg=Leg(entered, publication, journey))
        return instance

    def _report(self, report: Report) -> InstanceKey:
        instance = instance_in(report)
        self.errands[instance] = Errand(instance=instance, to=report.entry, report=report)
        return instance

    def _remember(self, instance: InstanceKey) -> None:
        self.executed[instance] = None
        if len(self.executed) > limits.STOPS_REMEMBERED_MAX:
            del self.executed[next(iter(self.executed))]

    def is_entry(self, report: Report) -> bool:
        return (report.entry, report.incarnation) == (self.name, self.incarnation)

    def void(self, owner: str, incarnation: int, *, gone: bool) -> ErrandsBegun:
        """A broker lost its disk or left: its agvents are owed to nobody. What was on its way to one that left goes the
        default route, which its entry sees to by itself."""
        begun: list[InstanceKey] = []
        for instance, errand in list(self.errands.items()):
            if instance.entry == owner and instance.incarnation < incarnation:
                del self.errands[instance]
            elif gone and errand.to == owner and errand.leg is not None:
                del self.errands[instance]
                homes = tuple(target.home for target in errand.leg.journey.targets if target.home != owner)
                if instance.entry != self.name:
                    report = Report(**instance.fields, broker=self.name, declined=(), returned=homes, reasons=())
                    begun.append(self._report(report))
        return ErrandsBegun(tuple(begun))

    # Sending: what changes without a record

    def wait(self, instance: InstanceKey) -> None:
        """The errand waits to be sent, if it has not landed."""
        errand = self.errands.get(instance)
        if errand is not None:
            errand.due = 0

    def sent(self, errand: Errand, now: int, neighbour: str = "") -> None:
        """It was sent, a leg to a neighbour, and has its time from now."""
        errand.neighbour, errand.due = neighbour, now + errand.wait_us

    def retry(self, errand: Errand) -> None:
        """It is sent again, waits longer than last time, and takes another way if there is one."""
        errand.attempt += 1
        errand.wait_us = min(2 * errand.wait_us, limits.ANSWER_WAIT_MAX_US)

    # Snapshots

    def snapshot(self) -> Iterator[Travelling | Reporting | ExecutedHere]:
        for errand in self.errands.values():
            if errand.leg is not None:
                yield Travelling(errand.leg.entered, errand.leg.publication, errand.leg.journey)
            elif errand.report is not None:
                yield Reporting(errand.report)
        executed = list(self.executed)
        for first in range(0, len(executed), EXECUTED_TOGETHER):
            yield ExecutedHere(tuple(executed[first : first + EXECUTED_TOGETHER]))

    def check(self) -> None:
        for instance, errand in self.errands.items():
            assert instance == errand.instance
            assert (errand.leg is None) != (errand.report is None)
            assert errand.to != self.name


def report_of(record: Visited, broker: str) -> Report | None:
    """What the entry is told of a stop; None if it need not know."""
    outcome = record.outcome
    if not (outcome.declined or outcome.returned or outcome.reasons):
        return None
    instance = instance_of(record.entered, record.publication, record.journey.path)
    nor_here = bool(outcome.skipped and outcome.reasons) and not outcome.deliveries
    return Report(
        **instance.fields,
        broker=broker,
        declined=outcome.declined,
        returned=outcome.returned,
        reasons=outcome.reasons,
        nor_here=nor_here,
    )


def instance_in(message: InstanceMessage | LegEnded) -> InstanceKey:
    """The instance that a message or record is about."""
    return InstanceKey(
        entry=message.entry,
        incarnation=message.incarnation,
        publisher=message.publisher,
        sequence=message.sequence,
        path=message.path,
    )


def told(report: Report) -> InstanceKey:
    """What an entry remembers of a report that it has taken: no instance has such a path."""
    return msgspec.structs.replace(instance_in(report), path=(*report.path, -1))
