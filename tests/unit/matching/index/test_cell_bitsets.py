"""Lists long enough for cell bitsets, at their real size, against NumPy's comparison of everything with everything."""

from __future__ import annotations

import numpy as np
import pytest

from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions

SUBSCRIPTIONS, EVENTS = 6000, 400


class Boxes:
    """Random ranges on three attributes, some open to one side, some absent, and events that lack some of them."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.low = rng.integers(-50, 900, (SUBSCRIPTIONS, 3)).astype(float)
        self.high = self.low + rng.integers(0, 200, (SUBSCRIPTIONS, 3))
        sides = rng.random((SUBSCRIPTIONS, 3))
        self.low[sides < 0.1] = -np.inf
        self.high[(sides > 0.05) & (sides < 0.2)] = np.inf
        self.asked = rng.random((SUBSCRIPTIONS, 3)) < 0.8
        self.asked[:, 0] |= ~self.asked.any(axis=1)
        self.values = rng.integers(-60, 1100, (EVENTS, 3)).astype(float)
        self.values[rng.random((EVENTS, 3)) < 0.1] = np.nan

    def text(self, n: int) -> str:
        parts = []
        for k, name in enumerate("xyz"):
            if self.asked[n, k]:
                parts += [f"{name} >= {self.low[n, k]}"] if np.isfinite(self.low[n, k]) else []
                parts += [f"{name} <= {self.high[n, k]}"] if np.isfinite(self.high[n, k]) else []
                parts += [f"{name} IS NOT NULL"]
        return " AND ".join(parts)

    def events(self) -> list[dict[str, float]]:
        return [{name: float(v) for name, v in zip("xyz", row, strict=True)} for row in self.values]

    def expected(self) -> list[list[str]]:
        v = self.values[:, None, :]
        inside = (v >= self.low) & (v <= self.high)
        return [sorted(f"s{n}" for n in np.flatnonzero(row)) for row in np.all(inside | ~self.asked, axis=2)]


@pytest.mark.parametrize("seed", [1, 2])
def test_ranges_on_three_attributes_equal_the_comparison_of_all(seed: int) -> None:
    """Batches and single events find exactly the boxes that hold them, at cell boundaries too."""
    boxes = Boxes(seed)
    made = Subscriptions(Subscription(id=f"s{n}", filter=boxes.text(n)) for n in range(SUBSCRIPTIONS))
    wanted = boxes.expected()
    found = dict(made.match_batch(boxes.events()).by_event())
    assert [found.get(n, []) for n in range(EVENTS)] == wanted
    assert [made.match(event) for event in boxes.events()[:40]] == wanted[:40]
    assert made.statistics().paths.get("range", 0) > SUBSCRIPTIONS / 2


def test_removed_boxes_are_gone_and_added_ones_found() -> None:
    """Ends and additions since the snapshot count in long lists too."""
    boxes = Boxes(3)
    made = Subscriptions(Subscription(id=f"s{n}", filter=boxes.text(n)) for n in range(5000))
    for n in range(0, 5000, 3):
        made.remove(f"s{n}")
    for n in range(5000, 5800):
        made.add(f"s{n}", boxes.text(n))
    there = {f"s{n}" for n in range(5800) if n >= 5000 or n % 3}
    wanted = [[id for id in ids if id in there] for ids in boxes.expected()]
    found = dict(made.match_batch(boxes.events()).by_event())
    assert [found.get(n, []) for n in range(EVENTS)] == wanted


def test_destination_skipping_in_long_lists_loses_none() -> None:
    """With 32 destinations, each event has the bits of all its matches (Narada §7)."""
    boxes = Boxes(4)
    made = Subscriptions()
    for d in range(32):
        part = range(d, 3200, 32)
        made.add_many((Subscription(id=f"s{n}", filter=boxes.text(n)) for n in part), destination=d)
    made.compact()
    wanted = [sum(1 << d for d in {int(id[1:]) % 32 for id in ids if int(id[1:]) < 3200}) for ids in boxes.expected()]
    assert made.destinations(boxes.events())[:, 0].tolist() == wanted
