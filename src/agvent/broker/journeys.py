"""Agvents that find their own way, as far as this broker answers for them: legs that began here and have not landed,
reports that their entries have not taken, and which instances were executed here.

An errand is a leg or a report: something that is sent to one broker, again and again, until that says Landed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from agvent import limits
from agvent.broker.records import Accepted, Executed, LegEnded, Outcome, Reported, Reporting, Travelling, Visited
from agvent.wire.broker_messages import Journey, Report
from agvent.wire.parts import Entered, Publication

EXECUTED_TOGETHER: Final = 1_024
"""Instances in one record of a snapshot, some 100 KB."""

Instance = tuple[str, int, str, int, tuple[int, ...]]
"""Entry, its incarnation, publisher, sequence, path: what makes an instance of an agvent one."""


class Errand(msgspec.Struct):
    """`leg` has the agvent and its journey; without it, `report` is for its entry. It waits, or is sent and has until
    `due`."""

    instance: Instance
    to: str
    leg: tuple[Entered, Publication, Journey] | None = None
    report: Report | None = None
    neighbour: str = ""
    due: int = 0
    wait_us: int = limits.ANSWER_WAIT_US
    attempt: int = 0


def instance_of(entered: Entered, publication: Publication, path: tuple[int, ...]) -> Instance:
    return (entered.entry, entered.incarnation, publication.publisher, publication.sequence, path)


class Journeys:
    """`errands` are exactly those that have not landed; `executed` only forgets the oldest."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.errands: dict[Instance, Errand] = {}
        self.executed: dict[Instance, None] = {}
        self.fresh: list[Errand] = []  # began since somebody last looked: their records may not be on disk

    # Records

    def accept(self, record: Accepted, outcome: Outcome) -> None:
        for leg in outcome.legs:
            self._travel(record.entered, record.publication, leg)

    def visit(self, record: Visited) -> None:
        self._remember(instance_of(record.entered, record.publication, record.journey.path))
        for leg in record.outcome.legs:
            self._travel(record.entered, record.publication, leg)
        report = report_of(record, self.name)
        if report is not None and not self.is_entry(report):
            self._report(report)

    def travel(self, record: Travelling) -> None:
        """A leg from a snapshot."""
        self._travel(record.entered, record.publication, record.journey)

    def end(self, record: LegEnded) -> None:
        self.errands.pop((record.entry, record.incarnation, record.publisher, record.sequence, record.path), None)
        if record.report is not None:
            self._report(record.report)

    def reported(self, record: Reported) -> None:
        """The entry's side: the leg that it is about may be one of its own."""
        self.errands.pop(instance_of_report(record.report), None)
        self._remember(told(record.report))

    def resume_report(self, record: Reporting) -> None:
        self._report(record.report)

    def recall(self, record: Executed) -> None:
        self.executed |= dict.fromkeys(record.instances)

    def _travel(self, entered: Entered, publication: Publication, journey: Journey) -> None:
        instance = instance_of(entered, publication, journey.path)
        self._begin(Errand(instance, journey.to, leg=(entered, publication, journey)))

    def _report(self, report: Report) -> None:
        self._begin(Errand(instance_of_report(report), report.entry, report=report))

    def _begin(self, errand: Errand) -> None:
        self.errands[errand.instance] = errand
        self.fresh.append(errand)

    def _remember(self, instance: Instance) -> None:
        self.executed[instance] = None
        if len(self.executed) > limits.STOPS_REMEMBERED_MAX:
            del self.executed[next(iter(self.executed))]

    def is_entry(self, report: Report) -> bool:
        return (report.entry, report.incarnation) == (self.name, self.incarnation)

    def void(self, owner: str, incarnation: int, *, gone: bool) -> None:
        """A broker lost its disk or left: its agvents are owed to nobody. What was on its way to one that left goes the
        default route, which its entry sees to by itself."""
        for instance, errand in list(self.errands.items()):
            if instance[0] == owner and instance[1] < incarnation:
                del self.errands[instance]
            elif gone and errand.to == owner and errand.leg is not None:
                del self.errands[instance]
                homes = tuple(target.home for target in errand.leg[2].targets if target.home != owner)
                if instance[0] != self.name:
                    self._report(Report(*instance, self.name, (), homes, ()))

    # Snapshots

    def snapshot(self) -> Iterator[Travelling | Reporting | Executed]:
        for errand in self.errands.values():
            if errand.leg is not None:
                yield Travelling(*errand.leg)
            elif errand.report is not None:
                yield Reporting(errand.report)
        executed = list(self.executed)
        for first in range(0, len(executed), EXECUTED_TOGETHER):
            yield Executed(tuple(executed[first : first + EXECUTED_TOGETHER]))

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
    return Report(*instance, broker, outcome.declined, outcome.returned, outcome.reasons, nor_here)


def instance_of_report(report: Report) -> Instance:
    return (report.entry, report.incarnation, report.publisher, report.sequence, report.path)


def told(report: Report) -> Instance:
    """What an entry remembers of a report that it has taken: no instance has such a path."""
    return (report.entry, report.incarnation, report.publisher, report.sequence, (*report.path, -1))
