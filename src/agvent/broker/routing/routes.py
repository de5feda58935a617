"""The alternative routing table (ABDES §6.2): through which neighbours a broker can be reached, and at what cost.

It is learned from the trace of every message: who passed it along can pass something back. A cost is microseconds: half
the measured round trip of each link and what waits for it, so a slow or clogged link is avoided, not only a dead one.

Cost: a table of brokers × neighbours; learning walks one trace, choosing sorts the neighbours of one broker.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from agvent.wire.parts import Trace

HOP_US: Final = 100
"""What a hop costs beside its link, so that of equal ways the shorter is taken."""

QUEUED_US: Final = 500
"""What each waiting message adds to a link's cost."""


def cost_of(rtt_us: int, queued: int) -> int:
    """A link's cost, as a power of two: the noise of measuring must not make two ways of equal ones, or copies for two
    homes behind each other would go opposite ways round a ring.

    >>> [cost_of(rtt, 0) for rtt in (0, 4_000, 4_900, 400_000)]
    [128, 2048, 2048, 262144]
    """
    exact = HOP_US + rtt_us // 2 + QUEUED_US * queued
    return 1 << ((2 * exact * exact).bit_length() - 1) // 2


class Routes:
    """`version` grows when somebody may have become reachable: a part that waits for a route compares it with the one
    it saw last."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.links: dict[str, int] = {}  # the cost of the link to each live neighbour
        self._behind: dict[str, dict[str, int]] = {}  # broker -> neighbour -> cost from that neighbour on
        self.version = 1

    def up(self, neighbour: str, rtt_us: int = 0) -> None:
        self.links[neighbour] = cost_of(rtt_us, 0)
        self._behind.setdefault(neighbour, {})[neighbour] = 0
        self.version += 1

    def down(self, neighbour: str) -> None:
        """What was known through the neighbour is kept for when it is back, and not used until then."""
        self.links.pop(neighbour, None)

    def measure(self, neighbour: str, rtt_us: int, queued: int) -> None:
        if neighbour in self.links:
            self.links[neighbour] = cost_of(rtt_us, queued)

    def learn(self, trace: Trace) -> None:
        """The last broker of the trace is the neighbour that sent it; the others lie behind it."""
        via, last = trace[-1]
        cost = -last  # of the link to here, which is not part of the way from the neighbour on
        for broker, out in reversed(trace):
            if broker == self.name:
                return  # the way came through here: what lies before is not behind the neighbour
            cost += out
            known = self._behind.get(broker)
            if known is None:
                known = self._behind[broker] = {}
            if via not in known:
                self.version += 1
            known[via] = cost

    def prove(self, broker: str, trace: Trace) -> None:
        """A message from the broker came just now: this way is good, what else was said of it may be stale."""
        self._behind[broker] = {broker: 0} if broker in self.links else {}
        self.learn(trace)
        self.version += 1

    def doubt(self, broker: str, neighbour: str) -> None:
        """The neighbour sent something for that broker here, so it is not on the way there."""
        if broker != neighbour:
            self._behind.get(broker, {}).pop(neighbour, None)

    def choose(self, broker: str, *, avoid: Container[str] = (), attempt: int = 0) -> str | None:
        """The neighbour to send through: the cheapest, on later attempts the next ones in turn."""
        links = self.links
        found = [
            (links[neighbour] + cost, neighbour)
            for neighbour, cost in self._behind.get(broker, {}).items()
            if neighbour in links and neighbour not in avoid
        ]
        if len(found) > 1:
            found.sort()
        return found[attempt % len(found)][1] if found else None

    def cost(self, broker: str) -> int | None:
        """What the cheapest live way costs from here."""
        costs = [self.links[n] + cost for n, cost in self._behind.get(broker, {}).items() if n in self.links]
        return min(costs, default=None)

    def known(self, broker: str) -> dict[str, int]:
        """The neighbours the broker is known behind, live or not, each with the cost from there on."""
        return dict(self._behind.get(broker, {}))

    def forget(self, broker: str) -> None:
        self._behind.pop(broker, None)

    def extended(self, trace: Trace, neighbour: str) -> Trace:
        """The trace as it goes out to a neighbour."""
        return (*trace, (self.name, self.links[neighbour]))

    def check(self) -> None:
        assert self.name not in self._behind
        assert all(cost >= 0 for ways in self._behind.values() for cost in ways.values())
