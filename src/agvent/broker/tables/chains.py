"""Copies that reach their home: each in its turn, each once.

A chain is the copies of one publisher from one entry to this home. Each copy names its predecessor: the sequence of the
copy before it in the chain. A copy that comes is one of three:

    repeat   its sequence is at most `last`, or it waits here already: it is dropped, and confirmed again
    next     its predecessor is at most `last`: it arrives, and `last` becomes its sequence
    early    its predecessor has not come: it is kept in `early`, on this broker's disk, until that one has

Invariants: `last` only grows along a chain; everything of the chain up to `last` has arrived; every copy in `early` is
later than `last`. So one number for each chain is all that order and de-duplication need, and one number confirms many
copies to the entry.

To go by the sequences alone is the obvious alternative, and wrong: a home gets only the events that it wants. It could
not tell a late event from an unwanted one. A set of the ids that came is wrong too: it grows without bound, or forgets
and delivers twice. `repeats` has the events that came by two entries.

Chains of fast events are in memory at both ends. A crash of the entry ends such a chain, and a new one with a higher
boot takes its place.

Cost: one number for each entry and publisher. An arrival looks at the early copies of its own chain.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent.broker.records import Accepted, Arrived, ChainReach, Kept
from agvent.broker.tables.repeats import Repeats
from agvent.wire.broker_messages import Copies
from agvent.wire.parts import Entered, Publication, Target, Trace


class Chain(msgspec.Struct, frozen=True, gc=False):
    """The chain of a publisher's events from one entry to this home. `boot` is the entry's, of a fast chain; of a
    durable one it is 0."""

    entry: str
    incarnation: int
    publisher: str
    boot: int

    @property
    def source(self) -> ChainSource:
        return ChainSource(self.entry, self.incarnation, self.publisher)


class ChainSource(msgspec.Struct, frozen=True, gc=False):
    """Where a chain comes from, whatever its entry's boot."""

    entry: str
    incarnation: int
    publisher: str

    def chain(self, boot: int) -> Chain:
        return Chain(self.entry, self.incarnation, self.publisher, boot)


class Early(msgspec.Struct, frozen=True, kw_only=True):
    """A copy whose predecessor has not come."""

    entered: Entered
    publication: Publication
    target: Target
    lost: str
    trace: Trace


def chain_of(entered: Entered, publication: Publication) -> Chain:
    return Chain(entered.entry, entered.incarnation, publication.publisher, entered.boot)


class Chains:
    """`last` only grows, along each chain."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.last: dict[Chain, int] = {}
        self.early: dict[Chain, dict[int, Early]] = {}  # by sequence; every one is later than `last`
        self._boots: dict[ChainSource, int] = {}  # the last boot of each fast chain in `last`: exactly one is
        self.repeats = Repeats()

    def apply(self, record: Arrived) -> None:
        chain = chain_of(record.entered, record.publication)
        assert record.publication.sequence > self.last.get(chain, 0)
        self.last[chain] = record.publication.sequence
        if record.publication.fast:
            boot = self._boots.get(chain.source)
            if boot is not None and boot < chain.boot:
                del self.last[chain.source.chain(boot)]
            self._boots[chain.source] = chain.boot
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
                waiting[publication.sequence] = Early(
                    entered=entered, publication=publication, target=target, lost=lost, trace=trace
                )

    def is_repeat(self, copies: Copies) -> bool:
        """Has it arrived, or does it wait here already? Or is it of a fast chain that goes no further?"""
        chain, sequence = chain_of(copies.entered, copies.publication), copies.publication.sequence
        if copies.publication.fast and chain.boot < self._boots.get(chain.source, 0):
            return True
        if sequence <= self.last.get(chain, 0):
            return True
        # The entry let it go, with those before it: what waits here would wait for these for ever.
        early = self.early.get(chain, {}).get(sequence)
        return early is not None and (bool(early.lost) or not copies.lost)

    def is_next(self, entered: Entered, publication: Publication, target: Target) -> bool:
        """Is its predecessor here?"""
        return target.predecessor <= self.last.get(chain_of(entered, publication), 0)

    def unbegun(self) -> list[Chain]:
        """Fast chains of which only later copies came: the first is late, or came before a crash of this broker."""
        return [chain for chain in self.early if chain.boot and chain not in self.last]

    def broken_off(self, entered: Entered) -> list[Chain]:
        """Fast chains with early copies that an entry began before the boot that it has now."""
        entry = (entered.entry, entered.incarnation)
        early = [chain for chain in self.early if (chain.entry, chain.incarnation) == entry]
        return [chain for chain in early if 0 < chain.boot < entered.boot]

    def lost_with_crash(self, entered: Entered, publication: Publication) -> int:
        """A fast event that comes after a crash of its entry: how many of its publisher's, that this home does not
        have, entered there before. It may not have wanted all of them."""
        chain = chain_of(entered, publication)
        boot = self._boots.get(chain.source, 0)
        if not 0 < boot < chain.boot:
            return 0
        return self.repeats.missing(publication, self.last[chain.source.chain(boot)] + 1, entered.began - 1)

    def following(self, chain: Chain) -> Early | None:
        """The early copy whose turn has come."""
        waiting = self.early.get(chain)
        if not waiting:
            return None
        first = waiting[min(waiting)]
        return first if self.is_next(first.entered, first.publication, first.target) else None

    def chains(self) -> tuple[ChainReach, ...]:
        """How far the durable chains have come, for a snapshot."""
        return tuple(
            ChainReach(broker=chain.entry, incarnation=chain.incarnation, publisher=chain.publisher, sequence=last)
            for chain, last in self.last.items()
            if not chain.boot
        )

    def snapshot(self) -> Iterator[Kept]:
        for chain, waiting in self.early.items():
            if not chain.boot:
                for early in waiting.values():
                    yield Kept(
                        Copies(
                            entered=early.entered,
                            publication=early.publication,
                            targets=(early.target,),
                            trace=early.trace,
                            attempt=0,
                            lost=early.lost,
                        )
                    )

    def void(self, entry: str, incarnation: int) -> None:
        """An entry lost its disk: what it was before sends nothing any more, and what waits for it waits for
        nothing."""
        for chain in [chain for chain in self.early if chain.entry == entry and chain.incarnation < incarnation]:
            del self.early[chain]
        for chain in [chain for chain in self.last if chain.entry == entry and chain.incarnation < incarnation]:
            del self.last[chain]
            self._boots.pop(chain.source, None)

    def check(self) -> None:
        for chain, waiting in self.early.items():
            assert waiting
            assert min(waiting) > self.last.get(chain, 0)
        fast = {source.chain(boot) for source, boot in self._boots.items()}
        assert {chain for chain in self.last if chain.boot} == fast
