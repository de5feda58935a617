"""The brokers of a day: a tree of links, the way between any two, and how long copies of events take on it."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from agvent.sample_day.day_plan import DAY, START, DayPlan, Draw
from agvent.store.log_schema import TIME

CHANGE_DELAY: Final = (5_000, 200_000)
"""Microseconds that a change takes from its home broker to an entry broker, least and most."""

HOP_MEDIAN: Final = 1_500
"""Microseconds on one link."""


class DayNetwork(msgspec.Struct, frozen=True):
    """`paths[a][b]` are the brokers from a to b, both included."""

    names: list[str]
    paths: list[list[list[int]]]
    delays: Any


def network(plan: DayPlan) -> DayNetwork:
    """The brokers of a plan, each but the first linked to one of the three before it."""
    draw = plan.draw("network")
    count = plan.brokers
    parents = [0, *(int(draw.integers(max(0, number - 3), number)) for number in range(1, count))]
    roots = [_to_root(number, parents) for number in range(count)]
    paths = [[_path(roots[a], roots[b]) for b in range(count)] for a in range(count)]
    delays = draw.integers(*CHANGE_DELAY, (count, count))
    np.fill_diagonal(delays, 0)
    return DayNetwork(plan.broker_names, paths, delays)


def _to_root(number: int, parents: list[int]) -> list[int]:
    way = [number]
    while way[-1] != 0:
        way.append(parents[way[-1]])
    return way


def _path(up: list[int], down: list[int]) -> list[int]:
    """From the start of one way to the root to the start of another, over the first broker that both have."""
    meeting = next(broker for broker in up if broker in down)
    return up[: up.index(meeting) + 1] + down[: down.index(meeting)][::-1]


class DayTravel(msgspec.Struct, frozen=True):
    """How copies travelled: when each arrived, and a table of their hops with `copy`, the copy's number."""

    arrived: Any
    hops: Any


def travel(net: DayNetwork, draw: Draw, *, entry: Any, home: Any, accepted: Any) -> DayTravel:
    """The ways of copies that entered at `entry` for `home`."""
    arrived = np.array(accepted)
    tables = [_no_hops()]
    count = len(net.names)
    pair = entry * count + home
    for number in np.unique(pair).tolist():
        way = net.paths[number // count][number % count]
        copies = np.flatnonzero(pair == number)
        spent = draw.lognormal(np.log(HOP_MEDIAN), 0.5, (len(copies), len(way) - 1)).astype(np.int64)
        clock = np.array(accepted[copies])
        for hop in range(len(way) - 1):
            received = clock + spent[:, hop]
            tables.append(_hops(net, copies, hop + 1, (way[hop], way[hop + 1]), clock, received))
            clock = received
        arrived[copies] = clock
    return DayTravel(arrived, pa.concat_tables(tables))


def _hops(net: DayNetwork, copies: Any, hop: int, link: tuple[int, int], sent: Any, received: Any) -> Any:
    count = len(copies)
    return pa.table(
        {
            "copy": copies,
            "hop": pa.repeat(pa.scalar(hop, pa.int32()), count),
            "from_broker": pa.repeat(net.names[link[0]], count),
            "to_broker": pa.repeat(net.names[link[1]], count),
            "sent_at": pa.array(sent, TIME),
            "received_at": pa.array(received, TIME),
            "queue": pa.array((received - sent) // HOP_MEDIAN, pa.int32()),
            "bytes": pa.array(200 + (sent + received) % 300, pa.int64()),
        }
    )


def _no_hops() -> Any:
    net = DayNetwork(["b1"], [[[0]]], np.zeros((1, 1), np.int64))
    none = np.zeros(0, np.int64)
    return _hops(net, none, 1, (0, 0), none, none)


def in_order(arrived: Any, groups: Any) -> Any:
    """Arrivals such that no row is before an earlier one of its group: a home broker holds later events back."""
    order = np.argsort(groups, kind="stable")
    apart = groups[order] * (4 * DAY)  # groups far from each other, so that one running maximum serves all
    held = np.maximum.accumulate(arrived[order] - START + apart) - apart + START
    result = np.empty_like(arrived)
    result[order] = held
    return result
