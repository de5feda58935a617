"""This broker's clients: what they ask, and what they are told. The primitives of ABDES §4.

A client repeats what was not answered when it comes back, so every request is one that may come twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from agvent import limits
from agvent.broker.clients.attachments import Attachments
from agvent.broker.clients.moves import Moves
from agvent.broker.clients.publishing import Publishing
from agvent.broker.events.entry import EventEntry
from agvent.broker.interest.changes import Changes
from agvent.broker.interest.gossip import Gossip
from agvent.broker.interest.requests import Requests
from agvent.broker.interest.streams import Streams
from agvent.broker.notices import ClientClaimed, QueuesChanged, TypesGone
from agvent.broker.outbox import Outbox
from agvent.broker.pending import DeliverQueues, OpenAdvertise, OpenSubscribe, TellClient, WelcomeClient
from agvent.broker.prefetch import Prefetch
from agvent.broker.records import Acknowledged, Curtailed, Ended, Joined, Left, Noticed, RejectedHere
from agvent.broker.tables.advertisements import tombstone
from agvent.broker.tables.deliveries import HomeClient
from agvent.broker.tables.local_subscriptions import key_of
from agvent.broker.tables.tables import Tables
from agvent.errors import AgventError, CallerError, SubscriptionError
from agvent.wire.broker_messages import Entry, Interest
from agvent.wire.client_messages import (
    Advertise,
    AdvertisementsFound,
    Attach,
    Attached,
    Done,
    GetAdvertisements,
    Move,
    Publish,
    Received,
    Refused,
    Subscribe,
    TypeGone,
    Unadvertise,
    Unsubscribe,
)
from agvent.wire.messages import AnyMessage
from agvent.wire.names import MARK, MOVES_MAX, client_key, is_key, moves_of, name_of
from agvent.wire.parts import Series
from agvent.wire.sizes import check_request, size_of


class Clients:
    """All attached clients, by link."""

    def __init__(
        self,
        tables: Tables,
        streams: Streams,
        gossip: Gossip,
        entry: EventEntry,
        moves: Moves,
        changes: Changes,
        prefetch: Prefetch,
        out: Outbox,
    ) -> None:
        self.tables, self.streams, self.gossip, self.out = tables, streams, gossip, out
        self.moves, self.changes = moves, changes
        self.requests = Requests(tables, streams)
        self.attached = Attachments(out)
        self.publishing = Publishing(tables, entry, prefetch, self.attached, out)
        self._untold: dict[str, dict[str, None]] = {}  # clients that are away -> types whose last publisher went
        self.messages: dict[type, Callable[[str, str, Any, int], None]] = {
            Advertise: self._advertise,
            Unadvertise: self._unadvertise,
            GetAdvertisements: self._get_advertisements,
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Publish: self._publish,
            Received: self._received,
            Move: self._move,
        }

    def came(self, link: str, message: AnyMessage, now: int) -> None:
        if isinstance(message, Attach):
            self._attach(link, message, now)
        elif link in self.attached and type(message) in self.messages:
            client = self.attached[link].client
            if client not in self.tables.deliveries.clients:
                self.lost_link(link)
                return
            try:
                self.messages[type(message)](link, client, message, now)
            except AgventError as error:
                self.out.send(link, _refused(message, str(error)))

    def restart(self) -> None:
        """The queues that the journal left are looked at once."""
        self.out.notify(QueuesChanged(tuple(self.tables.deliveries.clients)))

    def lost_link(self, link: str) -> None:
        attachment = self.attached.pop(link, None)
        self.publishing.lost_link(link)
        if attachment is not None:
            self.requests.drop(attachment.client)
            self.tables.deliveries.detach(link)

    def check(self) -> None:
        """No two attachments have one number."""
        assert len({attachment.number for attachment in self.attached.values()}) == len(self.attached)

    # Attaching

    def _attach(self, link: str, attach: Attach, now: int) -> None:
        if not attach.client or {"/", MARK} & {*attach.client} or len(attach.client) > limits.CLIENT_NAME_CHARS_MAX:
            self.out.send(link, _unattached(f"{attach.client[:40]!r} cannot name a client"))
            return
        if not 0 <= attach.moves < MOVES_MAX - 1:
            self.out.send(link, _unattached(f"a client moves at most {MOVES_MAX} times, not {attach.moves}"))
            return
        for old in self.attached.links_named(attach.client):
            self._take_over(old, link)
        key = self._key(attach)
        if key not in self.tables.deliveries.clients:
            if not self._has_room(attach.client):
                reason = f"{attach.client!r} moved back before it took the deliveries that wait for it here"
                self.out.send(link, _unattached(reason))
                return
            self.out.record(Joined(key, moved=attach.incarnation > 0, guest=attach.guest))
        client = self.tables.deliveries.clients[key]
        if not attach.incarnation:  # another process, which knows of no other home
            self.moves.expect_no_more(client)
        if (attach.broker, attach.incarnation) == (self.tables.name, self.tables.incarnation):
            self._acknowledge(client, attach.received, attach.fast_received, now)
        accepted = [self.tables.custody.accepted.get(Series(attach.client, fast), 0) for fast in (False, True)]
        if not attach.incarnation:  # its own come after those of an earlier process that are still on their way in
            accepted = [self.publishing.entry.last(Series(attach.client, fast)) for fast in (False, True)]
        self._forget_rejected(attach)
        attachment = self.attached.attach(link, client.name, _expected(attach, accepted))
        self.out.after_sync(WelcomeClient(link, attachment.number, client.name, (accepted[False], accepted[True])))

    def _forget_rejected(self, attach: Attach) -> None:
        """The client says from where on it does not know what became of its events; another process knows of none."""
        for fast, first in ((False, attach.sequence), (True, attach.fast_sequence)):
            known = self.tables.custody.rejected.get(Series(attach.client, fast), {})
            last = first - 1 if attach.incarnation else max(known, default=0)
            if any(sequence <= last for sequence in known):
                known_to_it = RejectedHere(publisher=attach.client, sequence=last, fast=fast, reason="")
                self.out.record(known_to_it, durable=not fast)

    def welcome(self, work: WelcomeClient) -> None:
        """Tells a client where it stands, and begins to send what waits for it."""
        if self.attached.is_same(work.link, work.attachment):
            client = self.tables.deliveries.clients[work.client]
            self.out.send(work.link, self._attached(client, work.accepted))
            self.tables.deliveries.attach(client.name, work.link)
            self.out.notify(QueuesChanged((client.name,)))
            self._tell_untold(work.link, client.name)

    def _take_over(self, old: str, link: str) -> None:
        """A client has another link now. If somebody is still at the old one, it is another process of that name."""
        if old != link:
            reason = f"another process of the name {self.attached[old].name!r} has come to {self.tables.name}"
            self.out.send(old, _unattached(reason, final=True))
        self.lost_link(old)

    def _has_room(self, name: str) -> bool:
        """May a client have another key here? Where it has many, those for which nothing is left here go."""
        deliveries = self.tables.deliveries
        if len(deliveries.keys_of(name)) >= limits.CLIENT_KEYS_MAX:
            clients = [deliveries.clients[key] for key in deliveries.keys_of(name)]
            for client in clients:
                if not client.claimed and self.moves.is_drained(client):
                    self.out.record(Left(client.name))
        return len(deliveries.keys_of(name)) < limits.CLIENT_KEYS_MAX

    def _key(self, attach: Attach) -> str:
        """What the client is called here: one that was at home elsewhere has moved once more. Of a key that another
        process of its name has, or had, the next one: what is there is not this client's."""
        deliveries, home = self.tables.deliveries, (self.tables.name, self.tables.incarnation)
        current = deliveries.current(attach.client)
        key = (
            current
            if not attach.incarnation
            else client_key(attach.client, attach.moves + (attach.broker != self.tables.name))
        )
        client = deliveries.clients.get(key)
        if not attach.incarnation:
            is_anothers = client is not None and client.claimed
        elif (attach.broker, attach.incarnation) == home:
            is_anothers = client is None or client.claimed
        else:
            is_anothers = client is not None and not client.is_expected
        return client_key(attach.client, max(moves_of(current), attach.moves) + 1) if is_anothers else key

    def _attached(self, client: HomeClient, accepted: tuple[int, int]) -> Attached:
        versions = (one.number for one in self.tables.local.current.values() if one.client == client.name)
        return Attached(
            broker=self.tables.name,
            incarnation=self.tables.incarnation,
            credit=limits.PUBLISH_CREDIT,
            sequence=accepted[False],
            fast_sequence=accepted[True],
            received=client.durable.received,
            fast_received=client.fast.received,
            version=max(versions, default=0),
            moves=moves_of(client.name),
        )

    def _move(self, link: str, client: str, message: Move, now: int) -> None:
        try:
            self._check_sources(client, message)
        except CallerError:
            self.moves.expect_no_more(self.tables.deliveries.clients[client])
            raise
        self.moves.move(client, message.sources, now)
        self._done(link, message.request)

    def _check_sources(self, client: str, message: Move) -> None:
        if len(message.sources) > limits.SOURCES_MAX:
            raise CallerError(f"a client has at most {limits.SOURCES_MAX} earlier homes")
        for source in message.sources:
            if not is_key(source.client, name_of(client)):
                raise CallerError(f"{name_of(client)!r} cannot move the deliveries of {source.client[:40]!r}")

    # Advertisements

    def _advertise(self, link: str, client: str, message: Advertise, now: int) -> None:
        check_request(message)
        table, name, publisher = self.tables.advertisements, self.tables.name, name_of(client)
        known = table.entry(name, publisher, message.type.name)
        is_said_again = message.type.name in self.tables.deliveries.inherited(client)
        if known is None or (known.type, known.code) != (message.type, message.code) or is_said_again:
            if not table.has_room(name, publisher, message.type.name):
                raise CallerError(f"{publisher!r} has advertised {limits.PUBLISHER_TYPES_MAX} types here")
            version, type, code = table.version(name) + 1, message.type, message.code
            self.gossip.change(Entry(version=version, publisher=publisher, type=type, live=True, code=code))
        version = table.version(name)
        self.out.after_sync(
            OpenAdvertise(
                link=link,
                attachment=self.attached[link].number,
                client=client,
                request=message.request,
                version=version,
                at=now,
            )
        )

    def _unadvertise(self, link: str, client: str, message: Unadvertise, now: int) -> None:
        table, name, publisher = self.tables.advertisements, self.tables.name, name_of(client)
        type = table.publishes(name, publisher, message.type)
        if type is not None:
            self.gossip.change(tombstone(table.version(name) + 1, publisher, type.name))
        self._done(link, message.request)

    def _get_advertisements(self, link: str, client: str, message: GetAdvertisements, now: int) -> None:
        answer = AdvertisementsFound(message.request, self.tables.advertisements.found(message.type))
        if size_of(answer) > limits.MESSAGE_BYTES_MAX:
            raise CallerError(
                f"there are {len(answer.found)} types, more than fit a message", hint="ask for one of them"
            )
        self.out.send(link, answer)

    def _tell_gone_types(self, types: list[str]) -> None:
        """NotifyUnadvertisement, to the clients here that subscribed to the type (ABDES §4): those that are away, when
        they are back."""
        self._untold = {one: gone for one, gone in self._untold.items() if one in self.tables.deliveries.clients}
        links = {attachment.client: link for link, attachment in self.attached.items()}
        for type in types:
            for client in sorted({v.client for v in self.tables.local.current.values() if v.subscription.type == type}):
                if client in links:
                    self.out.send(links[client], TypeGone(type))
                else:
                    self._untold.setdefault(client, {})[type] = None

    def _tell_untold(self, link: str, client: str) -> None:
        """The types that went while the client was away, that it still asks for, and that nobody publishes again."""
        untold = self._untold.pop(client, None)
        if untold is None:
            return
        asked = {v.subscription.type for v in self.tables.local.current.values() if v.client == client}
        for type in untold:
            if type in asked and not self.tables.advertisements.is_published(type):
                self.out.send(link, TypeGone(type))

    # Subscriptions

    def _subscribe(self, link: str, client: str, message: Subscribe, now: int) -> None:
        if message.version > limits.INT_MAX:
            raise CallerError(f"a version is at most {limits.INT_MAX}, not {message.version}")
        homes = self.tables.local
        _check_id(message.subscription.id)
        check_request(message)
        subscription = msgspec.structs.replace(message.subscription, id=key_of(client, message.subscription.id))
        subscription.condition()
        current = homes.current.get(subscription.id)
        if current is None or current.number < message.version:
            if current is not None:
                self._check_replaced(subscription.id)
                self.changes.close(subscription.id, replaced=True)
            self.changes.open(client, Interest(message.version, subscription))
        version = homes.current[subscription.id]
        type, position = version.subscription.type, version.opened
        self.out.after_sync(
            OpenSubscribe(
                link=link,
                attachment=self.attached[link].number,
                client=client,
                request=message.request,
                type=type,
                position=position,
                at=now,
            )
        )

    def await_entries(self, work: OpenSubscribe) -> None:
        if self.attached.is_same(work.link, work.attachment):
            self.requests.subscribed(work)

    def await_homes(self, work: OpenAdvertise) -> None:
        if self.attached.is_same(work.link, work.attachment):
            self.requests.advertised(work)

    def _check_replaced(self, key: str) -> None:
        """Refuses another version of a subscription that has as many replaced ones as may be owed at once."""
        replaced = self.tables.local.replaced_of(key)
        if len(replaced) >= limits.REPLACED_VERSIONS_MAX:
            entries = ", ".join(self.streams.holding(replaced[0].opened, replaced[0].closed)) or "this broker"
            raise CallerError(
                f"the subscription changes faster than the network follows: {entries} may have events from before; "
                "try again later, or if a broker never returns: agvent broker forget NAME"
            )

    def _unsubscribe(self, link: str, client: str, message: Unsubscribe, now: int) -> None:
        key = key_of(client, message.subscription)
        had = key in self.tables.local.current
        if had:
            self.changes.close(key, replaced=False)
        elif self.tables.deliveries.owes(key):
            self.out.record(Ended(key))
        self._done(link, message.request, had=had)

    def _done(self, link: str, request: int, *, had: bool = True) -> None:
        self.out.after_sync(TellClient(link, self.attached[link].number, Done(request, had)))

    def tell(self, name: str, message: AnyMessage) -> None:
        """Tells a client something, if it is attached."""
        for link in self.attached.links_named(name):
            self.out.send(link, message)

    # Events

    def _publish(self, link: str, client: str, message: Publish, now: int) -> None:
        self.publishing.publish(link, message.publication, now)

    def _received(self, link: str, client: str, message: Received, now: int) -> None:
        self._acknowledge(self.tables.deliveries.clients[client], message.number, message.fast_number, now)

    def _acknowledge(self, client: HomeClient, number: int, fast_number: int, now: int) -> None:
        if client.durable.received < number <= client.durable.number:
            self.out.record(Acknowledged(client.name, number, now))
        if client.fast.received < fast_number <= client.fast.number:
            self.tables.deliveries.acknowledge_fast(client.name, fast_number)
            self.out.notify(QueuesChanged((client.name,)))

    def flush(self, now: int) -> None:
        """Answers, notices and deliveries that may go out now."""
        for claimed in self.out.notices(ClientClaimed):
            for link in self.attached.links_of(claimed.client):
                self.out.send(link, _unattached(f"{name_of(claimed.client)!r} is at home at another broker now"))
                self.lost_link(link)
        for client, answer in self.requests.answers(now):
            for link in self.attached.links_of(client):
                self.out.send(link, answer)
        gone_types = [type for gone in self.out.notices(TypesGone) for type in gone.types]
        if gone_types:
            self._tell_gone_types(gone_types)
        self.publishing.publish_waiting(now)
        self._flush_queues(now)

    def _flush_queues(self, now: int) -> None:
        """Drops what is too much in the queues that changed, and sends the rest when it is on disk."""
        deliveries = self.tables.deliveries
        notices = self.out.notices(QueuesChanged)
        if not notices:
            return
        named = dict.fromkeys(name for notice in notices for name in notice.clients)
        changed = {name: None for name in named if name in deliveries.clients}  # the others have left since
        for name, number in deliveries.over_quota(changed, fast=False):
            self.out.record(Noticed(name, number, "quota"))
        for name, count in deliveries.crowded(changed):
            self.out.record(Curtailed(name, count, "quota"))
        for name, number in deliveries.over_quota(changed, fast=True):
            self.tables.lose_fast("quota", deliveries.let_go_fast(name, number, "quota"))
        if changed:
            until = tuple((name, deliveries.clients[name].durable.number) for name in changed)
            self.out.after_sync(DeliverQueues(until, now))

    def deliver(self, work: DeliverQueues) -> None:
        """Sends what is on disk: each durable queue up to its number, and the fast one whole."""
        for name, number in work.until:
            client = self.tables.deliveries.clients.get(name)
            if client is not None and client.link:
                durable, fast = client.durable.ready(work.at, number), client.fast.ready(work.at, client.fast.number)
                for delivery in (*durable, *fast):
                    self.out.send(client.link, delivery)


def _expected(attach: Attach, accepted: list[int]) -> list[int]:
    """The next sequences: those that the client says it will send, or those after what is here, also of an earlier
    process of its name."""
    first = (attach.sequence, attach.fast_sequence) if attach.incarnation else (0, 0)
    return [max(first[fast], accepted[fast] + 1) for fast in (False, True)]


def _check_id(id: str) -> None:
    """Refuses an id that does not fit behind the names it is filed under."""
    if len(id) > limits.SUBSCRIBED_ID_CHARS_MAX:
        most = limits.SUBSCRIBED_ID_CHARS_MAX
        raise SubscriptionError(f"the id has {len(id)} characters, at most {most} are allowed at a broker")


def _unattached(reason: str, *, final: bool = False) -> Refused:
    """Of no request or sequence: it is the attaching that is refused, or ended."""
    return Refused(request=0, sequence=0, reason=reason, final=final)


def _refused(message: AnyMessage, reason: str) -> Refused:
    if isinstance(message, Publish):
        return Refused(request=0, sequence=message.publication.sequence, reason=reason, fast=message.publication.fast)
    return Refused(request=getattr(message, "request", 0), sequence=0, reason=reason)
