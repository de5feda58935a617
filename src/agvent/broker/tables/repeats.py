"""Events that a publisher sent to two entries, because the first had not acknowledged them: a home takes one copy.

Within one chain, from one entry, its last sequence tells a repeat. Between chains only those sequences can come twice
that a publisher sent again elsewhere, and each such copy says which those are (`retried`). So a home remembers, for
each life of a publisher, the sequences that came last, and of those in a retried range all.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent import limits
from agvent.broker.records import Remembered
from agvent.wire.parts import Publication, Series

LIVES_MAX = 4
"""Processes of one publisher whose events may still be on their way."""

TRIM_MIN = 1_024
"""Ranges that are remembered before any is looked at to be forgotten."""

Span = tuple[int, int]
"""The first and the last of a range of sequences."""


class Life(msgspec.Struct):
    """What came of one life of a publisher."""

    last: int = 0
    recent: dict[int, int] = {}  # last -> first sequence: what came above `last` - PUBLISH_UNDER_WAY_MAX, perhaps more
    retried: dict[Span, set[int]] = {}  # the sequences of each that came
    trim_at: int = TRIM_MIN  # ranges in `recent`

    def had(self, publication: Publication) -> set[int]:
        """Which of its events came before, by their places: only what was sent to two entries can come twice."""
        first, last = publication.first, publication.sequence
        if not any(_meet(span, (first, last)) for span in (*self.retried, *publication.retried)):
            return set()
        came = self.came((first, last))
        for span, sequences in self.retried.items():
            if _meet(span, (first, last)):
                came |= {one for one in range(first, last + 1) if one in sequences}
        return {one - first for one in came}

    def came(self, span: Span) -> set[int]:
        """The recent sequences within a range."""
        ranges = (_within((first, last), span) for last, first in self.recent.items())
        return {one for sequences in ranges for one in sequences}

    def add(self, publication: Publication) -> None:
        first, last = publication.first, publication.sequence
        for span in publication.retried:
            if span not in self.retried:
                self.retried[span] = self.came(span)
                if len(self.retried) > limits.RETRIED_MAX:
                    del self.retried[next(iter(self.retried))]
        for span, came in self.retried.items():
            came.update(_within((first, last), span))
        self.recent[last] = self.recent.pop(first - 1, first)
        self.last = max(self.last, last)
        if len(self.recent) > self.trim_at:
            oldest = self.last - limits.PUBLISH_UNDER_WAY_MAX
            self.recent = {last: first for last, first in self.recent.items() if last > oldest}
            self.trim_at = TRIM_MIN + 2 * len(self.recent)


def _meet(one: Span, other: Span) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _within(one: Span, other: Span) -> range:
    return range(max(one[0], other[0]), min(one[1], other[1]) + 1)


class Repeats:
    """The lives of all publishers whose events came here."""

    def __init__(self) -> None:
        self._lives: dict[Series, dict[int, Life]] = {}

    def had(self, publication: Publication) -> set[int]:
        """Which of its events came before, by whatever entry: their places, of a single one 0."""
        life = self._lives.get(publication.series, {}).get(publication.life)
        return life.had(publication) if life is not None else set()

    def missing(self, publication: Publication, first: int, last: int) -> int:
        """How many of a range of sequences have not come from the life that an event is of; none of a life that is new
        here."""
        life = self._lives.get(publication.series, {}).get(publication.life)
        return max(0, last - first + 1) - len(life.came((first, last))) if life is not None else 0

    def add(self, publication: Publication) -> None:
        lives = self._lives.setdefault(publication.series, {})
        life = lives.get(publication.life)
        if life is None:
            life = lives[publication.life] = Life(recent={}, retried={})
            if len(lives) > LIVES_MAX:
                del lives[next(iter(lives))]
        life.add(publication)

    def snapshot(self) -> Iterator[Remembered]:
        """The lives of durable events."""
        for series, lives in self._lives.items():
            for number, life in lives.items() if not series.fast else ():
                retried = tuple((span, tuple(sorted(came))) for span, came in life.retried.items())
                yield Remembered(series.publisher, number, tuple(life.recent.items()), retried)

    def recall(self, record: Remembered) -> None:
        """A life from a snapshot."""
        retried = {span: set(came) for span, came in record.retried}
        recent = dict(record.recent)
        lives = self._lives.setdefault(Series(record.publisher, fast=False), {})
        lives[record.life] = Life(max(recent), recent, retried)
