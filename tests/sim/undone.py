"""Bugs that seeds found, brought back: each function undoes one fix, by putting in the place of a method what was there
before or comes to the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import msgspec
import pytest

from agvent.broker import clients, queues, routes
from agvent.broker.arrivals import Arrivals, Chain
from agvent.broker.arriving import Arriving
from agvent.broker.attachments import Attachments
from agvent.broker.clients import Clients
from agvent.broker.custody import Custody, key_of
from agvent.broker.deliveries import Deliveries
from agvent.broker.dispatch import Dispatch
from agvent.broker.entering import Entrance
from agvent.broker.gossip import Gossip
from agvent.broker.moving import Moves
from agvent.broker.queues import Queue
from agvent.broker.router import Router
from agvent.broker.routes import HOP_US, QUEUED_US, Routes
from agvent.session.session import Session
from agvent.sim.faults import Faults
from agvent.wire.broker_messages import Answer, Considered, Delta, Routed, Seek
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.parts import Entered, Publication, Target, Trace

Undo = Callable[[pytest.MonkeyPatch], None]


def says_again_what_was_superseded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "_supersede", lambda session, name, *kinds: None)


def takes_no_answer_for_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Entrance, "_unanswered", lambda entrance, type, ancestors: [])


def numbers_fast_deliveries_from_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Deliveries, "_fast_queue", lambda _: Queue(waiting={}, expires={}))


def passes_over_what_expired(patch: pytest.MonkeyPatch) -> None:
    ready = Queue.ready

    def silent(queue: Queue, now: int, until: int) -> Iterator[Deliver | Gap]:
        return (one for one in ready(queue, now, until) if not (isinstance(one, Gap) and one.reason == "expired"))

    patch.setattr(Queue, "ready", silent)


def keeps_what_a_lost_disk_sent(patch: pytest.MonkeyPatch) -> None:
    void = Arrivals.void

    def without_early(arrivals: Arrivals, entry: str, incarnation: int) -> None:
        early, arrivals.early = arrivals.early, {}
        void(arrivals, entry, incarnation)
        arrivals.early = early

    patch.setattr(Arrivals, "void", without_early)


def takes_fast_gaps_for_durable(patch: pytest.MonkeyPatch) -> None:
    gap = queues._gap
    patch.setattr(queues, "_gap", lambda delivery, reason: msgspec.structs.replace(gap(delivery, reason), fast=False))


def measures_to_the_microsecond(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(routes, "cost_of", lambda rtt_us, queued: HOP_US + rtt_us // 2 + QUEUED_US * queued)


def forgets_that_an_early_one_expired(patch: pytest.MonkeyPatch) -> None:
    hold = Arrivals._hold

    def careless(
        arrivals: Arrivals,
        entered: Entered,
        publication: Publication,
        targets: tuple[Target, ...],
        _: str,
        trace: Trace,
    ) -> None:
        hold(arrivals, entered, publication, targets, "", trace)

    patch.setattr(Arrivals, "_hold", careless)


def believes_every_answer(patch: pytest.MonkeyPatch) -> None:
    def prove(router: Router, routed: Routed) -> None:
        if isinstance(routed.body, (Seek, Answer)):
            router.seeks.pop(routed.body.broker, None)
            router.routes.prove(routed.body.broker, routed.trace)

    patch.setattr(Router, "_prove", prove)


def goes_on_with_the_chain_of_a_lost_disk(patch: pytest.MonkeyPatch) -> None:
    def predecessor(custody: Custody, home: str, incarnation: int, publication: Publication) -> int:
        chain = (home, publication.publisher, publication.fast)
        return max((last for (h, _, p, f), last in custody.chain.items() if (h, p, f) == chain), default=0)

    def void(custody: Custody, home: str, incarnation: int) -> None:
        for key in list(custody._of_home.get(home, ())):
            if custody.held[key].copies[home].target.incarnation < incarnation:
                custody.drop(key, (home,))

    patch.setattr(Custody, "predecessor", predecessor)
    patch.setattr(Custody, "void", void)


def takes_a_delta_for_what_it_was(patch: pytest.MonkeyPatch) -> None:
    delta = Gossip.delta

    def careless(gossip: Gossip, said: Delta) -> None:
        mine = [Considered(one.entry, gossip.tables.incarnation, one.version) for one in said.considered]
        delta(gossip, msgspec.structs.replace(said, considered=tuple(mine)))

    patch.setattr(Gossip, "delta", careless)


def goes_round(patch: pytest.MonkeyPatch) -> None:
    def next_hop(dispatch: Dispatch, home: str, trace: Trace, attempt: int) -> str | None:
        return dispatch.router.routes.choose(home, attempt=attempt)

    patch.setattr(Dispatch, "_next_hop", next_hop)
    patch.setattr(Dispatch, "_returned", lambda dispatch, copies, homes, held: None)


def tries_the_same_way_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Routes, "doubt", lambda routes, broker, neighbour: None)


def joins_through_anybody(patch: pytest.MonkeyPatch) -> None:
    def join(faults: Faults, lasts: int) -> str:
        names = list(faults.world.brokers)
        random: Random = faults.random
        neighbours = random.sample(names, min(len(names), random.choice((1, 2))))
        faults.world.join(f"J{len(names) + 1}", neighbours)
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


def acknowledges_to_whoever_is_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Attachments, "tell", lambda attached, link, attachment, message: attached._out.send(link, message))
    patch.setattr(clients, "_expected", lambda attach, accepted: [attach.sequence, attach.fast_sequence])


def delivers_before_its_record(patch: pytest.MonkeyPatch) -> None:
    deliver = Clients._deliver

    def hasty(clients: Clients, until: dict[str, int], now: int) -> None:
        theirs = clients.tables.deliveries.clients
        deliver(clients, {name: theirs[name].durable.number for name in until if name in theirs}, now)

    patch.setattr(Clients, "_deliver", hasty)


def confirms_before_its_record(patch: pytest.MonkeyPatch) -> None:
    def confirm(arriving: Arriving, chain: Chain, reached: int) -> None:
        entry, _, publisher, boot = chain

        def note() -> None:
            last = arriving.tables.arrivals.last.get(chain, 0)
            arriving._confirms.setdefault(entry, {}).setdefault(boot, {})[publisher] = last

        arriving.out.when_synced(note)

    patch.setattr(Arriving, "_confirm_when_synced", confirm)


def leaves_torn_what_was_torn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Arriving, "restart", lambda arriving: None)


def leaves_what_was_advertised_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Moves, "_disinherit", lambda moves, client: None)
