"""Brokers with one deliberate mistake each, so that every checker is seen to fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from agvent import limits
from agvent.agents.travel.stop import Decision
from agvent.broker.broker import Broker
from agvent.broker.events.recipients import grouped
from agvent.broker.interest.requests import OpenRequest, Requests
from agvent.broker.pending import SendTook
from agvent.broker.records import Arrived, LegEnded, Outcome, Owned, Record
from agvent.broker.tables.advertisements import Advertisements
from agvent.broker.tables.chains import Chain, Chains, chain_of
from agvent.broker.tables.covering import Covering
from agvent.broker.tables.custody import Copy, Custody, Standing
from agvent.broker.tables.journeys import Errand
from agvent.broker.tables.local_subscriptions import LocalSubscriptions, Version
from agvent.event import Event
from agvent.filters.evaluate import Behaviours
from agvent.filters.relations import Extent
from agvent.wire.broker_messages import Copies, Journey, Seek
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Entered, Publication, Target


class Broken(Broker):
    """Its own invariants are not asked: the checkers have to find the mistake."""

    def __init__(self, name: str, incarnation: int, records: Iterable[Record] = (), *, now: int = 0) -> None:
        super().__init__(name, incarnation, records, now=now)
        self.spoil()

    def spoil(self) -> None:
        """Puts the mistake in."""

    def check(self) -> None:
        """Nothing."""


class AcknowledgesBeforeFsync(Broken):
    def spoil(self) -> None:
        self.out.after_sync = self.out.do  # type: ignore[method-assign]


class DropsCustodyOnLinkLoss(Broken):
    def spoil(self) -> None:
        custody = self.tables.custody

        def without(neighbour: str) -> None:
            for key, held in list(custody.held.items()):
                custody.drop(key, tuple(held.copies))

        custody.without = without  # type: ignore[method-assign]


class _Forgetful(Chains):
    """Takes what was delivered before for new."""

    def apply(self, record: Arrived) -> None:
        self.last.pop(chain_of(record.entered, record.publication), None)
        super().apply(record)

    def is_repeat(self, copies: Copies) -> bool:
        return False


class DoesNotDeduplicate(Broken):
    """Confirms nothing either, so that entries send again."""

    def spoil(self) -> None:
        self.tables.chains.__class__ = _Forgetful
        self.tables.chains.repeats.had = lambda publication: set()  # type: ignore[method-assign]
        self.home.confirm = lambda entered, publication: None  # type: ignore[method-assign]


class _Hasty(Chains):
    """Takes every copy as it comes, once."""

    taken: set[tuple[Chain, int]]

    def apply(self, record: Arrived) -> None:
        chain, sequence = chain_of(record.entered, record.publication), record.publication.sequence
        self.taken.add((chain, sequence))
        self.last[chain] = max(sequence, self.last.get(chain, 0))

    def is_repeat(self, copies: Copies) -> bool:
        return (chain_of(copies.entered, copies.publication), copies.publication.sequence) in self.taken

    def is_next(self, entered: Entered, publication: Publication, target: Target) -> bool:
        return True


class DoesNotHoldBack(Broken):
    def spoil(self) -> None:
        self.tables.chains.__class__ = _Hasty
        self.tables.chains.taken = set()  # type: ignore[attr-defined]


class _Generous(LocalSubscriptions):
    def match(
        self, event: Event, position: int, behaviours: Behaviours | None = None, *, late: bool = False
    ) -> list[Version]:
        return list(self.current.values())


class DeliversToEverybody(Broken):
    def spoil(self) -> None:
        self.tables.local.__class__ = _Generous


class _Optimist(Requests):
    """Says that everybody has a subscription as soon as it is asked for."""

    def _has_applied(self, entry: str, asked: OpenRequest) -> bool:
        return True


class ConfirmsTooEarly(Broken):
    def spoil(self) -> None:
        self.clients.requests.__class__ = _Optimist


class _Uncovered(Covering):
    """Takes no filter for a part of another."""

    def _extent(self, key: str) -> Extent:
        extent = super()._extent(key)
        extent.covers = lambda other: False  # type: ignore[method-assign]
        return extent


class SendsWhatIsCovered(Broken):
    def spoil(self) -> None:
        self.streams.covering.__class__ = _Uncovered


class _Orphaning(Covering):
    """Forgets what a subscription covered when that ends."""

    def remove(self, key: str) -> set[str]:
        for below in [one for one, coverer in self._coverer.items() if coverer == key]:
            self._coverer[below] = ""
        return super().remove(key)


class ForgetsWhatWasCovered(Broken):
    def spoil(self) -> None:
        self.streams.covering.__class__ = _Orphaning


class _Resurrecting(Advertisements):
    """Has no tombstones."""

    def apply(self, record: Owned) -> None:
        live = tuple(entry for entry in record.entries if entry.live)
        super().apply(Owned(record.owner, record.incarnation, record.version, live, record.gone))


class ResurrectsAdvertisements(Broken):
    def spoil(self) -> None:
        self.tables.advertisements.__class__ = _Resurrecting


class NeverConfirms(Broken):
    def spoil(self) -> None:
        self.home.confirm = lambda entered, publication: None  # type: ignore[method-assign]


class _Boundless(Custody):
    def has_room(self, neighbour: str) -> bool:
        return True


class IgnoresTheWindow(Broken):
    """And takes nothing over, so that what was sent stays untaken."""

    def spoil(self) -> None:
        self.tables.custody.__class__ = _Boundless
        self.out.works = {**self.out.works, SendTook: lambda work: None}
        self.home.confirm = lambda entered, publication: None  # type: ignore[method-assign]


class KeepsAllCopies(Broken):
    """Its custody is never full, and no home has a share of it."""

    def spoil(self) -> None:
        custody = self.tables.custody
        custody.is_full = lambda: False  # type: ignore[method-assign]
        custody.is_full_for_publishers = lambda: False  # type: ignore[method-assign]
        custody.beyond_quota = list  # type: ignore[method-assign]


class HoldsAllBack(KeepsAllCopies):
    """And takes no copy for the next one."""

    def spoil(self) -> None:
        super().spoil()
        self.tables.chains.is_next = lambda entered, publication, target: False  # type: ignore[method-assign]


class KeepsAllDeliveries(Broken):
    def spoil(self) -> None:
        self.tables.deliveries.over_quota = lambda changed, *, fast: []  # type: ignore[method-assign]


class KeepsAllBesideAMove(Broken):
    def spoil(self) -> None:
        self.tables.deliveries.crowded = lambda changed: []  # type: ignore[method-assign]


class TakesAllThatIsHandedOver(Broken):
    """From an old home that closes nothing, because its new one never says that it may."""

    def spoil(self) -> None:
        self.moves._hopeless = lambda client, source, now: ""  # type: ignore[method-assign]
        self.moves._is_in_force = lambda client: False  # type: ignore[method-assign]


class AsksForAll(Broken):
    """However many events of a publisher wait for answers."""

    def spoil(self) -> None:
        self.entry.is_full = lambda publisher, *, fast: False  # type: ignore[method-assign]


class _Repetitive(Custody):
    def sent(self, copy: Copy, neighbour: str, now: int) -> None:
        copy.neighbour = neighbour  # and it still waits


class SendsTwice(Broken):
    def spoil(self) -> None:
        self.tables.custody.__class__ = _Repetitive


class SendsToEveryHome(Broken):
    """Takes every home for one that wants the event."""

    def spoil(self) -> None:
        interests = self.tables.interests
        interests.wanting = lambda event, behaviours: list(interests.homes)  # type: ignore[method-assign]


class TellsTheNeighbours(Broken):
    """Gives an event to its other neighbours too, for no home."""

    def spoil(self) -> None:
        tell = self.router.tell

        def talkative(neighbour: str, message: AnyMessage) -> None:
            tell(neighbour, message)
            if isinstance(message, Copies):
                passed = {neighbour, *(broker for broker, _ in message.trace)}
                for other in [one for one in self.router.links if one not in passed]:
                    tell(other, msgspec.structs.replace(message, targets=()))

        self.router.tell = talkative  # type: ignore[method-assign]


class _Impatient(Custody):
    def overdue(self, now: int) -> list[Copy]:
        every = [copy for held in self.held.values() for copy in held.copies.values()]
        return [copy for copy in every if copy.standing in (Standing.SENT, Standing.HANDED)]


class SendsAgainAtEachTick(Broken):
    """Waits for no answer."""

    def spoil(self) -> None:
        self.tables.custody.__class__ = _Impatient


class LetsGoOfWhatItSent(Broken):
    """Waits for no Took where it is on the way."""

    def spoil(self) -> None:
        flush, custody = self.transit.flush, self.tables.custody

        def hasty(now: int) -> None:
            flush(now)
            for key, held in list(custody.held.items()):
                sent = [home for home, copy in held.copies.items() if copy.standing is Standing.SENT]
                if sent and not key.boot and not custody.is_entry(key):
                    self.transit._release(key, tuple(sent))

        self.transit.flush = hasty  # type: ignore[method-assign]


class SendsAtTicksOnly(Broken):
    """What may leave stays until the next look at what waits."""

    def spoil(self) -> None:
        flush = self.transit.flush

        def seldom(now: int) -> None:
            if now % limits.TICK_US < limits.TICK_US // 5:
                flush(now)

        self.transit.flush = seldom  # type: ignore[method-assign]


class NeverRests(Broken):
    """Asks its neighbours for what it has, whenever it looks at what waits."""

    def spoil(self) -> None:
        self._is_waiting = lambda: True  # type: ignore[method-assign]
        self.home.tick = lambda now: self.router.broadcast(("",), Seek(self.name))  # type: ignore[method-assign]


class KeepsStaleRoutes(Broken):
    """Goes on sending through a neighbour whose link is down."""

    def spoil(self) -> None:
        self.router.down = self.router.names.get  # type: ignore[method-assign, assignment]


# Of agvents that find their own way


class ForgetsStops(Broken):
    """Executes an agvent again when its leg comes again, and never says that it has landed."""

    def spoil(self) -> None:
        self.tables.journeys._remember = lambda instance: None  # type: ignore[method-assign]
        self.legs.land = lambda instance, origin: None  # type: ignore[method-assign]


class DeliversAgainstTheRoute(Broken):
    """Delivers to whoever matches, whatever the route chose."""

    def spoil(self) -> None:
        outcome = self.stops.outcome

        def generous(decision: Decision, journey: Journey, versions: Sequence[Version]) -> Outcome:
            return msgspec.structs.replace(outcome(decision, journey, versions), deliveries=grouped(versions))

        self.stops.outcome = generous  # type: ignore[method-assign]


class LetsLegsGo(Broken):
    """Takes a leg for landed as soon as it is sent."""

    def spoil(self) -> None:
        send = self.legs._send

        def careless(errand: Errand, now: int) -> bool:
            if send(errand, now):
                self.out.record(LegEnded(**errand.instance.fields))
            return True

        self.legs._send = careless  # type: ignore[method-assign]


class KeepsDeclinesToItself(Broken):
    """Does not tell an entry what an agvent declined."""

    def spoil(self) -> None:
        self.tables.custody.decline = lambda key, homes: None  # type: ignore[method-assign]


class SpendsTwice(Broken):
    """Gives each agvent that leaves a stop all that was left."""

    def spoil(self) -> None:
        outcome = self.stops.outcome

        def generous(decision: Decision, journey: Journey, versions: Sequence[Version]) -> Outcome:
            found = outcome(decision, journey, versions)
            legs = tuple(msgspec.structs.replace(leg, budget=journey.budget) for leg in found.legs)
            return msgspec.structs.replace(found, legs=legs)

        self.stops.outcome = generous  # type: ignore[method-assign]
