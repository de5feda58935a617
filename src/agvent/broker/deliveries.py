"""Deliveries to this broker's clients: for each client a numbered queue, kept until the client acknowledges it.

A client that is slow gets at most DELIVERY_WINDOW of them unacknowledged; one that is away gets the rest when it comes
back. Beyond its quota the oldest are let go, and one gap notice for each publisher stands in their place. Fast events
have a queue of their own, in memory: its numbers begin anew, and higher, with each boot.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile

import msgspec

from agvent import limits
from agvent.broker.records import Acknowledged, Arrived, Booted, Joined, Noticed, Queued, Waited
from agvent.wire.messages import Deliver, Gap

BOOT_SHIFT = 32


class Queue(msgspec.Struct):
    """Deliveries `received` + 1 to `number`, but for those let go. Both only grow."""

    number: int = 0  # of the last delivery queued
    received: int = 0  # of the last one acknowledged
    waiting: dict[int, Deliver | Gap] = {}  # by number, ascending
    expires: dict[int, int] = {}  # number -> when its obligation ends
    last_of: dict[str, int] = {}  # publisher -> the number of its last delivery
    event_bytes: int = 0  # of the events that wait
    sent: int = 0  # the last number sent on the link the client has now

    def add(self, record: Arrived, ids: tuple[str, ...]) -> None:
        publication = record.publication
        self.number += 1
        self.waiting[self.number] = _delivery(self.number, self.last_of.get(publication.publisher, 0), record, ids)
        self.last_of[publication.publisher] = self.number
        if not record.lost:
            self.event_bytes += len(publication.event)
        if publication.expires:
            self.expires[self.number] = publication.expires

    def acknowledge(self, number: int) -> None:
        self.received = max(self.received, number)
        for one in list(takewhile(lambda one: one <= number, self.waiting)):
            self.remove(one)

    def remove(self, number: int) -> Deliver | Gap:
        gone = self.waiting.pop(number)
        self.expires.pop(number, None)
        if isinstance(gone, Deliver):
            self.event_bytes -= len(gone.event)
        return gone

    def ready(self, now: int, until: int) -> Iterator[Deliver | Gap]:
        """What may be sent now, up to a number: in order, within the window, a gap notice for what expired."""
        if self.sent >= until:
            return
        for number, delivery in islice(self.waiting.items(), limits.DELIVERY_WINDOW):
            if number <= self.sent:
                continue
            if number > until:
                return
            if isinstance(delivery, Deliver) and 0 < self.expires.get(number, 0) <= now:
                delivery = _gap(delivery, "expired")
            yield msgspec.structs.replace(delivery, after=self.sent)
            self.sent = number

    def excess(self) -> int:
        """The last number to let go where there is too much: half the quota is left. 0 if there is not."""
        if len(self.waiting) <= limits.CLIENT_DELIVERIES_MAX and self.event_bytes <= limits.CLIENT_QUEUE_BYTES_MAX:
            return 0
        events = [number for number, one in self.waiting.items() if isinstance(one, Deliver)]
        if len(events) > limits.CLIENT_DELIVERIES_MAX:
            return events[len(events) - limits.CLIENT_DELIVERIES_MAX // 2 - 1]
        if self.event_bytes > limits.CLIENT_QUEUE_BYTES_MAX and len(events) > 1:
            return events[len(events) // 2 - 1]
        return 0

    def check(self) -> None:
        numbers = list(self.waiting)
        assert numbers == sorted(numbers)
        assert not numbers or self.received < numbers[0] <= numbers[-1] <= self.number
        assert self.event_bytes == sum(len(d.event) for d in self.waiting.values() if isinstance(d, Deliver))


class Client(msgspec.Struct):
    """A client that this broker is home to; `link` is where it is attached now, and not durable."""

    name: str
    durable: Queue
    fast: Queue
    link: str = ""


class Deliveries:
    """All clients this broker is home to."""

    def __init__(self) -> None:
        self.clients: dict[str, Client] = {}
        self.stirred: dict[str, None] = {}  # clients to whom something may have to be sent
        self._boot = 0

    def booted(self, record: Booted) -> None:
        self._boot = record.boot
        for client in self.clients.values():
            client.fast = self._fast_queue()

    def _fast_queue(self) -> Queue:
        first = self._boot << BOOT_SHIFT
        return Queue(first, first, waiting={}, expires={}, last_of={}, sent=first)

    def join(self, record: Joined) -> None:
        durable = Queue(waiting={}, expires={}, last_of={})
        self.clients.setdefault(record.client, Client(record.client, durable, self._fast_queue()))

    def recall(self, record: Queued) -> None:
        """A client from a snapshot."""
        durable = Queue(record.number, record.received, waiting={}, expires={}, last_of=dict(record.last_of))
        self.clients[record.client] = Client(record.client, durable, self._fast_queue())

    def recall_waiting(self, record: Waited) -> None:
        queue, number = self.clients[record.client].durable, record.delivery.number
        queue.waiting[number] = record.delivery
        if isinstance(record.delivery, Deliver):
            queue.event_bytes += len(record.delivery.event)
        if record.expires:
            queue.expires[number] = record.expires

    def snapshot(self) -> Iterator[Queued | Waited]:
        for name, client in self.clients.items():
            queue = client.durable
            yield Queued(name, queue.number, queue.received, dict(queue.last_of))
            for number, delivery in queue.waiting.items():
                yield Waited(name, delivery, queue.expires.get(number, 0))

    def arrive(self, record: Arrived) -> None:
        for name, versions in record.deliveries:
            self.stirred[name] = None
            ids = tuple(key.partition("/")[2] for key, _ in versions)
            queue = self.clients[name].fast if record.publication.fast else self.clients[name].durable
            queue.add(record, ids)

    def acknowledge(self, record: Acknowledged) -> None:
        self.clients[record.client].durable.acknowledge(record.number)
        self.stirred[record.client] = None

    def notice(self, record: Noticed) -> None:
        """Gap notices in place of the oldest deliveries: one for each publisher, where its last one was."""
        queue = self.clients[record.client].durable
        gaps: dict[str, Gap] = {}
        for number in [number for number in queue.waiting if number <= record.number]:
            gone = queue.remove(number)
            first, last = (gone.first, gone.last) if isinstance(gone, Gap) else (gone.sequence, gone.sequence)
            before = gaps.pop(gone.publisher, None)
            gaps[gone.publisher] = Gap(
                number,
                0,
                before.behind if before else gone.behind,
                gone.publisher,
                min(first, before.first) if before else first,
                max(last, before.last) if before else last,
                False,
                record.reason,
                tuple(sorted({*gone.subscriptions, *(before.subscriptions if before else ())})),
            )
        queue.waiting = {**{gap.number: gap for gap in gaps.values()}, **queue.waiting}

    def over_quota(self) -> list[tuple[str, int]]:
        """Clients that got something and now have too much in their durable queue, each with the last number to let
        go."""
        found = [(name, self.clients[name].durable.excess()) for name in self.stirred]
        return [(name, number) for name, number in found if number]

    def attach(self, name: str, link: str) -> None:
        """From now on the client gets, over this link, what it has not acknowledged."""
        client = self.clients[name]
        self.stirred[name] = None
        client.link = link
        client.durable.sent, client.fast.sent = client.durable.received, client.fast.received

    def detach(self, link: str) -> None:
        for client in self.clients.values():
            if client.link == link:
                client.link = ""

    def check(self) -> None:
        for client in self.clients.values():
            client.durable.check()
            client.fast.check()


def _gap(delivery: Deliver, reason: str) -> Gap:
    sequence = delivery.sequence
    return Gap(
        delivery.number, 0, delivery.behind, delivery.publisher, sequence, sequence, delivery.fast, reason,
        delivery.subscriptions,
    )  # fmt: skip


def _delivery(number: int, behind: int, record: Arrived, ids: tuple[str, ...]) -> Deliver | Gap:
    publication = record.publication
    publisher, sequence, fast = publication.publisher, publication.sequence, publication.fast
    if record.lost:
        return Gap(number, 0, behind, publisher, record.after + 1, sequence, fast, record.lost, ids)
    return Deliver(number, 0, behind, publisher, sequence, fast, publication.event, ids)
