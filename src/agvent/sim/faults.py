"""What goes wrong in a run. Each fault happens at a moment of the chaos phase and is mended some time later.

A mix is the list of faults a run may have. After the chaos phase everything is mended, and nothing more goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from agvent.broker.interface import Forget
from agvent.sim.network import GOOD, Conditions
from agvent.sim.nodes import FSYNC_US
from agvent.sim.scenario import MIXES
from agvent.sim.world import World


class Faults:
    """The faults of one run."""

    def __init__(self, world: World, mix: str) -> None:
        self.world, self.kinds = world, MIXES[mix]
        self.random: Random = world.random

    def schedule(self, count: int, duration_us: int) -> None:
        for _ in range(count if self.kinds else 0):
            self.world.at(
                self.world.now + self.random.randrange(duration_us), self._strike, self.random.choice(self.kinds)
            )

    def _strike(self, kind: str) -> None:
        strike: Callable[[int], str] = getattr(self, f"_{kind}")
        lasts = self.random.randrange(200_000, 8_000_000)
        detail = strike(lasts)
        if detail:
            self.world.fault(kind, f"{detail} for {lasts / 1e6:.1f} s")

    def _later(self, lasts: int, mend: Callable[..., None], *args: Any) -> None:
        self.world.at(self.world.now + lasts, mend, *args)

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
        for path in paths:
            self.world.network.paths[path].cut = True
        self._later(lasts, self._join_paths, paths)

    def _join_paths(self, paths: list[tuple[str, str]]) -> None:
        for path in paths:
            self.world.network.paths[path].cut = False

    def _lossy(self, lasts: int) -> str:
        return self._worsen(
            lasts, Conditions(loss=self.random.uniform(0.02, 0.3), doubling=0.1, lateness=0.2, flips=0.05)
        )

    def _slow(self, lasts: int) -> str:
        return self._worsen(lasts, Conditions(delay_us=self.random.randrange(50_000, 400_000), bytes_per_s=20_000))

    def _worsen(self, lasts: int, conditions: Conditions) -> str:
        a, b = self._edge()
        self._set_conditions([(a, b), (b, a)], conditions)
        self._later(lasts, self._set_conditions, [(a, b), (b, a)], GOOD)
        return f"{a} – {b}"

    def _set_conditions(self, paths: list[tuple[str, str]], conditions: Conditions) -> None:
        for path in paths:
            self.world.network.paths[path].conditions = conditions

    # Brokers

    def _crash(self, lasts: int) -> str:
        return self._stop(lasts, with_disk=True)

    def _lose_disk(self, lasts: int) -> str:
        return self._stop(lasts, with_disk=False)

    def _stop(self, lasts: int, *, with_disk: bool) -> str:
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        if not node.alive:
            return ""
        node.crash(with_disk=with_disk)
        self._later(lasts, node.restart)
        return node.name

    def _slow_disk(self, lasts: int) -> str:
        """A sync takes so long that a crash finds much unsynced."""
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        node.fsync_us = self.random.randrange(20_000, 500_000)
        self._later(lasts, setattr, node, "fsync_us", FSYNC_US)
        return node.name

    def _pause(self, lasts: int) -> str:
        node = self.world.brokers[self.random.choice(list(self.world.brokers))]
        if not node.alive or node.paused:
            return ""
        node.paused = True
        self._later(lasts, node.resume)
        return node.name

    # Membership

    def _join(self, lasts: int) -> str:
        """A new broker with one or two links."""
        stayed = [node.name for node in self.world.brokers.values() if not node.left]
        neighbours = self.random.sample(stayed, min(len(stayed), self.random.choice((1, 2))))
        name = f"J{len(self.world.brokers) + 1}"
        self.world.join(name, neighbours)
        return f"{name} at {' '.join(neighbours)}"

    def _leave(self, lasts: int) -> str:
        """A broker without clients, and without which the others stay connected, leaves for good."""
        homes = {home for client in self.world.clients.values() for home in client.homes}
        free = [node for node in self.world.brokers.values() if node.alive and node.name not in homes]
        free = [node for node in free if self.world.is_connected_without(node.name)]
        if not free:
            return ""
        node = self.random.choice(free)
        node.leave()
        return node.name

    # Clients

    def _move(self, lasts: int) -> str:
        """A client goes to another broker, whatever state that is in; perhaps back to one where it was."""
        client = self.random.choice(list(self.world.clients.values()))
        stayed = [node.name for node in self.world.brokers.values() if not node.left and node.name != client.home]
        if not stayed or not client.ends:
            return ""
        home = self.random.choice(stayed)
        self.world.move(client.name, home)
        return f"{client.name} to {home}"

    # The end of chaos

    def mend_all(self) -> None:
        """Every link good, every broker running."""
        for path in self.world.network.paths.values():
            path.cut, path.conditions = False, GOOD
        for node in self.world.brokers.values():
            node.fsync_us = FSYNC_US
            if not node.alive and not node.left:
                node.start()
            if node.paused:
                node.resume()
        self._forget_left()

    def _forget_left(self) -> None:
        """The operator tells one broker of those who left; some may have gone while nobody could hear them."""
        stayed = next(node for node in self.world.brokers.values() if node.alive)
        for node in self.world.brokers.values():
            if node.left:
                stayed.do([Forget(node.name)])
