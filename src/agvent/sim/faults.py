"""What goes wrong in a run. Each fault happens at a moment of the chaos phase and is mended some time later.

A mix is the list of faults a run may have. After the chaos phase everything is mended, and nothing more goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from agvent.sim.moments import Moments
from agvent.sim.network import Conditions
from agvent.sim.nodes import BrokerNode, ClientNode
from agvent.sim.traps import SEVERAL, TRAPS
from agvent.sim.world import World

CLOCK_JUMPS_US = (-86_400_000_000, -3_600_000_000, -1_000_000, 1_000_000, 3_600_000_000, 86_400_000_000)
"""How a machine's clock may be set between two processes."""


class Faults:
    """The faults of one run."""

    def __init__(self, world: World, kinds: tuple[str, ...]) -> None:
        self.world, self.kinds = world, tuple(kind for kind in kinds if kind != "clock")
        self.has_clocks = "clock" in kinds
        self.random: Random = world.random
        self.do = world.doings

    def schedule(self, count: int, moments: Moments) -> None:
        for _ in range(count if self.kinds else 0):
            self.world.doing(moments.draw(), self._strike, self.random.choice(self.kinds))

    def _strike(self, kind: str) -> None:
        strike: Callable[[int], str] = getattr(self, f"_{kind}")
        lasts = self.random.randrange(200_000, 8_000_000)
        detail = strike(lasts)
        if detail:
            self.world.fault(kind, f"{detail} for {lasts / 1e6:.1f} s")

    def _later(self, lasts: int, mend: Callable[..., None], *args: Any) -> None:
        self.world.doing(self.world.now + lasts, mend, *args)

    # Links

    def _edge(self) -> tuple[str, str]:
        return self.random.choice(self.world.edges)

    def _cut(self, lasts: int) -> str:
        a, b = self._edge()
        self._set_cut([(a, b), (b, a)], lasts)
        return f"{a} – {b}"

    def _one_way(self, lasts: int) -> str:
        a, b = self._edge()
        self._set_cut([(a, b)], lasts)
        return f"{a} → {b}"

    def _partition(self, lasts: int) -> str:
        names = list(self.world.brokers)
        side = set(self.random.sample(names, max(1, len(names) // 2)))
        across = [(a, b) for a, b in self.world.edges if (a in side) != (b in side)]
        self._set_cut([*across, *((b, a) for a, b in across)], lasts)
        return " ".join(sorted(side))

    def _set_cut(self, paths: list[tuple[str, str]], lasts: int) -> None:
        for source, target in paths:
            self.do.cut(source, target=target)
            self._later(lasts, partial(self.do.uncut, source, target=target))

    def _lossy(self, lasts: int) -> str:
        return self._worsen(
            lasts, Conditions(loss=self.random.uniform(0.02, 0.3), doubling=0.1, lateness=0.2, flips=0.05)
        )

    def _slow(self, lasts: int) -> str:
        return self._worsen(lasts, Conditions(delay_us=self.random.randrange(50_000, 400_000), bytes_per_s=20_000))

    def _worsen(self, lasts: int, conditions: Conditions) -> str:
        a, b = self._edge()
        return self._worsen_between(a, b, lasts, conditions)

    def _worsen_between(self, a: str, b: str, lasts: int, conditions: Conditions) -> str:
        for source, target in ((a, b), (b, a)):
            self.do.worsen(source, target=target, conditions=conditions)
            self._later(lasts, partial(self.do.make_usual, source, target=target))
        return f"{a} – {b}"

    # Brokers

    def _crash(self, lasts: int) -> str:
        return self._stop(lasts, with_disk=True)

    def _lose_disk(self, lasts: int) -> str:
        return self._stop(lasts, with_disk=False)

    def _stop(self, lasts: int, *, with_disk: bool) -> str:
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        if not node.alive:
            return ""
        self._crash_node(node, lasts, with_disk=with_disk)
        return node.name

    def _crash_node(self, node: BrokerNode, lasts: int, *, with_disk: bool = True) -> None:
        if node.alive:
            self.do.crash(node.name, with_disk=with_disk)
            if ahead_us := self._jump():
                self.do.set_clock(node.name, ahead_us=ahead_us)
                self.world.fault("clock", f"{node.name} by {ahead_us / 1e6:.0f} s")
            self._later(lasts, self.do.start, node.name)

    def _jump(self) -> int:
        """How far a clock is set between two processes."""
        return self.random.choice(CLOCK_JUMPS_US) if self.has_clocks else 0

    def _blackout(self, lasts: int) -> str:
        """Every broker stops at once, now or at an interesting moment of one of them."""
        if self.random.random() < 0.5:
            return self._set_trap(self.random.choice(TRAPS), lasts, everywhere=True)
        for node in self.world.brokers.values():
            self._crash_node(node, self.random.randrange(10_000, lasts))
        return "all"

    def _snapshot(self, lasts: int) -> str:
        """A broker, or each, writes a snapshot, and soon after that starts again: from it, or from what it replaces."""
        names = list(self.world.brokers)
        chosen = names if self.random.random() < 0.3 else [self.random.choice(names)]
        for name in chosen:
            self.do.save(name)
            after = self.random.choice((0, 1_000, 5_000, 30_000, 300_000, 1_500_000))
            self._later(after, self._crash_node, self.world.brokers[name], self.random.randrange(1_000, lasts))
        return " ".join(chosen)

    def _crash_loop(self, lasts: int) -> str:
        """A broker stops again and again, soon after each start: some while it reads its journal's last words."""
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        at = 0
        for _ in range(self.random.choice((3, 6))):
            up, down = self.random.choice((1_000, 30_000, 400_000)), self.random.choice((1_000, 100_000))
            self._later(at, self._crash_node, node, down)
            at += down + up
        return node.name

    def _trap(self, lasts: int) -> str:
        """Something goes wrong at an interesting moment: when a broker writes or sends something of a kind next."""
        return self._set_trap(self.random.choice(TRAPS), lasts, everywhere=False)

    def _set_trap(self, kind: str, lasts: int, *, everywhere: bool) -> str:
        self.do.trap(
            "*",
            kind=kind,
            count=self.random.choice((1, 1, 2, 5)),
            is_cut=not everywhere and self.random.random() < 0.4,
            delay=self.random.choice(("now", "in_sync", "synced", "late")),
            lasts=lasts,
            ahead_us=self._jump(),
            everywhere=everywhere,
        )
        return kind

    def _torn(self, lasts: int) -> str:
        """A broker stops while it writes several records that belong together: some are on its disk."""
        self.do.trap(
            "*",
            kind=SEVERAL,
            count=self.random.randint(1, 8),
            is_cut=False,
            delay="in_sync",
            lasts=lasts,
            ahead_us=self._jump(),
        )
        return SEVERAL

    def _slow_disk(self, lasts: int) -> str:
        """A sync takes so long that a crash finds much unsynced."""
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        self.do.slow_disk(node.name, sync_us=self.random.randrange(20_000, 500_000))
        self._later(lasts, partial(self.do.slow_disk, node.name, sync_us=0))
        return node.name

    def _stall(self, lasts: int) -> str:
        """A disk that takes seconds for a sync."""
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        self.do.slow_disk(node.name, sync_us=self.random.randrange(1_000_000, 5_000_000))
        self._later(lasts, partial(self.do.slow_disk, node.name, sync_us=0))
        return node.name

    def _full_disk(self, lasts: int) -> str:
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        self.do.full_disk(node.name, is_full=True)
        self._later(lasts, partial(self.do.full_disk, node.name, is_full=False))
        return node.name

    def _pause(self, lasts: int) -> str:
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        if not node.alive or node.paused:
            return ""
        self.do.pause(node.name)
        self._later(lasts, self.do.resume, node.name)
        return node.name

    # Membership

    def _join(self, lasts: int) -> str:
        """A new broker with one or two links."""
        stayed = [node.name for node in self.world.brokers.values() if not node.left]
        neighbours = self.random.sample(stayed, min(len(stayed), self.random.choice((1, 2))))
        name = f"J{len(self.world.brokers) + 1}"
        self.do.join(name, neighbours=tuple(neighbours))
        return f"{name} at {' '.join(neighbours)}"

    def _leave(self, lasts: int) -> str:
        """A broker without clients, and without which the others stay connected, leaves for good."""
        homes = {home for client in self.world.clients.values() for home in client.homes}
        free = [node for node in self.world.brokers.values() if node.alive and node.name not in homes]
        free = [node for node in free if self.world.is_connected_without(node.name)]
        if not free:
            return ""
        node = self.random.choice(free)
        self.do.retire(node.name)
        return node.name

    # Clients

    def _client(self) -> ClientNode | None:
        living = self.world.living()
        return self.random.choice(living) if living else None

    def _client_cut(self, lasts: int) -> str:
        if (client := self._client()) is None:
            return ""
        self._set_cut([(client.name, client.home), (client.home, client.name)], lasts)
        return f"{client.name} – {client.home}"

    def _client_lossy(self, lasts: int) -> str:
        if (client := self._client()) is None:
            return ""
        conditions = Conditions(loss=self.random.uniform(0.02, 0.3), doubling=0.1, lateness=0.2, flips=0.05)
        return self._worsen_between(client.name, client.home, lasts, conditions)

    def _client_slow(self, lasts: int) -> str:
        if (client := self._client()) is None:
            return ""
        conditions = Conditions(delay_us=self.random.randrange(50_000, 400_000), bytes_per_s=20_000)
        return self._worsen_between(client.name, client.home, lasts, conditions)

    def _away(self, lasts: int) -> str:
        """A client is away for longer than brokers wait for anything."""
        if (client := self._client()) is None:
            return ""
        self.do.leave(client.name)
        self._later(3 * lasts, self.do.back, client.name)
        return client.name

    def _move(self, lasts: int) -> str:
        """A client goes to another broker, whatever state that is in; perhaps back to one where it was."""
        if (client := self._client()) is None:
            return ""
        stayed = [node.name for node in self.world.brokers.values() if not node.left and node.name != client.home]
        if not stayed or not client.ends or not client.session.broker:
            return ""  # one that never had a home has none to name to the next
        home = self.random.choice(stayed)
        self.do.move(client.name, home=home)
        return f"{client.name} to {home}"
