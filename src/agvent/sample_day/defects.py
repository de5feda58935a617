"""Defects planted in a day's deliveries, and losses that are declared and so are none.

A defect is planted where it is that defect and no other. In the last delivery from a publisher to a subscription a
late one overtakes nothing and a repeat comes after no later event; for disorder two deliveries soon after each other
are taken, so that neither becomes late.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from agvent.errors import CallerError
from agvent.sample_day.day_plan import HOUR, SECOND, DayPlan, Draw
from agvent.sample_day.deliveries import DayReceipts
from agvent.sample_day.events import DayEvents

PLANTED_MAX: Final = 10
DECLARED: Final = 3
"""Losses of each quality that have a row in `gaps`."""

SOON: Final = 30 * SECOND
"""Deliveries so far apart can change places without one of them becoming late."""


class Planted(msgspec.Struct, frozen=True):
    """The deliveries with the defects in them; `at` are the pairs of event and version that are defective."""

    receipts: DayReceipts
    at: list[tuple[int, int]]
    gaps: list[tuple[int, int]]


def plant(plan: DayPlan, events: DayEvents, found: DayReceipts) -> Planted:
    """Takes out the declared losses, then plants the defects that the plan asks for."""
    draw = plan.draw("defects")
    gone = np.concatenate([_some(draw, np.flatnonzero(events.fast[found.event] == q), DECLARED) for q in (False, True)])
    gaps = _pairs(found, gone)
    left = _kept(found, np.setdiff1d(np.arange(len(found.event)), gone))
    if plan.defect == "none":
        return Planted(left, [], gaps)
    changed, at = _PLANTERS[plan.defect](draw, events, left)
    if not at:
        raise CallerError(f"the day has no delivery for the defect {plan.defect!r} in", hint="ask for more events")
    return Planted(changed, at, gaps)


def _some(draw: Draw, pool: Any, most: int) -> Any:
    """A few of many: at most one in four, but one if there is one."""
    return np.sort(draw.choice(pool, size=min(most, max(1, len(pool) // 4)), replace=False)) if len(pool) else pool


def _pairs(found: DayReceipts, at: Any) -> list[tuple[int, int]]:
    return list(zip(found.event[at].tolist(), found.version[at].tolist(), strict=True))


def _kept(found: DayReceipts, rows: Any) -> DayReceipts:
    return msgspec.structs.replace(
        found, event=found.event[rows], version=found.version[rows], delivered=found.delivered[rows]
    )


def _subscriptions(found: DayReceipts) -> Any:
    """The subscription of each delivery as a number: versions of one are one."""
    return found.versions["subscription"].combine_chunks().dictionary_encode().indices.to_numpy()[found.version]


def _consecutive(events: DayEvents, found: DayReceipts) -> tuple[Any, Any]:
    """Durable deliveries in the order of publisher, subscription and event; true where the next is of the same two."""
    durable = np.flatnonzero(~events.fast[found.event])
    group = events.publisher[found.event] * (1 << 40) + _subscriptions(found)
    order = durable[np.lexsort((found.event[durable], group[durable]))]
    return order, np.append(group[order][1:] == group[order][:-1], np.zeros(min(1, len(order)), bool))


def _lasts(draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    """Some of the deliveries that are the last of their publisher to their subscription."""
    order, has_next = _consecutive(events, found)
    return _some(draw, order[~has_next], PLANTED_MAX)


def _lost(draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    at = _lasts(draw, events, found)
    return _kept(found, np.setdiff1d(np.arange(len(found.event)), at)), _pairs(found, at)


def _duplicated(draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    at = _lasts(draw, events, found)
    return _more(found, found.event[at], found.version[at], found.delivered[at] + SECOND), _pairs(found, at)


def _late(draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    at = _lasts(draw, events, found)
    delivered = np.array(found.delivered)
    delivered[at] += HOUR
    return msgspec.structs.replace(found, delivered=delivered), _pairs(found, at)


def _out_of_order(_draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    """A delivery comes right after the next; of a publisher and a subscription at most one, as two could cancel out."""
    order, has_next = _consecutive(events, found)
    first = np.flatnonzero(has_next)
    gap = found.delivered[order[np.minimum(first + 1, len(order) - 1)]] - found.delivered[order[first]]
    closest = first[np.argsort(gap, kind="stable")][: np.count_nonzero(gap < SOON)]
    run = np.cumsum(~has_next)  # the same number within one publisher and subscription
    _, kept = np.unique(run[closest], return_index=True)
    at = closest[np.sort(kept)][:PLANTED_MAX]
    delivered = np.array(found.delivered)
    delivered[order[at]] = delivered[order[at + 1]] + 500
    return msgspec.structs.replace(found, delivered=delivered), _pairs(found, order[at])


def _unexpected(draw: Draw, events: DayEvents, found: DayReceipts) -> Any:
    """An event goes to a subscription that has nothing from its publisher."""
    has = set(zip(events.publisher[found.event].tolist(), _subscriptions(found).tolist(), strict=True))
    owner = found.versions["subscription"].combine_chunks().dictionary_encode().indices.to_numpy()
    pairs: list[tuple[int, int]] = []
    for event in found.event[_lasts(draw, events, found)].tolist():
        publisher = int(events.publisher[event])
        free = [v for v in draw.permutation(len(owner)).tolist() if (publisher, int(owner[v])) not in has]
        if free:
            pairs.append((event, free[0]))
            has.add((publisher, int(owner[free[0]])))
    event, version = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return _more(found, event, version, events.accepted[event] + SECOND), pairs


def _more(found: DayReceipts, event: Any, version: Any, delivered: Any) -> DayReceipts:
    return msgspec.structs.replace(
        found,
        event=np.concatenate((found.event, event)),
        version=np.concatenate((found.version, version)),
        delivered=np.concatenate((found.delivered, delivered)),
    )


_PLANTERS: Final[dict[str, Any]] = {
    "lost": _lost,
    "duplicated": _duplicated,
    "unexpected": _unexpected,
    "out_of_order": _out_of_order,
    "late": _late,
}
