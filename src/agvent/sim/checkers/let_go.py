"""Nobody lets go of a copy that nobody else has: judged by the records on all disks.

Released    a broker on the way: another has the copy on its disk, or its time with it is over, and not long since
Confirmed   the entry: the home has everything up to there on its disk
Lost        the entry, once: of an expired event not before its time is over
Arrived     without its event: its entry let it go, for this home and for this reason
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from agvent import limits
from agvent.broker.records import Accepted, Arrived, Booted, Confirmed, Kept, Lost, Released, Visited
from agvent.sim.ledger import Ledger
from agvent.sim.world import OnDisk, World
from agvent.wire.parts import Entered, Publication

STANDSTILL_US: Final = 15_000_000

STANDSTILLS: Final = {"pause", "stall", "slow_disk", "full_disk", "trap"}
"""Faults after which a broker notices late that a time is over."""


class CopyId(NamedTuple):
    """An event for a home."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    home: str


def let_go(world: World, ledger: Ledger) -> list[str]:
    walk = _Walk(world)
    found = [sentence for one in world.history.on_disk for sentence in walk.take(one)]
    return found + [sentence for one in world.history.on_disk for sentence in walk.unjustified(one)]


class _Walk:
    """The records of all disks, one after the other, and what they came to so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept: dict[CopyId, dict[str, int]] = {}  # broker -> since when it is on its disk
        self.touched: dict[
            tuple[tuple[str, int, str, int], str], int
        ] = {}  # event, broker -> its last copy for any home
        self.arrived: dict[tuple[str, int, str, str], int] = {}  # entry, incarnation, publisher, home -> the last
        self.lost: Counter[tuple[CopyId, str]] = Counter()  # with the reason
        self.booted: dict[str, int] = {}
        self.expires: dict[CopyId, int] = {}
        self.void = {name for name, _ in world.history.lost_disks}
        self.void |= {node.name for node in world.brokers.values() if node.left}
        self.is_prompt = STANDSTILLS.isdisjoint(world.history.faults)
        self.hops = {
            (hop.event.publisher, hop.event.sequence, hop.source, hop.target, home)
            for hop in world.hops
            for home in hop.homes
        }
        self.has_clocks = any(node.clock_us for node in world.brokers.values())

    def take(self, one: OnDisk) -> Iterator[str]:
        record = one.record
        if isinstance(record, Released):
            yield from self._released(one, record)
        elif isinstance(record, Confirmed):
            yield from self._confirmed(one, record)
        elif isinstance(record, Lost):
            yield from self._lost(one, record)
        elif isinstance(record, Arrived):
            self._came(one.broker, record.entered, record.publication)
        elif isinstance(record, Visited):
            if record.arrives:
                self._came(one.broker, record.entered, record.publication)
        elif isinstance(record, Kept):
            for target in record.copies.targets:
                copy = _copy(record.copies.entered, record.copies.publication, target.home)
                self.kept.setdefault(copy, {})[one.broker] = one.at
                self.touched[copy[:4], one.broker] = one.at
        elif isinstance(record, Accepted):
            for target in record.targets:
                copy = _copy(record.entered, record.publication, target.home)
                self.expires[copy] = record.publication.expires
        elif isinstance(record, Booted):
            self.booted[one.broker] = one.at

    def _came(self, home: str, entered: Entered, publication: Publication) -> None:
        self.arrived[entered.entry, entered.incarnation, publication.publisher, home] = publication.sequence

    def _released(self, one: OnDisk, record: Released) -> Iterator[str]:
        for home in record.homes:
            copy = CopyId(record.entry, record.incarnation, record.publisher, record.sequence, home)
            holders = self.kept.get(copy, {})
            since = max(self.touched.get((copy[:4], one.broker), 0), self.booted.get(one.broker, 0))
            held_us = one.at - since
            has_arrived = self.arrived.get((*copy[:3], home), 0) >= copy.sequence
            went_back = (copy.publisher, copy.sequence, one.broker, copy.entry, home) in self.hops
            is_elsewhere = has_arrived or went_back or not {*holders} <= {one.broker}
            shown = f"{copy.publisher}:{copy.sequence} for {home}"
            late_us = self._slack_us(one.broker)
            if not is_elsewhere and held_us < limits.TRANSIT_KEEP_US - late_us and not self._is_void(copy):
                yield f"{one.broker} let {shown} go after {held_us / 1e6:.3f} s, and nobody else on the way has it"
            if self.is_prompt and held_us > limits.TRANSIT_KEEP_US + 2 * limits.TICK_US + late_us:
                yield f"{one.broker} kept {shown} for {held_us / 1e6:.3f} s"

    def _slack_us(self, broker: str) -> int:
        """How long a record may take to the disk, from when a broker has what it says."""
        return 1_000_000 + 3 * self.world.brokers[broker].usual_sync_us if self.is_prompt else STANDSTILL_US

    def _is_void(self, copy: CopyId) -> bool:
        return not self.void.isdisjoint((copy.entry, copy.home))

    def _confirmed(self, one: OnDisk, record: Confirmed) -> Iterator[str]:
        for publisher, sequence in record.sequences.items():
            reached = self.arrived.get((one.broker, one.incarnation, publisher, record.home), 0)
            if reached < sequence and self.void.isdisjoint((one.broker, record.home)):
                yield (
                    f"{one.broker} took {publisher}:{sequence} for arrived at {record.home}, "
                    f"which has {reached} on its disk"
                )

    def _lost(self, one: OnDisk, record: Lost) -> Iterator[str]:
        copy = CopyId(one.broker, one.incarnation, record.publisher, record.sequence, record.home)
        self.lost[copy, record.reason] += 1
        shown = f"{one.broker} let {record.publisher}:{record.sequence} for {record.home} go"
        if self.lost[copy, record.reason] > 1:
            yield f"{shown} a second time"
        if record.reason == "expired" and not self.has_clocks and one.at < self.expires.get(copy, 0):
            yield f"{shown} {(self.expires[copy] - one.at) / 1e6:.3f} s before it expired"

    def unjustified(self, one: OnDisk) -> Iterator[str]:
        """A copy without its event, though the entry did not let it go for this home. It says so before that is on its
        own disk."""
        record = one.record
        if not isinstance(record, Arrived) or record.lost not in ("retention", "expired"):
            return
        entered, publication = record.entered, record.publication
        copy = _copy(entered, publication, one.broker)
        if self.lost[copy, record.lost] or self.world.brokers[entered.entry].crashes:
            return  # or it was let go, and a crash came before that was on its disk
        yield (
            f"{publication.publisher}:{publication.sequence} came to {one.broker} as {record.lost}, "
            f"and {entered.entry} had not let it go"
        )


def _copy(entered: Entered, publication: Publication, home: str) -> CopyId:
    return CopyId(entered.entry, entered.incarnation, publication.publisher, publication.sequence, home)
