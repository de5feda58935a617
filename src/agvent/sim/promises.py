"""What clients were told, and what they are owed for it. Nothing of a broker counts: no table, no record, no message
between two of them.

A process of a client subscribes, and is told *subscribed*: from then on, until it changes or ends the subscription, it
is owed each event that matches, if the event's publisher was told that it is *accepted*. The times of these four words,
as the clients heard them, decide:

    asked ......... confirmed ========================= changed or ended ... the end is confirmed
      may be received | must be received                 | may be received   | must not be received

An event lies in the middle part if it was published after the confirmation and accepted before the change. It may be
received if any part of its own way, from being published to being delivered, lies between the outer ends. A version
that another replaced has no outer end: an entry may hear late of the change, and goes by the version that it knows.

Two things are not promised for an event of a type that is new at its publisher's broker, until `advertise` has returned
with no broker pending: that a filter which calls behaviours has its answers, and that a filter which is changed while
such an event is under way is still the old one.

The filter's oracle decides what matches, and the agvents of simulated worlds are plain Python here. What spares a
broker is what users were told too: a gap notice that names the event, a disk that was lost where one of the two was at
home, an expiry. Self-routing agvents choose whom they go to: they are owed to nobody here, and checkers/routes.py
judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.oracle import Clause, Question, admits, clauses_of, published
from agvent.sim.world import ClientCall, ClientTold, RunHistory
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Advertised, Deliver, Done, Gap, Published, Refused, Subscribed

NEVER = 1 << 62


class PublishedId(NamedTuple):
    """An event as its publisher numbered it; `life` is that of the process."""

    publisher: str
    life: int
    sequence: int


class MadeEvent(msgspec.Struct):
    """An event that a client published, and what it was told of it."""

    id: PublishedId
    process: str
    event: Event
    question: Question
    to: str
    destinations: tuple[str, ...]
    expires: int
    published: int
    is_settled: bool
    """Had every broker answered the advertisement of its type?"""

    accepted: int = NEVER
    is_refused: bool = False


class AskedVersion(msgspec.Struct):
    """A version of a subscription: what a process asked for, from when to when."""

    process: str
    client: str
    id: str
    subscription: Subscription
    clauses: tuple[Clause, ...]
    asked: int
    confirmed: int = NEVER
    changed: int = NEVER
    over: int = NEVER  # when the end was confirmed
    is_ended: bool = False  # it was unsubscribed, then or later: what is still under way is owed to nobody
    is_refused: bool = False


class OwedDelivery(NamedTuple):
    """An event for a subscription of a process."""

    process: str
    subscription: str
    event: PublishedId


class GivenDelivery(NamedTuple):
    """A delivery that a process was given."""

    at: int
    owed: OwedDelivery
    fast: bool


class Promises:
    """What the clients of a run asked, were told and got."""

    def __init__(self, history: RunHistory) -> None:
        self.events: dict[tuple[PublishedId, bool], MadeEvent] = {}  # with whether it is fast
        self.wishes: dict[tuple[str, str], list[AskedVersion]] = {}  # process, subscription -> its versions
        self.receipts: list[GivenDelivery] = []
        self.gaps: list[ClientTold] = []
        self._lives: dict[str, int] = {}
        self._requests: dict[tuple[str, int], tuple[str, str, AskedVersion | None]] = {}
        self._advertised: dict[tuple[str, int], str] = {}  # process, request -> type
        self._settled: dict[tuple[str, str], int] = {}  # process, type -> since when every broker has answered
        self._unaccepted: dict[tuple[str, bool], list[MadeEvent]] = {}
        for one in in_order(history):
            if isinstance(one, ClientCall):
                self._asked(one)
            else:
                self._told(one)

    @staticmethod
    def of(history: RunHistory) -> Promises:
        """Those of a run that has ended; read once for all checkers."""
        key = (len(history.asked), len(history.told))
        if history.read is None or history.read[0] != key:
            history.read = (key, Promises(history))
        found: Promises = history.read[1]
        return found

    # What clients asked

    def _asked(self, call: ClientCall) -> None:
        if call.method == "publish":
            self._published(call, [call.args[0]])
        elif call.method == "publish_batch":
            self._published(call, call.args[0])
        elif call.method == "subscribe":
            subscription: Subscription = call.args[0]
            wish = AskedVersion(
                process=call.process,
                client=call.client,
                id=subscription.id,
                subscription=subscription,
                clauses=clauses_of(subscription),
                asked=call.at,
            )
            self._change(call.process, subscription.id, call.at)
            self.wishes.setdefault((call.process, subscription.id), []).append(wish)
            self._requests[call.process, call.result] = (call.process, subscription.id, wish)
        elif call.method == "advertise":
            self._advertised[call.process, call.result] = call.args[0].name
        elif call.method == "unadvertise":
            self._settled.pop((call.process, call.args[0]), None)
        elif call.method == "unsubscribe":
            self._change(call.process, call.args[0], call.at)
            for wish in self.wishes.get((call.process, call.args[0]), []):
                wish.is_ended = True
            self._requests[call.process, call.result] = (call.process, call.args[0], None)

    def _published(self, call: ClientCall, events: list[Event]) -> None:
        options = call.args[-1]
        fast = options.get("fast", False)
        for at, event in enumerate(events):
            id = PublishedId(call.client, call.life, call.result - len(events) + 1 + at)
            since = self._settled.get((call.process, event.type or ""), NEVER)
            made = MadeEvent(
                is_settled=since < call.at,
                id=id,
                process=call.process,
                event=event,
                question=published(event),
                to=options.get("to", ""),
                destinations=options.get("destinations", ()),
                expires=options.get("expires", 0),
                published=call.at,
            )
            self.events[id, fast] = made
            self._unaccepted.setdefault((call.process, fast), []).append(made)

    def _change(self, process: str, id: str, at: int) -> None:
        for wish in self.wishes.get((process, id), []):
            wish.changed = min(wish.changed, at)

    # What they were told

    def _told(self, told: ClientTold) -> None:
        message = told.message
        if isinstance(message, Published):
            self._accepted(told, message)
        elif isinstance(message, Refused) and message.sequence:
            for made in self._unaccepted.get((told.process, message.fast), []):
                made.is_refused = made.is_refused or made.id.sequence == message.sequence
        elif isinstance(message, Advertised) and not message.pending:
            type = self._advertised.get((told.process, message.request))
            if type is not None:
                self._settled[told.process, type] = told.at
        elif isinstance(message, (Subscribed, Done, Refused)):
            self._answered(told)
        elif isinstance(message, Deliver):
            self.receipts += [
                GivenDelivery(told.at, OwedDelivery(told.process, id, self._id_of(one)), message.fast)
                for one in deliveries_in(message)
                for id in one.subscriptions
            ]
        elif isinstance(message, Gap):
            self.gaps.append(told)

    def _id_of(self, delivery: Deliver) -> PublishedId:
        return PublishedId(delivery.publisher, delivery.life, delivery.sequence)

    def _accepted(self, told: ClientTold, message: Published) -> None:
        key = (told.process, message.fast)
        waiting = self._unaccepted.get(key, [])
        for made in waiting:
            if made.id.sequence <= message.sequence and not made.is_refused:
                made.accepted = told.at
        self._unaccepted[key] = [made for made in waiting if made.id.sequence > message.sequence]

    def _answered(self, told: ClientTold) -> None:
        request = getattr(told.message, "request", 0)
        process, id, wish = self._requests.get((told.process, request), ("", "", None))
        if not process:
            return
        if isinstance(told.message, Refused):
            self._refused(process, id, wish)
        elif wish is None:
            for earlier in self.wishes.get((process, id), []):
                if earlier.changed <= told.at:
                    earlier.over = min(earlier.over, told.at)
        elif not getattr(told.message, "pending", ()):
            wish.confirmed = min(wish.confirmed, told.at)

    def _refused(self, process: str, id: str, wish: AskedVersion | None) -> None:
        """What was refused changed nothing: the version before it stands."""
        versions = self.wishes.get((process, id), [])
        if wish is None:
            return
        wish.is_refused = True
        before = [one for one in versions[: versions.index(wish)] if not one.is_refused]
        if before and before[-1].changed == wish.asked:
            before[-1].changed = min((one.asked for one in versions[versions.index(wish) + 1 :]), default=NEVER)

    # What follows

    def matching(self, made: MadeEvent, wish: AskedVersion) -> bool:
        """Does an event match a version of a subscription, and does its publisher want that subscriber?"""
        if made.destinations and wish.client not in made.destinations:
            return False
        return made.question.matches(wish.clauses) and admits(made.to, wish.subscription)

    def owed(self) -> Iterator[tuple[OwedDelivery, MadeEvent, AskedVersion]]:
        """What must have been received: durable events that were accepted while a subscription was confirmed."""
        every = (wish for versions in self.wishes.values() for wish in versions)
        wishes = [wish for wish in every if wish.confirmed < NEVER and not wish.is_ended]
        for (id, fast), made in self.events.items():
            if fast or made.accepted == NEVER or made.expires or is_self_routing(made.event):
                continue
            for wish in wishes:
                if wish.confirmed < made.published and made.accepted < wish.changed and self.matching(made, wish):
                    yield OwedDelivery(wish.process, wish.id, id), made, wish

    def allows(self, receipt: GivenDelivery, moved: set[str]) -> bool:
        """May a process have been given this? What one broker refused another may take, from a publisher that moved
        before it knew all; and a broker that crashed has forgotten which fast events it took."""
        made = self.events.get((receipt.owed.event, receipt.fast))
        if made is None or (made.is_refused and not receipt.fast and made.id.publisher not in moved):
            return False
        client = receipt.owed.process.partition("+")[0]
        return any(
            wish.asked <= receipt.at and made.published <= wish.over and self.matching(made, wish)
            for (process, id), versions in self.wishes.items()
            if id == receipt.owed.subscription and process.partition("+")[0] == client
            for wish in versions
        )

    @property
    def refused(self) -> set[tuple[str, str]]:
        """The subscriptions of clients of which a version was refused."""
        every = (wish for versions in self.wishes.values() for wish in versions)
        return {(wish.client, wish.id) for wish in every if wish.is_refused}

    def is_in_gap(self, owed: OwedDelivery) -> bool:
        """Was the process told that this will not come?"""
        return any(
            gap.process == owed.process and owed.subscription in message.subscriptions and _covers(message, owed.event)
            for gap in self.gaps
            if isinstance(message := gap.message, Gap) and not message.fast
        )


def is_self_routing(event: Event) -> bool:
    return event.cargo is not None and event.cargo.budget is not None


def _covers(gap: Gap, event: PublishedId) -> bool:
    return not gap.publisher or (gap.publisher == event.publisher and gap.first <= event.sequence <= gap.last)


def in_order(history: RunHistory) -> list[ClientCall | ClientTold]:
    """Calls and words as they happened; each says when, and a call stands before what it led to."""
    return sorted((*history.asked, *history.told), key=lambda one: one.order)
