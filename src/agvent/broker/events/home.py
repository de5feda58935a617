"""Copies at their home: in their turn, matched again, queued for clients, confirmed to their entry."""

from __future__ import annotations

from typing import Final

import msgspec

from agvent import limits
from agvent.agents.execution.answers import Answers
from agvent.broker.events.recipients import Found, Recipients, grouped, recipients_of_batch
from agvent.broker.outbox import Outbox
from agvent.broker.pending import NoteArrival
from agvent.broker.prefetch import Prefetch
from agvent.broker.records import Arrived
from agvent.broker.routing.router import Router
from agvent.broker.tables.chains import Chain, chain_of
from agvent.broker.tables.custody import DECLINED
from agvent.broker.tables.local_subscriptions import Version, admits, parsed_to
from agvent.broker.tables.tables import Tables
from agvent.errors import AgventError
from agvent.event import Event
from agvent.wire.broker_messages import Confirm, Copies, Inquiry
from agvent.wire.parts import Entered, Publication, Target, Trace

UNREADABLE: Final = "unreadable"
"""Why a copy is lost at its home: its entry took in what is no event here."""


class HomeArrivals:
    """What arrives becomes deliveries. Confirmations of one step to one entry are one message."""

    def __init__(self, tables: Tables, prefetch: Prefetch, router: Router, out: Outbox) -> None:
        self.tables, self.prefetch, self.router, self.out = tables, prefetch, router, out
        self._confirms: dict[str, dict[int, dict[str, int]]] = {}  # entry -> its boot if they are fast -> how far
        self._unbegun: dict[Chain, int] = {}  # fast chains whose first copy is missing -> since when

    def take(self, copies: Copies, target: Target) -> tuple[Target, ...]:
        """Takes this home's copy in its turn; gives it back to be kept if it is early."""
        entered, publication = copies.entered, copies.publication
        known = self.tables.advertisements.incarnation(entered.entry)
        if target.incarnation != self.tables.incarnation or entered.incarnation < known:
            return ()  # to or from what a broker was before it lost its disk
        if entered.entry == self.tables.name:
            return ()  # what enters here for this home does not leave it
        if self.tables.chains.is_repeat(copies):
            self.confirm(entered, publication)
            return ()
        if publication.fast:
            self._end_broken_off(entered)
        if not self.tables.chains.is_next(entered, publication, target):
            return (target,)
        if publication.fast:
            self._count_lost(self.tables.chains.lost_with_crash(entered, publication))
        self.arrive(entered, publication, target, copies.lost, copies.trace)
        self.follow(chain_of(entered, publication))
        return ()

    def follow(self, chain: Chain) -> None:
        """Takes the early copies of a chain whose turn has come."""
        while (early := self.tables.chains.following(chain)) is not None:
            self.arrive(early.entered, early.publication, early.target, early.lost, early.trace)

    def _end_broken_off(self, entered: Entered) -> None:
        """The entry of a fast event crashed: what waited here for what was lost with that waits no longer."""
        for chain in self.tables.chains.broken_off(entered):
            while chain in self.tables.chains.early:
                self._go_on(chain)

    def _go_on(self, chain: Chain) -> None:
        """The earliest copy of a fast chain arrives without its predecessor, which is lost if the chain began here;
        else it may have come before a crash of this broker."""
        arrivals = self.tables.chains
        early = arrivals.early[chain][min(arrivals.early[chain])]
        last, missing = arrivals.last.get(chain), early.target.predecessor
        if last is None:
            self._count_lost(arrivals.lost_with_crash(early.entered, early.publication))
            self.arrive(early.entered, early.publication, early.target, early.lost, early.trace)
        else:
            self._count_lost(missing - last)
            lost = msgspec.structs.replace(early.publication, sequence=missing, event=b"", count=1)
            self.arrive(early.entered, lost, msgspec.structs.replace(early.target, predecessor=last), "crash")
        self.follow(chain)

    def _count_lost(self, events: int) -> None:
        """Fast events that did not come because of a crash: at most so many."""
        if events:
            self.tables.lose_fast("crash", events)

    @property
    def is_waiting(self) -> bool:
        """Is there a fast chain that time will let begin?"""
        return bool(self.tables.chains.unbegun())

    def tick(self, now: int) -> None:
        """Fast chains whose first copy does not come begin with what there is."""
        self._unbegun = {chain: self._unbegun.get(chain, now) for chain in self.tables.chains.unbegun()}
        for chain, since in self._unbegun.items():
            if now - since >= limits.ANSWER_WAIT_US:
                self._go_on(chain)

    def restart(self) -> None:
        """What the journal left between two records arrives."""
        for chain in list(self.tables.chains.early):
            self.follow(chain)

    def arrive(
        self,
        entered: Entered,
        publication: Publication,
        target: Target,
        lost: str,
        trace: Trace = (),
        event: Event | None = None,
    ) -> None:
        """Queues a copy for the clients it is for, and confirms it. One that came by another entry before is for
        nobody; one that cannot be read is a gap for all that might have wanted it."""
        if publication.count > 1 and not lost:
            found, is_sound = self.tables.local.match_lines(
                publication.event, publication.count, target.position, late=target.late
            )
            if is_sound:
                self.arrive_batch(entered, publication, target, found, trace)
                return
            lost = UNREADABLE
        is_for_nobody = lost in ("expired", DECLINED) or (not lost and self.tables.chains.repeats.had(publication))
        try:
            to = Recipients() if is_for_nobody else self._recipients(entered, publication, target, lost, event)
        except AgventError:
            lost = UNREADABLE
            to = self._recipients(entered, publication, target, lost, event)
        self._arrived(
            Arrived(
                entered=entered,
                publication=publication,
                after=target.predecessor,
                lost=lost,
                deliveries=to.deliveries,
                trace=trace,
                late=target.late,
            )
        )

    def arrive_batch(
        self, entered: Entered, publication: Publication, target: Target, found: Found, trace: Trace = ()
    ) -> None:
        """The same of a batch, and what of it matches whom."""
        to = recipients_of_batch(publication, found, self.tables.chains.repeats.had(publication))
        self._arrived(
            Arrived(
                entered=entered,
                publication=publication,
                after=target.predecessor,
                lost="",
                deliveries=to.deliveries,
                trace=trace,
                places=to.places,
                late=target.late,
            )
        )

    def _arrived(self, record: Arrived) -> None:
        entered, publication = record.entered, record.publication
        self.out.record(record, durable=not publication.fast)
        self.confirm(entered, publication)

    def _recipients(
        self, entered: Entered, publication: Publication, target: Target, lost: str, event: Event | None
    ) -> Recipients:
        """For each client its versions that the event is for; of a lost event, all that might have been."""
        if lost:
            return Recipients(grouped(self.tables.local.in_force(target.position, late=target.late)))
        event = event or self.prefetch.event(publication)
        return Recipients(grouped(self.matching(entered, publication, target, event)))

    def matching(self, entered: Entered, publication: Publication, target: Target, event: Event) -> list[Version]:
        """The versions here that an event matches and that its publisher wants."""
        answers = Answers(entered.answers, event.cargo)
        found = self.tables.local.match(event, target.position, answers, late=target.late)
        if not publication.to and not publication.destinations:
            return found
        to = parsed_to(publication.to)
        return [version for version in found if admits(to, publication.destinations, version)]

    def confirm(self, entered: Entered, publication: Publication) -> None:
        """Tells the entry, when it is on disk, how far this publisher's chain has arrived."""
        if entered.entry != self.tables.name:
            # What is said is what is on disk when this is: a later arrival of the chain may not be.
            chain = chain_of(entered, publication)
            self._confirm_after_sync(NoteArrival(chain, self.tables.chains.last.get(chain, 0)))

    def _confirm_after_sync(self, work: NoteArrival) -> None:
        if work.chain.boot:
            self.note_arrival(work)
        else:
            self.out.after_sync(work)

    def note_arrival(self, work: NoteArrival) -> None:
        """What is on disk is confirmed with the step's other arrivals, unless the entry has lost its disk meanwhile."""
        chain = work.chain
        if self.tables.advertisements.incarnation(chain.entry) == chain.incarnation:
            sequences = self._confirms.setdefault(chain.entry, {}).setdefault(chain.boot, {})
            sequences[chain.publisher] = max(work.reached, sequences.get(chain.publisher, 0))

    def inquired(self, inquiry: Inquiry, now: int) -> None:
        """Says again that an agvent has arrived, if that is on disk."""
        chain = Chain(inquiry.entry, inquiry.incarnation, inquiry.publisher, 0)
        if inquiry.sequence <= (reached := self.tables.chains.last.get(chain, 0)):
            self._confirm_after_sync(NoteArrival(chain, reached))

    def flush(self) -> None:
        """Sends the confirmations."""
        confirms, self._confirms = self._confirms, {}
        for entry, by_boot in confirms.items():
            durable, boot = by_boot.get(0, {}), max(by_boot)  # the entry's boots before that one are over
            fast = by_boot[boot] if boot else {}
            self.router.send(
                (entry,),
                Confirm(
                    home=self.tables.name, incarnation=self.tables.incarnation, durable=durable, fast=fast, boot=boot
                ),
            )
