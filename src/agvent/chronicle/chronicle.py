"""One broker's journal as rows of the event log.

Records are taken in the order of the journal. What later rows need of earlier records is `Carried`, which can be
written down: with it, taking goes on after any record.

A broker that lost its disk begins its positions and epochs anew, so in the log its next incarnation is another broker.

A client has one name in the log, wherever it is at home. What an old home hands over to the next counts as delivered
there: the next one answers for it, and its own rows begin after them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import takewhile
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from agvent.broker.custody import DECLINED
from agvent.broker.handover import event_of, merged
from agvent.broker.homes import key_of
from agvent.broker.lifecycle import shown
from agvent.broker.records import (
    Accepted,
    Acknowledged,
    Arrived,
    CaughtUp,
    Claimed,
    Closed,
    Handed,
    HandedOver,
    Heard,
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
from agvent.chronicle.rows import Row, Rows, empty_rows
from agvent.errors import TranslationError
from agvent.event import EPOCH, MICROSECOND, Cargo, Event, EventId
from agvent.filters.sql_format import format_expression
from agvent.filters.tree import Attribute, Call, Literal
from agvent.store.catalogue import subscription_row
from agvent.store.event_columns import LoggedEvent
from agvent.store.shelf import DOCUMENT_TYPE
from agvent.store.values import encode_value
from agvent.types import Advertisement, AgventType
from agvent.wire.batches import deliveries_in, taken_apart
from agvent.wire.codec import decode_event
from agvent.wire.lines import places_in
from agvent.wire.messages import Answered, Deliver, Entry, Gap, Publication
from agvent.wire.names import first_number, moves_of, name_of

DURABLE: Final = "durable"
"""Fast events have no records, and so no rows."""

INCARNATION_SHIFT: Final = 32
MOVE_SHIFT: Final = 44
"""A subscription's positions rise across a lost disk and from home to home: four billion for each disk of a home, four
thousand disks for each home, and as many homes as a client may have, in 63 bits."""

NULL: Final = Attribute(("null",))


def logged_name(broker: str, incarnation: int) -> str:
    """What the log calls a broker.

    >>> logged_name("AS3", 1), logged_name("AS3", 2)
    ('AS3', 'AS3~2')
    """
    return broker if incarnation == 1 else f"{broker}~{incarnation}"


def moment(at: int) -> datetime:
    """Microseconds since 1970 as the log has them."""
    return EPOCH + at * MICROSECOND


Delivered = tuple[Arrived, tuple[tuple[str, int], ...]]
"""An arrival without its event, and the subscriptions of one client that it is for, as (key, version)."""


def each_delivery(record: Arrived) -> Iterator[tuple[str, Delivered]]:
    """What an arrival brings to each client, event by event in the order of their numbers."""
    bare = replace(record, publication=replace(record.publication, event=b""), deliveries=(), places=())
    if not record.places:
        yield from ((client, (bare, versions)) for client, versions in record.deliveries)
        return
    singles = [replace(bare, publication=one) for one in taken_apart(bare.publication)]
    for (client, versions), picks in zip(record.deliveries, record.places, strict=True):
        theirs: list[list[tuple[str, int]]] = [[] for _ in singles]
        for version, pick in zip(versions, picks, strict=True):
            for place in places_in(pick, len(singles)):
                theirs[place].append(version)
        yield from ((client, (one, tuple(found))) for one, found in zip(singles, theirs, strict=True) if found)


class Waiting(msgspec.Struct):
    """A client's durable queue: deliveries that were not acknowledged, by number. While it is `moving`, what its old
    home hands over and what arrives here are beside each other."""

    number: int = 0
    arrived: dict[int, Delivered] = {}
    moving: bool = False
    handed: list[Deliver | Gap] = []
    waiting: list[Delivered] = []

    def add(self, delivered: Delivered) -> None:
        if self.moving:
            self.waiting.append(delivered)
        else:
            self.number += 1
            self.arrived[self.number] = delivered

    def catch_up(self) -> None:
        """Both in one order, as the home does it. The old home's log has what it handed over: here that only takes a
        number."""
        self.moving = False
        had: dict[tuple[str, int], set[str]] = {}
        for one in self.handed:
            if isinstance(one, Deliver):
                had.setdefault(event_of(one), set()).update(one.subscriptions)
        keys = [(arrived.publication.publisher, arrived.publication.sequence) for arrived, _ in self.waiting]
        for is_handed, place in merged([event_of(one) for one in self.handed], keys):
            if is_handed:
                self.number += 1
                continue
            arrived, versions = self.waiting[place]
            already = had.get(keys[place], ()) if not arrived.lost else ()
            left = tuple(one for one in versions if one[0].partition("/")[2] not in already)
            if left:
                self.add((arrived, left))
        self.handed, self.waiting = [], []


class Carried(msgspec.Struct):
    """What the rows of later records need of those before."""

    known: dict[str, int]  # owner -> its incarnation
    types: dict[tuple[str, str], AgventType]  # publisher, type -> as advertised here
    open: dict[str, tuple[str, int]]  # subscription -> client, version
    clients: dict[str, Waiting]
    delivered: dict[str, int]  # subscription's key -> the position of its last delivery


class Chronicle:
    """Takes records, and collects `rows`."""

    def __init__(self, broker: str, incarnation: int, carried: Carried | None = None) -> None:
        self.broker = broker
        self.name = logged_name(broker, incarnation)
        self.rows = empty_rows()
        self.carried = Carried({}, {}, {}, {}, {}) if carried is None else carried
        self._before = (incarnation - 1) << INCARNATION_SHIFT
        self._take: dict[type[Record], Callable[[Any, int], None]] = {
            Owned: self._owned,
            Opened: self._opened,
            Closed: self._closed,
            Heard: self._heard,
            Accepted: self._accepted,
            Arrived: self._arrived,
            Acknowledged: self._acknowledged,
            Noticed: self._noticed,
            Moved: lambda record, _: setattr(self._waiting(record.client), "moving", True),
            Handed: self._handed,
            HandedOver: self._handed_over,
            CaughtUp: lambda record, _: self._waiting(record.client).catch_up(),
            Marked: lambda record, at: self._changed(record, "mark", "", 0, at),
            Claimed: self._acknowledged,
            Visited: self._visited,
            Reported: self._reported,
        }

    def take(self, record: Record, at: int) -> None:
        """A record that came to be on disk at a time."""
        take = self._take.get(type(record))
        if take is not None:
            take(record, at)

    def drain(self) -> Rows:
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
            advertisement = Advertisement(
                type=entry.type, publisher=entry.publisher, broker=self.name, advertised_at=moment(at)
            )
            (self.rows.advertisements if entry.live else self.rows.withdrawn).append(advertisement)
            self.carried.types[entry.publisher, entry.type.name] = entry.type
            if entry.code:
                self._program(entry, at)

    def _program(self, entry: Entry, at: int) -> None:
        self.rows.programs.append(
            {
                "program": entry.type.program,
                "publisher": entry.publisher,
                "broker": self.name,
                "code": entry.code,
                "brought_at": moment(at),
            }
        )

    def _opened(self, record: Opened, at: int) -> None:
        subscription, version = record.interest.subscription, record.interest.version
        self.carried.open[subscription.id] = (record.client, version)
        self.rows.subscriptions.append(
            subscription_row(
                replace(subscription, id=_public(subscription.id)),
                version=version,
                subscriber=name_of(record.client),
                home_broker=self.name,
                created_at=moment(at),
            )
        )
        self._changed(record, "open", subscription.id, version, at)

    def _closed(self, record: Closed, at: int) -> None:
        client, version = self.carried.open.pop(record.key)
        self._changed(record, "close", record.key, version, at)
        if not record.replaced:
            self._gap(at, "unsubscribed", subscription=_public(record.key), subscriber=name_of(client))

    def _changed(self, record: Opened | Closed | Marked, change: str, subscription: str, version: int, at: int) -> None:
        self.rows.changes.append(
            {
                "home_broker": self.name,
                "position": record.position,
                "change": change,
                "subscription": _public(subscription) if subscription else "",
                "version": version,
                "changed_at": moment(at),
            }
        )
        self._applied(record.epoch, self.name, record.position, at)

    def _heard(self, record: Heard, at: int) -> None:
        self._applied(record.epoch, logged_name(record.home, record.incarnation), record.position, at)

    def _applied(self, epoch: int, home: str, position: int, at: int) -> None:
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
        type_ = self.carried.types.get((publication.publisher, event.type)) if event.type is not None else None
        self.rows.events.append(
            LoggedEvent(
                event=replace(event, id=EventId(publication.publisher, publication.sequence)),
                accepted_at=moment(record.at),
                entry_broker=self.name,
                epoch=record.entered.epoch,
                schema=type_.schema if type_ is not None else None,
                to=publication.to,
                destinations=publication.destinations,
                expires_at=moment(publication.expires) if publication.expires else None,
            )
        )
        for answered in record.entered.answers:
            self._answer(publication, answered, record.at)
        if event.cargo is not None:
            self._cargo(publication, event.cargo, record.at)
        if event.type == DOCUMENT_TYPE:
            self._document(publication, event, record.at)
        if record.outcome is not None:
            self._stopped(record, record.outcome)
            here = [target for target in record.targets if target.home == self.broker]
            if here:
                self._arrived(arrival_of(record, here[0].predecessor, record.outcome), record.at)

    def _visited(self, record: Visited, at: int) -> None:
        self._stopped(record, record.outcome)
        if record.arrives:
            self._arrived(arrival_of(record, record.after, record.outcome), at)

    def _stopped(self, record: Accepted | Visited, outcome: Outcome) -> None:
        """What an agvent's own route decided: a row of its own, and gaps for whom it declined."""
        publication = record.publication
        decided = {
            "delivered": [_public(key) for _, versions in outcome.deliveries for key, _ in versions],
            "legs": {shown(leg.path): [leg.to, *(target.home for target in leg.targets)] for leg in outcome.legs},
            "declined": list(outcome.declined),
            "returned": list(outcome.returned),
        }
        self.rows.behaviours.append(
            {
                **_key(publication),
                "entry_broker": self.name,
                "call": "route()",
                "result": encode_value(decided),
                "fault": outcome.fault or None,
                "called_at": moment(record.at),
            }
        )
        for home in outcome.declined:
            name = logged_name(home, self.carried.known.get(home, 1))
            self._gap(record.at, DECLINED, home=name, publication=publication, after=publication.sequence - 1)
        for key in outcome.skipped:
            self._gap(
                record.at,
                DECLINED,
                subscription=_public(key),
                subscriber=name_of(key.partition("/")[0]),
                publication=publication,
                after=publication.sequence - 1,
            )

    def _reported(self, record: Reported, at: int) -> None:
        """Homes to which an agvent did not come because its budget was spent on the way; what its stops declined is in
        their own rows, and here once more."""
        report = record.report
        publication = Publication(report.publisher, report.sequence, b"")
        for home in report.declined:
            name = logged_name(home, self.carried.known.get(home, 1))
            self._gap(at, DECLINED, home=name, publication=publication, after=report.sequence - 1)

    def _document(self, publication: Publication, event: Event, at: int) -> None:
        """A document that was given to a librarian: its version is its place among its owner's events."""
        self.rows.documents.append(
            {
                "document": f"{publication.publisher}/{event.attributes.get('document', '')}",
                "version": publication.sequence,
                "owner": publication.publisher,
                "broker": self.name,
                "realm": str(event.attributes.get("realm", "")),
                "xml": event.xml,
                "stored_at": moment(at),
            }
        )

    def _answer(self, publication: Publication, answered: Answered, at: int) -> None:
        text = _call_text(answered)
        if text is None:
            return
        self.rows.behaviours.append(
            {
                **_key(publication),
                "entry_broker": self.name,
                "call": text,
                "result": None if answered.fault else encode_value(answered.value),
                "fault": answered.fault or None,
                "called_at": moment(at),
            }
        )

    def _cargo(self, publication: Publication, cargo: Cargo, at: int) -> None:
        self.rows.cargoes.append(
            {
                **_key(publication),
                "entry_broker": self.name,
                "program": cargo.program,
                "hidden": cargo.hidden or None,
                "sealed": cargo.sealed or None,
                "opaque": list(cargo.opaque) or None,
                "accepted_at": moment(at),
            }
        )

    # Deliveries

    def _arrived(self, record: Arrived, at: int) -> None:
        for client, delivered in each_delivery(record):
            self._waiting(client).add(delivered)
        if record.lost == "expired":  # to nobody: so far as it is known here, to everybody
            self._gap(at, record.lost, publication=record.publication, after=record.after)

    def _waiting(self, client: str) -> Waiting:
        if client not in self.carried.clients:
            self.carried.clients[client] = Waiting(first_number(client), {}, False, [], [])
        return self.carried.clients[client]

    def _handed(self, record: Handed, _at: int) -> None:
        delivery = record.passed.delivery
        singles = deliveries_in(delivery) if isinstance(delivery, Deliver) else [delivery]
        self._waiting(record.client).handed += [_bare(one) for one in singles]

    def _handed_over(self, record: HandedOver, at: int) -> None:
        if record.reason:
            self._gap(at, record.reason, subscriber=name_of(record.client))
            gap = Gap(0, 0, 0, "", 0, 0, False, record.reason, record.subscriptions)
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
                **_key(arrived.publication),
                "subscription": _public(subscription),
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
        after = arrived.after if arrived.lost else arrived.publication.sequence - 1
        self._gap(
            at,
            reason,
            subscription=_public(subscription),
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
    return Arrived(record.entered, record.publication, after, "", outcome.deliveries)


def _public(key: str) -> str:
    """A subscription as its client knows it, wherever that is at home.

    >>> _public("ann/s1"), _public("ann~2/s1")
    ('ann/s1', 'ann/s1')
    """
    client, _, id = key.partition("/")
    return key_of(name_of(client), id)


def _bare(delivery: Deliver | Gap) -> Deliver | Gap:
    """Without the event, which is in the log of the home that handed it over."""
    return replace(delivery, event=b"") if isinstance(delivery, Deliver) else delivery


def _call_text(answered: Answered) -> str | None:
    """The call as SQL; None if one of its arguments has no words there: a list, an object, bytes. A null is what an
    attribute is that no event has."""
    args = tuple(NULL if value is None else Literal(value) for value in answered.call.args)
    try:
        return format_expression(Call(answered.call.name, args))
    except TranslationError:
        return None


def _key(publication: Publication) -> Row:
    return {"publisher": publication.publisher, "sequence": publication.sequence, "quality": DURABLE}
