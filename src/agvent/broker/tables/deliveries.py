"""Deliveries to this broker's clients: for each client a queue of durable events, which waits for it when it is away.
Fast events have a queue of their own, in memory and with the same quota: its numbers begin anew, and higher, with each
boot.

What a client that moved here had elsewhere, and what arrives for it meanwhile, are in move_state.py until they are one
queue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from agvent import limits
from agvent.broker.notices import QueuesChanged
from agvent.broker.records import (
    NO_PART,
    Acknowledged,
    Arrived,
    Booted,
    CaughtUp,
    Claimed,
    Curtailed,
    GivenUp,
    Handed,
    HandedOver,
    HomePart,
    Joined,
    Left,
    Moved,
    MoveInProgress,
    Noticed,
    Parted,
    Queued,
    Waited,
    part_of,
)
from agvent.broker.tables.move_state import MoveState, expected
from agvent.broker.tables.queues import Queue
from agvent.wire.batches import deliveries_in, delivery_of
from agvent.wire.broker_messages import Passed
from agvent.wire.client_messages import Deliver, Gap, Source
from agvent.wire.names import client_key, first_number, moves_of, name_of

BOOT_SHIFT = 40


class HomeClient(msgspec.Struct):
    """A client that this broker is home to; `link` is where it is attached now, and not durable. `claimed`: it has
    another home since, which asks for what is here."""

    name: str
    durable: Queue
    fast: Queue
    link: str = ""
    moving: MoveState | None = None
    claimed: bool = False
    guest: bool = False

    @property
    def is_moving(self) -> bool:
        """Is something of before still to come?"""
        return self.moving is not None and not self.moving.is_done

    @property
    def is_expected(self) -> bool:
        """Was it elsewhere before, and has not said where?"""
        return self.moving is not None and not (self.moving.is_begun or self.moving.is_done)


class Deliveries:
    """All clients this broker is home to."""

    def __init__(self) -> None:
        self.clients: dict[str, HomeClient] = {}
        self.moving: dict[str, None] = {}  # exactly the clients that are
        self.gone_guests: dict[str, None] = {}  # exactly the guests that are not attached
        self.given_up: dict[HomePart, Source] = {}  # homes that have to close a client's part, if they return
        self._keys: dict[str, dict[str, None]] = {}  # a client's name -> exactly its keys
        self._boot = 0

    def booted(self, record: Booted) -> None:
        self._boot = record.boot
        for client in self.clients.values():
            client.fast = self._fast_queue()

    def _fast_queue(self) -> Queue:
        first = self._boot << BOOT_SHIFT
        return Queue(number=first, received=first, waiting={}, expires={}, sent=first)

    def current(self, name: str) -> str:
        """The key of a client that says only its name: that of its last move here."""
        return max(self._keys.get(name, ()), key=moves_of, default=client_key(name, 0))

    def keys_of(self, name: str) -> list[str]:
        """What a client is called here."""
        return list(self._keys.get(name, ()))

    def _file(self, client: HomeClient) -> None:
        if client.name not in self.clients:
            self.clients[client.name] = client
            if client.guest:
                self.gone_guests[client.name] = None
            self._keys.setdefault(name_of(client.name), {})[client.name] = None

    def join(self, record: Joined) -> None:
        first = first_number(record.client)
        durable = Queue(number=first, received=first, waiting={}, expires={})
        self._file(HomeClient(name=record.client, durable=durable, fast=self._fast_queue(), guest=record.guest))
        if record.moved:
            self.clients[record.client].moving = expected(record.client)
            self.moving[record.client] = None

    def recall(self, record: Queued) -> None:
        """A client from a snapshot."""
        durable = Queue(number=record.number, received=record.received, waiting={}, expires={})
        self._file(HomeClient(name=record.client, durable=durable, fast=self._fast_queue(), guest=record.guest))

    def recall_waiting(self, record: Waited) -> None:
        queue, number = self.clients[record.client].durable, record.delivery.number
        queue.waiting[number] = record.delivery
        queue.event_bytes += record.delivery.event_bytes
        if record.expires:
            queue.expires[number] = record.expires

    def snapshot(self) -> Iterator[Queued | Waited | MoveInProgress | GivenUp]:
        if self.given_up:
            yield GivenUp(tuple(self.given_up.values()))
        for name, client in self.clients.items():
            queue = client.durable
            yield Queued(name, queue.number, queue.received, client.guest)
            for number, delivery in queue.waiting.items():
                yield Waited(name, delivery, queue.expires.get(number, 0))
            if (moving := client.moving) is not None or client.claimed:
                yield _held(client, moving or MoveState(origin=NO_PART, sources=(), taken=0, handed=[], waiting=[]))

    def recall_held(self, record: MoveInProgress) -> None:
        """A client's way from a snapshot."""
        client = self.clients[record.client]
        client.claimed = record.claimed
        if record.origin != NO_PART:
            handed, waiting = list(record.handed), list(record.waiting)
            client.moving = MoveState(
                origin=record.origin,
                sources=record.sources,
                taken=record.taken,
                handed=handed,
                waiting=waiting,
                mark=record.mark,
                is_done=record.is_done,
                ended=record.ended,
                inherited=record.inherited,
            )
            if client.is_moving:
                self.moving[record.client] = None

    def arrive(self, record: Arrived) -> QueuesChanged:
        expires = record.publication.expires
        for place, (name, versions) in enumerate(record.deliveries):
            ids = tuple(key.partition("/")[2] for key, _ in versions)
            client, delivery = self.clients[name], _delivery(record, ids, record.places[place] if record.places else ())
            if record.publication.fast:
                client.fast.add(delivery, expires)
            elif client.moving is not None and not client.moving.is_done:
                client.moving.wait(_passed(delivery, expires))
            else:
                client.durable.add(delivery, expires)
        return QueuesChanged(tuple(name for name, _ in record.deliveries))

    # Moves

    def move(self, record: Moved) -> None:
        client = self.clients[record.client]
        if client.moving is None or client.moving.is_begun or client.moving.is_done:
            client.moving = expected(record.client)
        client.moving.begin(record.sources)
        self.moving[record.client] = None

    def inherit(self, client: str, types: tuple[str, ...]) -> None:
        """What a client that comes back advertised here before."""
        moving = self.clients[client].moving
        if moving is not None:
            moving.inherited = types

    def inherited(self, client: str) -> tuple[str, ...]:
        """Types that it has not said again, until it has said where it was."""
        moving = self.clients[client].moving
        return moving.inherited if moving is not None and self.clients[client].is_expected else ()

    def advertised(self, name: str, type: str) -> None:
        """A client said a type, or that it is no more."""
        client = self.clients.get(self.current(name))
        if client is not None and client.moving is not None and type in client.moving.inherited:
            client.moving.inherited = tuple(one for one in client.moving.inherited if one != type)

    def hand(self, record: Handed) -> None:
        moving = self._moving(record.client)
        moving.taken = record.number
        moving.hand(_passed(record.passed.delivery, record.passed.expires))

    def hand_over(self, record: HandedOver) -> None:
        moving = self._moving(record.client)
        if record.given_up:
            self.give_up(moving.sources[:1])
        moving.sources = moving.sources[1:] if record.reason else ()
        moving.taken = moving.sources[0].received if moving.sources else 0
        moving.mark = record.mark
        if record.reason:
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
            moving.hand([Passed(gap, 0)])

    def give_up(self, homes: tuple[Source, ...]) -> None:
        self.given_up |= {part_of(home): home for home in homes}
        while len(self.given_up) > limits.GIVEN_UP_MAX:
            del self.given_up[next(iter(self.given_up))]

    def part(self, record: Parted) -> None:
        self.given_up.pop(HomePart(record.broker, record.client), None)

    def catch_up(self, record: CaughtUp) -> QueuesChanged:
        moving = self._moving(record.client)
        durable = self.clients[record.client].durable
        for passed in moving.queue():
            durable.add(passed.delivery, passed.expires)
        moving.handed, moving.waiting, moving.is_done = [], [], True
        moving.handed_bytes = moving.waiting_bytes = 0
        del self.moving[record.client]
        return QueuesChanged((record.client,))

    def curtail(self, record: Curtailed) -> None:
        self._moving(record.client).let_go(record.count, record.reason)

    def crowded(self, changed: Collection[str]) -> list[tuple[str, int]]:
        """Of these clients those on their way that have too much waiting here, each with how many of the oldest must
        go."""
        found = [(name, self._moving(name).excess()) for name in self.moving if name in changed]
        return [(name, count) for name, count in found if count]

    def _moving(self, client: str) -> MoveState:
        moving = self.clients[client].moving
        assert moving is not None
        assert not moving.is_done
        return moving

    def claim(self, record: Claimed) -> None:
        client = self.clients[record.client]
        client.claimed = True
        client.durable.acknowledge(record.number)

    def leave(self, record: Left) -> None:
        del self.clients[record.client]
        self.moving.pop(record.client, None)
        self.gone_guests.pop(record.client, None)
        keys = self._keys[name_of(record.client)]
        del keys[record.client]
        if not keys:
            del self._keys[name_of(record.client)]

    def acknowledge(self, record: Acknowledged) -> QueuesChanged:
        self.clients[record.client].durable.acknowledge(record.number)
        return QueuesChanged((record.client,))

    def owes(self, key: str) -> bool:
        """Does something wait for a subscription, or may something be handed over for it?"""
        name, _, id = key.partition("/")
        client = self.clients[name]
        waiting = (*client.durable.waiting.values(), *client.fast.waiting.values())
        return client.is_moving or any(id in one.subscriptions for one in waiting)

    def acknowledge_fast(self, client: str, number: int) -> None:
        self.clients[client].fast.acknowledge(number)

    def let_go_fast(self, client: str, last: int, reason: str) -> int:
        """Drops the oldest fast deliveries up to a number; gives how many events went."""
        return self.clients[client].fast.let_go(last, reason, fast=True)

    def void(self, key: str) -> QueuesChanged:
        """A subscription ended, and is owed nothing."""
        name, _, id = key.partition("/")
        client = self.clients[name]
        client.durable.void(id)
        client.fast.void(id)
        if client.moving is not None and not client.moving.is_done:
            client.moving.void(id)
        return QueuesChanged((name,))

    def notice(self, record: Noticed) -> None:
        self.clients[record.client].durable.let_go(record.number, record.reason, fast=False)

    def over_quota(self, changed: Iterable[str], *, fast: bool) -> list[tuple[str, int]]:
        """Of these clients those that have too much in one of their queues, each with the last number to let go."""
        clients = [self.clients[name] for name in changed]
        found = [(one.name, (one.fast if fast else one.durable).excess()) for one in clients]
        return [(name, number) for name, number in found if number]

    def attach(self, name: str, link: str) -> None:
        """From now on the client gets, over this link, what it has not acknowledged."""
        client = self.clients[name]
        self.gone_guests.pop(name, None)
        client.link = link
        client.durable.begin_anew()
        client.fast.begin_anew()

    def detach(self, link: str) -> None:
        for client in self.clients.values():
            if client.link == link:
                client.link = ""
                if client.guest:
                    self.gone_guests[client.name] = None

    def check(self) -> None:
        assert self.moving.keys() == {name for name, client in self.clients.items() if client.is_moving}
        assert self.gone_guests.keys() == {name for name, one in self.clients.items() if one.guest and not one.link}
        assert sorted(key for keys in self._keys.values() for key in keys) == sorted(self.clients)
        for client in self.clients.values():
            client.durable.check()
            client.fast.check()


def _delivery(record: Arrived, ids: tuple[str, ...], picks: tuple[bytes, ...]) -> Deliver | Gap:
    """What a client will get of an arrival, without its number."""
    publication = record.publication
    if record.lost:
        publisher, sequence, fast = publication.publisher, publication.sequence, publication.fast
        first, last = (max(record.after + 1, record.entered.began), sequence) if publisher else (0, 0)
        return Gap(
            number=0,
            after=0,
            behind=0,
            publisher=publisher,
            first=first,
            last=last,
            fast=fast,
            reason=record.lost,
            subscriptions=ids,
        )
    return delivery_of(publication, ids, picks)


def _passed(delivery: Deliver | Gap, expires: int) -> list[Passed]:
    """For a client on its way: a batch one by one, because another home may have picked others of its events."""
    deliveries = deliveries_in(delivery) if isinstance(delivery, Deliver) else [delivery]
    return [Passed(one, expires) for one in deliveries]


def _held(client: HomeClient, moving: MoveState) -> MoveInProgress:
    return MoveInProgress(
        client=client.name,
        claimed=client.claimed,
        origin=moving.origin,
        sources=moving.sources,
        taken=moving.taken,
        handed=tuple(moving.handed),
        waiting=tuple(moving.waiting),
        mark=moving.mark,
        is_done=moving.is_done,
        ended=moving.ended,
        inherited=moving.inherited,
    )
