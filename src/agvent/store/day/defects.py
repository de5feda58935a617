"""Defects planted in a day's deliveries, and losses that are declared and so are none.

A defect is planted in the last deliveries from a publisher to a subscription, so that it is that defect and no other:
a late delivery there holds nothing back, a repeat comes after no later event.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from agvent.errors import CallerError
from agvent.store.day.deliveries import Receipts
from agvent.store.day.plan import HOUR, SECOND, DayPlan, Draw
from agvent.store.day.world import DayEvents

PLANTED_MAX: Final = 10
DECLARED: Final = 3
"""Losses of each quality that have a row in `gaps`."""


class Planted(msgspec.Struct, frozen=True):
    """The deliveries with the defects in them; `at` are the pairs of event and version that are defective."""

    receipts: Receipts
    at: list[tuple[int, int]]
    gaps: list[tuple[int, int]]


def plant(plan: DayPlan, events: DayEvents, found: Receipts) -> Planted:
    """Takes out the declared losses, then plants the defects that the plan asks for."""
    draw = plan.draw("defects")
    gone = np.concatenate([_some(draw, np.flatnonzero(events.fast[found.event] == q), DECLARED) for q in (False, True)])
    gaps = _pairs(found, gone)
    left = _kept(found, np.setdiff1d(np.arange(len(found.event)), gone))
    if plan.defect == "none":
        return Planted(left, [], gaps)
    ends = _ends(events, left)
    chosen = _some(draw, ends[1] if plan.defect != "out_of_order" else ends[1][ends[0] >= 0], PLANTED_MAX)
    if not len(chosen):
        raise CallerError(f"the day has no delivery to plant {plan.defect!r} in", hint="ask for more events")
    changed, at = _PLANTERS[plan.defect](draw, events, left, ends, chosen)
    return Planted(changed, at, gaps)


def _some(draw: Draw, pool: Any, most: int) -> Any:
    """A few of many: at most one in four, but one if there is one."""
    return np.sort(draw.choice(pool, size=min(most, max(1, len(pool) // 4)), replace=False)) if len(pool) else pool


def _pairs(found: Receipts, at: Any) -> list[tuple[int, int]]:
    return list(zip(found.event[at].tolist(), found.version[at].tolist(), strict=True))


def _kept(found: Receipts, rows: Any) -> Receipts:
    return msgspec.structs.replace(
        found, event=found.event[rows], version=found.version[rows], delivered=found.delivered[rows]
    )


def _subscriptions(found: Receipts) -> Any:
    """The subscription of each delivery as a number: versions of one are one."""
    return found.versions["subscription"].combine_chunks().dictionary_encode().indices.to_numpy()[found.version]


def _ends(events: DayEvents, found: Receipts) -> tuple[Any, Any]:
    """For each publisher and subscription with durable deliveries the row before the last (-1: none), and the last."""
    durable = np.flatnonzero(~events.fast[found.event])
    group = events.publisher[found.event] * (1 << 40) + _subscriptions(found)
    order = durable[np.lexsort((found.event[durable], group[durable]))]
    is_last = np.append(group[order][1:] != group[order][:-1], True) if len(order) else np.zeros(0, bool)
    last = np.flatnonzero(is_last)
    alone = np.zeros(len(last), bool) if not len(last) else np.diff(last, prepend=-1) == 1
    before = np.where(alone, -1, order[np.maximum(last - 1, 0)]) if len(last) else last
    return before, order[last]


def _lost(_draw: Draw, _events: DayEvents, found: Receipts, _ends: Any, at: Any) -> Any:
    return _kept(found, np.setdiff1d(np.arange(len(found.event)), at)), _pairs(found, at)


def _duplicated(_draw: Draw, _events: DayEvents, found: Receipts, _ends: Any, at: Any) -> Any:
    return _more(found, found.event[at], found.version[at], found.delivered[at] + SECOND), _pairs(found, at)


def _late(_draw: Draw, _events: DayEvents, found: Receipts, _ends: Any, at: Any) -> Any:
    delivered = np.array(found.delivered)
    delivered[at] += HOUR
    return msgspec.structs.replace(found, delivered=delivered), _pairs(found, at)


def _out_of_order(_draw: Draw, _events: DayEvents, found: Receipts, ends: Any, at: Any) -> Any:
    """The delivery before the last comes after it."""
    before = ends[0][np.isin(ends[1], at)]
    after = ends[1][np.isin(ends[1], at)]
    delivered = np.array(found.delivered)
    delivered[before] = delivered[after] + 500
    return msgspec.structs.replace(found, delivered=delivered), _pairs(found, before)


def _unexpected(draw: Draw, events: DayEvents, found: Receipts, _ends: Any, at: Any) -> Any:
    """An event goes to a subscription that has nothing from its publisher."""
    has = set(zip(events.publisher[found.event].tolist(), _subscriptions(found).tolist(), strict=True))
    owner = found.versions["subscription"].combine_chunks().dictionary_encode().indices.to_numpy()
    pairs: list[tuple[int, int]] = []
    for event in found.event[at].tolist():
        publisher = int(events.publisher[event])
        free = [v for v in draw.permutation(len(owner)).tolist() if (publisher, int(owner[v])) not in has]
        if free:
            pairs.append((event, free[0]))
            has.add((publisher, int(owner[free[0]])))
    event, version = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return _more(found, event, version, events.accepted[event] + SECOND), pairs


def _more(found: Receipts, event: Any, version: Any, delivered: Any) -> Receipts:
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
