"""A client's deliveries: a numbered queue, kept until the client acknowledges them.

A client that is slow gets at most DELIVERY_WINDOW of them unacknowledged. Beyond its quota the oldest are let go, and
one gap notice for each publisher stands in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import msgspec

from agvent import limits
from agvent.wire.batches import after_number, without
from agvent.wire.client_messages import Deliver, Gap


class Queue(msgspec.Struct):
    """Deliveries `received` + 1 to `number`, but for those let go. Both only grow. Each event of a batch has a
    number, and the batch its last one's."""

    number: int = 0  # of the last delivery queued
    received: int = 0  # of the last event acknowledged
    waiting: dict[int, Deliver | Gap] = {}  # by number, ascending
    expires: dict[int, int] = {}  # number -> when its obligation ends
    event_bytes: int = 0  # of the events that wait
    sent: int = 0  # the last number sent on the link the client has now
    sent_waiting: int = 0  # of those that wait, how many were sent on it
    sent_bytes: int = 0  # and their events' bytes
    sent_of: dict[str, int] = {}  # publisher -> the last number of its deliveries sent on it, if not all are received

    def add(self, delivery: Deliver | Gap, expires: int) -> None:
        """The next delivery; it gets its number here. One that is for no subscription any more takes only that."""
        self.number += delivery.number_count
        if not delivery.subscriptions:
            return
        self.waiting[self.number] = msgspec.structs.replace(delivery, number=self.number, after=0, behind=0)
        self.event_bytes += delivery.event_bytes
        if expires:
            self.expires[self.number] = expires

    def acknowledge(self, number: int) -> None:
        self.received = max(self.received, number)
        for one in list(takewhile(lambda one: one <= number, self.waiting)):
            self.remove(one)
        if self.received >= self.sent:
            self.sent_of.clear()

    def remove(self, number: int) -> Deliver | Gap:
        gone = self.waiting.pop(number)
        self.expires.pop(number, None)
        self.event_bytes -= gone.event_bytes
        if number <= self.sent:
            self.sent_waiting -= 1
            self.sent_bytes -= gone.event_bytes
        return gone

    def void(self, id: str) -> None:
        """Nothing is owed to a subscription that ended: what waits for it alone goes, and its number with it."""
        for number, one in [(number, one) for number, one in self.waiting.items() if id in one.subscriptions]:
            left = without(one, id)
            if left.subscriptions:
                self.waiting[number] = left
            else:
                self.remove(number)

    def begin_anew(self) -> None:
        """The client has another link: what it has not acknowledged is sent again."""
        self.sent, self.sent_waiting, self.sent_bytes, self.sent_of = self.received, 0, 0, {}

    def ready(self, now: int, until: int) -> Iterator[Deliver | Gap]:
        """What may be sent now, up to a number: in order, within the window, a gap notice for what expired."""
        for number in range(self.sent + 1, until + 1):
            if self.sent_waiting >= limits.DELIVERY_WINDOW or self.sent_bytes >= limits.DELIVERY_WINDOW_BYTES_MAX:
                return
            delivery = self.waiting.get(number)
            if delivery is None:
                continue  # let go: a notice further on stands for it, or nobody is owed it
            after, self.sent = self.sent, number
            behind = self.sent_of.get(delivery.publisher, 0)
            self.sent_of[delivery.publisher] = number
            self.sent_waiting += 1
            self.sent_bytes += delivery.event_bytes
            expired = 0 < self.expires.get(number, 0) <= now and delivery.event_count
            left = _gap(delivery, "expired") if expired else after_number(delivery, self.received)
            yield msgspec.structs.replace(left, after=after, behind=behind)

    @property
    def event_count(self) -> int:
        """Events and notices that wait."""
        return sum(one.number_count for one in self.waiting.values()) - self._received_of_first()

    def _received_of_first(self) -> int:
        """Of the first delivery that waits, how many events were acknowledged."""
        first = next(iter(self.waiting.values()), None)
        if first is None:
            return 0
        return max(0, self.received - (first.number - first.number_count))

    def excess(self) -> int:
        """The last number to let go where there is too much: half the quota is left. 0 if there is not."""
        if len(self.waiting) <= limits.CLIENT_DELIVERIES_MAX and self.event_bytes <= limits.CLIENT_QUEUE_BYTES_MAX:
            return 0
        events = [number for number, one in self.waiting.items() if one.event_count]
        if len(events) > limits.CLIENT_DELIVERIES_MAX:
            return events[len(events) - limits.CLIENT_DELIVERIES_MAX // 2 - 1]
        if self.event_bytes <= limits.CLIENT_QUEUE_BYTES_MAX:
            return 0
        left, last = self.event_bytes, 0
        for number in events[:-1]:
            if left <= limits.CLIENT_QUEUE_BYTES_MAX // 2:
                break
            last, left = number, left - self.waiting[number].event_bytes
        return last

    def let_go(self, last: int, reason: str, *, fast: bool) -> int:
        """Gap notices in place of the oldest deliveries, up to a number: one for each publisher, where its last one
        was. Gives how many events went."""
        gaps: dict[str, Gap] = {}
        went = -self._received_of_first()
        for number in [number for number in self.waiting if number <= last]:
            gone = self.remove(number)
            went += gone.event_count
            before = gaps.pop(gone.publisher, None)
            gaps[gone.publisher] = Gap(
                number=number,
                after=0,
                behind=0,
                publisher=gone.publisher,
                first=min(gone.first, before.first) if before else gone.first,
                last=max(gone.last, before.last) if before else gone.last,
                fast=fast,
                reason=kept_reason(gone) or reason,
                subscriptions=tuple(sorted({*gone.subscriptions, *(before.subscriptions if before else ())})),
            )
        self.waiting = {**{gap.number: gap for gap in gaps.values()}, **self.waiting}
        self.sent_waiting += sum(gap.number <= self.sent for gap in gaps.values())
        return went

    def check(self) -> None:
        numbers = list(self.waiting)
        assert numbers == sorted(numbers)
        assert not numbers or self.received < numbers[0] <= numbers[-1] <= self.number
        assert self.event_bytes == sum(one.event_bytes for one in self.waiting.values())
        sent = [one for number, one in self.waiting.items() if number <= self.sent]
        assert (self.sent_waiting, self.sent_bytes) == (len(sent), sum(one.event_bytes for one in sent))


def kept_reason(gone: Deliver | Gap) -> str:
    """Why a notice in the place of this one is there, if not for letting it go: one that names no publisher speaks of
    everything, and what happened is why."""
    return gone.reason if isinstance(gone, Gap) and not gone.publisher else ""


def _gap(delivery: Deliver | Gap, reason: str) -> Gap:
    return Gap(
        number=delivery.number,
        after=0,
        behind=0,
        publisher=delivery.publisher,
        first=delivery.first,
        last=delivery.last,
        fast=delivery.fast,
        reason=reason,
        subscriptions=delivery.subscriptions,
    )
