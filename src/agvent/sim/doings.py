"""What comes from outside into a world: what clients do and what goes wrong, each by its name and with plain arguments.

Whoever lets something happen in a run (workload.py, faults.py) does it here, and it is noted with its time. The notes
are the run's plan (plan.py): doing the same at the same times in a world of the same seed is the same run, frame by
frame. So nothing here draws anything, and a doing that has no place now (a client that has ended, a broker that is not
there) is nothing: a plan of which steps were taken away is still a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec

import msgspec

from agvent.sim.endings import mend
from agvent.sim.network import Conditions
from agvent.sim.nodes import peer_of
from agvent.sim.traps import Trap

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode
    from agvent.sim.world import World

P = ParamSpec("P")

FAULTS: Final = {
    "cut": "cut", "worsen": "worsen", "crash": "crash", "pause": "pause", "slow_disk": "slow_disk",
    "full_disk": "full_disk", "join": "join", "retire": "leave", "move": "move",
}  # fmt: skip
"""Which doings are faults where there is only a plan, and which kind each counts as."""

NOTED: Final[dict[str, None]] = {"attach": None}
"""The names of the doings (and `attach`), other than a client's calls of its session."""


class Doing(msgspec.Struct, frozen=True):
    """Something that was done: when, since the world began; by or to whom; and how."""

    at: int
    who: str
    what: str
    options: dict[str, Any]


def noted(do: Callable[Concatenate[Doings, str, P], bool]) -> Callable[Concatenate[Doings, str, P], None]:
    """A doing, which is noted if it did something. Its options are named."""

    def done(self: Doings, who: str, /, *args: P.args, **options: P.kwargs) -> None:
        assert not args, f"{do.__name__}: a plan names the options"
        self._met(do.__name__, who, *options.values())
        did_something = True  # if it raises, too
        try:
            did_something = do(self, who, *args, **options)
        finally:
            if did_something:
                self.note(who, do.__name__, dict(options))

    NOTED[do.__name__] = None
    return wraps(do)(done)


class Doings:
    """Everything that was done in a world, in order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.noted: list[Doing] = []
        self._is_silent = False
        self.counts_faults = False  # faults.py does, where it draws them

    def note(self, who: str, what: str, options: dict[str, Any]) -> None:
        if self._is_silent:
            return
        self.noted.append(Doing(self.world.now - self.world.began, who, what, options))
        if self.counts_faults and what in FAULTS:
            self.world.fault(FAULTS[what], who)

    def _met(self, what: str, *names: Any) -> None:
        if self.world.met is not None:
            self.world.met.done(self.world, what, names)

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """What is done here is done by every run at its end: no plan has it."""
        self._is_silent = True
        yield
        self._is_silent = False

    # Clients

    def attach(
        self,
        process: str,
        *,
        home: str,
        client: str = "",
        life: int = 0,
        guest: bool = False,
        after: tuple[str, ...] = (),
    ) -> None:
        """A process of a client begins; those that came before it have ended. `World.attach` notes it."""
        for before in after:
            self.end(before)
        if home in self.world.brokers and process not in self.world.clients:
            self.world.attach(process, home, client=client, life=life, guest=guest)

    def ask(self, process: str, method: str, given: Any, options: dict[str, Any]) -> None:
        """A process calls its session. `World.ask` notes it."""
        node = self.world.clients.get(process)
        if node is not None and not node.is_over:
            self.world.ask(process, method, given, **options)

    @noted
    def leave(self, process: str) -> bool:
        """It closes its link for a while; its session is kept."""
        node = self.world.clients.get(process)
        if node is None or not node.ends:
            return False
        node.leave()
        return True

    @noted
    def back(self, process: str) -> bool:
        """It opens its link again."""
        node = self.world.clients.get(process)
        if node is None or node.ends or node.is_over:
            return False
        node.back()
        return True

    @noted
    def end(self, process: str) -> bool:
        """It ends without a word."""
        node = self.world.clients.get(process)
        if node is None or node.is_over:
            return False
        node.end()
        return True

    @noted
    def give_way(self, process: str) -> bool:
        """Another process takes its place: when its link breaks it ends."""
        node = self.world.clients.get(process)
        if node is None or node.is_over:
            return False
        node.end_with_its_link()
        return True

    @noted
    def move(self, process: str, *, home: str) -> bool:
        """It goes to another broker; one that never had a home has none to name to the next."""
        node = self.world.clients.get(process)
        if node is None or home not in self.world.brokers or home == node.home:
            return False
        if not node.ends or not node.session.broker:
            return False
        self.world.move(process, home)
        return True

    # Links: one direction each

    @noted
    def cut(self, source: str, *, target: str) -> bool:
        return self._set_cut(source, target, is_cut=True)

    @noted
    def uncut(self, source: str, *, target: str) -> bool:
        return self._set_cut(source, target, is_cut=False)

    def _set_cut(self, source: str, target: str, *, is_cut: bool) -> bool:
        path = self.world.network.paths.get((source, target))
        if path is not None:
            path.cut = is_cut
        return path is not None

    @noted
    def worsen(self, source: str, *, target: str, conditions: Conditions) -> bool:
        """Its frames are treated otherwise."""
        path = self.world.network.paths.get((source, target))
        if path is not None:
            path.conditions = conditions
        return path is not None

    @noted
    def make_usual(self, source: str, *, target: str) -> bool:
        path = self.world.network.paths.get((source, target))
        if path is not None:
            path.conditions = path.usual
        return path is not None

    # Brokers

    @noted
    def crash(self, broker: str, *, with_disk: bool) -> bool:
        """Its machine stops at once."""
        node = self._broker(broker)
        if node is None or not node.alive:
            return False
        node.crash(with_disk=with_disk)
        return True

    @noted
    def start(self, broker: str) -> bool:
        node = self._broker(broker)
        if node is None or node.alive or node.left:
            return False
        node.start()
        return True

    @noted
    def set_clock(self, broker: str, *, ahead_us: int) -> bool:
        """Between two processes: a process never sees its clock change."""
        node = self._broker(broker)
        if node is None or node.alive:
            return False
        node.clock_us += ahead_us
        return True

    @noted
    def slow_disk(self, broker: str, *, sync_us: int) -> bool:
        """A sync takes so long; 0: as long as usual."""
        node = self._broker(broker)
        if node is not None:
            node.fsync_us = sync_us or node.usual_sync_us
        return node is not None

    @noted
    def full_disk(self, broker: str, *, is_full: bool) -> bool:
        node = self._broker(broker)
        if node is not None:
            node.disk.is_full = is_full
        return node is not None

    @noted
    def save(self, broker: str) -> bool:
        """It begins a snapshot with the next group that it writes."""
        node = self._broker(broker)
        if node is None or not node.alive:
            return False
        node.is_to_save = True
        return True

    @noted
    def pause(self, broker: str) -> bool:
        node = self._broker(broker)
        if node is None or not node.alive or node.paused:
            return False
        node.paused = True
        return True

    @noted
    def resume(self, broker: str) -> bool:
        node = self._broker(broker)
        if node is None or not node.paused:
            return False
        node.resume()
        return True

    @noted
    def join(self, broker: str, *, neighbours: tuple[str, ...]) -> bool:
        """A new broker, linked to some that are there."""
        there = [name for name in neighbours if name in self.world.brokers]
        if not there or broker in self.world.brokers:
            return False
        self.world.join(broker, there)
        return True

    @noted
    def retire(self, broker: str) -> bool:
        """It leaves for good, if it has no clients and the others reach each other without it."""
        node, world = self._broker(broker), self.world
        homes = {home for client in world.clients.values() for home in client.homes}
        if node is None or not node.alive or broker in homes or not world.is_connected_without(broker):
            return False
        node.leave()
        return True

    @noted
    def trap(
        self,
        _: str,
        *,
        kind: str,
        count: int,
        is_cut: bool,
        delay: str,
        lasts: int,
        ahead_us: int,
        everywhere: bool = False,
    ) -> bool:
        """When the `count`th record or message of a kind is written or sent, its link is cut, or its broker crashes, or
        all of them: before the sync, with it, or after it."""

        def spring(trap: Trap, node: BrokerNode, link: str) -> None:
            if link and is_cut:
                peer = peer_of(link)
                self._met("trap_cut", node.name, peer)
                self._set_cut(node.name, peer, is_cut=True)
                self.world.at(self.world.now + lasts, self._join, node.name, peer)
                self.world.fault("trap_cut", f"{node.name} → {peer} at {kind}")
                return
            after = {"now": 0, "in_sync": node.fsync_us // 2, "synced": node.fsync_us + 1}.get(delay, 3_000)
            struck = [*self.world.brokers.values()] if everywhere else [node]
            for place, one in enumerate(struck):  # they return one after the other
                self.world.at(self.world.now + after, self._stop_for, one, lasts * (place + 1) // len(struck), ahead_us)
            self.world.fault("trap_crash", f"{node.name} at {kind}")

        self.world.traps.append(Trap(kind, count, spring, lasts))
        return True

    def _join(self, source: str, target: str) -> None:
        self._set_cut(source, target, is_cut=False)

    def _stop_for(self, node: BrokerNode, lasts: int, ahead_us: int) -> None:
        if node.alive:
            self._met("trap_crash", node.name)
            node.crash(with_disk=True)
            node.clock_us += ahead_us
            self.world.at(self.world.now + lasts, node.restart)

    def _broker(self, name: str) -> BrokerNode | None:
        return self.world.brokers.get(name)

    @noted
    def mend(self, _: str) -> bool:
        """The end of chaos."""
        mend(self.world)
        return True
