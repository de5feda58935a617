"""Worlds of the swarm in which much happens to what brokers know of interests and types, and in which messages travel
in parts. Light to import, as scenario.py is.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from agvent.sim.bounds import consistent

if TYPE_CHECKING:
    from agvent.sim.scenario import Scenario

DOINGS: Final = ("cover", "echo", "widen", "many", "campaign", "revise")
"""interest_doings.py says what each is."""

SMALL: Final[dict[str, tuple[int, ...]]] = {
    "CHUNK_BYTES_MAX": (600, 1_000),
    "PART_BYTES_MAX": (100, 300, 1_000),
    "EARLY_ADVERTS_MAX": (1, 3),
    "LARGE_MESSAGES_MAX": (1, 2),
    "LINK_WINDOW_FRAMES": (4, 8, 64),
}
"""A chunk holds what brokers and clients say beside events, types and subscriptions, as a real one does: what says that
something is refused is never overtaken by what says that the next thing is accepted."""


def with_interests(scenario: Scenario, brokers: int) -> Scenario:
    """The same, with more of these things, or as it is: the seed decides."""
    random = Random(f"interests {scenario.seed}")
    if random.random() < 0.6:
        return scenario
    before, few = scenario.workload, dict(scenario.limits)
    if random.random() < 0.5:
        few |= {name: random.choice(values) for name, values in SMALL.items() if random.random() < 0.8}
    workload = msgspec.structs.replace(
        before,
        doings=(*before.doings, *(doing for doing in DOINGS if random.random() < 0.6)),
        plain_types=not before.couriers,
        large=before.large or random.random() < 0.5,
    )
    return msgspec.structs.replace(scenario, workload=workload, limits=consistent(few, brokers))
