"""Events at their entry: matched to homes, given their epoch, written down.

The states of a publication:

    waiting    behind its publisher's earlier ones, or for the answers of its behaviours, or for its route
    accepted   one record has its epoch, its homes, and the predecessor of its copy to each
    ready      the record is on disk: copies may leave, and the publisher is told

`run` says what an event waits for: the number of a Run, the negative number of an Execute, or 0. Invariants:

- A publisher's events are accepted in the order of their sequences, durable and fast ones apart. So an acknowledgement
  of one is an acknowledgement of all before it, and the chains to the homes have no gap.
- The first of each queue waits for an answer or a route: if it waited for nothing, it would be accepted or refused.
- The homes of an event are those that its epoch says, also if its behaviours took a second to answer.

To call a behaviour within the step is the obvious alternative, and wrong: one slow program would hold up every client
of the broker, and the step would not replay. To keep the homes that were found before the call is wrong too: a
subscription that was confirmed meanwhile would miss the event. So an event is matched again when its answers are here.
Answers are kept, and only calls that have none are made: it ends when no filter asks anything new.

Cost: one look at the index of interests and one at the local one; a second of both with behaviours. A batch without
behaviours is matched at once. An event that waits delays its own publisher only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

import msgspec

from agvent import limits
from agvent.agents.execution.answers import Questions
from agvent.agents.travel.stop import Decision
from agvent.broker.events.home import HomeArrivals
from agvent.broker.events.stops import EntryRoute, Stops, bounded, homes_of
from agvent.broker.events.transit import Transit
from agvent.broker.interface import Executed, Ran, Run
from agvent.broker.notices import SpeaksUntyped
from agvent.broker.outbox import Outbox
from agvent.broker.pending import SettlePublication
from agvent.broker.records import Accepted
from agvent.broker.tables.custody import key_of
from agvent.broker.tables.journeys import instance_of
from agvent.broker.tables.local_subscriptions import Version, admits, parsed_to
from agvent.broker.tables.tables import Tables
from agvent.event import Budget, Event
from agvent.wire.broker_messages import Journey, Report
from agvent.wire.parts import Answered, Entered, Publication, Series, Target
from agvent.wire.sizes import fitting


class Submission(msgspec.Struct, frozen=True):
    """An event as it was given to the entry, or the place of one that is refused; `then` is done when it had its
    turn."""

    publication: Publication
    event: Event
    then: SettlePublication
    is_refused: bool = False


class EnteringEvent(msgspec.Struct):
    """An event on its way in, and what its behaviours and its route have answered so far."""

    given: Submission
    answers: tuple[Answered, ...] = ()
    run: int = 0  # the number of the Run that it waits for, 0 if of none; of an Execute, its negative
    asked: int = 0  # how often its route was asked
    matched: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # homes, local versions: asked about
    decision: Decision | None = None


class EventEntry:
    """Where publications become events of the network."""

    def __init__(self, tables: Tables, transit: Transit, home: HomeArrivals, stops: Stops, out: Outbox) -> None:
        self.tables, self.transit, self.home, self.stops, self.out = tables, transit, home, stops, out
        self._entering: dict[Series, deque[EnteringEvent]] = {}  # events not yet accepted
        self._bytes: dict[Series, int] = {}  # and their bytes
        self._running: dict[int, Series] = {}  # the number of a Run -> whose queue waits for it
        self._highest: dict[Series, int] = {}  # the last sequence of each that came in
        self._runs = 0

    def accept(self, publication: Publication, event: Event, now: int, then: SettlePublication) -> None:
        """Takes an event in, and does `then` when it is. One whose behaviours must be asked waits for their answers,
        and its publisher's next ones wait behind it; theirs are asked meanwhile."""
        entering = EnteringEvent(Submission(publication, event, then))
        self._advance(self._wait(entering), entering, now)

    def refuse(self, publication: Publication, then: SettlePublication, now: int) -> None:
        """Does `then` in the publication's turn: to settle it acknowledges all that came before it."""
        queue = self._wait(EnteringEvent(Submission(publication, Event(), then, is_refused=True)))
        self._enter(queue, now)

    def _wait(self, entering: EnteringEvent) -> deque[EnteringEvent]:
        """Puts an event behind its publisher's others."""
        key = entering.given.publication.series
        queue = self._entering.setdefault(key, deque())
        queue.append(entering)
        self._highest[key] = max(entering.given.publication.sequence, self._highest.get(key, 0))
        self._bytes[key] = self._bytes.get(key, 0) + len(entering.given.publication.event)
        return queue

    def is_full(self, publisher: str, *, fast: bool) -> bool:
        """Wait as many of a publisher's events here as it may have unacknowledged? The next ones wait in its credit."""
        key = Series(publisher, fast)
        count = len(self._entering.get(key, ()))
        return count >= limits.PUBLISH_EVENTS_MAX or self._bytes.get(key, 0) >= limits.PUBLISH_BYTES_MAX

    def last(self, series: Series) -> int:
        """The last sequence of a publisher that is here, accepted or on its way in."""
        return max(self._highest.get(series, 0), self.tables.custody.accepted.get(series, 0))

    def waiting(self) -> dict[Series, int]:
        """How many events of each publisher wait for answers, fast ones apart."""
        return {key: len(queue) for key, queue in self._entering.items() if queue}

    def _leave(self, queue: deque[EnteringEvent]) -> EnteringEvent:
        """The first event waits no longer."""
        entering = queue.popleft()
        publication = entering.given.publication
        self._bytes[publication.series] -= len(publication.event)
        return entering

    def accept_batch(self, publication: Publication, types: Iterable[tuple[str, ...]], now: int) -> bool:
        """Takes a batch in as one; not if its events must be looked at one by one, which changes nothing."""
        tables = self.tables
        if self._entering.get(publication.series):
            return False
        questions = Questions()
        position = tables.local.position
        local = tables.local.match_lines(publication.event, publication.count, position, questions)
        if not local.is_sound:
            return False
        homes = tables.interests.wanting_lines(publication.event, questions)
        if questions.missing:
            return False
        late = dict.fromkeys(self._unanswered(None, ()))
        for type, *ancestors in types:
            late.update(dict.fromkeys(self._unanswered(type, tuple(ancestors))))
        homes = list(dict.fromkeys((*homes, *late)))
        entered, targets = self._accepted(publication, (), homes, bool(local.found), late, now)
        if local.found:
            self.home.arrive_batch(entered, publication, targets[-1], local.found)
        self.transit.ready(key_of(entered, publication), now)
        return True

    def _advance(self, queue: deque[EnteringEvent], entering: EnteringEvent, now: int) -> None:
        if entering is queue[0]:
            self._enter(queue, now)
        else:
            self._prepared(queue, entering, now)

    def _enter(self, queue: deque[EnteringEvent], now: int) -> None:
        while queue and not queue[0].run:
            entering = queue[0]
            if entering.given.is_refused or self._is_accepted(entering.given.publication):  # said again while it waited
                self.out.do(self._leave(queue).given.then)
                continue
            homes, local = self._prepared(queue, entering, now)
            if not entering.run:
                self._leave(queue)
                if entering.decision is None:
                    self._accept(entering, homes, bool(local), now)
                else:
                    self._accept_decided(entering, homes, local, entering.decision, now)
                if entering.answers and entering.given.event.cargo is not None:
                    self.stops.legs.failed(entering.given.publication, entering.answers)
                self.out.do(entering.given.then)

    def _prepared(
        self, queue: deque[EnteringEvent], entering: EnteringEvent, now: int
    ) -> tuple[list[str], list[Version]]:
        """The other homes that want an event, and who does here: if it does not wait for its answers or its route, all
        that is known of it."""
        homes, local = self._matched(queue, entering)
        if not entering.run and is_self_routing(entering.given.event) and (homes or local):
            self._route(entering, homes, local, now)
        return homes, local

    def _matched(self, queue: deque[EnteringEvent], entering: EnteringEvent) -> tuple[list[str], list[Version]]:
        """The other homes that want an event, and whether this one does: as far as the answers that it has go. If some
        are missing they are asked, and the event waits."""
        answers = Questions(entering.answers, entering.given.event.cargo)
        homes = self._homes(entering.given.event, answers)
        local = self.tables.local.match(entering.given.event, self.tables.local.position, answers)
        if answers.missing:
            self._runs += 1
            entering.run = self._runs
            publication, calls = entering.given.publication, tuple(answers.missing.values())
            self._running[self._runs] = publication.series
            self.out.effect(Run(self._runs, publication.publisher, publication.event, calls))
        return homes, local

    def _homes(self, event: Event, answers: Questions) -> list[str]:
        """The homes that want an event, and those that may: a home's subscriptions come when it answers what is
        advertised here, and were confirmed before, to clients that are owed the event. The home decides."""
        homes = self.tables.interests.wanting(event, answers)
        late = self._unanswered(event.type, event.ancestors)
        return homes + [name for name in late if name not in homes] if late else homes

    def _unanswered(self, type: str | None, ancestors: tuple[str, ...]) -> list[str]:
        """The homes that may want an event of a type, as far as is known here."""
        table, interests, name = self.tables.advertisements, self.tables.interests, self.tables.name
        if type is not None:
            # The common case looks at no type. One that was withdrawn while its event waited is new to everybody.
            if type in table.reach(name) and not interests.unanswered(table.version(name)):
                return []
            return interests.unanswered(table.since(name, type, ancestors))
        unheard = interests.unheard()
        if unheard and table.is_silent(name):
            self.out.notify(SpeaksUntyped())
        return unheard

    def _late(self, entering: EnteringEvent) -> list[str]:
        event = entering.given.event
        return self._unanswered(event.type, event.ancestors)

    def _is_accepted(self, publication: Publication) -> bool:
        return publication.sequence <= self.tables.custody.accepted.get(publication.series, 0)

    def ran(self, ran: Ran, now: int) -> None:
        """The answers to an event's calls: it is matched again. An answer may lead to another question."""
        asked = self._running.pop(ran.number, None)
        if asked is not None:
            queue = self._entering[asked]
            entering = next(one for one in queue if one.run == ran.number)
            entering.answers += ran.answers
            entering.run = 0
            self._advance(queue, entering, now)

    def _accept(self, entering: EnteringEvent, homes: list[str], is_local: bool, now: int) -> None:
        publication = entering.given.publication
        late = self._late(entering)
        entered, targets = self._accepted(publication, entering.answers, homes, is_local, late, now)
        if is_local:
            self.home.arrive(entered, publication, targets[-1], "", event=entering.given.event)
        self.transit.ready(key_of(entered, publication), now)

    def _accepted(
        self,
        publication: Publication,
        answers: tuple[Answered, ...],
        homes: list[str],
        is_local: bool,
        late: Collection[str],
        now: int,
    ) -> tuple[Entered, list[Target]]:
        """Written down with this epoch; this home's copy is the last."""
        entered, targets = self._entered(answers, publication), self._targets(publication, homes, is_local, late)
        self.out.record(
            Accepted(entered=entered, publication=publication, targets=tuple(targets), at=now),
            durable=not publication.fast,
        )
        return entered, targets

    def _entered(self, answers: tuple[Answered, ...], publication: Publication) -> Entered:
        tables = self.tables
        return Entered(
            entry=tables.name,
            incarnation=tables.incarnation,
            epoch=tables.interests.epoch,
            answers=fitting(answers),
            boot=tables.boot if publication.fast else 0,
            began=tables.custody.began_with(publication) if publication.fast else 0,
        )

    def _targets(
        self, publication: Publication, homes: list[str], is_local: bool, late: Collection[str]
    ) -> list[Target]:
        """Each copy with its position and predecessor."""
        tables, targets = self.tables, []
        for name in homes:
            incarnation, position = tables.interests.heard_of(name)
            before = tables.custody.predecessor(name, incarnation, publication)
            targets.append(
                Target(home=name, incarnation=incarnation, position=position, predecessor=before, late=name in late)
            )
        if is_local:
            before = tables.custody.predecessor(tables.name, tables.incarnation, publication)
            targets.append(
                Target(
                    home=tables.name,
                    incarnation=tables.incarnation,
                    position=tables.local.position,
                    predecessor=before,
                )
            )
        return targets

    def check(self) -> None:
        """Every event that waits for answers or its route is awaited, and the first of each queue waits for
        something."""
        runs = {one.run for queue in self._entering.values() for one in queue if one.run}
        assert runs == {*self._running, *(-number for number in self.stops.entering())}
        assert all(queue[0].run for queue in self._entering.values() if queue)
        for key, queue in self._entering.items():
            assert all(type(one.given.then) in self.out.works for one in queue)
            assert self._bytes[key] == sum(len(one.given.publication.event) for one in queue)

    # Agvents that find their own way

    def _route(self, entering: EnteringEvent, homes: list[str], local: list[Version], now: int) -> None:
        """Asks the route of an agvent, unless it was asked about the very same homes and subscriptions."""
        matched = (tuple(homes), tuple(f"{version.subscription.id}/{version.number}" for version in local))
        if entering.matched == matched:
            return
        entering.matched, entering.decision = matched, None
        entering.asked += 1
        if entering.asked > limits.STOP_TRIES_MAX:
            entering.decision = Decision(fault="who wants it changes faster than it decides")
            return
        journey = self._journey(entering, homes, now)
        stop = self.stops.stop(entering.given.publication, journey, self._admitted(entering, local), now)
        entering.run = -self.stops.execute(stop, EntryRoute(entering.given.publication.publisher))

    def decided(self, asked: EntryRoute, executed: Executed, now: int) -> None:
        """What the route of an agvent that enters here decided."""
        queue = self._entering[Series(asked.publisher, fast=False)]
        entering = next(one for one in queue if one.run == -executed.number)
        entering.run, entering.decision = 0, executed.decision
        self._advance(queue, entering, now)

    def _admitted(self, entering: EnteringEvent, local: list[Version]) -> list[Version]:
        publication = entering.given.publication
        to = parsed_to(publication.to)
        return [version for version in local if admits(to, publication.destinations, version)]

    def _journey(self, entering: EnteringEvent, homes: list[str], now: int) -> Journey:
        """An agvent as it is at its entry, with all its targets."""
        assert entering.given.event.cargo is not None
        budget = bounded(entering.given.event.cargo.budget or Budget())
        targets = self._targets(entering.given.publication, homes, is_local=False, late=self._late(entering))
        name = self.tables.name
        return Journey(
            path=(),
            origin=name,
            to=name,
            targets=tuple(targets),
            snapshot=b"",
            budget=budget,
            deadline=now + budget.time_us,
        )

    def _accept_decided(
        self, entering: EnteringEvent, homes: list[str], local: list[Version], decision: Decision, now: int
    ) -> None:
        """The event, what its route decided and where it goes on are one record. Homes that it declined are no
        targets."""
        publication, journey = entering.given.publication, self._journey(entering, homes, now)
        outcome = self.stops.outcome(decision, journey, self._admitted(entering, local))
        outcome = msgspec.structs.replace(outcome, deliveries=self.stops.deliverable(publication, outcome.deliveries))
        kept = [home for home in homes if home in {*homes_of(outcome.legs), *outcome.returned}]
        targets = self._targets(publication, kept, is_local=bool(outcome.deliveries), late=self._late(entering))
        accepted = Accepted(
            entered=self._entered(entering.answers, publication),
            publication=publication,
            targets=tuple(targets),
            at=now,
            outcome=outcome,
        )
        self.out.record(accepted)
        self.transit.ready(key_of(accepted.entered, publication), now)
        instance = instance_of(accepted.entered, publication, ())
        report = Report(
            **instance.fields, broker=self.tables.name, declined=outcome.declined, returned=(), reasons=outcome.reasons
        )
        self.stops.legs.stop(report)


def is_self_routing(event: Event) -> bool:
    """Does an agvent find its own way?"""
    return event.cargo is not None and event.cargo.budget is not None
