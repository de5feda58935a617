"""Matches: pairs of an event and a subscription, as integers until somebody asks for names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from agvent.filters.subscription import Subscription
from agvent.matching.columns.arrays import I32, I64
from agvent.matching.columns.column_batch import Rejected, Unanswered

if TYPE_CHECKING:
    import pyarrow


class Matches:
    """The matches of a batch of events, which `match_batch` and `match_json` give.

    >>> from agvent import Subscriptions
    >>> index = Subscriptions()
    >>> index.add("ada", "price < 100")
    >>> found = index.match_batch([{"price": 99.5}, {"price": 150}])
    >>> found.event_count, len(found), dict(found.by_event())
    (2, 1, {0: ['ada']})

    Event e matches the subscriptions with the ordinals subscriptions[ends[e - 1] : ends[e]], none twice.
    `event_count` is how many events were looked at, those without a match and those in `rejected` included.
    `unanswered` are the questions whose answer could cost more than a bound allows, and which count as unknown.
    """

    def __init__(
        self,
        subscriptions: I32,
        ends: I64,
        known: Sequence[Subscription],
        rejected: Sequence[Rejected] = (),
        unanswered: Sequence[Unanswered] = (),
    ) -> None:
        self.subscriptions = subscriptions
        self.ends = ends
        self.event_count = len(ends)
        self.rejected = list(rejected)
        self.unanswered = list(unanswered)
        self._known = known

    def __len__(self) -> int:
        return len(self.subscriptions)

    @cached_property
    def events(self) -> I64:
        """The event of every pair, ascending."""
        return np.repeat(np.arange(self.event_count), np.diff(self.ends, prepend=0))

    def ids(self) -> list[str]:
        """The subscription's id of every pair."""
        known = self._known
        return [known[ordinal].id for ordinal in self.subscriptions.tolist()]

    def by_event(self) -> Iterator[tuple[int, list[str]]]:
        """Each event that matched something, with the ids in code-point order."""
        ids, start = self.ids(), 0
        for event, end in enumerate(self.ends.tolist()):
            if end > start:
                yield event, sorted(ids[start:end])
                start = end

    def by_subscription(self) -> dict[str, bytes]:
        """Each subscription that was matched, by its id, with its events ascending: two bytes each, the lower first."""
        if not len(self.subscriptions):
            return {}
        assert self.event_count <= 1 << 16
        order = np.argsort(self.subscriptions, kind="stable")
        ordinals = self.subscriptions[order]
        events = self.events[order].astype("<u2").tobytes()
        starts = np.flatnonzero(np.diff(ordinals, prepend=-1))
        ends = [*(2 * starts[1:]).tolist(), len(events)]
        found, start = {}, 0
        for ordinal, end in zip(ordinals[starts].tolist(), ends, strict=True):
            found[self._known[ordinal].id] = events[start:end]
            start = end
        return found

    def to_arrow(self) -> pyarrow.Table:
        """A table with the columns `event` (int64) and `subscription` (string)."""
        import pyarrow  # noqa: PLC0415 - only who asks for Arrow pays for importing it

        return pyarrow.table({"event": self.events, "subscription": pyarrow.array(self.ids(), "string")})
