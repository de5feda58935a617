"""What brokers tell each other of themselves: advertisements by flooding, subscriptions by Deltas.

Own changes are flooded when they are on disk, or a restart could give their version to another change. What comes from
others is passed on at once: its owner answers for it.
"""

from __future__ import annotations

from typing import NamedTuple

from agvent import limits
from agvent.broker.events.recipients import grouped
from agvent.broker.interest.streams import Streams
from agvent.broker.interface import Forgotten
from agvent.broker.notices import TypesGone
from agvent.broker.outbox import Outbox
from agvent.broker.pending import AnswerHello, Emit, Flood, SendRouted
from agvent.broker.records import Arrived, Owned
from agvent.broker.routing.router import Router
from agvent.broker.tables.advertisements import UNTYPED
from agvent.broker.tables.chains import Chain
from agvent.broker.tables.tables import Tables
from agvent.wire.broker_messages import Adverts, Answer, Applied, Delta, Entry, Hello, Seek
from agvent.wire.parts import Entered, Publication, Trace


class EarlyAdverts(NamedTuple):
    """Adverts whose predecessor has not come, and the neighbour that sent them."""

    adverts: Adverts
    neighbour: str


class Gossip:
    """The advertisement table kept the same everywhere, and each home's stream brought to the entries."""

    def __init__(self, tables: Tables, streams: Streams, router: Router, out: Outbox) -> None:
        self.tables, self.streams, self.router, self.out = tables, streams, router, out
        self.greeted: dict[str, None] = {}  # neighbours whose Hello was answered: they get every change from then on
        self._early: dict[str, list[EarlyAdverts]] = {}  # owner -> what overtook a larger one
        self._changed = 0  # the record of the last change of this broker's own advertisements
        self._behind: dict[str, None] = {}  # neighbours that said more than is kept early: they are asked again

    # Advertisements

    def hello(self) -> Hello:
        return Hello(self.tables.name, self.tables.incarnation, self.tables.advertisements.known())

    def greet(self, hello: Hello) -> None:
        """Sends a neighbour what it lacks, and from now on every change: when what is said is on disk."""
        self.out.after_sync(AnswerHello(hello))

    def answer_hello(self, work: AnswerHello) -> None:
        neighbour = work.hello.broker
        if neighbour not in self.router.links:
            return
        if self.out.synced < self._changed:  # the table has a change of its own that is not on disk yet
            self.out.after_sync(work)
            return
        self.greeted[neighbour] = None
        for adverts in self.tables.advertisements.missing(work.hello.known):
            self._tell(neighbour, adverts, self._claim(adverts.owner))

    def lost_link(self, neighbour: str) -> None:
        """The neighbour gets no changes until its next Hello is answered."""
        self.greeted.pop(neighbour, None)

    def _claim(self, owner: str) -> Trace:
        """The trace of something told from memory: this broker knows a way to the owner, at this cost."""
        cost = self.router.routes.cost(owner)
        return () if cost is None else ((owner, cost),)

    def _tell(self, neighbour: str, adverts: Adverts, trace: Trace) -> None:
        onward = Adverts(
            owner=adverts.owner,
            incarnation=adverts.incarnation,
            since=adverts.since,
            version=adverts.version,
            entries=adverts.entries,
            trace=self.router.routes.extended(trace, neighbour),
            gone=adverts.gone,
        )
        self.router.tell(neighbour, onward)

    def adverts(self, adverts: Adverts, neighbour: str, now: int) -> None:
        """An owner's changes from a neighbour: applied and passed on if they are news, kept if they came early; a
        lesson in routing anyway."""
        self.router.routes.learn(adverts.trace)
        if adverts.owner == self.tables.name:
            self._hear_of_itself(adverts)
            return
        if self.tables.advertisements.is_early(adverts):
            self._keep(adverts, neighbour)
        elif self.tables.advertisements.is_news(adverts):
            self._take(adverts, neighbour)
            self._follow(adverts.owner)

    def _keep(self, adverts: Adverts, neighbour: str) -> None:
        if sum(map(len, self._early.values())) < limits.EARLY_ADVERTS_MAX:
            self._early.setdefault(adverts.owner, []).append(EarlyAdverts(adverts, neighbour))
        else:
            self._behind[neighbour] = None

    def _follow(self, owner: str) -> None:
        """Takes what came early and now is next. If some was not kept, the neighbour says it again."""
        table, early = self.tables.advertisements, self._early.pop(owner, [])
        for adverts, neighbour in sorted(early, key=lambda one: (one.adverts.incarnation, one.adverts.since)):
            if table.is_early(adverts):
                self._keep(adverts, neighbour)
            elif table.is_news(adverts):
                self._take(adverts, neighbour)
        if self._behind and owner not in self._early:
            behind, self._behind = self._behind, {}
            for neighbour in behind:
                if neighbour in self.router.links:
                    self.router.tell(neighbour, self.hello())

    def _take(self, adverts: Adverts, neighbour: str) -> None:
        self._own(_owned(adverts))
        passed = {broker for broker, _ in adverts.trace}
        for other in self.greeted:
            if other != neighbour and other not in passed:
                self._tell(other, adverts, adverts.trace)

    def _hear_of_itself(self, adverts: Adverts) -> None:
        """Somebody said that this broker is gone. It is, to all others: what it would promise, nobody would keep."""
        if adverts.incarnation > self.tables.incarnation and not self.tables.is_forgotten:
            self.out.record(_owned(adverts))
            self.out.after_sync(Emit(Forgotten()))

    def _own(self, record: Owned) -> None:
        table = self.tables.advertisements
        reached = table.reach(record.owner)
        self._miss(record)
        self.out.record(record)
        gone = tuple(type for type in sorted(reached) if not table.is_published(type))
        if gone:
            self.out.notify(TypesGone(gone))
        self.streams.considered(record.owner, number=self.out.number)

    def _miss(self, record: Owned) -> None:
        """An entry lost its disk, or was forgotten: what it had acknowledged and not brought here will not come. Those
        whom it may have been for get a gap notice, in which nobody is named: what there was, only that disk knew."""
        table, owner = self.tables.advertisements, record.owner
        before, reach = table.incarnation(owner), table.reach(owner)
        if owner == self.tables.name or owner not in table or before >= record.incarnation:
            return
        types = ((version, version.subscription.type) for version in self.tables.local.current.values())
        concerned = grouped(version for version, type in types if type is None or type in reach)
        if concerned:
            last = self.tables.chains.last.get(Chain(owner, before, "", 0), 0)
            self.out.record(
                Arrived(
                    entered=Entered(entry=owner, incarnation=before, epoch=0),
                    publication=Publication(publisher="", sequence=last + 1, event=b""),
                    after=last,
                    lost="forgotten" if record.gone else "lost_disk",
                    deliveries=concerned,
                )
            )

    def change(self, entry: Entry | None, *, owner: str = "", gone: bool = False) -> int:
        """A change of this broker's own advertisements, or its word that another is gone; gives the new version."""
        table = self.tables.advertisements
        owner = owner or self.tables.name
        incarnation, version = table.known_of(owner)
        if owner != self.tables.name:
            incarnation, version = incarnation + 1, 0  # later than anything the broker itself can have said
        entries = () if entry is None else (entry,)
        incarnation = incarnation or self.tables.incarnation
        self._changed = self.out.number + 1
        self._own(Owned(owner=owner, incarnation=incarnation, version=version + 1, entries=entries, gone=gone))
        self.out.after_sync(
            Flood(
                Adverts(
                    owner=owner,
                    incarnation=incarnation,
                    since=version,
                    version=version + 1,
                    entries=entries,
                    trace=(),
                    gone=gone,
                )
            )
        )
        return version + 1

    def speak_untyped(self) -> None:
        """Says that events without a type enter here, once: every home answers with what it wants of them."""
        table, name = self.tables.advertisements, self.tables.name
        if table.is_silent(name):
            self.change(Entry(version=table.version(name) + 1, publisher="", type=UNTYPED, live=True))

    def flood(self, work: Flood) -> None:
        for neighbour in self.greeted:
            self._tell(neighbour, work.adverts, ())

    # Subscriptions

    def delta(self, delta: Delta, now: int) -> None:
        """A home's Delta: applied, when all of it is here, if it continues what was; answered with what is here, when
        that is on disk."""
        mine = (self.tables.name, self.tables.incarnation)
        is_old = delta.incarnation < self.tables.advertisements.incarnation(delta.home)
        if is_old or mine not in [(one.entry, one.incarnation) for one in delta.considered]:
            return  # from what the home was, or to what this broker was, before it lost its disk
        gathered = self.tables.interests.gathered(delta)
        if gathered is None:
            return
        heard = self.tables.interests.heard(gathered)
        if heard is not None:
            self.out.record(heard)
        home = self.tables.interests.homes.get(delta.home)
        same = home is not None and home.incarnation == delta.incarnation
        applied = Applied(
            entry=self.tables.name,
            incarnation=self.tables.incarnation,
            number=home.number if home is not None and same else 0,
            position=home.position if home is not None and same else 0,
            epoch=self.tables.interests.epoch,
            settled=self.tables.custody.settled(delta.home, home.position) if home is not None and same else 0,
        )
        self.out.after_sync(SendRouted(delta.home, applied))

    def seek(self, seek: Seek, now: int) -> None:
        """Somebody has copies for this broker and no way to it: the answer makes one."""
        self.router.send((seek.broker,), Answer(self.tables.name, self.tables.incarnation))


def _owned(adverts: Adverts) -> Owned:
    return Owned(
        owner=adverts.owner,
        incarnation=adverts.incarnation,
        version=adverts.version,
        entries=adverts.entries,
        gone=adverts.gone,
    )
