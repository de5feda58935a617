"""A client's way to a new home: what the old home hands over, what arrives here meanwhile, how both become one queue.

For a while both homes are sent the client's events, and not all the same: its filters may change on the way, and
brokers learn of the two homes at different times. So everything waits until nothing of before can come any more, and
then goes in the order of each publisher's sequences, what came both ways once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from agvent.wire.broker_messages import Passed
from agvent.wire.client_messages import Deliver, Gap, Source

EventKey = tuple[str, int]
"""Publisher and sequence; of a notice, the last sequence it speaks of."""


def event_of(delivery: Deliver | Gap) -> EventKey:
    return (delivery.publisher, delivery.sequence if isinstance(delivery, Deliver) else delivery.last)


def merged(handed: Sequence[EventKey], waiting: Sequence[EventKey]) -> Iterator[tuple[bool, int]]:
    """Two lists, each in order for every publisher, as one that is: from which one each is (handed: True), and where in
    it it stands.

    >>> list(merged([("p", 1), ("p", 4)], [("q", 9), ("p", 2), ("p", 5)]))
    [(True, 0), (False, 1), (True, 1), (False, 0), (False, 2)]
    """
    left: dict[str, list[int]] = {}  # publisher -> places in `waiting`, the next one last
    for place in range(len(waiting) - 1, -1, -1):
        left.setdefault(waiting[place][0], []).append(place)
    gone: set[int] = set()
    for place, (publisher, sequence) in enumerate(handed):
        places = left.get(publisher, [])
        while places and waiting[places[-1]][1] < sequence:
            gone.add(places[-1])
            yield False, places.pop()
        yield True, place
    yield from ((False, place) for place in range(len(waiting)) if place not in gone)


class Moving(msgspec.Struct):
    """Where a client's move stands: sources to ask, then a `mark` to be passed, then done.

    `taken` is how far the first of its sources has handed over. `origin` is the broker and the client's key there: the
    same move said again is recognised by it. `mark` is a position of this home's stream after the last source ended:
    when nothing from before it can come any more, everything is there."""

    origin: tuple[str, str]
    sources: tuple[Source, ...]
    taken: int
    handed: list[Passed] = []
    waiting: list[Passed] = []
    mark: int = 0
    is_done: bool = False

    def queue(self) -> Iterator[Passed]:
        """What was handed over and what waited, in order, without what came both ways."""
        had: dict[EventKey, set[str]] = {}
        for passed in self.handed:
            if isinstance(passed.delivery, Deliver):
                had.setdefault(event_of(passed.delivery), set()).update(passed.delivery.subscriptions)
        keys = [[event_of(passed.delivery) for passed in some] for some in (self.handed, self.waiting)]
        for is_handed, place in merged(*keys):
            if is_handed:
                yield self.handed[place]
                continue
            delivery, expires = self.waiting[place].delivery, self.waiting[place].expires
            already = had.get(event_of(delivery), ()) if isinstance(delivery, Deliver) else ()
            ids = tuple(id for id in delivery.subscriptions if id not in already)
            if ids:
                yield Passed(msgspec.structs.replace(delivery, subscriptions=ids), expires)
