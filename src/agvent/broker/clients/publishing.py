"""What clients publish: taken in order, checked, and acknowledged when it is in."""

from __future__ import annotations

from itertools import takewhile

import msgspec

from agvent import limits
from agvent.broker.clients.attachments import Attachment, Attachments
from agvent.broker.events.entry import EventEntry, is_self_routing
from agvent.broker.outbox import Outbox
from agvent.broker.pending import SettlePublication, TellClient
from agvent.broker.prefetch import Prefetch
from agvent.broker.records import RejectedHere
from agvent.broker.tables.covering import calls_behaviours
from agvent.broker.tables.local_subscriptions import parsed_to
from agvent.broker.tables.tables import Tables
from agvent.errors import AgventError, CallerError
from agvent.event import Event
from agvent.wire.batches import taken_apart
from agvent.wire.client_messages import Published, Refused
from agvent.wire.lines import has_lines, types_in
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication, Series
from agvent.wire.sizes import check_event


class Publishing:
    """The way of publications from the clients' links into the broker."""

    def __init__(
        self, tables: Tables, entry: EventEntry, prefetch: Prefetch, attached: Attachments, out: Outbox
    ) -> None:
        self.tables, self.entry, self.prefetch, self.attached, self.out = tables, entry, prefetch, attached, out
        self._early: dict[str, None] = {}  # every link whose client has publications that wait, and perhaps others

    def lost_link(self, link: str) -> None:
        self._early.pop(link, None)

    def publish(self, link: str, publication: Publication, now: int) -> None:
        """Events are taken in the order of their sequences: a large one may come later than its followers.

        Where custody is full they wait, and with them their publisher, whose credit they are; and where as many of its
        events wait for the answers of behaviours.
        """
        attachment = self.attached[link]
        if publication.publisher != attachment.name:
            raise CallerError(f"{attachment.name!r} cannot publish as {publication.publisher!r}")
        if not 0 < publication.count <= min(publication.sequence, limits.BATCH_EVENTS_MAX):
            raise CallerError(f"a batch has at most {limits.BATCH_EVENTS_MAX} events, not {publication.count}")
        if publication.sequence > limits.INT_MAX:
            raise CallerError(f"a sequence is at most {limits.INT_MAX}, not {publication.sequence}")
        expected, fast = attachment.expected, publication.fast
        is_accepted = publication.sequence <= self.tables.custody.accepted.get(publication.series, 0)  # needs no room
        if not is_accepted and (publication.first > expected[fast] or self._is_full(attachment.name, fast=fast)):
            attachment.keep(publication)
            self._early[link] = None
            return
        following: Publication | None = publication
        while following is not None:
            expected[fast] = max(expected[fast], following.sequence + 1)
            self._accept(link, following, now)
            following = None if self._is_full(attachment.name, fast=fast) else attachment.following(fast=fast)

    def _is_full(self, publisher: str, *, fast: bool) -> bool:
        return self.tables.custody.is_full_for_publishers() or self.entry.is_full(publisher, fast=fast)

    def _accept(self, link: str, publication: Publication, now: int) -> None:
        """Gives an event to the entry, and acknowledges it when it is in; a repeat is only acknowledged."""
        attachment = self.attached[link]
        accepted = self.tables.custody.accepted.get(publication.series, 0)
        rejected = self.tables.custody.rejected_in(publication)
        if publication.sequence <= accepted:
            self.settle(_settled(link, attachment, publication))
            return
        if publication.count > 1:
            if publication.first <= accepted or not self._accept_batch(publication, now):
                for single in taken_apart(publication):
                    self._accept(link, single, now)
            else:
                self.settle(_settled(link, attachment, publication))
            return
        if publication.sequence in rejected:
            self._refuse(link, publication, rejected[publication.sequence], now)
            return
        try:
            event = self._checked(publication)
        except AgventError as error:
            reason = str(error)
            remembered = RejectedHere(
                publisher=publication.publisher,
                sequence=publication.sequence,
                fast=publication.fast,
                reason=reason[: limits.FAULT_CHARS_MAX],
            )
            self.out.record(remembered, durable=not publication.fast)
            self._refuse(link, publication, reason, now)
            return
        self.entry.accept(publication, event, now, _settled(link, attachment, publication))

    def _refuse(self, link: str, publication: Publication, reason: str, now: int) -> None:
        """Says so in its turn: that acknowledges what came before it."""
        refused = Refused(request=0, sequence=publication.sequence, reason=reason, fast=publication.fast)
        self.entry.refuse(publication, _settled(link, self.attached[link], publication, refused), now)

    def _checked(self, publication: Publication) -> Event:
        """The event, if nothing is wrong with it. One that is said again while it waits was looked at before."""
        is_again = publication.sequence <= self.entry.last(publication.series)
        if not is_again:
            _check(publication)
        event = self.prefetch.event(publication)
        if event.type is not None and not is_again:
            self._check_type(publication.publisher, event.type, event.ancestors)
        if publication.fast and is_self_routing(event):
            raise CallerError("a self-routing agvent cannot be fast", hint="publish it without fast")
        return event

    def _accept_batch(self, publication: Publication, now: int) -> bool:
        """Takes a batch in as one, if nothing is wrong with any of its events: else each is told what is."""
        try:
            _check(publication)
            if not has_lines(publication.event, publication.count):
                return False
            types = types_in(publication.event)
            for type, *ancestors in types:
                self._check_type(publication.publisher, type, tuple(ancestors))
        except (AgventError, msgspec.MsgspecError):
            return False
        return self.entry.accept_batch(publication, sorted(types), now)

    def publish_waiting(self, now: int) -> None:
        """Takes the events that waited for room in custody."""
        if not self._early or self.tables.custody.is_full_for_publishers():
            return
        for link in list(self._early):
            attachment = self.attached[link]
            for fast in (False, True):
                waiting = attachment.following(fast=fast)
                if waiting is not None:
                    self.publish(link, waiting, now)
            if not attachment.early and not attachment.again:
                self._early.pop(link, None)

    def _check_type(self, publisher: str, type: str, ancestors: tuple[str, ...]) -> None:
        advertised = self.tables.advertisements.publishes(self.tables.name, publisher, type)
        if advertised is None:
            raise CallerError(f"{publisher!r} has not advertised the type {type!r}")
        if unknown := set(ancestors) - set(advertised.ancestors):
            raise CallerError(f"{type!r} was not advertised as a subtype of {min(unknown)!r}")

    def settle(self, work: SettlePublication) -> None:
        """Acknowledges a publication that had its turn, and before that says what was refused up to there: of durable
        ones when that is on disk. Else a crash between would let it in, though its publisher was told."""
        published = Published(
            sequence=work.sequence,
            fast=work.fast,
            entry=self.tables.name,
            epoch=self.tables.interests.epoch,
            credit=0 if self.tables.custody.is_full_for_publishers() else limits.PUBLISH_CREDIT,
        )
        messages: list[AnyMessage] = [*self._untold(work), published]
        for message in messages:
            tell = TellClient(work.link, work.attachment, message)
            if work.fast:
                self.attached.tell(tell)
            else:
                self.out.after_sync(tell)

    def _untold(self, work: SettlePublication) -> list[Refused]:
        """The refusals that its publisher was not told on this link. Not only its own: of what is sent again a large
        one comes late, and the acknowledgement of a later one says that all before it were taken."""
        if not self.attached.is_same(work.link, work.attachment):
            return []
        attachment, fast = self.attached[work.link], work.fast
        known = self.tables.custody.rejected.get(Series(attachment.name, fast), {})
        told = attachment.note_refused(work.sequence, fast=fast)
        newest = takewhile(lambda one: one > told, reversed(known))  # they ascend: the others are not looked at
        found = {one: known[one] for one in newest if one <= work.sequence}
        if work.refused is not None and work.refused.sequence > told:
            found[work.refused.sequence] = work.refused.reason
        return [Refused(request=0, sequence=one, reason=found[one], fast=fast) for one in sorted(found)]


def _settled(
    link: str, attachment: Attachment, publication: Publication, refused: Refused | None = None
) -> SettlePublication:
    return SettlePublication(
        link=link, attachment=attachment.number, sequence=publication.sequence, fast=publication.fast, refused=refused
    )


def _check(publication: Publication) -> None:
    check_event(publication.event, publication.to, publication.destinations)
    to = parsed_to(publication.to)
    if to is not None and calls_behaviours(to):
        raise CallerError(f"`to` is about a subscriber's context, which has no behaviours to call: {publication.to}")
    if len(publication.retried) > limits.RETRIED_MAX:
        raise CallerError(f"more than {limits.RETRIED_MAX} ranges of retried events")
