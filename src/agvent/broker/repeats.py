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
from agvent.wire.messages import Publication

LIVES_MAX = 4
"""Processes of one publisher whose events may still be on their way."""


class Life(msgspec.Struct):
    """What came of one life of a publisher."""

    last: int = 0
    recent: dict[int, None] = {}  # every sequence that came and is above `last` - PUBLISH_CREDIT, and perhaps others
    retried: dict[tuple[int, int], set[int]] = {}  # range -> the sequences of it that came

    def has(self, sequence: int) -> bool:
        return sequence in self.recent or any(sequence in came for came in self.retried.values())

    def add(self, sequence: int, retried: tuple[tuple[int, int], ...]) -> None:
        for first, last in retried:
            if (first, last) not in self.retried:
                self.retried[first, last] = {one for one in self.recent if first <= one <= last}
                if len(self.retried) > limits.RETRIED_MAX:
                    del self.retried[next(iter(self.retried))]
        for (first, last), came in self.retried.items():
            if first <= sequence <= last:
                came.add(sequence)
        self.recent[sequence] = None
        self.last = max(self.last, sequence)
        if len(self.recent) > 2 * limits.PUBLISH_CREDIT:
            self.recent = {one: None for one in self.recent if one > self.last - limits.PUBLISH_CREDIT}


class Repeats:
    """The lives of all publishers whose events came here."""

    def __init__(self) -> None:
        self._lives: dict[tuple[str, bool], dict[int, Life]] = {}

    def has(self, publication: Publication) -> bool:
        """Did this event come before, by whatever entry?"""
        life = self._lives.get((publication.publisher, publication.fast), {}).get(publication.life)
        return life is not None and life.has(publication.sequence)

    def add(self, publication: Publication) -> None:
        lives = self._lives.setdefault((publication.publisher, publication.fast), {})
        life = lives.get(publication.life)
        if life is None:
            life = lives[publication.life] = Life(recent={}, retried={})
            if len(lives) > LIVES_MAX:
                del lives[next(iter(lives))]
        life.add(publication.sequence, publication.retried)

    def snapshot(self) -> Iterator[Remembered]:
        """The lives of durable events."""
        for (publisher, fast), lives in self._lives.items():
            for number, life in lives.items() if not fast else ():
                retried = tuple((span, tuple(sorted(came))) for span, came in life.retried.items())
                yield Remembered(publisher, number, tuple(life.recent), retried)

    def recall(self, record: Remembered) -> None:
        """A life from a snapshot."""
        retried = {span: set(came) for span, came in record.retried}
        recent = dict.fromkeys(record.recent)
        self._lives.setdefault((record.publisher, False), {})[record.life] = Life(max(recent), recent, retried)
