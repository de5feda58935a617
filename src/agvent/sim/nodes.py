"""The machines of the world: a broker with its disk and link ends, a client with its session and one link end.

A node is the driver of the pure parts, as `net/` is on sockets: it gives inputs, carries out effects, and asks for the
time of the next deadline. `World` gives it the clock and the network.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, Final

from agvent import limits
from agvent.agents.execution.sandbox import Task
from agvent.broker.broker import Broker
from agvent.broker.interface import (
    Append,
    Effect,
    Execute,
    Executed,
    Forget,
    Forgotten,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    MessageCame,
    Ran,
    Run,
    Send,
    Synced,
    Tick,
    Wake,
)
from agvent.broker.records import Record
from agvent.errors import JournalFull
from agvent.session.session import Session
from agvent.sim.agvents import sandbox
from agvent.sim.conversation import Conversation
from agvent.sim.disk import Disk
from agvent.sim.machine import any_of
from agvent.sim.watched_link import WatchedEnd
from agvent.wire.client_messages import Deliver, Gap, Refused
from agvent.wire.link import Change, LinkEnd
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    from agvent.sim.world import World

UP: Final = Change.UP  # an enum's member costs as much as a call to look up
DOWN: Final = Change.DOWN

MEASURE_US = 1_000_000
RETRY_US = int(limits.JOURNAL_RETRY_SECONDS * 1e6)
TURNED_AWAY_US = 5_000_000

LINK_MARK = "#"
"""Stands in the name of a client's link before its number, as at the real server."""


def peer_of(link: str) -> str:
    """The machine at the other end of a link."""
    return link.partition(LINK_MARK)[0]


class Node:
    """What broker and client nodes share: link ends, frames, deadlines, pauses."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.ends: dict[str, LinkEnd] = {}
        self.touched: dict[str, None] = {}  # ends that may have something to send
        self.alive = True
        self.paused = False
        self.resumed_at = 0
        self.life = 0  # grows with each crash, so that what was scheduled before does nothing
        self._backlog: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._poll_at = 0

    def open(self, peer: str) -> None:
        self._connect(peer)
        self.pump()

    def _connect(self, peer: str) -> None:
        between_brokers = self.world.is_broker(self.name) and self.world.is_broker(peer)
        stall_us = limits.LINK_STALL_US if between_brokers else limits.LINK_SILENCE_US
        token, now, links = self.world.next_token(), self.world.now, self.world.links
        if links is None:
            self.ends[peer] = LinkEnd(token, now, stall_us=stall_us)
        else:
            self.ends[peer] = WatchedEnd(links, self, peer, token, now, stall_us=stall_us)
        self.touched[peer] = None

    def later(self, at: int, then: Callable[..., None], *args: Any) -> None:
        """Schedules something that does not outlive a crash, and waits out a pause."""
        self.world.at(at, self._if_alive, self.life, then, args)

    def _if_alive(self, life: int, then: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self.alive and life == self.life:
            if self.paused:
                self._backlog.append((then, args))
            else:
                then(*args)

    def resume(self) -> None:
        self.paused, self.resumed_at = False, self.world.now
        backlog, self._backlog = self._backlog, []
        for then, args in backlog:
            if self.alive:
                then(*args)

    def stop(self) -> None:
        self.alive = self.paused = False
        self.life += 1
        self.ends.clear()
        self.touched.clear()
        self._backlog.clear()
        self._poll_at = 0

    def frame(self, peer: str, data: bytes) -> None:
        """A frame arrives. What else happens in this moment and was known before comes first."""
        if self.world.is_last_now():
            self._if_alive(self.life, self._frame, (peer, data))
        else:
            self.later(self.world.now, self._frame, peer, data)

    def _frame(self, peer: str, data: bytes) -> None:
        if peer in self.ends:
            self.touched[peer] = None
            if what := self.ends[peer].receive(data, self.world.now):
                self.happened(peer, what)
            self.pump()

    def send(self, peer: str, message: AnyMessage) -> None:
        if peer in self.ends:
            self.ends[peer].send(message)
            assert not self.ends[peer].oversized, message
            self.touched[peer] = None

    def pump(self) -> None:
        """Sends what the ends that were touched have to send, and makes sure of the next deadline."""
        now, world = self.world.now, self.world
        if not self.touched:
            return
        for peer in self.touched:
            end = self.ends[peer]
            for data in end.frames(now):
                world.transmit(self.name, peer, data)
            deadline = end.deadline()
            if not self._poll_at or deadline < self._poll_at:
                self._poll_at = max(deadline, now + 1)
                self.later(self._poll_at, self._poll, self._poll_at)
        self.touched.clear()

    def _poll(self, at: int) -> None:
        if at != self._poll_at:
            return
        self._poll_at = 0
        for peer in list(self.ends):
            self.touched[peer] = None
            if what := self.ends[peer].poll(self.world.now):
                self.happened(peer, what)
        self.pump()

    def happened(self, peer: str, what: list[AnyMessage | Change]) -> None:
        raise NotImplementedError


class BrokerNode(Node):
    """A broker on its machine. `disk` survives `stop`; `incarnation` grows when it is replaced."""

    def __init__(self, world: World, name: str, make: type[Broker] = Broker) -> None:
        super().__init__(world, name)
        self.incarnation = 1
        self.disk = self._new_disk()
        self.damage: list[str] = []  # what its lost disks did wrong
        self.random = world.random_of(name)
        self.fsync_us = self.usual_sync_us = any_of(self.random, world.machine.sync_us)
        self.clock_us = 0  # how far its clock is ahead; a process never sees it change
        self.left = False  # for good
        self.kept: list[Record] = []  # everything that came to be on its disk, in this incarnation
        self.crashes = 0
        self.make = make
        self.steps = 0
        self.links_opened = 0
        self.late = world.random_of(name, "late")
        self.links: dict[str, str] = {}  # client's machine -> its link now; each connection has a name of its own
        self.sandbox = sandbox()
        self.carry_out: dict[type[Effect], Callable[[Any], None]] = {
            Send: self._send,
            Append: self._append,
            Run: self._run,
            Execute: self._execute,
            Forgotten: self._forgotten,
            Wake: self._wake,
        }
        self._forget_work()
        self._measured = 0
        self.alive = False
        self.start()

    def _new_disk(self) -> Disk:
        """Its failures do not draw from the world's source: a world without a crash is the same with any disk."""
        random = Random(f"disk {self.world.seed} {self.name} {self.incarnation}")
        return Disk(random, keeps_history=self.world.keeps_history)

    def _forget_work(self) -> None:
        """What is in the memory of the process beside its broker."""
        self._inputs: list[Input] = []  # for the next step
        self._records: list[Record] = []  # appended and not yet synced
        self._number = 0  # of the last of them
        self._is_writing = False
        self._tries = 0  # to write a group that found no room
        self.is_to_save = False  # with the next group a snapshot is begun, however little the journal has grown
        self.links.clear()
        self.is_to_wake = False
        self._image: list[Record] | None = None  # what a snapshot is to hold, once the group under way is on disk

    def start(self) -> None:
        """Switches the machine on; on one that runs it does nothing."""
        if self.alive:
            return
        self.alive = True
        self.started_at = self.world.now
        self._measured = 0
        self._forget_work()
        self.world.resends.started(self.name)
        self.disk.owner = (self.name, self.incarnation)
        self.broker = self.make(self.name, self.incarnation, self.disk.start(), now=self.now)
        for peer in self.world.peers(self.name):
            self._connect(peer)
        self.do([])
        self.world.restarts.started(self)

    def restart(self) -> None:
        """Switches it on again, unless it has left."""
        if not self.left:
            self.start()

    def leave(self) -> None:
        """Says that it leaves, and after a second is gone for good."""
        self.left = True
        self.do([Forget(self.name)])
        self.later(self.world.now + 1_000_000, self.stop)

    def crash(self, *, with_disk: bool) -> None:
        """The machine stops at once; unsynced writes may be lost, or the whole disk."""
        self.stop()
        self.crashes += 1
        kept = self.disk.crash(self.now)
        if with_disk:
            self.world.synced(self, kept)
        else:
            self.world.history.lost_disks.append((self.name, self.incarnation))
            self.incarnation += 1
            self.damage += self.disk.damage
            self.disk = self._new_disk()
            self.kept = []

    @property
    def unsynced(self) -> list[Record]:
        """What its broker has written down and no sync has brought to its disk."""
        return self._records

    @property
    def now(self) -> int:
        """The time by this machine's clock."""
        return self.world.now + self.clock_us

    def happened(self, peer: str, what: list[AnyMessage | Change]) -> None:
        inputs: list[Input] = []
        is_broker = self.world.is_broker(peer)
        for one in what:
            if one is UP:
                if not is_broker:
                    self._open_link(peer)
                inputs.append(LinkUp(self.links.get(peer, peer), is_broker, self.ends[peer].rtt_us))
            elif one is not DOWN:
                inputs.append(MessageCame(self.links.get(peer, peer), one))
            elif (notice_us := self.world.machine.notice_us) and not is_broker:
                late_us = int(self.random.random() * notice_us)
                self.later(self.world.now + late_us, self.give, [LinkDown(self.links.pop(peer))])
            else:
                inputs.append(LinkDown(self.links.pop(peer, peer)))
        if inputs:
            self.give(inputs)

    def _open_link(self, peer: str) -> None:
        self.links_opened += 1
        self.links[peer] = f"{peer}{LINK_MARK}{self.links_opened}"

    def give(self, inputs: list[Input]) -> None:
        """Gives inputs to the next step."""
        if not self.world.machine.turn_us:
            self.do(inputs)
            return
        if not self._inputs:
            self.later(self.world.now + self.world.machine.turn_us, self._turn)
        self._inputs += inputs

    def _turn(self) -> None:
        inputs, self._inputs = self._inputs, []
        self.do(inputs)

    def do(self, inputs: list[Input]) -> None:
        """One step of the broker, and its effects."""
        now = self.now
        if self.world.met is not None:
            self.world.met.came(self, inputs)
        if self.world.now - self._measured >= MEASURE_US:
            self._measured = self.world.now
            inputs += [
                Measured(peer, end.rtt_us, end.queued)
                for peer, end in self.ends.items()
                if end.up and end.rtt_us and peer not in self.links
            ]
        effects = self.broker.step(inputs, now)
        assert not self.broker.refused, inputs  # here every neighbour is one of ours
        self.steps += 1
        self.world.stepped(self, inputs, effects)
        for effect in effects:
            self.carry_out[type(effect)](effect)
        self.pump()

    def _send(self, effect: Send) -> None:
        peer = peer_of(effect.link)
        if self.links.get(peer, peer) == effect.link:  # else that connection is closed
            self.send(peer, effect.message)

    def _run(self, effect: Run) -> None:
        (answers,) = self.sandbox.run([Task(effect.publisher, effect.event, effect.calls)])
        self.later(self._ran_at(), self.give, [Ran(effect.number, answers)])

    def _execute(self, effect: Execute) -> None:
        (decision,) = self.sandbox.route([effect.stop])
        self.later(self._ran_at(), self.give, [Executed(effect.number, decision)])

    def _ran_at(self) -> int:
        return self.world.now + any_of(self.random, self.world.machine.run_us)

    def _forgotten(self, effect: Forgotten) -> None:
        self.left = True
        self.stop()

    def _wake(self, effect: Wake) -> None:
        self.is_to_wake = True
        self.later(effect.at - self.clock_us, self._tick)

    def _tick(self) -> None:
        self.is_to_wake = False
        self.give([Tick()])

    # The journal, as net/server/commit.py writes it

    def _append(self, effect: Append) -> None:
        """Appends and syncs; what comes while a sync is under way is in the next one (group commit)."""
        self.disk.append(effect.records)
        self._records += effect.records
        self._number = effect.number
        if not self._is_writing:
            self._write()

    def _write(self) -> None:
        """Begins to write a group; then, if the journal has grown, puts a snapshot in its place."""
        self._is_writing = True
        is_free = self._image is None and self.disk.snapshot is None
        if is_free and (self.is_to_save or self.disk.journal.wants_snapshot()):
            self.is_to_save = False
            self._image = list(self.broker.tables.snapshot())
            if self.world.met is not None:
                self.world.met.written(self._image)
        self.later(self.world.now + self.fsync_us, self._write_group, self.disk.begin(), self._number)

    def _write_group(self, count: int, number: int) -> None:
        try:
            self.disk.sync(count, self.now)
        except JournalFull:
            self._image = None
            self.later(self.world.now + RETRY_US, self._try_again, count, number)
        else:
            self._synced(count, number)

    def _try_again(self, count: int, number: int) -> None:
        """Tries to write a group that found no room; at growing intervals with a snapshot, which may make some."""
        self._tries += 1
        is_turn = not self._tries & (self._tries - 1) or self._tries % limits.JOURNAL_COMPACT_TRIES_MAX == 0
        if not is_turn or self.disk.snapshot is not None:
            self._write_group(count, number)
            return
        count, number = self.disk.begin(), self._number
        try:
            self.disk.compact(count, self.now, list(self.broker.tables.snapshot()))
        except JournalFull:
            self.later(self.world.now + RETRY_US, self._try_again, count, number)
        else:
            self._synced(count, number)

    def _synced(self, count: int, number: int) -> None:
        """A group is on disk."""
        records = self._records[:count]
        del self._records[:count]
        self._tries = 0
        self.world.synced(self, records)
        self.world.restarts.synced(self, records)
        if self._image is not None:
            self._save(self._image)
        self._is_writing = False
        if self._records:
            self._write()
        self.give([Synced(number)])

    def flush(self) -> None:
        """Puts on disk what is not there yet, at once."""
        if self.alive and self._records:
            count = self.disk.begin()
            self.disk.sync(count, self.now)
            self.world.synced(self, self._records[:count])
            del self._records[:count]

    def _save(self, image: list[Record]) -> None:
        self._image = None
        try:
            self.disk.roll()
        except JournalFull:
            return
        self.disk.save(image)
        self.later(self.world.now + self.world.machine.save_us, self._saved)

    def _saved(self) -> None:
        with suppress(OSError):  # no room: it is tried again when the journal has grown
            self.disk.saved()


class ClientNode(Node):
    """A process of a client on its machine. It keeps its session while its link is down.

    `name` is the machine's in the network; `client` is that of the client, which may have had other processes."""

    def __init__(
        self, world: World, name: str, home: str, *, client: str = "", life: int = 0, guest: bool = False
    ) -> None:
        super().__init__(world, name)
        self.client = client or name
        self.home = home
        self.homes = [home]  # all it had
        self.session = Session(self.client, prompt=not world.machine.done_us, life=life, guest=guest)
        self.talk = Conversation()
        self.is_over = False  # the process has ended
        self.random = world.random_of(name)
        self.is_last_link = False  # it ends with the link that it has
        self.turned_away: list[Refused] = []
        self.downs: list[int] = []  # when its link ended
        self.open(home)

    def happened(self, peer: str, what: list[AnyMessage | Change]) -> None:
        for one in what:
            if one is UP:
                self.talk.up()
                self.session.link_up()
            elif one is DOWN:
                self.downs.append(self.world.now)
                self.session.link_down()
                if self.is_last_link:
                    self.end()
                    return
            elif isinstance(one, Refused) and one.is_of_attaching:
                self.turned_away.append(one)
                self.leave()
                if one.final:
                    self.is_over = True
                else:
                    self.later(self.world.now + TURNED_AWAY_US, self._try_again)
                return
            else:
                self._hear(one)
        self.say()

    def _hear(self, message: AnyMessage) -> None:
        if self.world.met is not None:
            self.world.met.heard(self, message)
        self.talk.heard(message)
        words = self.session.receive(message)
        self.talk.passed_on(message, words)
        for told in words:
            self.world.told(self, told)
            if isinstance(told, (Deliver, Gap)) and self.world.machine.done_us:
                self.talk.given(told)
                takes_us = int(self.random.random() * self.world.machine.done_us)
                if told.event_count > 1:  # with some of a batch's events before the others
                    part = told.number - told.event_count + 1
                    self.later(self.world.now + takes_us // 2, self._done, told, part)
                self.later(self.world.now + takes_us, self._done, told, told.number)

    def _done(self, message: Deliver | Gap, until: int) -> None:
        if message.number:  # a notice that the session itself made has none
            self.session.done(message, until)
            self.talk.done(message, until)
            self.say()

    def say(self) -> None:
        """Sends what the session has to send."""
        end = self.ends.get(self.home)
        if end is not None and end.up:
            if self.world.steps % self.world.check_every == 0:
                self.session.check()
            for message in self.session.take():
                self.talk.said(message)
                self.send(self.home, message)
        self.pump()

    def leave(self) -> None:
        """Closes the link for a while; the session is kept."""
        self.ends.clear()
        self.touched.clear()
        self._poll_at = 0
        self.downs.append(self.world.now)
        self.session.link_down()
        if self.is_last_link:
            self.end()

    def end(self) -> None:
        """The process ends without a word."""
        self.is_over = True
        self.stop()

    def end_with_its_link(self) -> None:
        """Another process takes its place: when its link breaks it does not come back."""
        self.is_last_link = True

    def back(self) -> None:
        if not self.is_over:
            self.open(self.home)

    def _try_again(self) -> None:
        if not self.ends:
            self.back()

    def move(self, home: str) -> None:
        """Leaves its broker for another, without a word."""
        self.leave()
        self.home = home
        self.homes.append(home)
        self.back()
