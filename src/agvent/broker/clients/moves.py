"""Clients that move from one home to another, with nothing lost, doubled or out of order.

The states of a move at the new home (move_state.py), each with the step that leads to it:

    expected   the client attached and said that it was elsewhere; what comes for it waits from now on
    asking     it has said its subscriptions and where it was (Move); the old home is asked for its queue (Claim)
    marked     the old home is drained; a position of the stream is marked, and what came before that is awaited
    done       both queues are one, in which each publisher's sequences rise, and go to the client

Each answer of the old home (Handing) continues after the number that is on the new home's disk, so a lost one is asked
for again. When the new home's subscriptions are in force at every broker, the Claim says so, and the old home closes
its own. When the copies from before that have come, and the last delivery was taken, it forgets the client. Invariants:

- At every moment each broker sends the client's events to one of the two homes, or to both.
- The old home drops a delivery only after it is on the new home's disk.
- The new home sends the client no durable event before the move is done. So order holds, and repeats are dropped here.

To close at the old home first is the obvious alternative, and wrong: an event that enters before all brokers know the
new home would come to neither. To deliver at once at the new home is wrong too: what the old home has is older.

The price is time: a client whose old home is away waits for it, up to MOVE_WAIT_US, and then is told of a gap. A move
costs both queues once over the network, and a Delta to every entry. A home that was given up is asked to close later.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from agvent import limits
from agvent.broker.interest.changes import Changes
from agvent.broker.interest.gossip import Gossip
from agvent.broker.interest.streams import Streams
from agvent.broker.notices import ClientClaimed
from agvent.broker.outbox import Outbox
from agvent.broker.pending import SendClaim, SendHanding
from agvent.broker.records import (
    NO_PART,
    Acknowledged,
    CaughtUp,
    Claimed,
    Handed,
    HandedOver,
    HomePart,
    Joined,
    Left,
    Moved,
    Parted,
    part_of,
)
from agvent.broker.routing.router import Router
from agvent.broker.tables.advertisements import tombstone
from agvent.broker.tables.deliveries import HomeClient
from agvent.broker.tables.move_state import MoveState
from agvent.broker.tables.tables import Tables
from agvent.wire.batches import after_number
from agvent.wire.broker_messages import Claim, Handing, Passed
from agvent.wire.client_messages import Source
from agvent.wire.names import name_of


class AskedHome(msgspec.Struct, frozen=True, gc=False):
    """A home that is asked for what it has of a client; where there is none, the entries are asked what is settled."""

    client: str
    broker: str


class Moves:
    """Both sides of a move: `claimed` is the old home's, the rest the new one's."""

    def __init__(
        self, tables: Tables, streams: Streams, gossip: Gossip, router: Router, changes: Changes, out: Outbox
    ) -> None:
        self.tables, self.streams, self.gossip = tables, streams, gossip
        self.router, self.changes, self.out = router, changes, out
        self._closing: dict[str, None] = {}  # clients claimed by a home from which they are in force everywhere
        self._silent_since: dict[AskedHome, int] = {}  # since when it has not answered
        self._answered: dict[AskedHome, None] = {}  # those that did
        self._ask_again_at: dict[HomePart, int] = {}  # of a home that was given up

    def moving(self) -> list[HomeClient]:
        """The clients that said where they were, and have not everything of before yet."""
        clients = map(self.tables.deliveries.clients.__getitem__, self.tables.deliveries.moving)
        return [client for client in clients if not client.is_expected]

    # The new home

    def move(self, key: str, sources: tuple[Source, ...], now: int) -> None:
        """A client has said everything that is to hold, and says where it was before, if anywhere. Said again, it
        changes nothing."""
        client = self.tables.deliveries.clients[key]
        self._disinherit(client)
        origin = part_of(sources[0]) if sources else NO_PART
        if not sources:
            self.expect_no_more(client)
        elif client.moving is None or client.moving.origin != origin:
            self.out.record(Moved(key, sources))
            self._ask(client, now)

    def _disinherit(self, client: HomeClient) -> None:
        """What the client advertised here when it was here before, and does not any more."""
        table, name = self.tables.advertisements, self.tables.name
        for type in self.tables.deliveries.inherited(client.name):
            self.gossip.change(tombstone(table.version(name) + 1, name_of(client.name), type))

    def expect_no_more(self, client: HomeClient) -> None:
        """The client will not say where it was before: it is given what waits here."""
        if client.is_expected:
            self.out.record(CaughtUp(client.name))

    def tick(self, now: int) -> None:
        for client in self.moving():
            assert client.moving is not None
            if client.moving.sources:
                self._ask(client, now)
            else:
                self._catch_up(client, client.moving.mark, now)
                if client.is_moving:
                    self.streams.ask_settled(client.moving.mark)
        for home in list(self.tables.deliveries.given_up.values()):
            self._ask_to_close(home, now)

    def _ask_to_close(self, home: Source, now: int) -> None:
        """A home that was given up: when it returns it closes the client's part, and what it has nobody gets."""
        place = part_of(home)
        if self._is_no_more(home):
            self._part(home)
        elif now >= self._ask_again_at.get(place, now):
            self._ask_again_at[place] = now + limits.GIVEN_UP_ASK_US
            claim = Claim(home=self.tables.name, client="", source=home, taken=limits.INT_MAX, close=True, before=())
            self.send_claim(SendClaim(claim, now))

    def _part(self, home: Source) -> None:
        self._ask_again_at.pop(part_of(home), None)
        self.out.record(Parted(home.broker, home.client))

    def settled(self, now: int) -> None:
        """An entry has said what is settled. It is asked again by the clock: one that has a copy under way would be
        asked, and write its answer down, as fast as links carry both."""
        for client in self.moving():
            if client.moving is not None and not client.moving.sources:
                self._catch_up(client, client.moving.mark, now)

    def _catch_up(self, client: HomeClient, mark: int, now: int) -> None:
        """Has everything come that entered before the mark? An entry that never says so is not waited for for ever."""
        entries = AskedHome(client.name, "")
        since = self._silent_since.setdefault(entries, now)
        if self.streams.settled() >= mark or now - since > limits.MOVE_WAIT_US:
            self._silent_since.pop(entries)
            self.out.record(CaughtUp(client.name))

    def _ask(self, client: HomeClient, now: int) -> None:
        moving = client.moving
        assert moving is not None
        source = moving.sources[0]
        reason = self._hopeless(client, source, now)
        if reason:
            self._over(client, moving, reason)
            if moving.sources:
                self._ask(client, now)
            return
        is_answered = AskedHome(client.name, source.broker) in self._answered
        before = () if is_answered else moving.sources[1:]  # it may have let go
        claim = Claim(
            home=self.tables.name,
            client=client.name,
            source=source,
            taken=moving.taken,
            close=self._is_in_force(client),
            before=before,
        )
        self.out.after_sync(SendClaim(claim, now))

    def send_claim(self, work: SendClaim) -> None:
        """To the old home, which may be this broker."""
        home = work.claim.source.broker
        if home == self.tables.name:
            self.claimed(work.claim, work.at)
        else:
            self.router.send((home,), work.claim)

    def _hopeless(self, client: HomeClient, source: Source, now: int) -> str:
        """Why the old home will hand over nothing any more, if so."""
        if self._is_no_more(source):
            return "lost_disk" if source.broker in self.tables.advertisements else "forgotten"
        known = self.tables.advertisements.incarnation(source.broker)
        silent_us = now - self._silent_since.setdefault(AskedHome(client.name, source.broker), now)
        is_crowded = client.moving is not None and client.moving.is_crowded
        if is_crowded or silent_us > (limits.MOVE_WAIT_US if known else limits.MOVE_UNKNOWN_WAIT_US):
            return "moved"
        return ""

    def _is_no_more(self, source: Source) -> bool:
        """Has the old home lost its disk, or was it forgotten?"""
        table = self.tables.advertisements
        known = table.incarnation(source.broker)
        return known > source.incarnation or (known > 0 and source.broker not in table)

    def _is_in_force(self, client: HomeClient) -> bool:
        """Has every broker the client's subscriptions from here, or from the home that claims it? One that published
        nothing they want is asked too: it could begin to, and know only that the old home's are closed."""
        if client.claimed:
            return client.name in self._closing
        current = self.tables.local.current.values()
        return self.streams.has_everybody(max((one.opened for one in current if one.client == client.name), default=0))

    def _over(self, client: HomeClient, moving: MoveState, reason: str) -> None:
        source = moving.sources[0]
        asked = AskedHome(client.name, source.broker)
        self._silent_since.pop(asked, None)
        self._answered.pop(asked, None)
        # Where the client has moved on, its versions here are closed, and perhaps forgotten: what waits names them.
        ids = (one.subscription.id.partition("/")[2] for one in self.tables.local.of_client(client.name))
        named = (id for one in (*moving.handed, *moving.waiting) for id in one.delivery.subscriptions)
        subscriptions = tuple(dict.fromkeys((*ids, *named)))
        given_up = reason == "moved" and self.tables.advertisements.incarnation(source.broker) > 0
        self.out.record(
            HandedOver(
                client=client.name,
                reason=reason,
                subscriptions=subscriptions,
                mark=self.changes.mark(),
                given_up=given_up,
            )
        )

    def handing(self, handing: Handing, now: int) -> None:
        """What the old home has: the part of it that is new is queued, and the next asked for."""
        if part_of(handing.source) in self.tables.deliveries.given_up and handing.drained:
            self._part(handing.source)
        client = self.tables.deliveries.clients.get(handing.client)
        moving = client.moving if client is not None else None
        if client is None or moving is None or not moving.sources:
            return
        source = moving.sources[0]
        if part_of(source) != part_of(handing.source):
            return
        asked = AskedHome(client.name, source.broker)
        self._silent_since[asked] = now
        self._answered[asked] = None
        for passed in handing.deliveries:
            if passed.delivery.number > moving.taken:
                self.out.record(Handed(client.name, passed.delivery.number, moving.wanted(passed)))
        if handing.drained and moving.taken == handing.taken:
            self._over(client, moving, "")
        elif handing.deliveries:
            self._ask(client, now)

    # The old home

    def claimed(self, claim: Claim, now: int) -> None:
        """Another home's claim to what is here for a client: taken note of, and answered when that is on disk."""
        source = claim.source
        if source.incarnation != self.tables.incarnation:
            return  # of what this broker was before it lost its disk; the other learns that by itself
        client = self.tables.deliveries.clients.get(source.client)
        if client is None and not claim.before:
            self._hand(claim, (), True, now)
            return
        if client is None:
            self.out.record(Joined(source.client, moved=True))
            client = self.tables.deliveries.clients[source.client]
        is_known = client.claimed  # so it is attached nowhere
        self._take_note(client, claim, now)
        if claim.before and client.is_expected:  # it never told this broker where it was before
            self.out.record(Moved(client.name, claim.before))
        self.expect_no_more(client)
        if is_known and claim.close and self.is_drained(client):
            self.out.record(Left(client.name))
            self._closing.pop(client.name, None)
            self._hand(claim, (), True, now)
        else:
            self._hand(claim, self._next(client), False, now)

    def _take_note(self, client: HomeClient, claim: Claim, now: int) -> None:
        if not client.claimed:
            self.out.notify(ClientClaimed(client.name))
        if client.durable.received < claim.source.received <= client.durable.number:
            self.out.record(Acknowledged(client.name, claim.source.received, now))
        taken = min(claim.taken, client.durable.number)
        if taken > client.durable.received or not client.claimed:
            self.out.record(Claimed(client.name, max(taken, client.durable.received), now))
        if claim.close:
            self._closing[client.name] = None
            self._close(client.name)

    def _close(self, key: str) -> None:
        """Ends the client's part of this broker: its subscriptions, and what it advertised here unless it is back."""
        for one in [one for one in self.tables.local.current.values() if one.client == key]:
            self.changes.close(one.subscription.id, replaced=True)
        table, name = self.tables.advertisements, self.tables.name
        for type in self._withdrawn_with(key):
            self.gossip.change(tombstone(table.version(name) + 1, name_of(key), type))

    def _withdrawn_with(self, key: str) -> tuple[str, ...]:
        """The types that end with a part. Where the client came back and went on before it heard so, the part it has
        now says nothing for itself: only types that it said again stay."""
        current = self.tables.deliveries.current(name_of(key))
        if current == key:
            return tuple(type.name for type in self.tables.advertisements.types_of(self.tables.name, name_of(key)))
        return self.tables.deliveries.inherited(current) if current in self.tables.deliveries.clients else ()

    def is_drained(self, client: HomeClient) -> bool:
        """Is there nothing here for a client, nor anything to come?"""
        is_owed = client.durable.waiting or (client.is_moving and not client.is_expected)
        return not (is_owed or self.tables.local.of_client(client.name))

    def _next(self, client: HomeClient) -> tuple[Passed, ...]:
        """The deliveries after what was taken, as many as a client would be sent and a message may hold."""
        found: list[Passed] = []
        size = 0
        for number, waiting in islice(client.durable.waiting.items(), limits.DELIVERY_WINDOW):
            delivery = after_number(waiting, client.durable.received)
            size += delivery.event_bytes
            if found and size > limits.CHUNK_BYTES_MAX:
                break
            found.append(Passed(delivery, client.durable.expires.get(number, 0)))
        return tuple(found)

    def _hand(self, claim: Claim, deliveries: tuple[Passed, ...], drained: bool, now: int) -> None:
        handing = Handing(
            source=claim.source, client=claim.client, taken=claim.taken, deliveries=deliveries, drained=drained
        )
        self.out.after_sync(SendHanding(claim.home, handing, now))

    def send_handing(self, work: SendHanding) -> None:
        """To the new home, which may be this broker."""
        if work.home == self.tables.name:
            self.handing(work.handing, work.at)
        else:
            self.router.send((work.home,), work.handing)
