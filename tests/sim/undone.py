"""Bugs that seeds found, brought back: each function undoes one fix, by putting in the place of a method what was there
before or comes to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import msgspec
import pytest

from agvent.broker.clients.clients import Clients
from agvent.broker.events.entry import EventEntry
from agvent.broker.events.home import HomeArrivals
from agvent.broker.events.transit import Transit
from agvent.broker.interest.gossip import Gossip
from agvent.broker.pending import DeliverQueues, NoteArrival
from agvent.broker.routing import routes
from agvent.broker.routing.router import Router
from agvent.broker.routing.routes import HOP_US, QUEUED_US, Routes
from agvent.broker.tables import queues
from agvent.broker.tables.chains import Chains
from agvent.broker.tables.custody import Custody, key_of
from agvent.broker.tables.deliveries import Deliveries
from agvent.broker.tables.queues import Queue
from agvent.session.session import Session
from agvent.sim.faults import Faults
from agvent.wire.broker_messages import Answer, Considered, Delta, Routed, Seek
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.parts import Entered, Publication, Target, Trace

Undo = Callable[[pytest.MonkeyPatch], None]


def says_again_what_was_superseded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "_supersede", lambda session, name, *kinds: None)


def takes_no_answer_for_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(EventEntry, "_unanswered", lambda entry, type, ancestors: [])


def numbers_fast_deliveries_from_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Deliveries, "_fast_queue", lambda _: Queue(waiting={}, expires={}))


def passes_over_what_expired(patch: pytest.MonkeyPatch) -> None:
    ready = Queue.ready

    def silent(queue: Queue, now: int, until: int) -> Iterator[Deliver | Gap]:
        return (one for one in ready(queue, now, until) if not (isinstance(one, Gap) and one.reason == "expired"))

    patch.setattr(Queue, "ready", silent)


def keeps_what_a_lost_disk_sent(patch: pytest.MonkeyPatch) -> None:
    void = Chains.void

    def without_early(arrivals: Chains, entry: str, incarnation: int) -> None:
        early, arrivals.early = arrivals.early, {}
        void(arrivals, entry, incarnation)
        arrivals.early = early

    patch.setattr(Chains, "void", without_early)


def takes_fast_gaps_for_durable(patch: pytest.MonkeyPatch) -> None:
    gap = queues._gap
    patch.setattr(queues, "_gap", lambda delivery, reason: msgspec.structs.replace(gap(delivery, reason), fast=False))


def measures_to_the_microsecond(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(routes, "cost_of", lambda rtt_us, queued: HOP_US + rtt_us // 2 + QUEUED_US * queued)


def forgets_that_an_early_one_expired(patch: pytest.MonkeyPatch) -> None:
    hold = Chains._hold

    def careless(
        arrivals: Chains,
        entered: Entered,
        publication: Publication,
        targets: tuple[Target, ...],
        _: str,
        trace: Trace,
    ) -> None:
        hold(arrivals, entered, publication, targets, "", trace)

    patch.setattr(Chains, "_hold", careless)


def believes_every_answer(patch: pytest.MonkeyPatch) -> None:
    def prove(router: Router, routed: Routed) -> None:
        if isinstance(routed.body, (Seek, Answer)):
            router.seeks.pop(routed.body.broker, None)
            router.routes.prove(routed.body.broker, routed.trace)

    patch.setattr(Router, "_prove", prove)


def goes_on_with_the_chain_of_a_lost_disk(patch: pytest.MonkeyPatch) -> None:
    def predecessor(custody: Custody, home: str, incarnation: int, publication: Publication) -> int:
        chain = (home, publication.publisher, publication.fast)
        found = ((one.home, one.publisher, one.fast) == chain and last for one, last in custody.chain.items())
        return max(found, default=0)

    def void(custody: Custody, home: str, incarnation: int) -> None:
        for key in list(custody._of_home.get(home, ())):
            if custody.held[key].copies[home].target.incarnation < incarnation:
                custody.drop(key, (home,))

    patch.setattr(Custody, "predecessor", predecessor)
    patch.setattr(Custody, "void", void)


def takes_a_delta_for_what_it_was(patch: pytest.MonkeyPatch) -> None:
    delta = Gossip.delta

    def careless(gossip: Gossip, said: Delta, now: int) -> None:
        mine = [Considered(one.entry, gossip.tables.incarnation, one.version) for one in said.considered]
        delta(gossip, msgspec.structs.replace(said, considered=tuple(mine)), now)

    patch.setattr(Gossip, "delta", careless)


def goes_round(patch: pytest.MonkeyPatch) -> None:
    def next_hop(transit: Transit, home: str, trace: Trace, attempt: int) -> str | None:
        return transit.router.routes.choose(home, attempt=attempt)

    patch.setattr(Transit, "_next_hop", next_hop)
    patch.setattr(Transit, "_returned", lambda transit, copies, homes, held: None)


def tries_the_same_way_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Routes, "doubt", lambda routes, broker, neighbour: None)


def joins_through_anybody(patch: pytest.MonkeyPatch) -> None:
    def join(faults: Faults, lasts: int) -> str:
        names = list(faults.world.brokers)
        random: Random = faults.random
        neighbours = random.sample(names, min(len(names), random.choice((1, 2))))
        faults.do.join(f"J{len(names) + 1}", neighbours=tuple(neighbours))
        return f"J{len(names) + 1}"

    patch.setattr(Faults, "_join", join)


def keeps_the_event_that_was_let_go(patch: pytest.MonkeyPatch) -> None:
    hold = Custody._hold

    def careless(
        custody: Custody,
        entered: Entered,
        publication: Publication,
        targets: tuple[Target, ...],
        trace: Trace,
        before: tuple[str, ...] = (),
    ) -> None:
        held = custody.held.get(key_of(entered, publication))
        hold(custody, entered, held.publication if held is not None else publication, targets, trace, before)

    patch.setattr(Custody, "_hold", careless)


def delivers_before_its_record(patch: pytest.MonkeyPatch) -> None:
    deliver = Clients.deliver

    def hasty(clients: Clients, work: DeliverQueues) -> None:
        theirs = clients.tables.deliveries.clients
        until = tuple((name, theirs[name].durable.number) for name, _ in work.until if name in theirs)
        deliver(clients, DeliverQueues(until, work.at))

    patch.setattr(Clients, "deliver", hasty)


def confirms_before_its_record(patch: pytest.MonkeyPatch) -> None:
    def note(arrivals: HomeArrivals, work: NoteArrival) -> None:
        chain, last = work.chain, arrivals.tables.chains.last.get(work.chain, 0)
        arrivals._confirms.setdefault(chain.entry, {}).setdefault(chain.boot, {})[chain.publisher] = last

    patch.setattr(HomeArrivals, "note_arrival", note)


def leaves_torn_what_was_torn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HomeArrivals, "restart", lambda arrivals: None)
