"""The events of a day: types, who publishes when, and the attributes, drawn for all events at once."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from agvent.sample_day.day_plan import DAY, START, DayPlan, Draw, words, zipf
from agvent.store.log_schema import TIME
from agvent.store.positions import ranks
from agvent.types import AdvertisedAttribute, AgventType

EXCHANGES: Final = ("NYSE", "NASDAQ", "LSE", "TSX", "HKEX", "XETRA")
CARRIERS: Final = ("DHL", "UPS", "Maersk", "DB", "SNCF")
CITIES: Final = ("EU/Ankara", "EU/Oslo", "EU/Porto", "US/Austin", "US/Reno", "AS/Osaka", "AS/Hanoi")
DRINKS: Final = ("cola", "tea", "water", "juice")
SENSORS: Final = 200


def _type(name: str, description: str, *ancestors: str, **attributes: str) -> AgventType:
    own = tuple(AdvertisedAttribute(attribute, kind) for attribute, kind in attributes.items())
    return AgventType(name=name, description=description, ancestors=ancestors, attributes=own)


QUOTE: Final = _type(
    "Quote", "What a share costs now.", "Instrument",
    symbol="str", price="float", volume="int", exchange="str", change="float",
)  # fmt: skip
TRADE: Final = _type("Trade", "A share was sold.", "Instrument", symbol="str", price="float", size="int")
SHIPMENT: Final = _type(
    "Shipment", "Goods on their way.",
    carrier="str", weight="float", stops="list[str]", due="timestamp", fragile="bool",
)  # fmt: skip
MENU: Final = _type("Menu", "What is sold today, as a document.", place="str")

SHARES: Final = {"Quote": 0.62, "Trade": 0.20, "Shipment": 0.10, None: 0.08}
"""Part of all events; those without a type are readings of sensors, known by their topic."""
MENU_SHARE: Final = 0.05
FAST_SHARE: Final = 0.05


class DayEvents(msgspec.Struct, frozen=True):
    """All events of a day in the order of time. Arrays have one element an event; `kind` is an index into `types`."""

    types: list[AgventType | None]
    tables: list[Any]
    kind: Any
    publisher: Any
    publishers: list[str]
    sequence: Any
    fast: Any
    entry: Any
    accepted: Any

    def __len__(self) -> int:
        return len(self.kind)

    def rows(self, kind: int) -> Any:
        """The events of a kind, ascending: row r of its table is event rows[r]."""
        return np.flatnonzero(self.kind == kind)


def day_events(plan: DayPlan) -> DayEvents:
    """The events of a plan."""
    draw = plan.draw("events")
    count = plan.events
    time = _times(draw, count)
    types: list[AgventType | None] = [QUOTE, TRADE, SHIPMENT, None]
    shares = list(SHARES.values())
    if plan.xml:
        types, shares = [*types, MENU], [share * (1 - MENU_SHARE) for share in shares] + [MENU_SHARE]
    kind = draw.choice(len(types), size=count, p=shares)
    publishers = [f"feed-{number:02d}" for number in range(max(4, 3 * plan.brokers))]
    publisher = draw.choice(len(publishers), size=count, p=zipf(len(publishers)))
    fast = draw.random(count) < FAST_SHARE
    # A constant delay for each publisher keeps its events in order.
    accepted = time + 500 + draw.integers(0, 2_000, len(publishers))[publisher]
    columns = _Columns(plan, draw)
    made = DayEvents(
        types=types,
        tables=[],
        kind=kind,
        publisher=publisher,
        publishers=publishers,
        sequence=ranks(publisher * 2 + fast) + 1,
        fast=fast,
        entry=publisher % plan.brokers,
        accepted=accepted,
    )
    for number, type_ in enumerate(types):
        here = time[made.rows(number)]
        table = columns.of(None if type_ is None else type_.name, here)
        made.tables.append(table.append_column("event_time", pa.array(here, TIME)))
    return made


def _times(draw: Draw, count: int) -> Any:
    """Ascending: a third over the whole day, the rest around ten and three o'clock."""
    when = np.concatenate(
        [
            draw.uniform(0, 24, count // 3),
            draw.normal(10, 1.5, count // 3),
            draw.normal(15, 2.0, count - 2 * (count // 3)),
        ]
    )
    return np.sort((np.clip(when, 0, 23.99) / 24 * DAY).astype(np.int64)) + START


class _Columns:
    """The attributes of events, type by type."""

    def __init__(self, plan: DayPlan, draw: Draw) -> None:
        self.draw = draw
        self.symbols = symbol_names(plan)
        self.popularity = zipf(len(self.symbols))
        self.worth = np.round(draw.lognormal(4, 1, len(self.symbols)), 2)

    def of(self, name: str | None, time: Any) -> Any:
        if name in ("Quote", "Trade"):
            return self._instrument(name, len(time))
        if name == "Shipment":
            return self._shipments(time)
        return self._menus(len(time)) if name == "Menu" else self._readings(len(time))

    def _pick(self, pool: tuple[str, ...] | list[str], count: int, chances: Any = None) -> Any:
        return pa.array(pool).take(pa.array(self.draw.choice(len(pool), size=count, p=chances)))

    def _instrument(self, name: str, count: int) -> Any:
        at = self.draw.choice(len(self.symbols), size=count, p=self.popularity)
        change = np.round(self.draw.normal(0, 2, count), 2)
        price = np.round(self.worth[at] * (1 + change / 100), 2)
        common = {"symbol": pa.array(self.symbols).take(pa.array(at)), "price": price}
        volume = self.draw.geometric(1e-4, count)
        if name == "Trade":
            return pa.table({**common, "size": volume})
        return pa.table({**common, "volume": volume, "exchange": self._pick(EXCHANGES, count), "change": change})

    def _shipments(self, time: Any) -> Any:
        count = len(time)
        sizes = self.draw.integers(0, 4, count)
        offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))).astype(np.int32))
        city = self._pick(CITIES, count)
        return pa.table(
            {
                "carrier": self._pick(CARRIERS, count),
                "weight": np.round(self.draw.lognormal(5, 1.2, count), 1),
                "stops": pa.ListArray.from_arrays(offsets, self._pick(CITIES, int(sizes.sum()))),
                "due": pa.array(time + self.draw.integers(1, 9, count) * DAY, TIME),
                "fragile": self.draw.random(count) < 0.1,
                "topic": pa.array([f"shipping/{name}" for name in city.to_pylist()], pa.string()),
            }
        )

    def _readings(self, count: int) -> Any:
        sensor = self.draw.integers(0, SENSORS, count).tolist()
        celsius = np.round(self.draw.normal(20, 6, count), 1).tolist()
        rest = [f'{{"sensor":{s},"celsius":{c}}}' for s, c in zip(sensor, celsius, strict=True)]
        topic = [f"sensors/{s}/temperature" for s in sensor]
        return pa.table({"rest": pa.array(rest, pa.string()), "topic": pa.array(topic, pa.string())})

    def _menus(self, count: int) -> Any:
        drink = self._pick(DRINKS, count).to_pylist()
        price = np.round(self.draw.uniform(0.8, 3, count), 2).tolist()
        documents = [
            f'<menu><softdrinks name="{name}"><price>{cost}</price></softdrinks></menu>'
            for name, cost in zip(drink, price, strict=True)
        ]
        return pa.table({"place": self._pick(CITIES, count), "xml": pa.array(documents, pa.string())})


def symbol_names(plan: DayPlan) -> list[str]:
    """The names of shares: the same for events and subscriptions."""
    return words(plan.draw("symbols"), plan.symbols, 4)
