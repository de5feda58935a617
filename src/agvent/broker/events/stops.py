"""Stops of agvents that find their own way: executed by the driver, decided by their routes, carried out here.

An agvent is executed when it lands, and waits in memory for its turn in this home's chain. Nothing is said of it before
one record has all that it did: until then its origin has it, and after a crash it comes again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agvent import limits
from agvent.agents.travel.manager_agent import SPENT
from agvent.agents.travel.stop import Decision, Local, Neighbour, Stop, Surroundings, Way
from agvent.broker.events.home import HomeArrivals
from agvent.broker.events.legs import Legs
from agvent.broker.events.recipients import grouped
from agvent.broker.interface import Execute, Executed
from agvent.broker.outbox import Outbox
from agvent.broker.records import Deliveries, InstanceKey, Outcome, Visited
from agvent.broker.routing.router import Router
from agvent.broker.tables.chains import Chain, chain_of
from agvent.broker.tables.journeys import instance_of, report_of
from agvent.broker.tables.local_subscriptions import Version
from agvent.broker.tables.tables import Tables
from agvent.event import Budget
from agvent.wire.broker_messages import Journey, Travel
from agvent.wire.codec import decode_event
from agvent.wire.names import name_of
from agvent.wire.parts import Publication, Target


class EntryRoute(msgspec.Struct, frozen=True):
    """An agvent of this publisher waits at its entry for what its route decides."""

    publisher: str


class LandedRoute(msgspec.Struct, frozen=True):
    """An agvent that landed waits for what its route decides; `versions` matched here when it was asked."""

    instance: InstanceKey
    travel: Travel
    versions: tuple[Version, ...]


AskedRoute = EntryRoute | LandedRoute
"""Who waits for an Execute."""


class Ready(msgspec.Struct, frozen=True):
    """An agvent that waits for its turn, who matched here when it was asked, and what it decided; nothing if its time
    was over."""

    instance: InstanceKey
    travel: Travel
    versions: tuple[Version, ...]
    decision: Decision | None


class Stops:
    """`waiting` are the agvents that landed and have no record yet; those in `_ready` wait for their turn, the others
    for their decision."""

    def __init__(self, tables: Tables, home: HomeArrivals, router: Router, legs: Legs, out: Outbox) -> None:
        self.tables, self.home, self.router, self.legs, self.out = tables, home, router, legs, out
        self.waiting: dict[InstanceKey, Travel] = {}
        self._ready: dict[Chain, dict[int, Ready]] = {}  # by sequence; each owes this home something
        self._running: dict[int, AskedRoute] = {}  # the number of an Execute -> who waits for it
        self._runs = 0

    # Executing

    def execute(self, stop: Stop, asked: AskedRoute) -> int:
        """Has a route executed for an agvent that waits for it."""
        self._runs += 1
        self._running[self._runs] = asked
        self.out.effect(Execute(self._runs, stop))
        return self._runs

    def executed(self, number: int) -> AskedRoute | None:
        """Who waited for this Execute; nobody if it is of before a restart."""
        return self._running.pop(number, None)

    def entering(self) -> list[int]:
        """The numbers of the Executes that agvents at their entry wait for."""
        return [number for number, asked in self._running.items() if isinstance(asked, EntryRoute)]

    def stop(
        self,
        publication: Publication,
        journey: Journey,
        versions: Sequence[Version],
        now: int,
    ) -> Stop:
        """An agvent with the surroundings that it has here."""
        routes, here = self.router.routes, self.tables.name
        homes = [target.home for target in journey.targets if target.home != here]
        passed = journey.passed
        ways = [Way(home, cost_or_far(routes.cost(home)), routes.choose(home, avoid=passed) or "") for home in homes]
        path = "".join(f".{number}" for number in journey.path)
        around = Surroundings(
            server=here,
            agvent=f"{publication.publisher}:{publication.sequence}{path}",
            targets=tuple(sorted(ways, key=lambda way: (way.cost, way.broker))),
            neighbours=tuple(Neighbour(name, cost) for name, cost in sorted(routes.links.items())),
            subscribers=tuple(_local(version) for version in versions),
            budget=msgspec.structs.replace(journey.budget, time_us=max(journey.deadline - now, 0)),
            event_bytes=len(publication.event),
            now=now,
        )
        return Stop(publication.publisher, publication.event, journey.snapshot, around)

    def outcome(self, decision: Decision, journey: Journey, versions: Sequence[Version]) -> Outcome:
        """What a decision comes to here. A route that failed has decided nothing: what matches here gets it, and the
        other homes are left to the default route."""
        targets = {target.home: target for target in journey.targets if target.home != self.tables.name}
        if decision.fault:
            reason = f"its route failed: {decision.fault}"[: limits.FAULT_CHARS_MAX]
            return Outcome(
                deliveries=grouped(versions),
                legs=(),
                declined=(),
                returned=tuple(targets),
                reasons=(reason,),
                fault=decision.fault,
            )
        chosen = [version for version in versions if version.subscription.id in decision.delivered]
        skipped = _keys(version for version in versions if version not in chosen)
        legs = self._legs(decision, journey, targets)
        return Outcome(
            deliveries=grouped(chosen),
            legs=legs,
            declined=tuple(targets),
            returned=(),
            reasons=decision.refused,
            skipped=skipped,
        )

    def _legs(self, decision: Decision, journey: Journey, targets: dict[str, Target]) -> tuple[Journey, ...]:
        """The instances that leave; each takes its targets out of those that are left, and a share of the budget."""
        moved = [decision.moved] if decision.moved is not None else []
        departures = [*decision.clones, *moved]
        legs = []
        for number, departure in enumerate(departures):
            theirs = tuple(targets.pop(home) for home in departure.targets if home in targets)
            snapshot = decision.snapshot if departure is decision.moved else b""
            share = _share(journey.budget, len(decision.clones), len(departures))
            path, here = (*journey.path, number), self.tables.name
            passed = (*journey.passed, here)
            if theirs:
                legs.append(
                    Journey(
                        path=path,
                        origin=here,
                        to=departure.broker,
                        targets=theirs,
                        snapshot=snapshot,
                        budget=share,
                        deadline=journey.deadline,
                        passed=passed,
                    )
                )
        return tuple(legs)

    # Landing

    def land(self, travel: Travel, now: int) -> None:
        """An agvent came to stop here. One that was executed is only answered."""
        instance = instance_of(travel.entered, travel.publication, travel.journey.path)
        if instance in self.tables.journeys.executed or self._is_void(travel):
            self.legs.land(instance, travel.journey.origin)
        elif instance not in self.waiting and len(self.waiting) < limits.STOPS_WAITING_MAX:
            self.waiting[instance] = travel
            self._begin(instance, travel, now)

    def _is_void(self, travel: Travel) -> bool:
        """Did its entry lose its disk? Then it is owed to nobody."""
        return travel.entered.incarnation < self.tables.advertisements.incarnation(travel.entered.entry)

    def _begin(self, instance: InstanceKey, travel: Travel, now: int) -> None:
        versions = tuple(self._versions(travel))
        if now >= travel.journey.deadline:
            self._decided(Ready(instance, travel, versions, None), now)
            return
        stop = self.stop(travel.publication, travel.journey, versions, now)
        self.execute(stop, LandedRoute(instance, travel, versions))

    def decided(self, asked: LandedRoute, executed: Executed, now: int) -> None:
        """What the route of an agvent that landed here decided."""
        self._decided(Ready(asked.instance, asked.travel, asked.versions, executed.decision), now)

    def _decided(self, ready: Ready, now: int) -> None:
        if self._is_in_turn(ready.travel):
            self._carry_out(ready, now)
        else:
            chain = chain_of(ready.travel.entered, ready.travel.publication)
            self._ready.setdefault(chain, {})[ready.travel.publication.sequence] = ready

    def flush(self, now: int) -> None:
        """Carries out what agvents decided whose turn has come."""
        for chain in list(self._ready):
            ready = self._ready[chain]
            while ready and self._is_in_turn(ready[first := min(ready)].travel):
                self._carry_out(ready.pop(first), now)
            if not ready:
                del self._ready[chain]

    def _target(self, travel: Travel) -> Target | None:
        """What the agvent owes this home; None if nothing, or not any more."""
        chain = chain_of(travel.entered, travel.publication)
        if travel.publication.sequence <= self.tables.chains.last.get(chain, 0) or chain.entry == self.tables.name:
            return None
        mine = [target for target in travel.journey.targets if target.home == self.tables.name]
        return mine[0] if mine and mine[0].incarnation == self.tables.incarnation else None

    def _is_in_turn(self, travel: Travel) -> bool:
        target = self._target(travel)
        if target is None or self._is_void(travel):
            return True
        return self.tables.chains.is_next(travel.entered, travel.publication, target)

    def _versions(self, travel: Travel) -> list[Version]:
        """What matches here. Of one that came by another entry before nothing is delivered, but its route sees the
        same."""
        target = self._target(travel)
        if target is None:
            return []
        event = decode_event(travel.publication.event)
        return self.home.matching(travel.entered, travel.publication, target, event)

    def _carry_out(self, ready: Ready, now: int) -> None:
        travel, homes = ready.travel, self.tables.local
        if self._is_void(travel):
            del self.waiting[ready.instance]
            return
        versions = [v for v in ready.versions if homes.current.get(v.subscription.id) is v or v in homes.replaced]
        owed = versions if self._target(travel) is not None else []
        if ready.decision is None:
            outcome = self._too_late(travel, owed)
        else:
            outcome = self.outcome(ready.decision, travel.journey, owed)
        self._end(ready.instance, travel, outcome, now)

    def _too_late(self, travel: Travel, versions: list[Version]) -> Outcome:
        targets = tuple(target.home for target in travel.journey.targets if target.home != self.tables.name)
        return Outcome(
            deliveries=(), legs=(), declined=targets, returned=(), reasons=(SPENT["time"],), skipped=_keys(versions)
        )

    def _end(self, instance: InstanceKey, travel: Travel, outcome: Outcome, now: int) -> None:
        """Writes down what an agvent did and where it goes on, and lets it."""
        del self.waiting[instance]
        entered, publication, target = travel.entered, travel.publication, self._target(travel)
        outcome = msgspec.structs.replace(outcome, deliveries=self.deliverable(publication, outcome.deliveries))
        after = target.predecessor if target is not None else 0
        journey = msgspec.structs.replace(travel.journey, snapshot=b"")  # what it was paused at is done with
        visited = Visited(
            entered=entered,
            publication=publication,
            journey=journey,
            arrives=target is not None,
            after=after,
            outcome=outcome,
            at=now,
        )
        self.out.record(visited)
        self.legs.land(instance, travel.journey.origin)
        report = report_of(visited, self.tables.name)
        if report is not None and self.tables.journeys.is_entry(report):
            self.legs.stop(report)
        if target is not None:
            self.home.confirm(entered, publication)
            self.home.follow(chain_of(entered, publication))

    def check(self) -> None:
        """What waits here waits either for its route or for its turn."""
        running = {one.instance for one in self._running.values() if isinstance(one, LandedRoute)}
        ready = {one.instance for by_sequence in self._ready.values() for one in by_sequence.values()}
        assert not running & ready
        assert self.waiting.keys() == running | ready

    def deliverable(self, publication: Publication, deliveries: Deliveries) -> Deliveries:
        """Nothing of what came by another entry before."""
        return () if self.tables.chains.repeats.had(publication) else deliveries


def cost_or_far(cost: int | None) -> int:
    """A cost that a route can compare: where no way is known, as far as can be."""
    return limits.INT_MAX if cost is None else cost


def bounded(budget: Budget) -> Budget:
    """A publisher's budget within what any agvent may use."""
    return Budget(
        min(max(budget.hops, 0), limits.JOURNEY_HOPS_MAX),
        min(max(budget.clones, 0), limits.JOURNEY_CLONES_MAX),
        min(max(budget.bytes, 0), limits.JOURNEY_BYTES_MAX),
        min(max(budget.time_us, 0), limits.JOURNEY_TIME_MAX_US),
    )


def _share(budget: Budget, clones: int, instances: int) -> Budget:
    """What each of the instances that leave may use: together no more than there was."""
    left = (budget.clones - clones) // instances
    return Budget(budget.hops, max(left, 0), budget.bytes // instances, budget.time_us)


def _local(version: Version) -> Local:
    context = dict(version.subscription.context or {})
    return Local(version.subscription.id, name_of(version.client), context)


def _keys(versions: Iterable[Version]) -> tuple[str, ...]:
    return tuple(version.subscription.id for version in versions)


def homes_of(legs: Iterable[Journey]) -> list[str]:
    """The homes that legs are for."""
    return [target.home for leg in legs for target in leg.targets]
