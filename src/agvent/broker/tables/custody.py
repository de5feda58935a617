"""Copies this broker answers for, and where each stands.

A copy is an event for one home. Custody is the duty to keep it until another broker answers for it. The states:

    WAITING     it needs a route, and room at the neighbour
    SENT        a neighbour was sent it, and has not said Took
    HANDED      at the entry only: the neighbour has it on disk, the home has not confirmed it
    DELEGATED   at the entry only: a self-routing agvent carries it, so nothing is sent from here

Took ends custody at a broker on the way. At the entry the copy becomes HANDED, and the home's Confirm ends it. After a
timeout or a lost link the copy is WAITING again; the next attempt takes another route if there is one. Invariants:

- The entry has a durable event on disk until every home has confirmed it. So no broker on the way can lose it.
- A broker on the way drops a copy when the next broker has it on disk, or after TRANSIT_KEEP_US.
- An event is in `held` exactly while some copy of it is owed. The other tables are indexes and sums over `held`, and
  `check` computes them again.
- A copy that is given up (quota, expired, declined) stays as a link of its chain, without its content. The home would
  wait for it otherwise (chains.py).

Custody that passes from hop to hop is the obvious alternative, and wrong: a broker on the way that never returns would
take acknowledged events with it. Custody at the entry alone is wrong too: each lost link would cost the whole path
again, not one hop. Fast events have the same states in memory, and no records.

Cost: a step looks at the events that wait, a confirmation at those for its home, a tick at all; there are at most
COPIES_MAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec

from agvent import limits
from agvent.broker.records import Accepted, ChainReach, Confirmed, Kept, Lost, RejectedHere, Released
from agvent.wire.broker_messages import Copies
from agvent.wire.parts import Entered, Publication, Series, Target, Trace


class EventKey(msgspec.Struct, frozen=True, gc=False):
    """What makes an event one: where it entered, who published it, and its sequence. `boot` is the entry's, of a fast
    event; of a durable one it is 0."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    boot: int


class HomeChain(msgspec.Struct, frozen=True, gc=False):
    """The chain of a publisher's events, durable or fast, from this entry to one home."""

    home: str
    incarnation: int
    publisher: str
    fast: bool


class Standing(Enum):
    """Where a copy stands."""

    WAITING = "waiting"
    SENT = "sent"
    HANDED = "handed"
    DELEGATED = "delegated"  # an agvent that finds its own way has it; nothing is sent from here


DECLINED = "declined"
"""Why an agvent does not come to a home that it matched: its own route said so."""


class Copy(msgspec.Struct):
    """One home's copy of an event. `neighbour` is who has it while SENT; `due` is when its time is over."""

    key: EventKey
    target: Target
    standing: Standing = Standing.WAITING
    neighbour: str = ""
    due: int = 0
    wait_us: int = limits.ANSWER_WAIT_US
    attempt: int = 0  # of this broker's
    came: int = 0  # the attempt with which it came here
    again: bool = False  # it came again while it was SENT: it goes there once more when that is taken


class HeldEvent(msgspec.Struct, kw_only=True):
    """An event with the copies that are still owed; none left, and it is gone."""

    entered: Entered
    publication: Publication
    copies: dict[str, Copy]
    trace: Trace
    lost: dict[str, str]
    before: tuple[str, ...] = ()  # the brokers it passed before its trace began anew
    ready: bool = False  # it may go on: on disk here, or at its entry
    since: int = 0


def key_of(entered: Entered, publication: Publication) -> EventKey:
    return EventKey(
        entry=entered.entry,
        incarnation=entered.incarnation,
        publisher=publication.publisher,
        sequence=publication.sequence,
        boot=entered.boot,
    )


class Custody:
    """All copies of all events. An event entered here is held exactly while some home has not confirmed it."""

    def __init__(self, name: str, incarnation: int) -> None:
        self.name, self.incarnation = name, incarnation
        self.held: dict[EventKey, HeldEvent] = {}
        self.event_count = 0  # in all that is held, batches counted by what is in them, a link of a chain as one
        self.event_bytes = 0  # of all that is held
        self.accepted: dict[Series, int] = {}  # the last sequence of each that entered here
        self.rejected: dict[Series, dict[int, str]] = {}  # of each, the sequences that did not enter, and why
        self.began: dict[str, int] = {}  # publisher -> the first fast one
        self.chain: dict[HomeChain, int] = {}  # the last sequence of each
        self.untaken: dict[str, int] = {}  # neighbour -> copies SENT to it
        self._of_home: dict[str, dict[EventKey, None]] = {}  # home -> events held for it, oldest first
        self._events_of_home: dict[str, int] = {}  # of those that are not lost to it, batches by what is in them
        self._bytes_of_home: dict[str, int] = {}  # and their bytes
        self._waiting: dict[EventKey, None] = {}  # every event with a copy WAITING is here, and perhaps others

    # Records

    def accept(self, record: Accepted) -> None:
        publication = record.publication
        self.accepted[publication.series] = publication.sequence
        if publication.fast:
            self.began[publication.publisher] = self.began_with(publication)
        for target in record.targets:
            chain = HomeChain(target.home, target.incarnation, publication.publisher, publication.fast)
            self.chain[chain] = publication.sequence
        self._hold(record.entered, publication, record.targets, ())

    def reject(self, record: RejectedHere) -> None:
        """Remembers what was refused, as far back as a client may have anything unacknowledged; without a reason: the
        client knows of all up to here."""
        key = Series(record.publisher, record.fast)
        last = record.sequence if not record.reason else record.sequence - limits.PUBLISH_UNDER_WAY_MAX
        known = {one: why for one, why in self.rejected.pop(key, {}).items() if one > last}
        if record.reason:
            known[record.sequence] = record.reason
        if known:
            self.rejected[key] = known

    def rejected_in(self, publication: Publication) -> dict[int, str]:
        """Of a publication that came before, the events that were refused, and why."""
        known = self.rejected.get(publication.series)
        if known is None:
            return {}
        return {one: why for one, why in known.items() if publication.first <= one <= publication.sequence}

    def keep(self, record: Kept) -> None:
        copies = record.copies
        self._hold(copies.entered, copies.publication, copies.targets, copies.trace, copies.before)
        held = self.held.get(key_of(copies.entered, copies.publication))
        if held is None:
            return
        for home in (target.home for target in copies.targets if target.home in held.copies):
            held.copies[home].came = max(held.copies[home].came, copies.attempt)
            if copies.lost:
                self._mark_lost(held, home, copies.lost)

    def _hold(
        self,
        entered: Entered,
        publication: Publication,
        targets: tuple[Target, ...],
        trace: Trace,
        before: tuple[str, ...] = (),
    ) -> None:
        key = key_of(entered, publication)
        copies = {target.home: Copy(key=key, target=target) for target in targets if target.home != self.name}
        if not copies:
            return
        held = self.held.get(key)
        if held is None:
            held = self.held[key] = HeldEvent(
                entered=entered, publication=publication, copies={}, trace=trace, lost={}, before=before
            )
            self.event_count += _count(publication)
            self.event_bytes += len(publication.event)
        elif not held.publication.event:
            self._replace(held, publication)  # the first were all lost
        self._waiting[key] = None
        for home, copy in copies.items():
            if home not in held.copies:
                held.copies[home] = copy
                self._of_home.setdefault(home, {})[key] = None
                self._weigh(home, _count(held.publication), len(held.publication.event))

    def _replace(self, held: HeldEvent, publication: Publication) -> None:
        """Gives an event other content."""
        more = _count(publication) - _count(held.publication)
        more_bytes = len(publication.event) - len(held.publication.event)
        held.publication = publication
        self.event_count += more
        self.event_bytes += more_bytes
        for home in held.copies.keys() - held.lost.keys():
            self._weigh(home, more, more_bytes)

    def _mark_lost(self, held: HeldEvent, home: str, reason: str) -> None:
        if home not in held.lost:
            self._weigh(home, -_count(held.publication), -len(held.publication.event))
        held.lost[home] = reason

    def _weigh(self, home: str, more: int, more_bytes: int) -> None:
        self._events_of_home[home] = self._events_of_home.get(home, 0) + more
        self._bytes_of_home[home] = self._bytes_of_home.get(home, 0) + more_bytes

    def release(self, record: Released) -> None:
        key = EventKey(
            entry=record.entry,
            incarnation=record.incarnation,
            publisher=record.publisher,
            sequence=record.sequence,
            boot=0,
        )
        self.drop(key, record.homes)

    def confirm(self, record: Confirmed, *, boot: int = 0) -> None:
        for key in list(self._of_home.get(record.home, ())):
            reached = key.sequence <= record.sequences.get(key.publisher, 0)
            is_meant = self.is_entry(key) and key.boot == boot and reached
            if is_meant and self.held[key].copies[record.home].target.incarnation == record.incarnation:
                self.drop(key, (record.home,))

    def own_key(self, publisher: str, sequence: int) -> EventKey:
        """The key of a durable event that entered here."""
        return EventKey(entry=self.name, incarnation=self.incarnation, publisher=publisher, sequence=sequence, boot=0)

    def lose(self, record: Lost) -> None:
        self.let_go(self.own_key(record.publisher, record.sequence), record.home, record.reason)

    def let_go(self, key: EventKey, home: str, reason: str) -> None:
        """The event is let go for a home: its copy stays as a link of the chain, one for all that were lost in a
        row."""
        held = self.held[key]
        self._mark_lost(held, home, reason)
        if held.copies[home].standing is Standing.DELEGATED:
            self.wait(held.copies[home])
        if len(held.lost) == len(held.copies):
            self._replace(held, msgspec.structs.replace(held.publication, event=b""))
        before = msgspec.structs.replace(key, sequence=held.copies[home].target.predecessor)
        if before in self.held and self.held[before].lost.get(home) == reason:
            copy, target = held.copies[home], self.held[before].copies[home].target
            copy.target = msgspec.structs.replace(copy.target, predecessor=target.predecessor)
            self.drop(before, (home,))

    def entered(self) -> dict[str, int]:
        """The last durable sequence of each publisher that entered here, for a snapshot."""
        return {series.publisher: sequence for series, sequence in self.accepted.items() if not series.fast}

    def chains(self) -> tuple[ChainReach, ...]:
        """How far the durable chains have come, for a snapshot."""
        durable = [(chain, sequence) for chain, sequence in self.chain.items() if not chain.fast]
        return tuple(
            ChainReach(broker=chain.home, incarnation=chain.incarnation, publisher=chain.publisher, sequence=sequence)
            for chain, sequence in durable
        )

    def snapshot(self) -> Iterator[Kept | RejectedHere]:
        """One record for each event and reason of loss, and one for each that was refused."""
        for series, known in self.rejected.items():
            if not series.fast:
                yield from (
                    RejectedHere(publisher=series.publisher, sequence=sequence, fast=False, reason=why)
                    for sequence, why in known.items()
                )
        for key, held in self.held.items():
            if not key.boot:
                for reason in dict.fromkeys(held.lost.get(home, "") for home in held.copies):
                    targets = tuple(c.target for home, c in held.copies.items() if held.lost.get(home, "") == reason)
                    yield Kept(
                        Copies(
                            entered=held.entered,
                            publication=held.publication,
                            targets=targets,
                            trace=held.trace,
                            attempt=0,
                            lost=reason,
                            before=held.before,
                        )
                    )

    def beyond_quota(self) -> list[tuple[str, EventKey]]:
        """What entered here for homes that have not taken it for so long that they would fill this broker: for each of
        them the oldest events, half the quota is left."""
        found: list[tuple[str, EventKey]] = []
        for home, keys in self._of_home.items():
            if _is_beyond(self._events_of_home[home], self._bytes_of_home[home]):
                own = [k for k in keys if self.is_entry(k) and home not in self.held[k].lost]
                found += [(home, key) for key in self._oldest(own)]
        return found

    def _oldest(self, keys: list[EventKey]) -> list[EventKey]:
        """Of events that wait for one home as many as must go, so that half the quota is left; none if it has room."""
        held = [self.held[key].publication for key in keys]
        events, size = sum(map(_count, held)), sum(len(one.event) for one in held)
        if not _is_beyond(events, size):
            return []
        gone = 0
        while gone < len(keys) - 1 and _is_beyond(2 * events, 2 * size):
            events, size = events - _count(held[gone]), size - len(held[gone].event)
            gone += 1
        return keys[:gone]

    def drop(self, key: EventKey, homes: tuple[str, ...]) -> None:
        held = self.held.get(key)
        if held is None:
            return
        for home in homes:
            copy = held.copies.pop(home, None)
            if copy is not None:
                self._leave(copy)
                del self._of_home[home][key]
            if copy is not None and held.lost.pop(home, None) is None:
                self._weigh(home, -_count(held.publication), -len(held.publication.event))
        if not held.copies:
            del self.held[key]
            self.event_count -= _count(held.publication)
            self.event_bytes -= len(held.publication.event)
            self._waiting.pop(key, None)
        elif len(held.lost) == len(held.copies):
            self._replace(held, msgspec.structs.replace(held.publication, event=b""))

    def void(self, home: str, incarnation: int) -> None:
        """The home left, or lost its disk: copies for what it was before are owed to nobody."""
        for key in list(self._of_home.get(home, ())):
            if self.held[key].copies[home].target.incarnation < incarnation:
                self.drop(key, (home,))
        for chain in [chain for chain in self.chain if chain.home == home and chain.incarnation < incarnation]:
            del self.chain[chain]

    # Agvents that find their own way

    def delegate(self, key: EventKey, homes: Iterable[str]) -> None:
        """The copies for these homes are an agvent's own matter, until they are confirmed or taken back."""
        for home in homes:
            copy = self.held[key].copies[home]
            copy.standing, copy.due = Standing.DELEGATED, 0

    def delegated(self) -> Iterator[tuple[EventKey, tuple[str, ...]]]:
        """For each event the homes that are."""
        for key, held in self.held.items():
            homes = tuple(home for home, copy in held.copies.items() if copy.standing is Standing.DELEGATED)
            if homes:
                yield key, homes

    def unheard(self, now: int) -> list[Copy]:
        """Delegated copies of which nothing was heard for as long as one waits for an answer: a home's confirmation may
        be lost. Each once in that time."""
        found = []
        for key, homes in self.delegated():
            for copy in (self.held[key].copies[home] for home in homes):
                if copy.due <= now:
                    found += [copy] if copy.due else []
                    copy.due = now + limits.ANSWER_WAIT_MAX_US
        return found

    def is_delegated(self, key: EventKey, home: str) -> bool:
        held = self.held.get(key)
        return held is not None and home in held.copies and held.copies[home].standing is Standing.DELEGATED

    def take_back(self, key: EventKey, homes: Iterable[str]) -> None:
        """These homes' copies go the default route."""
        for home in homes:
            if self.is_delegated(key, home):
                self.wait(self.held[key].copies[home])

    def decline(self, key: EventKey, homes: Iterable[str]) -> None:
        """The agvent will not come to these homes: their copies are links of the chain only."""
        for home in homes:
            if self.is_delegated(key, home):
                self.lose(Lost(key.publisher, key.sequence, home, DECLINED))

    # Standing: what changes without a record, and what is asked of it

    def hold_since(self, key: EventKey, now: int) -> bool:
        """Is the event held? Then since now."""
        held = self.held.get(key)
        if held is not None:
            held.since = now
        return held is not None

    def let_leave(self, key: EventKey) -> None:
        """The event may go on, if it is still held."""
        held = self.held.get(key)
        if held is not None:
            held.ready = True

    def let_all_leave(self, now: int) -> None:
        """After a restart: what is held is on disk."""
        for held in self.held.values():
            held.ready, held.since = True, now

    def began_with(self, publication: Publication) -> int:
        """The first fast sequence of an event's publisher that entered here since the start: perhaps the event's
        own."""
        return self.began.get(publication.publisher, publication.first)

    def predecessor(self, home: str, incarnation: int, publication: Publication) -> int:
        """The sequence before this one in the chain to a home; 0 if it begins the chain."""
        return self.chain.get(HomeChain(home, incarnation, publication.publisher, publication.fast), 0)

    def _leave(self, copy: Copy) -> None:
        if copy.standing is Standing.SENT:
            self.untaken[copy.neighbour] -= 1

    def wait(self, copy: Copy) -> None:
        self._leave(copy)
        copy.standing, copy.again = Standing.WAITING, False
        self._waiting[copy.key] = None

    def returned(self, copy: Copy) -> None:
        """Waits, and the word of the neighbour it was sent to, that it was taken, means nothing any more."""
        self.wait(copy)
        copy.neighbour = ""

    def sent(self, copy: Copy, neighbour: str, now: int) -> None:
        assert copy.standing is Standing.WAITING
        copy.standing, copy.neighbour, copy.due = Standing.SENT, neighbour, now + copy.wait_us
        self.untaken[neighbour] = self.untaken.get(neighbour, 0) + 1

    def handed(self, copy: Copy, now: int) -> None:
        self._leave(copy)
        copy.standing, copy.due = Standing.HANDED, now + copy.wait_us

    def has_room(self, neighbour: str) -> bool:
        return self.untaken.get(neighbour, 0) < limits.UNTAKEN_COPIES_MAX

    def is_full(self) -> bool:
        """Is there no room for a copy of another broker's?"""
        return self.event_count >= limits.COPIES_MAX or self.event_bytes >= limits.COPIES_BYTES_MAX

    def is_full_for_publishers(self) -> bool:
        """Is there no room for an event that enters here? A quarter is kept for copies on their way. Else two brokers
        that are full of their own events would refuse each other's for ever."""
        events, size = limits.COPIES_MAX, limits.COPIES_BYTES_MAX
        return self.event_count >= events - max(events // 4, 1) or self.event_bytes >= size - size // 4

    def is_entry(self, key: EventKey) -> bool:
        return key.entry == self.name and key.incarnation == self.incarnation

    def waiting(self) -> Iterator[tuple[HeldEvent, list[Copy]]]:
        """Events that may go on with copies that wait, in the order they began to."""
        for key in list(self._waiting):
            held = self.held[key]
            copies = [copy for copy in held.copies.values() if copy.standing is Standing.WAITING]
            if copies and held.ready:
                yield held, copies
            if all(copy.standing is not Standing.WAITING for copy in held.copies.values()):
                del self._waiting[key]

    def overdue(self, now: int) -> list[Copy]:
        """Copies whose time is over, for the next attempt."""
        return [
            copy
            for held in self.held.values()
            for copy in held.copies.values()
            if copy.standing in (Standing.SENT, Standing.HANDED) and copy.due <= now
        ]

    def retry(self, copy: Copy) -> None:
        """Waits again, longer than last time and by another way if there is one."""
        self.wait(copy)
        copy.attempt += 1
        copy.wait_us = min(2 * copy.wait_us, limits.ANSWER_WAIT_MAX_US)

    def without(self, neighbour: str) -> None:
        """The link to a neighbour is down: what it did not take waits again, and what it took for others."""
        for held in self.held.values():
            for home, copy in held.copies.items():
                was_handed = copy.standing is Standing.HANDED and home != neighbour
                if copy.neighbour == neighbour and (was_handed or copy.standing is Standing.SENT):
                    self.wait(copy)

    def astray(self, home: str) -> None:
        """What entered here for a home may be on a disk that nobody can reach: it goes another way."""
        for key in self._of_home.get(home, ()):
            copy = self.held[key].copies[home]
            if self.is_entry(key) and copy.standing in (Standing.SENT, Standing.HANDED):
                self.returned(copy)
                copy.attempt += 1

    def came_again(self, held: HeldEvent, copies: Copies) -> list[Copy]:
        """Its entry sends it by another way: what it passed the first time says nothing now. Those that were sent on,
        and not to their homes."""
        again = [held.copies[target.home] for target in copies.targets if target.home in held.copies]
        again = [copy for copy in again if copy.came < copies.attempt]
        if again:
            held.trace, held.before = copies.trace, copies.before
        for copy in again:
            copy.came = copies.attempt
        return [copy for copy in again if copy.standing is Standing.SENT and copy.neighbour != copy.target.home]

    def repeat(self, copy: Copy) -> None:
        """It goes to the same neighbour once more when that has taken it."""
        copy.again = True

    def came_back(self, held: HeldEvent, copies: Copies) -> None:
        """It has passed what the copies that came back passed; from its entry it begins anew."""
        is_entry = self.is_entry(key_of(copies.entered, copies.publication))
        held.trace, held.before = ((), ()) if is_entry else (copies.trace, copies.before)

    def begin_anew(self, home: str) -> None:
        """The traces of what is held for a home begin anew: its copies may go where they have been."""
        for held in self.held.values():
            if home in held.copies and held.trace:
                held.before = (*dict.fromkeys((*held.before, *(passed for passed, _ in held.trace))),)
                held.trace = ()

    def settled(self, home: str, position: int) -> int:
        """The least position that a copy under way to a home carries, or the one that new copies will: it is less than
        those of before if the home lost its disk."""
        under_way = (
            self.held[key].copies[home].target.position for key in self._of_home.get(home, ()) if self.is_entry(key)
        )
        return min(position, min(under_way, default=position))

    def copies_message(self, held: HeldEvent, copies: list[Copy], trace: Trace) -> Copies:
        lost = held.lost.get(copies[0].target.home, "")
        publication = msgspec.structs.replace(held.publication, event=b"") if lost else held.publication
        return Copies(
            entered=held.entered,
            publication=publication,
            targets=tuple(copy.target for copy in copies),
            trace=trace,
            attempt=max(copy.came + copy.attempt for copy in copies),
            lost=lost,
            before=held.before,
        )

    def check(self) -> None:
        assert self.event_count == sum(_count(held.publication) for held in self.held.values())
        assert self.event_bytes == sum(len(held.publication.event) for held in self.held.values())
        for home, keys in self._of_home.items():
            owed_here = [self.held[key].publication for key in keys if home not in self.held[key].lost]
            assert self._events_of_home[home] == sum(map(_count, owed_here))
            assert self._bytes_of_home[home] == sum(len(one.event) for one in owed_here)
        assert all(held.copies and self.name not in held.copies for held in self.held.values())
        waiting = {k for k, h in self.held.items() for c in h.copies.values() if c.standing is Standing.WAITING}
        assert waiting <= self._waiting.keys() <= self.held.keys()
        owed = {(home, key) for key, held in self.held.items() for home in held.copies}
        assert owed == {(home, key) for home, keys in self._of_home.items() for key in keys}
        assert all(count >= 0 for count in self.untaken.values())
        sent = [c.neighbour for h in self.held.values() for c in h.copies.values() if c.standing is Standing.SENT]
        assert {n: c for n, c in self.untaken.items() if c} == {n: sent.count(n) for n in dict.fromkeys(sent)}
        for key, held in self.held.items():
            if self.is_entry(key):
                for home, copy in held.copies.items():
                    assert self.predecessor(home, copy.target.incarnation, held.publication) >= key.sequence


def _count(publication: Publication) -> int:
    """The events of a publication; one that was let go is one link, however many it had."""
    return publication.count if publication.event else 1


def _is_beyond(events: int, size: int) -> bool:
    """Is this more than may wait for one home?"""
    return events > limits.HOME_COPIES_MAX or size > limits.HOME_COPIES_BYTES_MAX
