"""Legs and reports on their way: sent, passed on by brokers between, answered, sent again.

Only the origin of a leg and the broker where it lands write anything down. A broker between that finds no way on lets
the leg go, and looks for one: the origin sends it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from agvent import limits
from agvent.agents.travel.manager_agent import SPENT
from agvent.broker.notices import AgventStopped, ErrandsBegun
from agvent.broker.outbox import Outbox
from agvent.broker.pending import SendRouted, StartErrands
from agvent.broker.records import InstanceKey, LegEnded, Reported
from agvent.broker.routing.router import Router
from agvent.broker.tables.journeys import Errand, Leg, instance_in, instance_of, told
from agvent.broker.tables.tables import Tables
from agvent.event import Budget
from agvent.wire.broker_messages import Halted, Inquiry, Landed, Report, Travel
from agvent.wire.client_messages import Stopped
from agvent.wire.parts import Answered, Publication


class Legs:
    """`waiting` are errands that may go and have not."""

    def __init__(self, tables: Tables, router: Router, out: Outbox) -> None:
        self.tables, self.router, self.out = tables, router, out
        self.waiting: dict[InstanceKey, None] = {}
        self._begun: Counter[InstanceKey] = Counter()  # those that wait for the disk; twice if a leg became a report
        self._stirred = True
        self._routes_seen = 0  # the version of the routes at the last flush

    def restart(self) -> None:
        """The errands that the journal left leave again."""
        self.out.notify(ErrandsBegun(tuple(self.tables.journeys.errands)))

    # Sending

    def flush(self, now: int) -> None:
        """Sends the errands that have a way. Those that began in this step go when their records are on disk."""
        begun = tuple(instance for notice in self.out.notices(ErrandsBegun) for instance in notice.instances)
        if begun:
            self._begun.update(begun)
            for instance in begun:
                self.waiting.pop(instance, None)  # a leg that a report takes the place of
            self.out.after_sync(StartErrands(begun))
        is_changed = self.router.routes.version != self._routes_seen
        self._routes_seen = self.router.routes.version
        if self.waiting and (self._stirred or is_changed):
            self._stirred = False
            for instance in list(self.waiting):
                errand = self.tables.journeys.errands.get(instance)
                if errand is None or self._send(errand, now):
                    self.waiting.pop(instance, None)

    def start(self, work: StartErrands) -> None:
        self._begun.subtract(work.instances)
        self._wait(instance for instance in work.instances if not self._begun[instance])
        self._begun = +self._begun

    def _wait(self, instances: Iterable[InstanceKey]) -> None:
        for instance in instances:
            self.tables.journeys.wait(instance)
            self.waiting[instance] = None
        self._stirred = True

    def _send(self, errand: Errand, now: int) -> bool:
        """Is it on its way?"""
        neighbour = ""
        if errand.report is not None:
            self.router.send((errand.to,), errand.report)
        elif errand.leg is not None and errand.to not in self.tables.advertisements:
            self._give_back(errand, errand.leg, now)
            return True
        elif (leg := errand.leg) is not None:
            chosen = self.router.routes.choose(errand.to, attempt=errand.attempt)
            if chosen is None:
                self.router.seek(errand.to, now)
                return False
            neighbour = chosen
            self._pass_on(
                Travel(
                    entered=leg.entered,
                    publication=leg.publication,
                    journey=leg.journey,
                    trace=(),
                    attempt=errand.attempt,
                ),
                neighbour,
                now,
            )
        self.tables.journeys.sent(errand, now, neighbour)
        return True

    def _give_back(self, errand: Errand, leg: Leg, now: int) -> None:
        """The broker where it was to stop next had left for good before it departed: the other homes that it was for
        are left to the default route."""
        homes = tuple(one.home for one in leg.journey.targets if one.home in self.tables.advertisements)
        report = Report(**errand.instance.fields, broker=self.tables.name, declined=(), returned=homes, reasons=())
        if self.tables.journeys.is_entry(report):
            self.reported(report, now)
        else:
            self.out.record(LegEnded(**errand.instance.fields, report=report))

    def _pass_on(self, travel: Travel, neighbour: str, now: int) -> None:
        """Over one link, which takes from the budget."""
        journey, budget = travel.journey, travel.journey.budget
        left = Budget(budget.hops - 1, budget.clones, budget.bytes - len(travel.publication.event), budget.time_us)
        spent = "hops" if left.hops < 0 else "bytes" if left.bytes < 0 else ""
        if spent:
            instance = instance_of(travel.entered, travel.publication, journey.path)
            self._halt(journey.origin, Halted(**instance.fields, broker=self.tables.name, reason=SPENT[spent]), now)
            return
        onward = msgspec.structs.replace(
            travel,
            journey=msgspec.structs.replace(journey, budget=left),
            trace=self.router.routes.extended(travel.trace, neighbour),
        )
        self.router.tell(neighbour, onward)

    def _halt(self, origin: str, halted: Halted, now: int) -> None:
        if origin != self.tables.name:
            self.router.send((origin,), halted)
        else:
            self.halted(halted, now)

    def pass_on(self, travel: Travel, now: int) -> None:
        """A leg that lands elsewhere."""
        passed = [broker for broker, _ in travel.trace]
        to, neighbour = travel.journey.to, None
        if len(passed) < limits.HOPS_MAX:
            neighbour = self.router.routes.choose(to, avoid=passed, attempt=travel.attempt)
        if neighbour is None:
            self.router.seek(to, now)
        else:
            self._pass_on(travel, neighbour, now)

    def tick(self, now: int) -> None:
        """Sends again what was not answered in time; ends the legs whose own time is over."""
        for errand in list(self.tables.journeys.errands.values()):
            if errand.leg is not None and errand.leg.journey.deadline <= now:
                self.halted(Halted(**errand.instance.fields, broker=self.tables.name, reason=SPENT["time"]), now)
        overdue = [errand for errand in self.tables.journeys.errands.values() if 0 < errand.due <= now]
        for errand in overdue:
            self.tables.journeys.retry(errand)
        self._wait([errand.instance for errand in overdue])
        for copy in self.tables.custody.unheard(now):
            key = copy.key
            self.router.send((copy.target.home,), Inquiry(key.entry, key.incarnation, key.publisher, key.sequence))

    def lost_link(self, neighbour: str) -> None:
        errands = self.tables.journeys.errands.values()
        self._wait([one.instance for one in errands if one.due and one.neighbour == neighbour])

    # Answers

    def land(self, instance: InstanceKey, origin: str) -> None:
        """Tells the origin of a leg that it landed, when that is on disk."""
        if origin != self.tables.name:
            self.out.after_sync(SendRouted(origin, Landed(**instance.fields)))

    def landed(self, landed: Landed, now: int) -> None:
        instance = instance_in(landed)
        if instance in self.tables.journeys.errands:
            self.out.record(LegEnded(**instance.fields))

    def halted(self, halted: Halted, now: int) -> None:
        """A leg that began here ran out of its budget: the homes that it was for are declined."""
        instance = instance_in(halted)
        errand = self.tables.journeys.errands.get(instance)
        if errand is None or errand.leg is None:
            return
        declined = tuple(target.home for target in errand.leg.journey.targets)
        report = Report(
            **instance.fields,
            broker=halted.broker,
            declined=declined,
            returned=(),
            reasons=(halted.reason,),
            sender=self.tables.name,
        )
        if self.tables.journeys.is_entry(report):
            self.reported(report, now)
        else:
            self.out.record(LegEnded(**instance.fields, report=report))

    def reported(self, report: Report, now: int) -> None:
        """The entry takes a report, once, and tells the publisher."""
        if not self.tables.journeys.is_entry(report):
            return
        if told(report) not in self.tables.journeys.executed:
            self.out.record(Reported(report, now))
            self.stop(report)
        self.land(instance_in(report), report.sender or report.broker)

    def stop(self, report: Report) -> None:
        """Tells the publisher what went wrong, if it is here."""
        declined = (report.broker, *report.declined) if report.nor_here else report.declined
        for reason in report.reasons:
            stopped = Stopped(sequence=report.sequence, broker=report.broker, reason=reason, declined=declined)
            self.out.notify(AgventStopped(report.publisher, stopped))

    def failed(self, publication: Publication, answers: tuple[Answered, ...]) -> None:
        """Tells a publisher that a behaviour of its agvent failed: an event's first, each reason once in a step."""
        faulty = next((one for one in answers if one.fault), None)
        if faulty is None:
            return
        publisher = publication.publisher
        reason = f"{faulty.call.name} failed: {faulty.fault}"[: limits.FAULT_CHARS_MAX]
        said = ((one.publisher, one.stopped.reason) for one in self.out.said(AgventStopped))
        if (publisher, reason) not in said:
            stopped = Stopped(
                sequence=publication.sequence,
                broker=self.tables.name,
                reason=reason,
                declined=(),
                fast=publication.fast,
            )
            self.out.notify(AgventStopped(publisher, stopped))
