"""A scenario: a seed, a topology, a mix of faults and an amount of work. It says everything about one run.

Light to import: the command line shows it in its help.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agvent.sim.topology import TOPOLOGIES

MIXES: Final[dict[str, tuple[str, ...]]] = {
    "none": (),
    "links": ("cut", "cut", "one_way", "lossy", "slow"),
    "crashes": ("crash", "crash", "pause", "slow_disk"),
    "partitions": ("partition", "cut", "lossy"),
    "all": ("cut", "one_way", "lossy", "slow", "crash", "crash", "pause", "slow_disk", "partition"),
    "disks": ("crash", "lose_disk", "cut"),
    "members": ("join", "join", "leave", "crash", "cut"),
    "moves": ("move", "move", "move", "crash", "pause", "cut", "partition"),
}
"""The faults that a run may have; sim/faults.py says what each is."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """How much happens in the chaos phase, and for how long."""

    clients: int = 5
    actions: int = 60
    duration_us: int = 15_000_000
    couriers: bool = False
    """Are agvents published that find their own way?"""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One run before it is run. Topologies without a fixed size have `brokers` brokers."""

    seed: int
    topology: str = "abdes"
    faults: str = "all"
    brokers: int = 8
    fault_count: int = 5
    workload: Workload = Workload()

    def command(self) -> str:
        """The command that replays it."""
        couriers = " --couriers" if self.workload.couriers else ""
        return f"agvent sim --topology {self.topology} --faults {self.faults} --seed {self.seed} --trace{couriers}"


def scenario_of(
    seed: int, *, topology: str | None = None, faults: str | None = None, couriers: bool = False
) -> Scenario:
    """The scenario of a seed: topologies and mixes of faults in turn, unless they are given."""
    topologies, mixes = list(TOPOLOGIES), list(MIXES)
    return Scenario(
        seed=seed,
        topology=topology or topologies[seed % len(topologies)],
        faults=faults or mixes[seed // len(topologies) % len(mixes)],
        brokers=3 + seed * 7 % 8,
        workload=Workload(couriers=couriers),
    )
