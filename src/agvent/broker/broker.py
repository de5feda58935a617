"""The broker: inputs to the parts that know them, and at the end of a step whatever can go out."""

from __future__ import annotations

from collections.abc import Iterable

from agvent import limits
from agvent.broker.arriving import Arriving
from agvent.broker.changes import Changes
from agvent.broker.clients import Clients
from agvent.broker.dispatch import Dispatch
from agvent.broker.entering import Entrance
from agvent.broker.foresight import Foresight
from agvent.broker.gossip import Gossip
from agvent.broker.guests import Guests
from agvent.broker.interface import Came, Effect, Executed, Forget, Input, LinkDown, LinkUp, Measured, Ran, Synced, Wake
from agvent.broker.legs import Legs
from agvent.broker.moving import Moves
from agvent.broker.outbox import Outbox
from agvent.broker.records import Booted, Record, Settled
from agvent.broker.router import Router
from agvent.broker.soundness import is_sound, is_sound_body
from agvent.broker.stops import Stops
from agvent.broker.streams import Streams
from agvent.broker.tables import Tables
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
    says that it must."""

    def __init__(self, name: str, incarnation: int, records: Iterable[Record] = (), *, now: int = 0) -> None:
        self.name, self.incarnation = name, incarnation
        self.tables = Tables(name, incarnation)
        for record in records:
            self.tables.apply(record)
        if self.tables.is_forgotten:
            raise ForgottenError(name)
        self.out = Outbox(self.tables.apply)
        self.router = Router(name, self.out)
        self.streams = Streams(name, incarnation, self.tables.homes, self.tables.advertisements)
        self.gossip = Gossip(self.tables, self.streams, self.router, self.out)
        self.foresight = Foresight(self.tables)
        self.arriving = Arriving(self.tables, self.foresight, self.router, self.out)
        self.dispatch = Dispatch(self.tables, self.arriving, self.router, self.out)
        self.legs = Legs(self.tables, self.router, self.out)
        self.stops = Stops(self.tables, self.arriving, self.router, self.legs, self.out)
        self.entrance = Entrance(self.tables, self.dispatch, self.arriving, self.stops, self.out)
        changes = Changes(self.tables, self.streams, self.out)
        self.moves = Moves(self.tables, self.streams, self.gossip, self.router, changes, self.out)
        self.guests = Guests(self.tables, changes, self.gossip, self.moves, self.out)
        self.clients = Clients(
            self.tables, self.streams, self.gossip, self.entrance, self.moves, changes, self.foresight, self.out
        )
        self._wake = 0
        self._refused = 0
        self._start(now)

    def _start(self, now: int) -> None:
        boot = self.tables.boot + 1
        self.out.record(Booted(boot))
        self.router.boot = boot
        self.streams.restart(boot)
        if self.name not in self.tables.advertisements:
            self.gossip.change(None)
        self.dispatch.restart(now)
        self.arriving.restart()
        self.streams.safe_number = self.out.number

    def step(self, inputs: Iterable[Input], now: int) -> list[Effect]:
        """Takes inputs in order and gives the effects; the same inputs give the same effects."""
        inputs = list(inputs)
        self.foresight.look(inputs)
        for given in inputs:
            if self.tables.is_forgotten and not isinstance(given, Synced):
                continue
            if isinstance(given, Came):
                self._came(given.link, given.message, now)
            elif isinstance(given, Synced):
                self.out.sync(given.number)
            elif isinstance(given, LinkUp):
                if given.to_broker:
                    self.router.rtts[given.link] = given.rtt_us
                    self.out.send(given.link, self.gossip.hello())
            elif isinstance(given, LinkDown):
                self._lost_link(given.link, now)
            elif isinstance(given, Measured):
                neighbour = self.router.names.get(given.link)
                if neighbour is not None:
                    self.router.routes.measure(neighbour, given.rtt_us, given.queued)
            elif isinstance(given, Ran):
                self.entrance.ran(given, now)
            elif isinstance(given, Executed):
                self.stops.executed(given, now)
            elif isinstance(given, Forget):
                self.gossip.change(None, owner="" if given.broker == self.name else given.broker, gone=True)
            else:
                self._tick(now)
        self._flush(now)
        self.foresight.forget()
        return self.out.take()

    @property
    def refused(self) -> int:
        """What neighbours said since the start and nobody could carry out: messages, and roots of their Deltas."""
        return self._refused + self.tables.interests.refused

    # Links

    def _lost_link(self, link: str, now: int) -> None:
        neighbour = self.router.down(link)
        if neighbour is None:
            self.clients.lost_link(link)
        elif neighbour not in self.router.links:
            self.gossip.greeted.pop(neighbour, None)
            self.dispatch.lost_link(neighbour, now)
            self.legs.lost_link(neighbour)

    def _came(self, link: str, message: AnyMessage, now: int) -> None:
        neighbour = self.router.names.get(link)
        if neighbour is None and not isinstance(message, Hello):
            self.clients.came(link, message, now)
        elif not is_sound(message, self.name):
            self._refused += 1
        elif isinstance(message, Hello):
            if neighbour not in (None, message.broker):
                self._refused += 1
                return
            self.router.up(message.broker, link)
            self.gossip.greet(message)
        elif neighbour is not None:
            self._said(message, neighbour, now)

    def _said(self, message: AnyMessage, neighbour: str, now: int) -> None:
        if isinstance(message, Routed):
            body = self.router.came(message, neighbour)
            if body is not None and is_sound_body(body, self.name):
                self._body(body, now)
            elif body is not None:
                self._refused += 1
            if isinstance(message.body, (Seek, Answer)):
                self.dispatch.found(message.body.broker)
        elif isinstance(message, Copies):
            self.dispatch.copies(message, neighbour, now)
        elif isinstance(message, Took):
            self.dispatch.took(message, neighbour, now)
        elif isinstance(message, Adverts):
            self.gossip.adverts(message, neighbour)
        elif isinstance(message, Travel):
            self.router.routes.learn(message.trace)
            if message.journey.to == self.name:
                self.stops.land(message, now)
            else:
                self.legs.pass_on(message, now)

    def _body(self, body: Body, now: int) -> None:
        if isinstance(body, Delta):
            self.gossip.delta(body)
        elif isinstance(body, Applied):
            if self.streams.answered(body):
                self._settle()
                self.moves.settled(now)
        elif isinstance(body, Confirm):
            self.dispatch.confirmed(body)
        elif isinstance(body, Seek):
            self.gossip.seek(body)
        elif isinstance(body, Claim):
            self.moves.claimed(body, now)
        elif isinstance(body, Handing):
            self.moves.handing(body, now)
        elif isinstance(body, Landed):
            self.legs.landed(body)
        elif isinstance(body, Halted):
            self.legs.halted(body, now)
        elif isinstance(body, Report):
            self.legs.reported(body, now)
        elif isinstance(body, Astray):
            self.dispatch.astray(body)
        elif isinstance(body, Inquiry):
            self.arriving.inquired(body)

    # Time

    def _settle(self) -> None:
        """Lets replaced versions go that no copy can ask for any more."""
        replaced = self.tables.homes.replaced
        if not replaced:
            return
        position, under_way = self.streams.settled(), self.streams.under_way()
        later = [one for one in replaced if one.closed > position]
        others = [one.closed for one in later if not any(one.opened <= b and a < one.closed for a, b in under_way)]
        if others or len(later) < len(replaced):
            self.out.record(Settled(position, tuple(others)))

    def _tick(self, now: int) -> None:
        self._wake = 0
        self.streams.tick()
        self.dispatch.tick(now)
        self.arriving.tick(now)
        self.moves.tick(now)
        self.guests.tick(now)
        self.legs.tick(now)
        if self.tables.homes.replaced:
            self._settle()
        if self.tables.homes.replaced:
            self.streams.ask_settled(self.tables.homes.replaced[-1].closed)

    def _flush(self, now: int) -> None:
        if self.out.synced >= self.streams.safe_number:
            self.streams.flush(now, self.router.send)
        self.stops.flush(now)
        self.arriving.flush()
        self.legs.flush(now)
        self.dispatch.flush(now)
        self.clients.flush(now)
        if self.legs.stopped:
            self._tell_stopped()
        if not self._wake and self._is_waiting():
            self._wake = now + limits.TICK_US
            self.out.effect(Wake(self._wake))

    def _tell_stopped(self) -> None:
        stopped, self.legs.stopped = self.legs.stopped, []
        for publisher, message in stopped:
            self.clients.tell(publisher, message)

    def _is_waiting(self) -> bool:
        """Is there anything that time will change?"""
        return bool(
            self.tables.custody.held
            or self.tables.journeys.errands
            or self.clients.requests.open
            or self.tables.homes.replaced
            or self.streams.waiting
            or self.moves.moving()
            or self.tables.deliveries.given_up
            or self.tables.deliveries.gone_guests
            or self.arriving.is_waiting
        )

    def check(self) -> None:
        """Asserts the invariants of docs/broker.md; for tests and the simulator."""
        self.tables.check()
        self.streams.check()
        self.router.check()
        assert self.out.synced <= self.out.number
