"""Copies on the way: taken over from a neighbour, sent on, taken by the next one, sent again.

What makes an event safe is on disk before anybody is told or it leaves its entry (`after_sync`); fast events have no
records and go on at once.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from agvent import limits
from agvent.broker.events.home import HomeArrivals
from agvent.broker.outbox import Outbox
from agvent.broker.pending import LetLeave, SendTook
from agvent.broker.records import Confirmed, Kept, Lost, Released
from agvent.broker.routing.router import Router
from agvent.broker.tables.custody import Copy, EventKey, HeldEvent, key_of
from agvent.broker.tables.tables import Tables
from agvent.wire.broker_messages import Answer, Astray, Confirm, Copies, Seek, Took
from agvent.wire.parts import Target, Trace


class PassedOn(msgspec.Struct, frozen=True, gc=False):
    """Copies that a neighbour took: from which entry, for which home."""

    entry: str
    home: str


class Parcel(msgspec.Struct, frozen=True, gc=False):
    """Copies of one event that go in one message: to a neighbour, with their content or lost for one reason."""

    neighbour: str
    lost: str


class Transit:
    """Copies in custody, on to the next broker."""

    def __init__(self, tables: Tables, home: HomeArrivals, router: Router, out: Outbox) -> None:
        self.tables, self.home, self.router, self.out = tables, home, router, out
        self._stirred = True  # some copy may be able to go on, so the next flush looks
        self._routes_seen = 0  # the version of the routes at the last flush
        self._passed: dict[str, dict[PassedOn, int]] = {}  # neighbour -> what -> when; the oldest first

    def ready(self, key: EventKey, now: int, *, at_once: bool = False) -> None:
        """Lets an event go on when it is on disk; on the way at once, because its entry has it on disk until its home
        confirms: what the sync is waited for is the word that the copy was taken over."""
        if not self.tables.custody.hold_since(key, now):
            return
        if key.boot or at_once:
            self.let_leave(LetLeave(key))
        else:
            self.out.after_sync(LetLeave(key))

    def let_leave(self, work: LetLeave) -> None:
        """The event may go on, if it is still held."""
        self.tables.custody.let_leave(work.key)
        self._stirred = True

    # On the way

    def copies(self, copies: Copies, neighbour: str, now: int) -> None:
        """Takes copies over from a neighbour, for this home and for others."""
        self.router.routes.learn(copies.trace)
        mine = [target for target in copies.targets if target.home == self.tables.name]
        others = tuple(target for target in copies.targets if target.home != self.tables.name)
        key = key_of(copies.entered, copies.publication)
        held = self.tables.custody.held.get(key)
        if self.tables.name in (*copies.before, *(broker for broker, _ in copies.trace)):
            self._returned(copies, [target.home for target in others], held)
        new = tuple(target for target in others if self._is_owed(key, target))
        if new and self.tables.custody.is_full():
            return  # its entry has it still, and will send it again
        if held is not None and copies.attempt and not self.tables.custody.is_entry(key):
            self._came_again(held, copies)
        early = self.home.take(copies, mine[0]) if mine else ()
        if new or early:
            self.out.record(Kept(_narrowed(copies, (*new, *early))), durable=not copies.publication.fast)
            self.ready(key, now, at_once=True)
        homes = tuple(target.home for target in copies.targets)
        took = SendTook(
            neighbour,
            Took(
                entry=key.entry,
                incarnation=key.incarnation,
                publisher=key.publisher,
                sequence=key.sequence,
                boot=key.boot,
                homes=homes,
            ),
        )
        if copies.publication.fast:
            self.send_took(took)
        else:
            self.out.after_sync(took)

    def _came_again(self, held: HeldEvent, copies: Copies) -> None:
        """What was sent on goes another way, if there is one; else the same way once more, when the first was taken: it
        may be astray further on, but two of them on a slow link help nobody."""
        for copy in self.tables.custody.came_again(held, copies):
            if self._next_hop(copy.target.home, held.trace, copy.attempt) == copy.neighbour:
                self.tables.custody.repeat(copy)
            else:
                self.tables.custody.returned(copy)
        self._stirred = True

    def _returned(self, copies: Copies, homes: list[str], held: HeldEvent | None) -> None:
        """Somebody found no way but back: the ways that were tried from here are not the way, and what is held
        waits."""
        passed = [broker for broker, _ in copies.trace]
        tried = {after for here, after in pairwise(passed) if here == self.tables.name} | {passed[-1]}
        for home in homes:
            for neighbour in tried:
                self.router.routes.doubt(home, neighbour)
            if held is not None and home in held.copies:
                self.tables.custody.returned(held.copies[home])
        if held is not None:
            self.tables.custody.came_back(held, copies)
        self._stirred = True

    def _is_owed(self, key: EventKey, target: Target) -> bool:
        """Is it new here, and for a home that still is what it was? An event that entered here is owed only what is
        held."""
        held = self.tables.custody.held.get(key)
        if (held is not None and target.home in held.copies) or self.tables.custody.is_entry(key):
            return False
        return target.incarnation >= self.tables.advertisements.incarnation(target.home)

    def send_took(self, work: SendTook) -> None:
        if work.neighbour in self.router.links:
            self.router.tell(work.neighbour, work.took)

    def restart(self, now: int) -> None:
        """What the journal left in custody goes on."""
        self.tables.custody.let_all_leave(now)

    def took(self, took: Took, neighbour: str, now: int) -> None:
        """A neighbour has copies on its disk: here they are let go, or at the entry wait for their homes."""
        custody = self.tables.custody
        key = EventKey(
            entry=took.entry,
            incarnation=took.incarnation,
            publisher=took.publisher,
            sequence=took.sequence,
            boot=took.boot,
        )
        held = custody.held.get(key)
        if held is None:
            return
        self._stirred = True
        theirs = [home for home in took.homes if home in held.copies and held.copies[home].neighbour == neighbour]
        if custody.is_entry(key):
            for home in theirs:
                custody.handed(held.copies[home], now)
            return
        passed = [home for home in theirs if not held.copies[home].again]
        for home in theirs:
            if held.copies[home].again:
                custody.wait(held.copies[home])
        if passed:
            self._release(key, tuple(passed))
            self._pass(took.entry, passed, neighbour, now)

    def _pass(self, entry: str, homes: list[str], neighbour: str, now: int) -> None:
        """Remembers whose copies a neighbour took."""
        passed = self._passed.setdefault(neighbour, {})
        for home in homes:
            copies = PassedOn(entry, home)
            passed.pop(copies, None)
            passed[copies] = now
        while len(passed) > limits.PASSED_MAX:
            del passed[next(iter(passed))]

    def _release(self, key: EventKey, homes: tuple[str, ...]) -> None:
        if key.boot:
            self.tables.custody.drop(key, homes)
        else:
            self.out.record(
                Released(
                    entry=key.entry,
                    incarnation=key.incarnation,
                    publisher=key.publisher,
                    sequence=key.sequence,
                    homes=homes,
                )
            )

    def confirmed(self, confirm: Confirm, now: int) -> None:
        """A home's word that copies arrived: the entry's custody of them ends."""
        durable = Confirmed(confirm.home, confirm.incarnation, confirm.durable)
        if confirm.durable:
            self.out.record(durable)
        if confirm.fast:
            fast = Confirmed(confirm.home, confirm.incarnation, confirm.fast)
            self.tables.custody.confirm(fast, boot=confirm.boot)
        self._stirred = True

    # Each step

    def flush(self, now: int) -> None:
        """Sends copies that have a way on."""
        if self._stirred or self.router.routes.version != self._routes_seen:
            self._stirred, self._routes_seen = False, self.router.routes.version
            for held, copies in self.tables.custody.waiting():
                self._send(held, copies, now)

    def _send(self, held: HeldEvent, copies: list[Copy], now: int) -> None:
        """Sends an event's waiting copies, one message for each neighbour; what has no way on waits, and is sought."""
        groups: dict[Parcel, list[Copy]] = {}
        for copy in copies:
            home = copy.target.home
            neighbour = self._next_hop(home, held.trace, copy.attempt)
            if neighbour is None:
                self.router.seek(home, now)
            elif self.tables.custody.has_room(neighbour):
                groups.setdefault(Parcel(neighbour, held.lost.get(home, "")), []).append(copy)
        for parcel, theirs in groups.items():
            neighbour = parcel.neighbour
            onward = self.router.routes.extended(held.trace, neighbour)
            self.router.tell(neighbour, self.tables.custody.copies_message(held, theirs, onward))
            for copy in theirs:
                self.tables.custody.sent(copy, neighbour, now)

    def _next_hop(self, home: str, trace: Trace, attempt: int) -> str | None:
        """Where it has not been; else the way back, which is an alternative too (ABDES §6.3), but no third time."""
        routes = self.router.routes
        passed = [broker for broker, _ in trace]
        if len(passed) >= limits.HOPS_MAX:
            return None
        neighbour = None
        if self.tables.name not in passed:
            neighbour = routes.choose(home, avoid=passed, attempt=attempt)
        return neighbour or routes.choose(home, avoid={one for one in passed if passed.count(one) > 1}, attempt=attempt)

    def found(self, body: Seek | Answer) -> None:
        """A way to a broker was proved: copies that wait for it may take it, whatever they passed before."""
        self.tables.custody.begin_anew(body.broker)
        self._stirred = True

    def tick(self, now: int) -> None:
        """Sends again what was not answered in time; lets go what may be."""
        custody = self.tables.custody
        for copy in custody.overdue(now):
            custody.retry(copy)
        for home, key in custody.beyond_quota():
            self._let_go(key, home, "retention")
        for key, held in list(custody.held.items()):
            if custody.is_entry(key):
                self._expire(key, held, now)
            elif now - held.since > limits.TRANSIT_KEEP_US:
                self._release(key, tuple(held.copies))
        self._stirred = True

    def _expire(self, key: EventKey, held: HeldEvent, now: int) -> None:
        """An event whose time is over is still a link of its chain, without its content."""
        if 0 < held.publication.expires <= now:
            for home in list(held.copies):
                if home not in held.lost:
                    self._let_go(key, home, "expired")

    def _let_go(self, key: EventKey, home: str, reason: str) -> None:
        """Of a fast event there is no record: it is counted, unless it is wanted no longer."""
        if not key.boot:
            self.out.record(Lost(key.publisher, key.sequence, home, reason))
            return
        if reason != "expired":
            self.tables.lose_fast(reason, self.tables.custody.held[key].publication.count)
        self.tables.custody.let_go(key, home, reason)

    def lost_link(self, neighbour: str, now: int) -> None:
        """A neighbour is unreachable: what is owed goes another way now, from here or from its entry."""
        self.tables.custody.without(neighbour)
        self._stirred = True
        astray: dict[str, list[str]] = {}
        for passed, at in self._passed.pop(neighbour, {}).items():
            if now - at <= limits.ANSWER_WAIT_MAX_US and neighbour not in (passed.entry, passed.home):
                astray.setdefault(passed.entry, []).append(passed.home)
        for entry, homes in astray.items():
            self.router.send((entry,), Astray(tuple(homes)))

    def astray(self, body: Astray, now: int) -> None:
        """What this entry handed over for these homes is sent again; a home that has it drops the repeat."""
        for home in body.homes:
            self.tables.custody.astray(home)
        self._stirred = True


def _narrowed(copies: Copies, targets: tuple[Target, ...]) -> Copies:
    return msgspec.structs.replace(copies, targets=targets)
