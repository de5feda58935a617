"""Copies that reach their home: each in its turn, each once.

An entry's copies for a home form a chain for each publisher: a copy names the sequence before it. The home takes the
next one of the chain, drops what it had, and keeps what is early, on its own disk, until the one before came. So one
number for each chain is all that de-duplication and order need to remember; `repeats` has what came by two entries.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent.broker.records import Accepted, Arrived, Kept
from agvent.broker.repeats import Repeats
from agvent.wire.broker_messages import Copies
from agvent.wire.parts import Entered, Publication, Target, Trace

Chain = tuple[str, int, str, bool]
"""Entry, its incarnation, publisher, fast."""


class Early(msgspec.Struct, frozen=True):
    """A copy whose predecessor has not come."""

    entered: Entered
    publication: Publication
    target: Target
    lost: str
    trace: Trace


def chain_of(entered: Entered, publication: Publication) -> Chain:
    return (entered.entry, entered.incarnation, publication.publisher, publication.fast)


class Arrivals:
    """`last` only grows, along each chain."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.last: dict[Chain, int] = {}
        self.early: dict[Chain, dict[int, Early]] = {}  # by sequence; every one is later than `last`
        self.repeats = Repeats()

    def apply(self, record: Arrived) -> None:
        chain = chain_of(record.entered, record.publication)
        assert record.publication.sequence > self.last.get(chain, 0)
        self.last[chain] = record.publication.sequence
        if not record.lost:
            self.repeats.add(record.publication)
        early = self.early.get(chain)
        if early is not None:
            for sequence in [s for s in early if s <= record.publication.sequence]:
                del early[sequence]
            if not early:
                del self.early[chain]

    def keep(self, record: Kept) -> None:
        copies = record.copies
        self._hold(copies.entered, copies.publication, copies.targets, copies.lost, copies.trace)

    def accept(self, record: Accepted) -> None:
        """An event that entered here for this home too: it arrives next, and after a crash between the two as well."""
        self._hold(record.entered, record.publication, record.targets, "", ())

    def _hold(
        self, entered: Entered, publication: Publication, targets: tuple[Target, ...], lost: str, trace: Trace
    ) -> None:
        for target in targets:
            if target.home == self.name:
                waiting = self.early.setdefault(chain_of(entered, publication), {})
                waiting[publication.sequence] = Early(entered, publication, target, lost, trace)

    def is_repeat(self, copies: Copies) -> bool:
        """Has it arrived, or does it wait here already?"""
        chain, sequence = chain_of(copies.entered, copies.publication), copies.publication.sequence
        return sequence <= self.last.get(chain, 0) or sequence in self.early.get(chain, {})

    def is_next(self, entered: Entered, publication: Publication, target: Target) -> bool:
        """Is its predecessor here? A fast chain is lost with a crash, so one that is unknown begins anywhere."""
        chain = chain_of(entered, publication)
        if publication.fast and chain not in self.last:
            return True
        return target.predecessor <= self.last.get(chain, 0)

    def following(self, chain: Chain) -> Early | None:
        """The early copy whose turn has come."""
        waiting = self.early.get(chain)
        if not waiting:
            return None
        first = waiting[min(waiting)]
        return first if self.is_next(first.entered, first.publication, first.target) else None

    def chains(self) -> tuple[tuple[str, int, str, int], ...]:
        """The durable chains and the last sequence of each, for a snapshot."""
        return tuple((*chain[:3], last) for chain, last in self.last.items() if not chain[3])

    def snapshot(self) -> Iterator[Kept]:
        for chain, waiting in self.early.items():
            if not chain[3]:
                for early in waiting.values():
                    yield Kept(Copies(early.entered, early.publication, (early.target,), early.trace, 0, early.lost))

    def void(self, entry: str, incarnation: int) -> None:
        """An entry lost its disk: what it was before sends nothing any more, and what waits for it waits for
        nothing."""
        for chain in [chain for chain in self.early if chain[0] == entry and chain[1] < incarnation]:
            del self.early[chain]
        for chain in [chain for chain in self.last if chain[0] == entry and chain[1] < incarnation]:
            del self.last[chain]

    def check(self) -> None:
        for chain, waiting in self.early.items():
            assert waiting
            assert min(waiting) > self.last.get(chain, 0)
