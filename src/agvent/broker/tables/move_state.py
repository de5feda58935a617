"""A client's way to a new home: what the old home hands over, what arrives here meanwhile, how both become one queue.

For a while both homes are sent the client's events, and not all the same: its filters may change on the way, and
brokers learn of the two homes at different times. So everything waits until nothing of before can come any more, and
then goes in the order of each publisher's sequences, what came both ways once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from agvent import limits
from agvent.broker.records import HomePart, part_of
from agvent.broker.tables.queues import kept_reason
from agvent.wire.batches import without
from agvent.wire.broker_messages import Passed
from agvent.wire.client_messages import Deliver, Gap, Source


class QueuedEvent(NamedTuple):
    """An event of one life of its publisher: another life may have the same sequences. A notice is of none."""

    publisher: str
    life: int
    sequence: int


NO_LIFE: Final = -1


def event_of(delivery: Deliver | Gap) -> QueuedEvent:
    """Its event; of a notice, the last event that it speaks of."""
    life = delivery.life if isinstance(delivery, Deliver) else NO_LIFE
    return QueuedEvent(delivery.publisher, life, delivery.last)


def merged(handed: Sequence[QueuedEvent], waiting: Sequence[QueuedEvent]) -> Iterator[tuple[bool, int]]:
    """One list behind the other, but the events of each life ascend: from which one each is (handed: True), and where
    in it it stands. Neither list need be in order: what entered at two brokers was not, to each other.

    >>> handed = [QueuedEvent("p", 1, 1), QueuedEvent("p", 1, 4), QueuedEvent("p", 1, 3)]
    >>> list(merged(handed, [QueuedEvent("q", 1, 9), QueuedEvent("p", 1, 2), QueuedEvent("p", 1, 5)]))
    [(True, 0), (False, 1), (True, 2), (False, 0), (True, 1), (False, 2)]
    """
    every = [*handed, *waiting]
    lives: dict[tuple[str, int], list[int]] = {}
    for place, one in enumerate(every):
        lives.setdefault((one.publisher, one.life), []).append(place)
    ascending = {life: iter(sorted(theirs, key=lambda at: every[at].sequence)) for life, theirs in lives.items()}
    for one in every:
        place = next(ascending[one.publisher, one.life])
        yield (True, place) if place < len(handed) else (False, place - len(handed))


def expected(client: str) -> MoveState:
    """The move of a client that was elsewhere and has not said where."""
    return MoveState(origin=HomePart("", client), sources=(), taken=0, handed=[], waiting=[])


class MoveState(msgspec.Struct, kw_only=True):
    """Where a client's move stands: not begun until it has said where it was, then sources to ask, then a `mark` to be
    passed, then done.

    `taken` is how far the first of its sources has handed over. `origin` is the broker and the client's key there: the
    same move said again is recognised by it. `mark` is a position of this home's stream after the last source ended:
    when nothing from before it can come any more, everything is there. `ended` are subscriptions that it is handed
    nothing for any more. `inherited` are types that the client advertised here when it was here before, and has not
    said again."""

    origin: HomePart
    sources: tuple[Source, ...]
    taken: int
    handed: list[Passed] = []
    waiting: list[Passed] = []
    mark: int = 0
    is_done: bool = False
    ended: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    handed_bytes: int = 0  # of the events in `handed`
    waiting_bytes: int = 0  # and in `waiting`

    def __post_init__(self) -> None:
        self.handed_bytes, self.waiting_bytes = _bytes_in(self.handed), _bytes_in(self.waiting)

    @property
    def is_begun(self) -> bool:
        """Has the client said where it was?"""
        return bool(self.origin.broker)

    def begin(self, sources: tuple[Source, ...]) -> None:
        first = sources[0]
        self.origin, self.sources, self.taken = part_of(first), sources, first.received

    def hand(self, passed: Sequence[Passed]) -> None:
        self.handed += passed
        self.handed_bytes += _bytes_in(passed)

    def wait(self, passed: Sequence[Passed]) -> None:
        self.waiting += passed
        self.waiting_bytes += _bytes_in(passed)

    @property
    def is_crowded(self) -> bool:
        """Has an old home handed over more than may wait for a client?"""
        return _is_beyond(len(self.handed), self.handed_bytes)

    def excess(self) -> int:
        """How many of the oldest that wait have to go where there is too much: half the quota is left. 0 if there is
        not."""
        if not _is_beyond(len(self.waiting), self.waiting_bytes):
            return 0
        sizes = [_bytes_in((one,)) for one in self.waiting]
        count = sum(size > 0 for size in sizes)  # notices are not counted
        size, gone = self.waiting_bytes, 0
        if not _is_beyond(count, size):
            return 0
        while gone < len(sizes) - 1 and _is_beyond(2 * count, 2 * size):
            count, size, gone = count - (sizes[gone] > 0), size - sizes[gone], gone + 1
        return gone

    def let_go(self, count: int, reason: str) -> None:
        """Gap notices in place of the oldest that wait: one for each publisher, where its last one was."""
        gaps: dict[str, Gap] = {}
        for gone in (passed.delivery for passed in self.waiting[:count]):
            before = gaps.pop(gone.publisher, None)
            first, ids = (gone.first, ()) if before is None else (min(gone.first, before.first), before.subscriptions)
            ids = tuple(sorted({*ids, *gone.subscriptions}))
            gaps[gone.publisher] = Gap(
                number=0,
                after=0,
                behind=0,
                publisher=gone.publisher,
                first=first,
                last=gone.last,
                fast=False,
                reason=kept_reason(gone) or reason,
                subscriptions=ids,
            )
        self.waiting_bytes -= _bytes_in(self.waiting[:count])
        self.waiting = [*(Passed(gap, 0) for gap in gaps.values()), *self.waiting[count:]]

    def void(self, id: str) -> None:
        """Nothing is owed to a subscription that ended. What was handed over keeps its place."""
        self.ended = tuple(sorted({*self.ended, id}))
        for passed in (self.handed, self.waiting):
            passed[:] = [Passed(without(one.delivery, id), one.expires) for one in passed]
        self.handed_bytes, self.waiting_bytes = _bytes_in(self.handed), _bytes_in(self.waiting)

    def wanted(self, passed: Passed) -> Passed:
        """What the old home hands over, without the subscriptions that ended."""
        delivery = passed.delivery
        for id in self.ended:
            delivery = without(delivery, id)
        return Passed(delivery, passed.expires)

    def queue(self) -> Iterator[Passed]:
        """What was handed over and what waited, in order. What came both ways is one delivery, for all subscriptions
        that it was for."""
        waiting: dict[QueuedEvent, tuple[str, ...]] = {}
        for passed in self.waiting:
            if isinstance(passed.delivery, Deliver):
                waiting[event_of(passed.delivery)] = passed.delivery.subscriptions
        handed = {event_of(one.delivery) for one in self.handed if isinstance(one.delivery, Deliver)}
        keys = [[event_of(passed.delivery) for passed in some] for some in (self.handed, self.waiting)]
        for is_handed, place in merged(*keys):
            passed = (self.handed if is_handed else self.waiting)[place]
            delivery = passed.delivery
            if isinstance(delivery, Deliver) and is_handed:
                also = waiting.get(event_of(delivery), ())
                ids = (*delivery.subscriptions, *(id for id in also if id not in delivery.subscriptions))
                yield Passed(msgspec.structs.replace(delivery, subscriptions=ids), passed.expires)
            elif isinstance(delivery, Gap) or (delivery.subscriptions and event_of(delivery) not in handed):
                yield passed


def _bytes_in(passed: Sequence[Passed]) -> int:
    return sum(one.delivery.event_bytes for one in passed)


def _is_beyond(count: int, size: int) -> bool:
    """Is this more than may wait for a client?"""
    return count > limits.CLIENT_DELIVERIES_MAX or size > limits.CLIENT_QUEUE_BYTES_MAX
