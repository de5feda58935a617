"""Limits of one world: drawn, most of them far smaller than the real ones, so that a few hundred steps meet every edge.

A limit is a constant of `agvent.limits`, read where it is used. A process that simulates runs one world at a time, so
these stand in the module while a world runs, and the real ones before and after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Final

from agvent import limits

SECOND: Final = 1_000_000

SMALLER: Final[dict[str, tuple[int, ...]]] = {
    "BATCH_EVENTS_MAX": (2, 3, 7),
    "BATCH_BYTES_MAX": (150, 400, 1_500),
    "CHUNK_BYTES_MAX": (600, 2_000, 10_000),
    "CLIENT_DELIVERIES_MAX": (4, 10, 40),
    "CLIENT_QUEUE_BYTES_MAX": (400, 2_000, 20_000),
    "COPIES_MAX": (4, 8, 30),
    "DELIVERY_WINDOW": (1, 2, 5, 20),
    "DELIVERY_WINDOW_BYTES_MAX": (1, 500, 5_000),
    "EARLY_ADVERTS_MAX": (1, 3),
    "GUEST_WAIT_US": (3 * SECOND, 10 * SECOND),
    "HOME_COPIES_MAX": (2, 5, 20),
    "JOURNAL_GROWTH_MAX": (1, 2),
    "JOURNAL_SEGMENT_BYTES_MAX": (300, 1_500, 6_000, 20_000),
    "LARGE_MESSAGES_MAX": (1, 2),
    "LINK_WINDOW_FRAMES": (4, 8, 16),
    "MOVE_WAIT_US": (2 * SECOND, 15 * SECOND, 60 * SECOND),
    "PART_BYTES_MAX": (200, 1_000, 5_000),
    "PASSED_MAX": (1, 4),
    "PUBLISHER_TYPES_MAX": (1, 2),
    "PUBLISH_BYTES_MAX": (1, 500, 5_000),
    "PUBLISH_CREDIT": (1, 2, 5, 20),
    "PUBLISH_EVENTS_MAX": (2, 8, 30),
    "REPLACED_VERSIONS_MAX": (1, 2, 4),
    "SEEK_WAIT_US": (200_000, 3 * SECOND),
    "TICK_US": (100_000, 200_000, 1_500_000),
    "TRANSIT_KEEP_US": (3 * SECOND, 8 * SECOND),
    "UNTAKEN_COPIES_MAX": (1, 2, 8),
}
"""What a world may draw. The smallest of each is legal: a broker with it is slow, and loses nothing in silence."""

USUAL: Final = {"JOURNAL_RESERVE_BYTES": 64 << 10}
"""Of every world: its disks are in memory."""

LOSSY: Final = frozenset({"CLIENT_DELIVERIES_MAX", "CLIENT_QUEUE_BYTES_MAX", "COPIES_MAX", "HOME_COPIES_MAX"})
"""Where these are small, events are let go with a gap notice."""


def drawn(random: Random, *, brokers: int) -> dict[str, int]:
    """The limits of one world with so many brokers: all real, some small, or nearly all small."""
    share = random.choice((0.0, 0.15, 0.15, 0.4, 0.9))
    without = LOSSY if random.random() < 0.5 else frozenset[str]()
    found = {
        name: random.choice(few) for name, few in SMALLER.items() if random.random() < share and name not in without
    }
    return consistent(found, brokers)


def consistent(found: dict[str, int], brokers: int) -> dict[str, int]:
    """The same, with those that stand in a relation to others: a batch fits into a chunk, a home's part into the
    whole. A broker that holds fewer copies than there are homes is legal and hopelessly slow: it tries again, and again
    gives up the copy that another one waits for."""

    def of(name: str) -> int:
        value: int = found.get(name, getattr(limits, name))
        return value

    if "CHUNK_BYTES_MAX" in found:
        found["BATCH_BYTES_MAX"] = min(of("BATCH_BYTES_MAX"), of("CHUNK_BYTES_MAX") * 3 // 4)
    if "COPIES_MAX" in found:
        found["COPIES_MAX"] = max(found["COPIES_MAX"], brokers)
        found["HOME_COPIES_MAX"] = min(of("HOME_COPIES_MAX"), of("COPIES_MAX"))
    found["PUBLISH_UNDER_WAY_MAX"] = of("PUBLISH_EVENTS_MAX") + of("BATCH_EVENTS_MAX")
    return found


@contextmanager
def bounded(values: Mapping[str, int]) -> Iterator[None]:
    """While this is open, the limits are these."""
    every = {**USUAL, **values}
    before = {name: getattr(limits, name) for name in every}
    try:
        for name, value in every.items():
            setattr(limits, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(limits, name, value)
