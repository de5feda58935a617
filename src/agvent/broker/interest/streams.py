"""A home's stream of subscription changes, to each entry broker that its subscriptions concern.

A home's changes have positions 1, 2, 3, … A Delta tells an entry the roots at one position: the subscriptions that no
other covers. Only one Delta is on its way to an entry. The states of a stream:

    unknown    `number` is 0, as after a restart: the next Delta has everything
    current    the entry has all that concerns it
    behind     something changed (`dirty`, `wanted`), or the entry advertised something (`considered`)
    under way  `sent` is a Delta without its Applied; it is repeated, and changes wait for the next one

Invariants, for each entry: `settled` ≤ `position` ≤ `told` ≤ the home's position. It has applied the stream up to
`position`; no copy of it carries a position above `told`, and none on its way carries one below `settled`. A Delta
leaves only when the records that it speaks of are on disk: a restart could give its positions to other changes.

A message for each change is the obvious alternative, and wrong: one that is lost or overtaken leaves an entry with
roots that nobody knows to be wrong, and events are missed. A Delta is the difference between the roots that the entry
has and those that it should have. So it is right whatever happened in between, a repeat is recognised by its number,
and a subscription that opened and closed meanwhile costs nothing.

A number is the broker's boot in the upper half and a count below, so it grows across restarts.

Cost: a change touches the entries whose advertisements overlap its type. A Delta looks at the keys that changed, not at
all; entries that need the same one get one message. The memory is one number for each root and entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from agvent import limits
from agvent.broker.tables.advertisements import Advertisements
from agvent.broker.tables.covering import Covering
from agvent.broker.tables.local_subscriptions import LocalSubscriptions
from agvent.wire.broker_messages import Applied, Considered, Delta, Interest
from agvent.wire.sizes import portions

BOOT_SHIFT = 32

Send = Callable[[tuple[str, ...], Delta], None]


class Stream(msgspec.Struct):
    """What one entry has. While `sent` is on its way, `held` is what the entry will have when it arrives."""

    incarnation: int
    fresh: bool  # it was never sent a Delta, by this boot or an earlier one, before this stream began
    number: int = 0  # the last Delta it acknowledged; 0: unknown what it has
    position: int = 0  # what it has applied, as it said
    told: int = 0  # the last position it was ever sent: none of its copies carries a later one
    considered: int = 0  # the version of its advertisements that `number` answered
    epoch: int = 0
    settled: int = 0
    held: dict[str, int] = {}  # key -> version of the roots it has
    dirty: dict[str, None] = {}  # keys that may differ from `held`
    wanted: int = 0  # the position it should have: that of the last change that concerns it
    sent: Delta | None = None
    due: int = 0
    wait_us: int = limits.ANSWER_WAIT_US
    asked: bool = False  # a Delta is sent though nothing changed, to hear what is settled


class Difference(NamedTuple):
    """What an entry lacks and has too much, beyond the Delta that it acknowledged last."""

    previous: int
    roots: tuple[tuple[str, int], ...]  # key, version
    ended: tuple[str, ...]


class Streams:
    """The streams to all entries. `send` gives a Delta to the router for its targets."""

    def __init__(self, name: str, incarnation: int, homes: LocalSubscriptions, table: Advertisements) -> None:
        self.name, self.incarnation = name, incarnation
        self.boot = 0
        self.count = 0
        self.waiting: dict[str, None] = {}  # exactly the entries with a Delta on its way
        self.covering = Covering()
        self.streams: dict[str, Stream] = {}
        self._stirred: dict[str, None] = {}  # entries to which something may have to be said
        self._ticked = False
        self._number = 0  # the record that must be on disk before a Delta goes out: it says what that record says
        self._homes, self._table = homes, table

    def restart(self, boot: int) -> None:
        """Roots are found anew, and everybody is told everything."""
        self.boot = boot
        for key, version in self._homes.current.items():
            self.covering.add(key, version.subscription.type, version.condition)
        for owner in self._table.owners():
            self.considered(owner, number=0, fresh=self._homes.position == 0)
        for stream in self.streams.values():
            stream.told = self._homes.position

    def considered(self, owner: str, *, number: int, fresh: bool = True) -> None:
        """An owner's advertisements changed with this record: it is owed an answer, with what overlaps now."""
        self._number = max(self._number, number)
        if owner == self.name:
            return
        incarnation = self._table.incarnation(owner)
        stream = self.streams.get(owner)
        if owner not in self._table or (stream is not None and stream.incarnation != incarnation):
            self._drop(owner)
            stream = None
        if owner not in self._table:
            return
        if stream is None:
            stream = self.streams[owner] = Stream(incarnation=incarnation, fresh=fresh, held={}, dirty={})
        self._stirred[owner] = None
        stream.dirty.update(dict.fromkeys(self.covering.roots()))
        stream.dirty.update(dict.fromkeys(stream.held))

    def _drop(self, owner: str) -> None:
        self.streams.pop(owner, None)
        self.waiting.pop(owner, None)
        self._stirred.pop(owner, None)

    def opened(self, key: str, *, number: int) -> None:
        """A version of a subscription opened with this record."""
        self._number = number
        version = self._homes.current[key]
        type = version.subscription.type
        self._touch(self.covering.add(key, type, version.condition), type)

    def closed(self, key: str, type: str | None, *, number: int) -> None:
        """A version of a subscription to this type closed with this record."""
        self._number = number
        self._touch(self.covering.remove(key), type)

    def hold_until(self, number: int) -> None:
        """Nothing goes out before this record is on disk."""
        self._number = number

    def _touch(self, changed: Iterable[str], type: str | None) -> None:
        """The roots that changed, and the position, concern the entries whose advertisements overlap."""
        ordered = dict.fromkeys(sorted(changed))
        for owner in self.entries_of(type):
            stream = self.streams[owner]
            stream.dirty.update(ordered)
            stream.wanted = self._homes.position
            self._stirred[owner] = None

    def tick(self) -> None:
        """Time has passed: what was not answered may have to be said again."""
        self._ticked = True

    def flush(self, now: int, synced: int, send: Send) -> None:
        """Sends each entry the Delta it lacks, and repeats those that were not answered in time; nothing while what
        would be said is not on disk."""
        if synced < self._number:
            return
        if self._ticked:
            self._repeat(now, send)
        groups: dict[Difference, list[str]] = {}
        for owner in self._stirred:
            stream = self.streams[owner]
            if stream.sent is None and self._is_behind(owner, stream):
                groups.setdefault(self._difference(owner, stream), []).append(owner)
        self._stirred.clear()
        for difference, owners in groups.items():
            self._start(now, owners, difference, send)

    def _repeat(self, now: int, send: Send) -> None:
        self._ticked = False
        for owner in list(self.waiting):
            stream = self.streams[owner]
            if now >= stream.due and stream.sent is not None:
                stream.wait_us = min(2 * stream.wait_us, limits.ANSWER_WAIT_MAX_US)
                stream.due = now + stream.wait_us * _say((owner,), stream.sent, send)

    def _is_behind(self, owner: str, stream: Stream) -> bool:
        if stream.fresh and stream.number == 0 and not stream.asked and self._table.is_silent(owner):
            return self._has_roots(owner, stream)
        return (
            stream.number == 0
            or stream.asked
            or bool(stream.dirty)
            or stream.position < stream.wanted
            or stream.considered < self._table.version(owner)
        )

    def _has_roots(self, owner: str, stream: Stream) -> bool:
        """Is there anything to say to an entry that was never told anything and asked for nothing?"""
        current, is_root = self._homes.current, self.covering.is_root
        types = [current[key].subscription.type for key in stream.dirty if is_root(key)]
        found = any(self._table.overlaps(owner, type) for type in types)
        if not found:
            stream.dirty.clear()
        return found

    def _difference(self, owner: str, stream: Stream) -> Difference:
        """What the entry lacks and has too much; as keys and versions, so that equal ones are found."""
        keys: Iterable[str] = stream.dirty
        if stream.number == 0:
            stream.held.clear()
            keys = self.covering.roots()
        roots, ended = [], []
        for key in keys:
            version = self._homes.current.get(key)
            wanted = self.covering.is_root(key) and self._table.overlaps(owner, version.subscription.type)  # type: ignore[union-attr]
            if wanted and stream.held.get(key) != version.number:  # type: ignore[union-attr]
                roots.append((key, version.number))  # type: ignore[union-attr]
            elif not wanted and key in stream.held:
                ended.append(key)
        stream.dirty.clear()
        return Difference(stream.number, tuple(roots), tuple(ended))

    def _start(self, now: int, owners: list[str], difference: Difference, send: Send) -> None:
        self.count += 1
        delta = Delta(
            home=self.name,
            incarnation=self.incarnation,
            previous=difference.previous,
            number=(self.boot << BOOT_SHIFT) + self.count,
            position=self._homes.position,
            considered=tuple(Considered(owner, *self._table.known_of(owner)) for owner in owners),
            roots=tuple(self._homes.interest(key) for key, _ in difference.roots),
            ended=difference.ended,
        )
        count = _say(tuple(owners), delta, send)
        for owner in owners:
            stream = self.streams[owner]
            self.waiting[owner] = None
            stream.sent, stream.asked, stream.wait_us = delta, False, limits.ANSWER_WAIT_US
            stream.told = delta.position
            stream.due = now + stream.wait_us * count
            stream.held.update(difference.roots)
            for key in difference.ended:
                del stream.held[key]

    def answered(self, applied: Applied) -> bool:
        """An entry's answer; True if it moved the stream on."""
        stream = self.streams.get(applied.entry)
        if stream is None or stream.incarnation != applied.incarnation or stream.sent is None:
            return False
        if applied.number != stream.sent.number:
            if stream.sent.previous not in (0, applied.number):  # it does not have what this builds on: say everything
                stream.number, stream.sent = 0, None
                self._free(applied.entry)
            return False
        said = [one.version for one in stream.sent.considered if one.entry == applied.entry]
        stream.number, stream.position, stream.considered = applied.number, applied.position, said[0]
        stream.epoch, stream.settled, stream.sent = applied.epoch, applied.settled, None
        self._free(applied.entry)
        return True

    def _free(self, entry: str) -> None:
        """Nothing is on its way to an entry: the next Delta may go."""
        self.waiting.pop(entry)
        self._stirred[entry] = None

    def entries_of(self, type: str | None) -> list[str]:
        """The entries whose advertisements overlap a subscription of this type."""
        return [owner for owner in self._table.overlapping(type) if owner in self.streams]

    def settled(self) -> int:
        """The position before which no copy can come any more."""
        return min((stream.settled for stream in self.streams.values()), default=self._homes.position)

    def under_way(self) -> set[tuple[int, int]]:
        """The positions that copies from the entries may carry, as (first, last). An entry that cannot be reached has
        none later than it was told: versions that came after that wait for the others only."""
        return {(one.settled, one.told) for one in self.streams.values()}

    def holding(self, opened: int, closed: int) -> list[str]:
        """The entries from which a copy for a version between these positions may come."""
        return [owner for owner, one in self.streams.items() if opened <= one.told and one.settled < closed]

    def ask_settled(self, position: int) -> None:
        """Asks the entries that may still have copies from before a position: a Delta that changes nothing."""
        for owner, stream in self.streams.items():
            if stream.sent is None and stream.settled < position:
                stream.asked = True
                self._stirred[owner] = None

    def has_everybody(self, position: int) -> bool:
        """Has every entry applied this home's stream up to a position? Those that have not are told."""
        behind = [owner for owner, one in self.streams.items() if one.number == 0 or one.position < position]
        for owner in behind:
            if self.streams[owner].sent is None:
                self.streams[owner].asked = True
                self._stirred[owner] = None
        return not behind

    def check(self) -> None:
        self.covering.check()
        assert self.waiting.keys() == {owner for owner, stream in self.streams.items() if stream.sent is not None}
        assert self._stirred.keys() <= self.streams.keys()
        for owner, stream in self.streams.items():
            assert stream.settled <= stream.position <= stream.told <= self._homes.position
            assert owner in self._table


def _say(targets: tuple[str, ...], delta: Delta, send: Send) -> int:
    """Sends a Delta in as many parts as it needs, and says how many: the answer is waited for longer."""
    found = [*_parts(delta)]
    for part in found:
        send(targets, part)
    return len(found)


def _parts(delta: Delta) -> Iterator[Delta]:
    runs = [*portions((*delta.roots, *delta.ended))]
    if len(runs) == 1:
        yield delta
        return
    for number, run in enumerate(runs):
        roots = tuple(one for one in run if isinstance(one, Interest))
        ended = tuple(one for one in run if isinstance(one, str))
        yield msgspec.structs.replace(delta, roots=roots, ended=ended, part=number, parts=len(runs))
