"""Themes: what a world may have together because it means something together.

Drawn one by one, a small limit seldom meets the doings that reach it: a full broker needs bursts, a large message that
is cut off needs a narrow link that breaks. A theme has both. A world draws at most one; what it drew besides stays.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent.sim.bounds import SECOND, consistent

if TYPE_CHECKING:
    from agvent.sim.scenario import Scenario


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """What is added to a world: doings and faults all, of limits and of what a machine has one of each row."""

    doings: tuple[str, ...]
    faults: tuple[str, ...] = ()
    limits: dict[str, tuple[int, ...]] = {}
    machine: dict[str, tuple[Any, ...]] = {}
    large: bool = False


THEMES: Final[dict[str, Theme]] = {
    "parts": Theme(  # large messages beside small ones, on links that break
        doings=("burst", "flap", "hop", "replace", "waver"),
        faults=("client_slow", "client_cut", "client_slow"),
        limits={"CHUNK_BYTES_MAX": (600, 2_000), "LARGE_MESSAGES_MAX": (1, 2)},
        machine={"done_us": (0, 50_000, SECOND)},
        large=True,
    ),
    "full": Theme(  # every window and quota is met
        doings=("burst", "flap", "stream", "leave", "mistake"),
        faults=("slow", "cut", "away"),
        limits={
            "COPIES_MAX": (4, 8),
            "PUBLISH_BYTES_MAX": (500, 2_000),
            "PUBLISH_EVENTS_MAX": (4, 12),
            "PUBLISH_CREDIT": (2, 5),
            "BATCH_EVENTS_MAX": (2, 3, 7),
            "CLIENT_DELIVERIES_MAX": (4, 10),
        },
    ),
    "names": Theme(  # processes of a name follow one another, or live at the same time
        doings=("succeed", "rival", "guest", "flap", "burst", "mistake", "say_again"),
        faults=("client_cut", "stall", "trap"),
        machine={
            "done_us": (0, 50_000, 2 * SECOND),
            "run_us": ((10_000, 100_000), (500, 3_000, 100_000)),
            "sync_us": ((1_000, 40_000), (30_000, 400_000)),
            "notice_us": (500_000, 3 * SECOND),
        },
    ),
    "moves": Theme(  # clients move while everything is under way
        doings=("hop", "burst", "waver", "replace", "guest", "say_again"),
        faults=("crash", "trap", "partition"),
        limits={"MOVE_WAIT_US": (4 * SECOND, 15 * SECOND), "GUEST_WAIT_US": (3 * SECOND, 10 * SECOND)},
        machine={"done_us": (0, SECOND), "sync_us": ((1_000,), (30_000, 400_000))},
    ),
    "homeless": Theme(  # homes lose their disks while clients come and go
        doings=("hop", "waver", "replace", "advertise"),
        faults=("lose_disk", "crash", "client_cut"),
        limits={"MOVE_WAIT_US": (4 * SECOND, 15 * SECOND)},
        machine={"sync_us": ((1_000,), (30_000, 400_000))},
    ),
    "slow": Theme(  # clients that take long, and windows that are small
        doings=("burst", "flap", "unsubscribe", "stream", "context"),
        faults=("client_cut", "client_lossy", "away"),
        limits={"DELIVERY_WINDOW": (1, 2, 5), "CLIENT_DELIVERIES_MAX": (10, 40), "BATCH_EVENTS_MAX": (3, 7)},
        machine={"done_us": (200_000, 2 * SECOND)},
    ),
    "wrong": Theme(  # requests and publications that are refused, and asked again
        doings=("mistake", "waver", "flap", "season", "look", "leave"),
        faults=("client_cut", "crash", "trap"),
        limits={"PUBLISHER_TYPES_MAX": (1, 2), "REPLACED_VERSIONS_MAX": (1, 2)},
        machine={"run_us": ((3_000,), (10_000, 100_000)), "sync_us": ((1_000, 40_000), (30_000, 400_000))},
    ),
}

SLOW_TO_PUBLISH: Final = ("PUBLISH_CREDIT", "PUBLISH_EVENTS_MAX", "PUBLISH_BYTES_MAX")

SHARE: Final = 0.5
"""Of the worlds of the swarm, so many have a theme."""


def with_theme(scenario: Scenario, brokers: int) -> Scenario:
    """The same world with its theme, if it has one: the seed decides."""
    random = Random(f"theme {scenario.seed}")
    name, has_one = random.choice(list(THEMES)), random.random() < SHARE
    if not has_one:
        return scenario
    theme, workload, machine = THEMES[name], scenario.workload, scenario.machine
    chosen = {name: random.choice(few) for name, few in theme.limits.items() if random.random() < 0.8}
    few = consistent({**scenario.limits, **chosen}, brokers)
    machine = msgspec.structs.replace(machine, **{name: random.choice(of) for name, of in theme.machine.items()})
    if not few.keys().isdisjoint(SLOW_TO_PUBLISH):  # or a burst takes longer than anybody waits
        machine = msgspec.structs.replace(machine, run_us=tuple(min(one, 100_000) for one in machine.run_us))
    workload = msgspec.structs.replace(
        workload,
        doings=tuple(dict.fromkeys((*workload.doings, *theme.doings))),
        large=workload.large or theme.large,
    )
    kinds = (*scenario.kinds, *theme.faults)
    return msgspec.structs.replace(scenario, workload=workload, machine=machine, limits=few, kinds=kinds)
