"""The broker: inputs to the parts that know them, and at the end of a step whatever can go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agvent import limits
from agvent.broker.clients.clients import Clients
from agvent.broker.clients.guests import Guests
from agvent.broker.clients.moves import Moves
from agvent.broker.events.entry import EventEntry
from agvent.broker.events.home import HomeArrivals
from agvent.broker.events.legs import Legs
from agvent.broker.events.stops import AskedRoute, EntryRoute, LandedRoute, Stops
from agvent.broker.events.transit import Transit
from agvent.broker.interest.changes import Changes
from agvent.broker.interest.gossip import Gossip
from agvent.broker.interest.streams import Streams
from agvent.broker.interface import (
    Effect,
    Executed,
    Forget,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    MessageCame,
    Ran,
    Synced,
    Tick,
    Wake,
)
from agvent.broker.notices import AgventStopped, SpeaksUntyped
from agvent.broker.outbox import Outbox, Works
from agvent.broker.pending import (
    AnswerHello,
    DeliverQueues,
    Emit,
    Flood,
    LetLeave,
    NoteArrival,
    OpenAdvertise,
    OpenSubscribe,
    SendClaim,
    SendHanding,
    SendRouted,
    SendTook,
    SettlePublication,
    StartErrands,
    TellClient,
    WelcomeClient,
)  # fmt: skip
from agvent.broker.prefetch import Prefetch
from agvent.broker.records import Booted, Record, Settled
from agvent.broker.routing.router import Router
from agvent.broker.soundness import is_sound, is_sound_body
from agvent.broker.tables.tables import Tables
from agvent.errors import ForgottenError
from agvent.wire.broker_messages import (
    Adverts,
    Answer,
    Applied,
    Astray,
    Body,
    Claim,
    Confirm,
    Copies,
    Delta,
    Halted,
    Handing,
    Hello,
    Inquiry,
    Landed,
    Report,
    Routed,
    Seek,
    Took,
    Travel,
)
from agvent.wire.messages import AnyMessage


class Broker:
    """One broker. `records` is what its journal holds; a new incarnation begins with an empty one, and a ForgottenError
    says that it must.

    Between two steps a broker is a value: tables, work that waits and links, all of it data. `copy.deepcopy` gives
    another that goes on alike, and value.py shows and compares them."""

    def __init__(self, name: str, incarnation: int, records: Iterable[Record] = (), *, now: int = 0) -> None:
        self.name, self.incarnation = name, incarnation
        self.tables = Tables(name, incarnation)
        for record in records:
            self.tables.apply(record)
        if self.tables.is_forgotten:
            raise ForgottenError(name)
        self.out = Outbox(self.tables.apply)
        self.router = Router(name, self.out)
        self.streams = Streams(name, incarnation, self.tables.local, self.tables.advertisements)
        self.gossip = Gossip(self.tables, self.streams, self.router, self.out)
        self.prefetch = Prefetch(self.tables)
        self.home = HomeArrivals(self.tables, self.prefetch, self.router, self.out)
        self.transit = Transit(self.tables, self.home, self.router, self.out)
        self.legs = Legs(self.tables, self.router, self.out)
        self.stops = Stops(self.tables, self.home, self.router, self.legs, self.out)
        self.entry = EventEntry(self.tables, self.transit, self.home, self.stops, self.out)
        changes = Changes(self.tables, self.streams, self.out)
        self.moves = Moves(self.tables, self.streams, self.gossip, self.router, changes, self.out)
        self.guests = Guests(self.tables, changes, self.gossip, self.moves, self.out)
        self.clients = Clients(
            self.tables, self.streams, self.gossip, self.entry, self.moves, changes, self.prefetch, self.out
        )
        self.inputs = self._inputs()
        self.messages = self._messages()
        self.bodies = self._bodies()
        self.passing = self._passing()
        self.decisions = self._decisions()
        self.out.works = self._works()
        self._wake = 0
        self._refused = 0
        self._start(now)

    # What each kind of input, message and work goes to

    def _inputs(self) -> dict[type[Input], Callable[[Any, int], None]]:
        return {
            MessageCame: self._came,
            LinkUp: self._link_up,
            LinkDown: self._link_down,
            Measured: self._measured,
            Synced: self._synced,
            Tick: self._tick,
            Forget: self._forget,
            Ran: self.entry.ran,
            Executed: self._executed,
        }

    def _messages(self) -> dict[type[AnyMessage], Callable[[Any, str, int], None]]:
        """What neighbours say; clients.py has the table of what clients say."""
        return {
            Adverts: self.gossip.adverts,
            Copies: self.transit.copies,
            Took: self.transit.took,
            Travel: self._travel,
            Routed: self._routed,
        }

    def _bodies(self) -> dict[type[Body], Callable[[Any, int], None]]:
        """What routed messages bring to their targets. An Answer brings nothing beside its trace."""
        return {
            Delta: self.gossip.delta,
            Applied: self._applied,
            Confirm: self.transit.confirmed,
            Seek: self.gossip.seek,
            Claim: self.moves.claimed,
            Handing: self.moves.handing,
            Landed: self.legs.landed,
            Halted: self.legs.halted,
            Report: self.legs.reported,
            Astray: self.transit.astray,
            Inquiry: self.home.inquired,
        }

    def _passing(self) -> dict[type[Body], Callable[[Any], None]]:
        """What routed messages bring to every broker on their way, target or not: proof of a way back."""
        return {Seek: self.transit.found, Answer: self.transit.found}

    def _decisions(self) -> dict[type[AskedRoute], Callable[[Any, Executed, int], None]]:
        """Who waits for what an agvent's route decides."""
        return {EntryRoute: self.entry.decided, LandedRoute: self.stops.decided}

    def _works(self) -> Works:
        return {
            LetLeave: self.transit.let_leave,
            SendTook: self.transit.send_took,
            NoteArrival: self.home.note_arrival,
            StartErrands: self.legs.start,
            SendRouted: self._send_routed,
            AnswerHello: self.gossip.answer_hello,
            Flood: self.gossip.flood,
            Emit: self._emit,
            WelcomeClient: self.clients.welcome,
            TellClient: self.clients.attached.tell,
            SettlePublication: self.clients.publishing.settle,
            OpenSubscribe: self.clients.await_entries,
            OpenAdvertise: self.clients.await_homes,
            DeliverQueues: self.clients.deliver,
            SendClaim: self.moves.send_claim,
            SendHanding: self.moves.send_handing,
        }

    # Steps

    def _start(self, now: int) -> None:
        boot = self.tables.boot + 1
        self.out.record(Booted(boot))
        self.router.boot = boot
        self.streams.restart(boot)
        if self.name not in self.tables.advertisements:
            self.gossip.change(None)
        self.transit.restart(now)
        self.home.restart()
        self.legs.restart()
        self.clients.restart()
        self.streams.hold_until(self.out.number)

    def step(self, inputs: Iterable[Input], now: int) -> list[Effect]:
        """Takes inputs in order and gives the effects; the same inputs give the same effects."""
        inputs = list(inputs)
        self.prefetch.look(inputs)
        for given in inputs:
            if self.tables.is_forgotten and not isinstance(given, Synced):
                continue
            self.inputs[type(given)](given, now)
        self._flush(now)
        self.prefetch.forget()
        return self.out.take()

    @property
    def refused(self) -> int:
        """What neighbours said since the start and nobody could carry out: messages, and roots of their Deltas."""
        return self._refused + self.tables.interests.refused

    def _synced(self, given: Synced, now: int) -> None:
        self.out.sync(given.number)

    def _forget(self, given: Forget, now: int) -> None:
        self.gossip.change(None, owner="" if given.broker == self.name else given.broker, gone=True)

    def _executed(self, given: Executed, now: int) -> None:
        asked = self.stops.executed(given.number)
        if asked is not None:  # else it is of before a restart
            self.decisions[type(asked)](asked, given, now)

    def _send_routed(self, work: SendRouted) -> None:
        self.router.send((work.to,), work.body)

    def _emit(self, work: Emit) -> None:
        self.out.effect(work.effect)

    # Links

    def _link_up(self, given: LinkUp, now: int) -> None:
        if given.to_broker:
            self.router.rtts[given.link] = given.rtt_us
            self.out.send(given.link, self.gossip.hello())

    def _link_down(self, given: LinkDown, now: int) -> None:
        neighbour = self.router.down(given.link)
        if neighbour is None:
            self.clients.lost_link(given.link)
        elif neighbour not in self.router.links:
            self.gossip.lost_link(neighbour)
            self.transit.lost_link(neighbour, now)
            self.legs.lost_link(neighbour)

    def _measured(self, given: Measured, now: int) -> None:
        neighbour = self.router.names.get(given.link)
        if neighbour is not None:
            self.router.routes.measure(neighbour, given.rtt_us, given.queued)

    # Messages

    def _came(self, given: MessageCame, now: int) -> None:
        link, message = given.link, given.message
        neighbour = self.router.names.get(link)
        if neighbour is None and not isinstance(message, Hello):
            self.clients.came(link, message, now)
        elif not is_sound(message, self.name):
            self._refused += 1
        elif isinstance(message, Hello):
            self._hello(message, link, neighbour)
        elif neighbour is not None and (take := self.messages.get(type(message))) is not None:
            take(message, neighbour, now)

    def _hello(self, hello: Hello, link: str, neighbour: str | None) -> None:
        """A neighbour says who it is. Whoever speaks on its link remains who it was."""
        if neighbour not in (None, hello.broker):
            self._refused += 1
            return
        self.router.up(hello.broker, link)
        self.gossip.greet(hello)

    def _routed(self, message: Routed, neighbour: str, now: int) -> None:
        body = self.router.came(message, neighbour)
        if body is not None and is_sound_body(body, self.name):
            if (take := self.bodies.get(type(body))) is not None:
                take(body, now)
        elif body is not None:
            self._refused += 1
        if (found := self.passing.get(type(message.body))) is not None:
            found(message.body)

    def _travel(self, message: Travel, neighbour: str, now: int) -> None:
        self.router.routes.learn(message.trace)
        if message.journey.to == self.name:
            self.stops.land(message, now)
        else:
            self.legs.pass_on(message, now)

    def _applied(self, body: Applied, now: int) -> None:
        if self.streams.answered(body):
            self._settle()
            self.moves.settled(now)

    # Time

    def _settle(self) -> None:
        """Lets replaced versions go that no copy can ask for any more."""
        replaced = self.tables.local.replaced
        if not replaced:
            return
        position, under_way = self.streams.settled(), self.streams.under_way()
        later = [one for one in replaced if one.closed > position]
        # A version that no other replaced, of a client that moved, may be owed a late copy, whatever that carries.
        succeeded = [one for one in later if one.subscription.id in self.tables.local.current]
        others = [one.closed for one in succeeded if not any(one.opened <= b and a < one.closed for a, b in under_way)]
        if others or len(later) < len(replaced):
            self.out.record(Settled(position, tuple(others)))

    def _tick(self, given: Tick, now: int) -> None:
        self._wake = 0
        self.streams.tick()
        self.transit.tick(now)
        self.home.tick(now)
        self.moves.tick(now)
        self.guests.tick(now, self.clients.attached)
        self.legs.tick(now)
        if self.tables.local.replaced:
            self._settle()
        if self.tables.local.replaced:
            self.streams.ask_settled(self.tables.local.replaced[-1].closed)

    def _flush(self, now: int) -> None:
        self.streams.flush(now, self.out.synced, self.router.send)
        self.stops.flush(now)
        self.home.flush()
        self.legs.flush(now)
        self.transit.flush(now)
        self.clients.flush(now)
        if self.out.notices(SpeaksUntyped):
            self.gossip.speak_untyped()
        for notice in self.out.notices(AgventStopped):
            self.clients.tell(notice.publisher, notice.stopped)
        if not self._wake and self._is_waiting():
            self._wake = now + limits.TICK_US
            self.out.effect(Wake(self._wake))

    def _is_waiting(self) -> bool:
        """Is there anything that time will change?"""
        return bool(
            self.tables.custody.held
            or self.tables.journeys.errands
            or self.clients.requests.open
            or self.tables.local.replaced
            or self.streams.waiting
            or self.moves.moving()
            or self.tables.deliveries.given_up
            or self.tables.deliveries.gone_guests
            or self.home.is_waiting
        )

    def check(self) -> None:
        """Asserts the invariants of docs/broker.md; for tests and the simulator."""
        self.tables.check()
        self.streams.check()
        self.router.check()
        self.out.check()
        self.entry.check()
        self.stops.check()
        self.clients.check()
