"""The events that a client was given last. A publisher that moved may have sent one to two entries, and a subscriber
that moved has a home that does not know of the first copy: the client itself does.

Kept are the sequences of each publisher's life as ranges, as far back as a life may send events again. Events that
follow each other are one range. Where there are too many lives, the one that was heard first is forgotten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from agvent import limits
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import Deliver
from agvent.wire.lines import packed, places_in

TRIM_MIN = 1_024
"""Ranges of one life that are remembered before any is looked at to be forgotten."""


class PublisherLife(NamedTuple):
    publisher: str
    life: int


class Recent(msgspec.Struct):
    """What was given of one life: the first and the last sequence of each range. The ranges ascend, and none meets
    another."""

    firsts: list[int] = []
    lasts: list[int] = []
    trim_at: int = TRIM_MIN

    def add(self, first: int, last: int) -> None:
        """Takes a range of which nothing is here."""
        if not self.lasts or first > self.lasts[-1] + 1:
            self.firsts.append(first)
            self.lasts.append(last)
        elif first == self.lasts[-1] + 1:
            self.lasts[-1] = last
        else:
            at = bisect_right(self.firsts, first)
            self.firsts.insert(at, first)
            self.lasts.insert(at, last)
        if len(self.lasts) > self.trim_at:
            gone = bisect_right(self.lasts, self.lasts[-1] - limits.PUBLISH_UNDER_WAY_MAX)
            del self.firsts[:gone], self.lasts[:gone]
            self.trim_at = TRIM_MIN + 2 * len(self.lasts)

    def has(self, sequence: int) -> bool:
        at = bisect_right(self.firsts, sequence) - 1
        return at >= 0 and sequence <= self.lasts[at]


class Given:
    """What was given of each publisher's lives."""

    def __init__(self) -> None:
        self._lives: dict[PublisherLife, Recent] = {}

    def add(self, delivery: Deliver) -> None:
        """Remembers a delivery of which nothing was given before."""
        recent = self._of(delivery)
        if delivery.places:
            for sequence in sequences_in(delivery):
                recent.add(sequence, sequence)
        else:
            recent.add(delivery.first, delivery.last)

    def add_new(self, delivery: Deliver) -> Deliver | None:
        """Remembers a delivery, and says what of it was not given before, if anything. Where that is a part, all its
        events stay, because each has its number; those that came before are for no subscription."""
        recent = self._of(delivery)
        sequences = sequences_in(delivery)
        new = [place for place, sequence in enumerate(sequences) if not recent.has(sequence)]
        for place in new:
            recent.add(sequences[place], sequences[place])
        if len(new) == len(sequences):
            return delivery
        return _part(delivery, new, len(sequences)) if new else None

    def _of(self, delivery: Deliver) -> Recent:
        key = PublisherLife(delivery.publisher, delivery.life)
        recent = self._lives.get(key)
        if recent is None:
            recent = self._lives[key] = Recent([], [])
            if len(self._lives) > limits.GIVEN_LIVES_MAX:
                del self._lives[next(iter(self._lives))]
        return recent


def _part(delivery: Deliver, places: Sequence[int], count: int) -> Deliver | None:
    """A batch of which only the events at some places are for anybody."""
    wanted = set(places)
    kept = [
        (id, [place for place in places_in(pick, count) if place in wanted])
        for id, pick in zip(delivery.subscriptions, delivery.picked, strict=True)
    ]
    ids = tuple(id for id, picks in kept if picks)
    picked = tuple(packed(picks, count) for _, picks in kept if picks)
    return msgspec.structs.replace(delivery, subscriptions=ids, picked=picked) if ids else None
