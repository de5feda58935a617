"""A scenario: a seed, a topology, a mix of faults and an amount of work. It says everything about one run.

Light to import: the command line shows it in its help.
"""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

from agvent.sim.bounds import SECOND, drawn
from agvent.sim.interest_worlds import with_interests
from agvent.sim.machine import Machine
from agvent.sim.themes import with_theme
from agvent.sim.topology import ABDES_BROKERS, TOPOLOGIES

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

SWARM: Final = "swarm"
"""The mix of worlds that draw everything: a subset of faults and of doings, limits, machines and sizes."""

SELDOM: Final = {"lose_disk": 0.1, "leave": 0.15, "join": 0.15, "clock": 0.2}
NEW: Final = (
    "client_cut",
    "client_lossy",
    "client_slow",
    "away",
    "stall",
    "full_disk",
    "blackout",
    "crash_loop",
    "trap",
    "torn",
)
MIXED_OF: Final = 5 * len(MIXES)
"""One in six of the swarm's worlds has the faults of one of the mixes: what they draw beside meets every mix."""

FAULTS: Final[dict[str, float]] = (
    dict.fromkeys((kind for mix in MIXES.values() for kind in mix), 0.35)
    | dict.fromkeys(NEW, 0.35)
    | SELDOM
    | {"snapshot": 0.3}
)
"""Every fault that a world of the swarm may draw, and how likely it does."""


DOINGS: Final = (
    "subscribe", "replace", "unsubscribe", "advertise", "unadvertise", "leave", "burst", "succeed", "guest", "context",
    "flap", "hop", "say_again", "debut", "waver", "mistake", "stream", "look", "season", "rival",
)  # fmt: skip
"""What clients may do beside publishing; workload.py and client_doings.py say what each is."""


ATTACH_US: Final = 3 * SECOND
"""When clients attach: the brokers know each other by then."""

CHAOS_US: Final = 5 * SECOND
"""When the chaos phase begins."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """How much happens in the chaos phase, and for how long."""

    clients: int = 5
    actions: int = 60
    duration_us: int = 15_000_000
    couriers: bool = False
    """Are agvents published that find their own way?"""

    doings: tuple[str, ...] = ()
    """What clients do beside publishing; none: everything that workload.py weighs."""

    large: bool = False
    """Have some events a payload that travels in parts?"""

    plain_types: bool = False
    """Are there types without a program, some of them of one family?"""

    moments: int = 0
    """Doings and faults gather around so many moments, where one meets what another has begun; 0: they are spread."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One run before it is run. Topologies without a fixed size have `brokers` brokers."""

    seed: int
    topology: str = "abdes"
    faults: str = "all"
    brokers: int = 8
    fault_count: int = 5
    workload: Workload = Workload()
    kinds: tuple[str, ...] = ()
    """The faults of a world of the swarm."""

    limits: dict[str, int] = {}
    machine: Machine = Machine()

    @property
    def mix(self) -> str:
        """The mix of its faults; a world of the swarm may have the kinds of another one."""
        return (
            next((mix for mix, kinds in MIXES.items() if kinds == self.kinds), SWARM) if self.is_swarm else self.faults
        )

    @property
    def is_swarm(self) -> bool:
        return self.faults == SWARM

    @property
    def mended_at(self) -> int:
        """When the chaos phase ends, since the world began."""
        return CHAOS_US + self.workload.duration_us

    def command(self) -> str:
        """The command that replays it."""
        couriers = " --couriers" if self.workload.couriers else ""
        return f"agvent sim --topology {self.topology} --faults {self.faults} --seed {self.seed} --trace{couriers}"


def scenario_of(
    seed: int, *, topology: str | None = None, faults: str | None = None, couriers: bool = False
) -> Scenario:
    """The scenario of a seed: topologies and mixes of faults in turn, unless they are given. Of four seeds three are of
    the swarm."""
    if faults == SWARM or (faults is None and seed % 4):
        return swarm_of(seed, topology=topology, couriers=couriers)
    topologies, mixes = list(TOPOLOGIES), list(MIXES)
    return Scenario(
        seed=seed,
        topology=topology or topologies[seed // (4 if faults is None else 1) % len(topologies)],
        faults=faults or mixes[seed // 4 // len(topologies) % len(mixes)],
        brokers=3 + seed * 7 % 8,
        workload=Workload(couriers=couriers),
    )


def swarm_of(seed: int, *, topology: str | None = None, couriers: bool = False) -> Scenario:
    """A world of the swarm: what may happen in it is drawn once, so that few things happen often instead of all things
    seldom."""
    random = Random(f"swarm {seed}")
    graph, has_couriers = random.choice(list(TOPOLOGIES)), random.random() < 0.25
    lasting = random.choice((3, 8, 12, 20)) * SECOND
    workload = Workload(
        clients=random.randint(2, 6),
        actions=random.choice((30, 60, 100, 150)),
        duration_us=lasting,
        couriers=couriers or has_couriers,
        doings=tuple(doing for doing in DOINGS if random.random() < 0.6),
        large=random.random() < 0.2,
        moments=random.choice((0, 2, 4, 8)),
    )
    brokers = random.choice((2, 3, 3, 4, 5, 8))
    few = drawn(random, brokers=ABDES_BROKERS if (topology or graph) == "abdes" else brokers)
    is_slow_to_publish = not few.keys().isdisjoint(("PUBLISH_CREDIT", "PUBLISH_EVENTS_MAX", "PUBLISH_BYTES_MAX"))
    slowest = 100_000 if is_slow_to_publish else 3 * SECOND  # or a burst takes longer than anybody waits
    machine = Machine(
        turn_us=random.choice((0, 200, 2_000, 10_000, 60_000)),
        run_us=random.choice(((3_000,), (500, 3_000, 100_000), (10_000, slowest))),
        save_us=random.choice((1_000, 20_000, 400_000)),
        sync_us=random.choice(((1_000,), (1_000, 40_000), (30_000, 400_000))),
        delay_us=random.choice(((2_000,), (2_000, 60_000), (500, 150_000))),
        done_us=random.choice((0, 0, 50_000, 2 * SECOND)),
        notice_us=random.choice((0, 0, 500_000, 3 * SECOND)),
    )
    kinds = tuple(kind for kind, share in FAULTS.items() if random.random() < share)
    mix = random.choice((*MIXES, *[SWARM] * MIXED_OF))
    kinds = MIXES.get(mix, kinds or ("crash",))
    if workload.couriers:  # the time of an agvent's journey is by the clocks of all brokers
        more = [kind for kind in ("leave", "lose_disk", "crash") if random.random() < 0.3]
        kinds = tuple(dict.fromkeys((*(kind for kind in kinds if kind != "clock"), *more)))
    scenario = Scenario(
        seed=seed,
        topology=topology or graph,
        faults=SWARM,
        brokers=brokers,
        fault_count=random.choice((0, 3, 8, 16)),
        workload=workload,
        kinds=kinds,
        limits={"GUEST_WAIT_US": 10 * SECOND, **few},
        machine=machine,
    )
    scenario = with_theme(scenario, ABDES_BROKERS if scenario.topology == "abdes" else brokers)
    return with_interests(scenario, ABDES_BROKERS if scenario.topology == "abdes" else brokers)
