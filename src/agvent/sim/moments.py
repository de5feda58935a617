"""When things happen in the chaos phase of a run.

Spread evenly, sixty doings in fifteen seconds are each over before the next begins: an answer takes some milliseconds.
Most bugs need two things at once, such as a link that breaks while a request waits for the disk. So a world may have a
few moments, and everything happens close to one of them.
"""

from __future__ import annotations

from typing import Final

from agvent.sim.scenario import Workload
from agvent.sim.world import World

CLOSE_US: Final = (0, 2_000, 20_000, 200_000, 1_000_000)
"""How far from its moment a thing happens, at most: one of these."""


class Moments:
    """The chaos phase, from now on."""

    def __init__(self, world: World, workload: Workload) -> None:
        self.random = world.random
        self.began, self.duration_us = world.now, workload.duration_us
        self.few = [self._anywhere() for _ in range(workload.moments)]

    def _anywhere(self) -> int:
        return self.began + self.random.randrange(self.duration_us)

    def draw(self) -> int:
        """When the next thing happens."""
        if not self.few:
            return self._anywhere()
        return self.random.choice(self.few) + self.random.randrange(self.random.choice(CLOSE_US) + 1)
