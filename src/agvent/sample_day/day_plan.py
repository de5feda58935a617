"""What a day is made of: the numbers that are asked for, and the constants of the world."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import numpy as np

from agvent.errors import CallerError
from agvent.event import microseconds

DEFECTS: Final = ("none", "lost", "duplicated", "unexpected", "out_of_order", "late")

START: Final = microseconds(datetime(2026, 3, 2, tzinfo=UTC))
SECOND: Final = 1_000_000
HOUR: Final = 3_600 * SECOND
DAY: Final = 24 * HOUR

BROKERS_MAX: Final = 256
"""Brokers of a day: paths between all pairs are kept."""

EVENTS_PER_SLICE: Final = 100
SLICES_MAX: Final = 24

Draw = np.random.Generator


class DayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A day to be made. `xml` adds events with documents, and XPath subscriptions to them."""

    events: int
    subscriptions: int = 100
    brokers: int = 3
    seed: int = 0
    xml: bool = False
    defect: str = "none"

    def __post_init__(self) -> None:
        for name, low, high in (("events", 1, None), ("subscriptions", 1, None), ("brokers", 1, BROKERS_MAX)):
            value = getattr(self, name)
            if value < low or (high is not None and value > high):
                raise CallerError(f"{name} is {value}, it must be {f'{low} to {high}' if high else f'{low} or more'}")
        if self.seed < 0:
            raise CallerError(f"seed is {self.seed}, it must be 0 or more")
        if self.defect not in DEFECTS:
            raise CallerError(f"there is no defect {self.defect!r}", hint=f"defects are {', '.join(DEFECTS)}")

    def draw(self, purpose: str) -> Draw:
        """Random numbers for one purpose, so that no purpose changes another's."""
        return np.random.default_rng([self.seed, *purpose.encode()])

    @property
    def broker_names(self) -> list[str]:
        return [f"b{number}" for number in range(1, self.brokers + 1)]

    @property
    def symbols(self) -> int:
        """As many as keep the matches of an event few, however many subscriptions there are."""
        return max(20, self.subscriptions // 3)

    @property
    def slices(self) -> list[int]:
        """The ends of the parts in which the day is committed."""
        count = min(SLICES_MAX, max(1, self.events // EVENTS_PER_SLICE))
        return [START + DAY * number // count for number in range(1, count)] + [np.iinfo(np.int64).max]


def words(draw: Draw, count: int, letters: int) -> list[str]:
    """Different random words of capital letters."""
    found: dict[str, None] = {}
    while len(found) < count:
        block = draw.integers(65, 91, (count, letters), dtype=np.uint8)
        found |= dict.fromkeys(bytes(row).decode() for row in block)
    return list(found)[:count]


def zipf(count: int, skew: float = 0.8) -> Any:
    """Probabilities by rank: few are popular."""
    weights = 1 / np.arange(1, count + 1) ** skew
    return weights / weights.sum()
