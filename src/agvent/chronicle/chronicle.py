"""One broker's journal as rows of the event log.

Records are taken in the order of the journal. What later rows need of earlier records is `Carried`, which can be
written down: with it, taking goes on after any record.

A broker that lost its disk begins its positions and epochs anew, so in the log its next incarnation is another broker.

A client has one name in the log, wherever it is at home. What an old home hands over to the next counts as delivered
there: the next one answers for it, and its own rows begin after them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final

from msgspec.structs import replace

from agvent.broker.records import (
    Accepted,
    Acknowledged,
    Arrived,
    CaughtUp,
    Claimed,
    Closed,
    Curtailed,
    Ended,
    Handed,
    HandedOver,
    Heard,
    Joined,
    Left,
    Marked,
    Moved,
    Noticed,
    Opened,
    Outcome,
    Owned,
    Record,
    Reported,
    Visited,
)
from agvent.broker.tables.custody import DECLINED
from agvent.chronicle.agvent_rows import answer_row, cargo_row, document_row, program_row, route_row
from agvent.chronicle.carried_state import Carried, Delivered, Waiting, each_delivery, without_event
from agvent.chronicle.log_names import DURABLE, event_key, logged_name, moment, public
from agvent.chronicle.log_rows import LogRows, empty_rows
from agvent.chronicle.loggable import end_of, objection
from agvent.event import Event, EventId
from agvent.store.catalogue import subscription_row
from agvent.store.document_shelf import DOCUMENT_TYPE
from agvent.store.event_columns import LoggedEvent
from agvent.types import Advertisement
from agvent.wire.batches import deliveries_in, taken_apart
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import decode_event
from agvent.wire.names import first_number, moves_of, name_of
from agvent.wire.parts import Publication

INCARNATION_SHIFT: Final = 32
MOVE_SHIFT: Final = 44
"""A subscription's positions rise across a lost disk and from home to home: four billion for each disk of a home, four
thousand disks for each home, and as many homes as a client may have, in 63 bits."""


class Chronicle:
    """Takes records, and collects `rows`."""

    def __init__(self, broker: str, incarnation: int, carried: Carried | None = None) -> None:
        self.broker, self.incarnation = broker, incarnation
        self.name = logged_name(broker, incarnation)
        self.rows = empty_rows()
        self.carried = Carried(known={}, types={}, open={}, clients={}, delivered={}) if carried is None else carried
        self._before = (incarnation - 1) << INCARNATION_SHIFT
        self._take: dict[type[Record], Callable[[Any, int], None]] = {
            Owned: self._owned,
            Opened: self._opened,
            Closed: self._closed,
            Ended: lambda record, at: self._ended(record.key, at),
            Heard: self._heard,
            Accepted: self._accepted,
            Arrived: self._arrived,
            Acknowledged: self._acknowledged,
            Noticed: self._noticed,
            Joined: self._joined,
            Moved: lambda record, _: setattr(self._waiting(record.client), "moving", True),
            Handed: self._handed,
            HandedOver: self._handed_over,
            CaughtUp: lambda record, _: self._waiting(record.client).catch_up(),
            Marked: lambda record, at: self._changed(record, "mark", "", 0, at),
            Curtailed: lambda record, _: self._waiting(record.client).curtail(record.count, record.reason),
            Claimed: self._acknowledged,
            Left: self._left,
            Visited: self._visited,
            Reported: self._reported,
        }

    def take(self, record: Record, at: int) -> None:
        """A record that came to be on disk at a time."""
        take = self._take.get(type(record))
        if take is not None:
            take(record, at)

    def drain(self) -> LogRows:
        """The rows since the last call."""
        rows, self.rows = self.rows, empty_rows()
        return rows

    # The catalogue

    def _owned(self, record: Owned, at: int) -> None:
        if record.owner != self.broker:
            before = self.carried.known.get(record.owner, 0)
            if before and (record.incarnation > before or record.gone):
                reason = "forgotten" if record.gone else "lost_disk"
                self._gap(at, reason, home=logged_name(record.owner, before))
            self.carried.known[record.owner] = record.incarnation
            return
        for entry in record.entries:
            if not entry.publisher:
                continue  # events without a type enter there
            key = (entry.publisher, entry.type.name)
            if entry.live:
                self.carried.types[key] = entry.type
            type_ = self.carried.types.get(key, entry.type)  # a tombstone has its name alone
            advertisement = Advertisement(
                type=type_, publisher=entry.publisher, broker=self.name, advertised_at=moment(at)
            )
            (self.rows.advertisements if entry.live else self.rows.withdrawn).append(advertisement)
            if entry.code:
                self.rows.programs.append(program_row(self.name, entry, at))

    def _opened(self, record: Opened, at: int) -> None:
        subscription, version = record.interest.subscription, record.interest.version
        self.carried.open[subscription.id] = (record.client, version)
        self.rows.subscriptions.append(
            subscription_row(
                replace(subscription, id=public(subscription.id)),
                version=version,
                subscriber=name_of(record.client),
                home_broker=self.name,
                created_at=moment(at),
            )
        )
        self._changed(record, "open", subscription.id, version, at)

    def _closed(self, record: Closed, at: int) -> None:
        _, version = self.carried.open.pop(record.key)
        self._changed(record, "close", record.key, version, at)
        if not record.replaced:
            self._ended(record.key, at)

    def _ended(self, key: str, at: int) -> None:
        client = key.partition("/")[0]
        self._waiting(client).void(key)
        self._gap(at, "unsubscribed", subscription=public(key), subscriber=name_of(client))

    def _changed(self, record: Opened | Closed | Marked, change: str, subscription: str, version: int, at: int) -> None:
        self.rows.changes.append(
            {
                "home_broker": self.name,
                "position": record.position,
                "change": change,
                "subscription": public(subscription) if subscription else "",
                "version": version,
                "changed_at": moment(at),
            }
        )
        self._applied(record.epoch, self.name, record.position, at)

    def _heard(self, record: Heard, at: int) -> None:
        self._applied(record.epoch, logged_name(record.home, record.incarnation), record.position, at)

    def _applied(self, epoch: int, home: str, position: int, at: int) -> None:
        self.carried.epoch = epoch
        self.rows.epochs.append(
            {
                "entry_broker": self.name,
                "epoch": epoch,
                "home_broker": home,
                "position": position,
                "applied_at": moment(at),
            }
        )

    # Events

    def _accepted(self, record: Accepted, _at: int) -> None:
        for publication in taken_apart(record.publication):
            self._entered(record, publication)

    def _entered(self, record: Accepted, publication: Publication) -> None:
        event = decode_event(publication.event)
        refusal = objection(event)
        if refusal:
            self.rows.left_out.append(f"{publication.publisher}:{publication.sequence}: {refusal}")
        else:
            self.rows.events.append(self._logged(record, publication, event))
        self._answered(record, publication)
        if event.cargo is not None:
            self.rows.cargoes.append(cargo_row(self.name, publication, event.cargo, record.at))
        if event.type == DOCUMENT_TYPE:
            self.rows.documents.append(document_row(self.name, publication, event, record.at))
        if record.outcome is not None:
            self._stopped(record, record.outcome)
            here = [target for target in record.targets if target.home == self.broker]
            if here:
                self._arrived(arrival_of(record, here[0].predecessor, record.outcome), record.at)

    def _answered(self, record: Accepted, publication: Publication) -> None:
        answers = (answer_row(self.name, publication, one, record.at) for one in record.entered.answers)
        self.rows.behaviours += [row for row in answers if row is not None]

    def _logged(self, record: Accepted, publication: Publication, event: Event) -> LoggedEvent:
        type_ = self.carried.types.get((publication.publisher, event.type)) if event.type is not None else None
        return LoggedEvent(
            event=replace(event, id=EventId(publication.publisher, publication.sequence)),
            accepted_at=moment(record.at),
            entry_broker=self.name,
            epoch=record.entered.epoch,
            schema=type_.schema if type_ is not None else None,
            to=publication.to,
            destinations=publication.destinations,
            expires_at=end_of(publication.expires),
        )

    def _visited(self, record: Visited, at: int) -> None:
        self._stopped(record, record.outcome)
        if record.arrives:
            late = any(target.late for target in record.journey.targets if target.home == self.broker)
            self._arrived(replace(arrival_of(record, record.after, record.outcome), late=late), at)

    def _stopped(self, record: Accepted | Visited, outcome: Outcome) -> None:
        """What an agvent's own route decided: a row of its own, and gaps for whom it declined."""
        publication = record.publication
        self.rows.behaviours.append(route_row(self.name, record, outcome))
        for home in outcome.declined:
            name = logged_name(home, self.carried.known.get(home, 1))
            self._gap(record.at, DECLINED, home=name, publication=publication, after=publication.sequence - 1)
        for key in outcome.skipped:
            self._gap(
                record.at,
                DECLINED,
                subscription=public(key),
                subscriber=name_of(key.partition("/")[0]),
                publication=publication,
                after=publication.sequence - 1,
            )

    def _reported(self, record: Reported, at: int) -> None:
        """Homes to which an agvent did not come because its budget was spent on the way; what its stops declined is in
        their own rows, and here once more."""
        report = record.report
        publication = Publication(publisher=report.publisher, sequence=report.sequence, event=b"")
        for home in report.declined:
            name = logged_name(home, self.carried.known.get(home, 1))
            self._gap(at, DECLINED, home=name, publication=publication, after=report.sequence - 1)

    # Deliveries

    def _arrived(self, record: Arrived, at: int) -> None:
        if record.late and not record.lost:
            record = self._entered_here(record, at)
        for client, delivered in each_delivery(record):
            self._waiting(client).add(delivered)
        if record.lost == "expired":  # to nobody: so far as it is known here, to everybody
            self._gap(at, record.lost, publication=record.publication, after=record.after)

    def _entered_here(self, record: Arrived, at: int) -> Arrived:
        """A late copy went to whom it would have, had its event entered here: the log has it as if it had, once more
        beside its own entry."""
        entered = replace(record.entered, entry=self.broker, incarnation=self.incarnation, epoch=self.carried.epoch)
        here = Accepted(entered=entered, publication=record.publication, targets=(), at=at)
        for publication in taken_apart(record.publication):
            event = decode_event(publication.event)
            if not objection(event):
                self.rows.events.append(self._logged(here, publication, event))
            self._answered(here, publication)
        return replace(record, entered=entered)

    def _waiting(self, client: str) -> Waiting:
        if client not in self.carried.clients:
            self.carried.clients[client] = Waiting(
                number=first_number(client), arrived={}, moving=False, handed=[], waiting=[]
            )
        return self.carried.clients[client]

    def _joined(self, record: Joined, _at: int) -> None:
        if record.moved:
            self._waiting(record.client).moving = True

    def _left(self, record: Left, _at: int) -> None:
        self.carried.clients.pop(record.client, None)

    def _handed(self, record: Handed, _at: int) -> None:
        delivery = record.passed.delivery
        singles = deliveries_in(delivery) if isinstance(delivery, Deliver) else [delivery]
        self._waiting(record.client).handed += [without_event(one) for one in singles]

    def _handed_over(self, record: HandedOver, at: int) -> None:
        if record.reason:
            self._gap(at, record.reason, subscriber=name_of(record.client))
            gap = Gap(
                number=0,
                after=0,
                behind=0,
                publisher="",
                first=0,
                last=0,
                fast=False,
                reason=record.reason,
                subscriptions=record.subscriptions,
            )
            self._waiting(record.client).handed.append(gap)

    def _acknowledged(self, record: Acknowledged | Claimed, at: int) -> None:
        for arrived, versions in self._taken(record.client, record.number):
            expires = arrived.publication.expires
            late = "expired" if 0 < expires <= record.at else ""
            for subscription, version in versions:
                if arrived.lost or late:
                    self._lost(arrived, arrived.lost or late, record.client, subscription, at)
                else:
                    self._delivery(arrived, record, subscription, version)

    def _noticed(self, record: Noticed, at: int) -> None:
        for arrived, versions in self._taken(record.client, record.number):
            for subscription, _ in versions:
                self._lost(arrived, arrived.lost or record.reason, record.client, subscription, at)

    def _taken(self, client: str, number: int) -> list[Delivered]:
        waiting = self._waiting(client)
        return [waiting.arrived.pop(one) for one in list(takewhile(lambda one: one <= number, waiting.arrived))]

    def _delivery(self, arrived: Arrived, record: Acknowledged | Claimed, subscription: str, version: int) -> None:
        before = self._before + (moves_of(record.client) << MOVE_SHIFT)
        self.carried.delivered[subscription] = self.carried.delivered.get(subscription, before) + 1
        self.rows.deliveries.append(
            {
                **event_key(arrived.publication),
                "subscription": public(subscription),
                "version": version,
                "subscriber": name_of(record.client),
                "home_broker": self.name,
                "entry_broker": logged_name(arrived.entered.entry, arrived.entered.incarnation),
                "epoch": arrived.entered.epoch,
                "position": self.carried.delivered[subscription],
                "attempts": 1,
                "delivered_at": moment(record.at),
            }
        )

    def _lost(self, arrived: Arrived, reason: str, client: str, subscription: str, at: int) -> None:
        if not arrived.publication.publisher:
            return  # of an entry that lost its disk or was forgotten: `_owned` has said it of the whole broker
        after = arrived.after if arrived.lost else arrived.publication.sequence - 1
        self._gap(
            at,
            reason,
            subscription=public(subscription),
            subscriber=name_of(client),
            publication=arrived.publication,
            after=after,
        )

    def _gap(
        self,
        at: int,
        reason: str,
        *,
        home: str | None = None,
        subscription: str | None = None,
        subscriber: str | None = None,
        publication: Publication | None = None,
        after: int = 0,
    ) -> None:
        self.rows.gaps.append(
            {
                "home_broker": home or self.name,
                "subscription": subscription,
                "subscriber": subscriber,
                "publisher": publication.publisher if publication else None,
                "first_sequence": after + 1 if publication else None,
                "last_sequence": publication.sequence if publication else None,
                "quality": DURABLE,
                "reason": reason,
                "noticed_at": moment(at),
            }
        )


def arrival_of(record: Accepted | Visited, after: int, outcome: Outcome) -> Arrived:
    """The arrival that the record of a stop contains."""
    return Arrived(
        entered=record.entered, publication=record.publication, after=after, lost="", deliveries=outcome.deliveries
    )
