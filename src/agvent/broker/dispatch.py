"""Events: accepted at their entry, taken over on the way, arrived at home.

What makes a copy safe is on disk before anybody is told or anything goes on (`when_synced`); fast events have no
records and go on at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import pairwise

import msgspec

from agvent import limits
from agvent.broker.arrivals import Chain, chain_of
from agvent.broker.behaviours import Answers
from agvent.broker.custody import Copy, Held, Key, key_of
from agvent.broker.homes import admits, parsed_to
from agvent.broker.interface import Ran, Run
from agvent.broker.outbox import Outbox
from agvent.broker.records import Accepted, Arrived, Confirmed, Kept, Lost, Released
from agvent.broker.router import Router
from agvent.broker.tables import Tables
from agvent.event import Event
from agvent.wire.codec import decode_event
from agvent.wire.messages import Answered, Confirm, Copies, Entered, Publication, Target, Took, Trace


class Entering(msgspec.Struct):
    """An event on its way in, and what its behaviours have answered so far."""

    publication: Publication
    event: Event
    then: Callable[[], None]
    answers: tuple[Answered, ...] = ()


class Dispatch:
    """`stirred`: some copy may be able to go on, so the next flush looks."""

    def __init__(self, tables: Tables, router: Router, out: Outbox) -> None:
        self.tables, self.router, self.out = tables, router, out
        self.stirred = True
        self._entering: dict[tuple[str, bool], deque[Entering]] = {}  # publisher, fast -> events not yet accepted
        self._running: dict[int, deque[Entering]] = {}  # the number of a Run -> the queue whose first event it is for
        self._runs = 0
        self._confirms: dict[str, tuple[dict[str, int], dict[str, int]]] = {}

    # At the entry

    def accept(self, publication: Publication, event: Event, now: int, then: Callable[[], None]) -> None:
        """Takes an event in, and calls `then` when it is. One whose behaviours must be asked waits for their answers,
        and its publisher's next ones wait behind it."""
        entering = Entering(publication, event, then)
        queue = self._entering.setdefault((publication.publisher, publication.fast), deque())
        queue.append(entering)
        if len(queue) == 1:
            self._enter(queue, now)

    def _enter(self, queue: deque[Entering], now: int) -> None:
        while queue:
            entering = queue[0]
            if self._is_accepted(entering.publication):  # said again while it waited for its answers
                queue.popleft().then()
                continue
            answers = Answers(entering.answers)
            homes = self.tables.interests.wanting(entering.event, answers)
            local = self.tables.homes.match(entering.event, self.tables.homes.position, answers)
            if answers.missing:
                self._runs += 1
                self._running[self._runs] = queue
                calls = tuple(answers.missing.values())
                self.out.effect(Run(self._runs, entering.publication.event, calls))
                return
            queue.popleft()
            self._accept(entering, homes, bool(local), now)
            entering.then()

    def _is_accepted(self, publication: Publication) -> bool:
        publisher, fast = publication.publisher, publication.fast
        return publication.sequence <= self.tables.custody.accepted.get((publisher, fast), 0)

    def ran(self, ran: Ran, now: int) -> None:
        """The answers to an event's calls: it is matched again. An answer may lead to another question."""
        queue = self._running.pop(ran.number, None)
        if queue:
            queue[0].answers += ran.answers
            self._enter(queue, now)

    def _accept(self, entering: Entering, homes: list[str], is_local: bool, now: int) -> None:
        """With this epoch, each copy with its position and predecessor."""
        tables, publication = self.tables, entering.publication
        entered = Entered(tables.name, tables.incarnation, tables.interests.epoch, entering.answers)
        targets = []
        for name in homes:
            home = tables.interests.homes[name]
            before = tables.custody.predecessor(name, home.incarnation, publication)
            targets.append(Target(name, home.incarnation, home.position, before))
        if is_local:
            before = tables.custody.predecessor(tables.name, tables.incarnation, publication)
            targets.append(Target(tables.name, tables.incarnation, tables.homes.position, before))
        self.out.record(Accepted(entered, publication, tuple(targets), now), durable=not publication.fast)
        if is_local:
            self._arrive(entered, publication, targets[-1], "", entering.event)
        self._ready(key_of(entered, publication), now)

    def _ready(self, key: Key, now: int) -> None:
        """Lets an event go on when it is on disk."""
        held = self.tables.custody.held.get(key)
        if held is None:
            return
        held.since = now

        def go() -> None:
            held.ready = True
            self.stirred = True

        if key[4]:
            go()
        else:
            self.out.when_synced(go)

    # On the way

    def copies(self, copies: Copies, neighbour: str, now: int) -> None:
        """Takes copies over from a neighbour, for this home and for others."""
        self.router.routes.learn(copies.trace)
        fast = copies.publication.fast
        mine = [target for target in copies.targets if target.home == self.tables.name]
        others = tuple(target for target in copies.targets if target.home != self.tables.name)
        key = key_of(copies.entered, copies.publication)
        held = self.tables.custody.held.get(key)
        passed = [broker for broker, _ in copies.trace]
        if self.tables.name in passed:
            self._returned(passed, [target.home for target in others], held)
        new = tuple(target for target in others if self._is_owed(key, target))
        if new and self.tables.custody.is_full():
            return  # its entry has it still, and will send it again
        if held is not None and copies.attempt:
            held.trace = copies.trace  # sent again by another way: what it passed the first time says nothing now
        early = self._take_mine(copies, mine[0]) if mine else ()
        if new or early:
            self.out.record(Kept(_narrowed(copies, (*new, *early))), durable=not fast)
            self._ready(key, now)
        took = Took(*key, tuple(target.home for target in copies.targets))
        if fast:
            self._took(neighbour, took)
        else:
            self.out.when_synced(lambda: self._took(neighbour, took))

    def _returned(self, passed: list[str], homes: list[str], held: Held | None) -> None:
        """Somebody found no way but back: the ways that were tried from here are not the way, and what is held
        waits."""
        tried = {after for here, after in pairwise(passed) if here == self.tables.name} | {passed[-1]}
        for home in homes:
            for neighbour in tried:
                self.router.routes.doubt(home, neighbour)
            if held is not None and home in held.copies:
                self.tables.custody.wait(held.copies[home])
        if held is not None:
            held.trace = ()
        self.stirred = True

    def _is_owed(self, key: Key, target: Target) -> bool:
        """Is it new here, and for a home that still is what it was? An event that entered here is owed only what is
        held."""
        held = self.tables.custody.held.get(key)
        if (held is not None and target.home in held.copies) or self.tables.custody.is_entry(key):
            return False
        return target.incarnation >= self.tables.advertisements.incarnation(target.home)

    def _took(self, neighbour: str, took: Took) -> None:
        if neighbour in self.router.links:
            self.router.tell(neighbour, took)

    def _take_mine(self, copies: Copies, target: Target) -> tuple[Target, ...]:
        """Takes this home's copy in its turn; gives it back to be kept if it is early."""
        entered, publication = copies.entered, copies.publication
        known = self.tables.advertisements.incarnation(entered.entry)
        if target.incarnation != self.tables.incarnation or entered.incarnation < known:
            return ()  # to or from what a broker was before it lost its disk
        if self.tables.arrivals.is_repeat(copies):
            self._confirm(entered, publication)
            return ()
        if not self.tables.arrivals.is_next(entered, publication, target):
            return (target,)
        self._arrive(entered, publication, target, copies.lost)
        self._follow(chain_of(entered, publication))
        return ()

    def _follow(self, chain: Chain) -> None:
        """Takes the early copies of a chain whose turn has come."""
        while (early := self.tables.arrivals.following(chain)) is not None:
            self._arrive(early.entered, early.publication, early.target, early.lost)

    def restart(self, now: int) -> None:
        """What the journal left in custody goes on; what it left between two records arrives."""
        for held in self.tables.custody.held.values():
            held.ready, held.since = True, now
        for chain in list(self.tables.arrivals.early):
            self._follow(chain)

    def took(self, took: Took, neighbour: str, now: int) -> None:
        """A neighbour has copies on its disk: here they are let go, or at the entry wait for their homes."""
        custody = self.tables.custody
        key = (took.entry, took.incarnation, took.publisher, took.sequence, took.fast)
        held = custody.held.get(key)
        if held is None:
            return
        self.stirred = True
        theirs = [home for home in took.homes if home in held.copies and held.copies[home].neighbour == neighbour]
        if custody.is_entry(key):
            for home in theirs:
                custody.handed(held.copies[home], now)
        elif theirs:
            self._release(key, tuple(theirs))

    def _release(self, key: Key, homes: tuple[str, ...]) -> None:
        if key[4]:
            self.tables.custody.drop(key, homes)
        else:
            self.out.record(Released(*key[:4], homes))

    # At home

    def _arrive(
        self, entered: Entered, publication: Publication, target: Target, lost: str, event: Event | None = None
    ) -> None:
        """Queues a copy for the clients it is for, and confirms it."""
        deliveries = () if lost == "expired" else self._recipients(entered, publication, target, lost, event)
        self.out.record(
            Arrived(entered, publication, target.predecessor, lost, deliveries), durable=not publication.fast
        )
        self._confirm(entered, publication)

    def _recipients(
        self, entered: Entered, publication: Publication, target: Target, lost: str, event: Event | None
    ) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
        """For each client its versions that the event is for; of a lost event, all that might have been."""
        homes = self.tables.homes
        if lost:
            found = [version for version in homes.current.values() if version.opened <= target.position]
        else:
            event = event or decode_event(publication.event)
            found = homes.match(event, target.position, Answers(entered.answers))
        to = parsed_to(publication.to)
        by_client: dict[str, list[tuple[str, int]]] = {}
        for version in found:
            if lost or admits(to, publication.destinations, version):
                by_client.setdefault(version.client, []).append((version.subscription.id, version.number))
        return tuple((client, tuple(versions)) for client, versions in sorted(by_client.items()))

    def _confirm(self, entered: Entered, publication: Publication) -> None:
        """Tells the entry, when it is on disk, how far this publisher's chain has arrived."""
        if entered.entry == self.tables.name:
            return

        def confirm() -> None:
            if self.tables.advertisements.incarnation(entered.entry) == entered.incarnation:
                chain = chain_of(entered, publication)
                kinds = self._confirms.setdefault(entered.entry, ({}, {}))
                kinds[publication.fast][publication.publisher] = self.tables.arrivals.last.get(chain, 0)

        if publication.fast:
            confirm()
        else:
            self.out.when_synced(confirm)

    def confirmed(self, confirm: Confirm) -> None:
        """A home's word that copies arrived: the entry's custody of them ends."""
        durable = Confirmed(confirm.home, confirm.incarnation, confirm.durable)
        if confirm.durable:
            self.out.record(durable)
        if confirm.fast:
            self.tables.custody.confirm(Confirmed(confirm.home, confirm.incarnation, confirm.fast), fast=True)
        self.stirred = True

    # Each step

    def flush(self, now: int) -> None:
        """Sends confirmations, and copies that have a way on."""
        confirms, self._confirms = self._confirms, {}
        for entry, (durable, fast) in confirms.items():
            self.router.send((entry,), Confirm(self.tables.name, self.tables.incarnation, durable, fast))
        if self.stirred or self.router.routes.changed:
            self.stirred = self.router.routes.changed = False
            for held, copies in self.tables.custody.waiting():
                self._send(held, copies, now)

    def _send(self, held: Held, copies: list[Copy], now: int) -> None:
        """Sends an event's waiting copies, one message for each neighbour; what has no way on waits, and is sought."""
        groups: dict[tuple[str, str], list[Copy]] = {}
        for copy in copies:
            home = copy.target.home
            neighbour = self._next_hop(home, held.trace, copy.attempt)
            if neighbour is None:
                self.router.seek(home, now)
            elif self.tables.custody.has_room(neighbour):
                groups.setdefault((neighbour, held.lost.get(home, "")), []).append(copy)
        for (neighbour, _), theirs in groups.items():
            onward = self.router.routes.extended(held.trace, neighbour)
            self.router.tell(neighbour, self.tables.custody.copies_message(held, theirs, onward))
            for copy in theirs:
                self.tables.custody.sent(copy, neighbour, now)

    def _next_hop(self, home: str, trace: Trace, attempt: int) -> str | None:
        """Where it has not been; else the way back, which is an alternative too (ABDES §6.3), but no third time."""
        routes = self.router.routes
        passed = [broker for broker, _ in trace]
        if len(passed) >= limits.HOPS_MAX:
            return None
        neighbour = None
        if self.tables.name not in passed:
            neighbour = routes.choose(home, avoid=passed, attempt=attempt)
        return neighbour or routes.choose(home, avoid={one for one in passed if passed.count(one) > 1}, attempt=attempt)

    def found(self, broker: str) -> None:
        """A way to a broker was proved: copies that wait for it may take it, whatever they passed before."""
        for held in self.tables.custody.held.values():
            if broker in held.copies:
                held.trace = ()
        self.stirred = True

    def tick(self, now: int) -> None:
        """Sends again what was not answered in time; lets go what may be."""
        custody = self.tables.custody
        for copy in custody.overdue(now):
            custody.retry(copy)
        for home, key in custody.beyond_quota():
            self.out.record(Lost(key[2], key[3], home, "retention"))
        for key, held in list(custody.held.items()):
            if custody.is_entry(key):
                self._expire(key, held, now)
            elif now - held.since > limits.TRANSIT_KEEP_US:
                self._release(key, tuple(held.copies))
        self.stirred = True

    def _expire(self, key: Key, held: Held, now: int) -> None:
        """An event whose time is over is still a link of its chain, without its content."""
        if 0 < held.publication.expires <= now and not key[4]:
            for home in list(held.copies):
                if home not in held.lost:
                    self.out.record(Lost(key[2], key[3], home, "expired"))

    def lost_link(self, neighbour: str) -> None:
        """A neighbour is unreachable: what it did not take goes another way now."""
        self.tables.custody.without(neighbour)
        self.stirred = True


def _narrowed(copies: Copies, targets: tuple[Target, ...]) -> Copies:
    return Copies(copies.entered, copies.publication, targets, copies.trace, copies.attempt, copies.lost)
