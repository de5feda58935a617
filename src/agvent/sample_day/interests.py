"""The subscriptions of a day: what they ask for, and how they come, change and go while events flow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from agvent.event import EPOCH, MICROSECOND
from agvent.filters.subscription import Subscription
from agvent.sample_day.day_plan import DAY, HOUR, START, DayPlan, Draw, zipf
from agvent.sample_day.events import CARRIERS, DRINKS, EXCHANGES, SENSORS, symbol_names
from agvent.store.catalogue import subscription_row
from agvent.store.log_schema import TABLES, TIME
from agvent.store.positions import ranks

BEFORE: Final = START - HOUR
"""When the subscriptions that are there in the morning were made."""

OPEN_IN_THE_MORNING: Final = 0.6
INTEREST_SKEW: Final = 0.4
"""Interests are spread wider over the shares than events are: a few matches an event, however many subscriptions."""
CLOSED: Final = 0.25
REPLACED: Final = 0.15


class DayInterests(msgspec.Struct, frozen=True):
    """The catalogue of a day: its tables, in the order of time."""

    subscriptions: Any
    changes: Any
    epochs: Any


def day_interests(plan: DayPlan, delays: Any) -> DayInterests:
    """The catalogue of a plan; delays[e, h] is how long a change at home h takes to entry broker e."""
    draw = plan.draw("interests")
    lives = _lives(plan, draw)
    shapes = _shapes(plan, draw)
    names = plan.broker_names
    rows = []
    for number, version, opened in lives.versions():
        home = names[lives.home[number]]
        subscription = Subscription(id=f"s{number}", **next(shapes))
        subscriber, at = f"c{number % max(1, plan.subscriptions // 2)}", EPOCH + int(opened) * MICROSECOND
        rows.append(
            subscription_row(subscription, version=version, subscriber=subscriber, home_broker=home, created_at=at)
        )
    table = pa.Table.from_pylist(rows, pa.schema([pa.field(f.name, f.type) for f in TABLES["subscriptions"].schema]))
    changes = _changes(lives, names)
    return DayInterests(table.sort_by("created_at"), changes, _epochs(changes, names, delays))


class _Lives(msgspec.Struct, frozen=True):
    """When each subscription opens, is replaced and closes; never is the largest integer."""

    home: Any
    opened: Any
    replaced: Any
    closed: Any

    def versions(self) -> Iterator[tuple[int, int, int]]:
        """Each version: its subscription, its number, when it opens."""
        for number, opened in enumerate(self.opened.tolist()):
            yield number, 1, opened
            if self.replaced[number] != NEVER:
                yield number, 2, int(self.replaced[number])


NEVER: Final = np.iinfo(np.int64).max


def _lives(plan: DayPlan, draw: Draw) -> _Lives:
    count = plan.subscriptions
    opened = START + (draw.random(count) * DAY * 0.9).astype(np.int64)
    opened = np.where(draw.random(count) < OPEN_IN_THE_MORNING, BEFORE, opened)
    later = np.maximum(opened, START) + HOUR // 60
    replaced = later + (draw.random(count) * (START + DAY - later) / 2).astype(np.int64)
    closed = replaced + HOUR // 60 + (draw.random(count) * (START + DAY - replaced)).astype(np.int64)
    fate = draw.random(count)
    return _Lives(
        draw.integers(0, plan.brokers, count),
        opened,
        np.where(fate > 1 - REPLACED, replaced, NEVER),
        np.where(draw.random(count) < CLOSED, closed, NEVER),
    )


def _changes(lives: _Lives, names: list[str]) -> Any:
    """Every opening and close. A replacement is a close and an open at one moment, in that order."""
    count = len(lives.home)
    number = np.arange(count)
    again = np.flatnonzero(lives.replaced != NEVER)
    ends = np.flatnonzero(lives.closed != NEVER)
    last = np.where(lives.replaced != NEVER, 2, 1)
    parts = (
        (number, lives.opened, "open", np.ones(count, np.int64)),
        (again, lives.replaced[again], "close", np.ones(len(again), np.int64)),
        (again, lives.replaced[again], "open", np.full(len(again), 2)),
        (ends, lives.closed[ends], "close", last[ends]),
    )
    who, when, version = (np.concatenate([part[column] for part in parts]) for column in (0, 1, 3))
    opens = np.concatenate([np.full(len(part[0]), part[2] == "open") for part in parts])
    order = np.lexsort((opens, who, when))
    home = lives.home[who[order]]
    return pa.table(
        {
            "home_broker": pa.array(names).take(pa.array(home)),
            "position": ranks(home) + 1,
            "change": pa.array(["close", "open"]).take(pa.array(opens[order].astype(np.int64))),
            "subscription": pa.array([f"s{number}" for number in who[order].tolist()], pa.string()),
            "version": version[order],
            "changed_at": pa.array(when[order], TIME),
        }
    )


def _epochs(changes: Any, names: list[str], delays: Any) -> Any:
    """Each entry broker applies each home's changes some time later; those of one moment are one epoch."""
    steps = changes.group_by(["home_broker", "changed_at"]).aggregate([("position", "max")])
    home = np.array([names.index(name) for name in steps["home_broker"].to_pylist()], np.int64)
    when, position = steps["changed_at"].cast(pa.int64()).to_numpy(), steps["position_max"].to_numpy()
    parts = []
    for entry, name in enumerate(names):
        applied = when + delays[entry, home]
        order = np.lexsort((home, applied))
        columns = {
            "entry_broker": pa.repeat(name, len(order)),
            "epoch": np.arange(1, len(order) + 1),
            "home_broker": pa.array(names).take(pa.array(home[order])),
            "position": position[order],
            "applied_at": pa.array(applied[order], TIME),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def _shapes(plan: DayPlan, draw: Draw) -> Iterator[dict[str, Any]]:
    """What one subscription after the other asks for, without end."""
    symbols, popularity = symbol_names(plan), zipf(plan.symbols, INTEREST_SKEW)
    kinds: tuple[str, ...] = (
        "quote",
        "quote",
        "quote",
        "exchange",
        "instrument",
        "elvin",
        "region",
        "fragile",
        "hot",
        "sensor",
    )
    kinds += ("menu",) if plan.xml else ()
    while True:
        block = draw.choice(len(kinds), size=1_000).tolist()
        names = draw.choice(len(symbols), size=1_000, p=popularity).tolist()
        limits = np.round(draw.lognormal(4, 1, 1_000), 2).tolist()
        parts = draw.random(1_000).tolist()
        for kind, name, limit, part in zip(block, names, limits, parts, strict=True):
            yield _shape(kinds[kind], symbols[name], limit, part)


def _shape(kind: str, symbol: str, limit: float, part: float) -> dict[str, Any]:
    """One subscription's words; `part` is a random number from 0 to 1."""
    match kind:
        case "quote":
            return {"type": "Quote", "filter": f"symbol = '{symbol}' AND price > {limit}"}
        case "exchange":
            exchange = EXCHANGES[int(part * len(EXCHANGES))]
            return {"type": "Quote", "filter": f"symbol = '{symbol}' AND exchange = '{exchange}' AND change < 0"}
        case "instrument":
            return {"type": "Instrument", "filter": f"symbol IN ('{symbol}', '{symbol[::-1]}')"}
        case "elvin":
            return {"language": "elvin", "filter": f'symbol == "{symbol}" && price < {limit}'}
        case "region":
            return {"pattern": f"shipping/{('EU', 'US', 'AS')[int(part * 3)]}/#", "filter": f"weight > {limit * 60}"}
        case "fragile":
            carrier = CARRIERS[int(part * len(CARRIERS))]
            return {"type": "Shipment", "filter": f"fragile AND carrier = '{carrier}' AND weight > {limit * 20}"}
        case "hot":
            return {"pattern": "sensors/+/temperature", "filter": f"celsius > {36 + part * 9:.2f}"}
        case "sensor":
            return {"topic": f"sensors/{int(part * SENSORS)}/temperature"}
        case _:
            drink = DRINKS[int(part * len(DRINKS))]
            return {
                "language": "xpath",
                "filter": f"/menu/softdrinks[@name='{drink}' and price > {2.5 + part / 2}]",
            }
