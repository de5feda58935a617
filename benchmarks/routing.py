"""Messages per link that advertisements, subscriptions and events take, as brokers and subscriptions grow.

    python benchmarks/routing.py --brokers 50 --subscriptions 1000 --json
    python benchmarks/routing.py --page      the sweep, into docs/performance.md and docs/img/routing.svg

A simulated network without faults: a random graph of brokers, ten of which advertise a type each, clients spread over
all of them, events that match a few subscriptions. Counted is what brokers send each other: an advertisement's flood,
the Deltas of subscriptions (with covering, and without), the copies of events. Against each stands flooding, which
crosses every link once for each subscription or event. Counts, not times: any machine gives the same.

`--page` draws where matplotlib is installed (`pip install matplotlib`; nothing else needs it).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

from agvent.broker.broker import Broker
from agvent.broker.interface import Effect, Input, Send
from agvent.broker.tables.covering import Covering
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.sim.nodes import BrokerNode
from agvent.sim.topology import random_graph
from agvent.sim.world import World
from agvent.types import AgventType
from agvent.wire.broker_messages import Adverts, Copies, Delta, Routed
from page import made_by, replace_block, short, table

IMAGES: Final = Path(__file__).parent.parent / "docs" / "img"
TYPES: Final = 10
SECOND: Final = 1_000_000
CITIES: Final = 20
BY_BROKERS: Final = (10, 20, 50, 100, 200)
BY_SUBSCRIPTIONS: Final = (30, 100, 300, 1_000, 3_000)


class Uncovered(Covering):
    """Every subscription is a root: what covering is measured against."""

    def add(self, key: str, type: str | None, condition: Condition) -> set[str]:
        self._conditions[key], self._type[key] = condition, type
        self._roots.setdefault(type, {})[key] = None
        return {key}


class UncoveringBroker(Broker):
    """A broker that tells every subscription to everybody concerned."""

    def _start(self, now: int) -> None:
        self.streams.covering = Uncovered()
        super()._start(now)


class Counting(World):
    """Counts what brokers send each other, by kind; a Delta by the filters it carries, or one if it carries none."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, [])
        self.check_every = sys.maxsize
        self.sent: Counter[str] = Counter()

    def stepped(self, node: BrokerNode, inputs: list[Input], effects: list[Effect]) -> None:
        super().stepped(node, inputs, effects)
        for effect in effects:
            if isinstance(effect, Send):
                body = effect.message.body if isinstance(effect.message, Routed) else effect.message
                if isinstance(body, Delta):
                    self.sent["filters"] += len(body.roots)
                if isinstance(body, (Adverts, Delta, Copies)):
                    self.sent[type(body).__name__] += 1

    def passed(self, seconds: float) -> Counter[str]:
        """What is sent from now on, for a while."""
        before = self.sent.copy()
        self.run(self.now + int(seconds * SECOND))
        return self.sent - before


def measure(brokers: int, subscriptions: int, *, events: int, seed: int, covering: bool = True) -> dict[str, Any]:
    """The messages of one network, phase by phase."""
    world = Counting(seed)
    world.build(random_graph(brokers, world.random))
    world.start(Broker if covering else UncoveringBroker)
    world.run(world.now + 10 * SECOND)
    draw, names = Random(seed), list(world.brokers)
    for number in range(TYPES):
        world.attach(f"p{number}", draw.choice(names))
    clients = [f"c{number}" for number in range(min(subscriptions, 2 * brokers))]
    for client in clients:
        world.attach(client, draw.choice(names))
    world.run(world.now + 2 * SECOND)
    for number in range(TYPES):
        world.ask(f"p{number}", "advertise", AgventType(name=f"T{number}"))
    advertised, was = world.passed(10), world.sent.copy()
    for number in range(subscriptions):
        world.ask(clients[number % len(clients)], "subscribe", subscription(draw, number))
        world.run(world.now + SECOND // 50)
    world.run(world.now + 10 * SECOND)
    subscribed, before = world.sent - was, world.sent.copy()
    for _ in range(events):
        number = draw.randrange(TYPES)
        attributes = {"price": draw.randrange(1_000), "city": f"c{draw.randrange(CITIES)}"}
        world.ask(f"p{number}", "publish", Event(type=f"T{number}", attributes=attributes))
        world.run(world.now + SECOND // 100)
    world.run(world.now + 10 * SECOND)
    copies, links = world.sent["Copies"] - before["Copies"], len(world.edges)
    return {
        "brokers": brokers,
        "links": links,
        "subscriptions": subscriptions,
        "events": events,
        "covering": covering,
        "adverts_per_link": advertised["Adverts"] / links,
        "deltas_per_link": subscribed["Delta"] / links,
        "filters_per_link": subscribed["filters"] / links,
        "filters_flooded_per_link": float(subscriptions),
        "copies_per_link": copies / links,
        "copies_flooded_per_link": float(events),
    }


def subscription(draw: Random, number: int) -> Subscription:
    """A quarter are wide; the others lie within one, or in none."""
    low = draw.randrange(0, 1_000, 50)
    wide = number % 4 == 0
    city = "" if wide else f" AND city = 'c{draw.randrange(CITIES)}'"
    return Subscription(id=f"s{number}", type=f"T{draw.randrange(TYPES)}", filter=f"price >= {low}{city}")


def both(brokers: int, subscriptions: int, *, events: int, seed: int) -> dict[str, Any]:
    """One row: with covering, and without."""
    covered = measure(brokers, subscriptions, events=events, seed=seed)
    plain = measure(brokers, subscriptions, events=events, seed=seed, covering=False)
    row = {key: value for key, value in covered.items() if key != "covering"}
    return row | {"filters_uncovered_per_link": plain["filters_per_link"]}


HEADINGS: Final = (
    "brokers", "links", "subscriptions", "an advertisement", "Deltas", "filters", "without covering", "flooded",
    "copies of an event", "flooded",
)  # fmt: skip


def cells(row: dict[str, Any]) -> list[str]:
    return [
        str(row["brokers"]),
        str(row["links"]),
        short(row["subscriptions"]),
        f"{row['adverts_per_link'] / TYPES:.2f}",
        *(short(row[f"{name}_per_link"]) for name in ("deltas", "filters", "filters_uncovered", "filters_flooded")),
        f"{row['copies_per_link'] / row['events']:.3f}",
        "1",
    ]


def plot(by_brokers: list[dict[str, Any]], by_subscriptions: list[dict[str, Any]]) -> None:
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "routing", "svg.fonttype": "none", "font.size": 10})
    figure, axes = importlib.import_module("matplotlib.pyplot").subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    lines = (("filters_flooded", "flooded"), ("filters_uncovered", "without covering"), ("filters", "with covering"))
    for axis, rows, along in zip(axes, (by_brokers, by_subscriptions), ("brokers", "subscriptions"), strict=True):
        for name, label in lines:
            values = [row[f"{name}_per_link"] for row in rows]
            axis.loglog([row[along] for row in rows], values, marker="o", label=f"filters {label}")
        copies = [row["copies_per_link"] / row["events"] for row in rows]
        axis.loglog([row[along] for row in rows], copies, marker="s", color="tab:gray", label="copies of an event")
        axis.set_xlabel(along)
        axis.set_ylabel("messages per link")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    for kind in ("svg", "png"):
        options = {"metadata": {"Date": None}} if kind == "svg" else {"dpi": 110}
        figure.savefig(IMAGES / f"routing.{kind}", **options)


def write_page(*, events: int, seed: int) -> None:
    by_brokers = [both(count, 300, events=events, seed=seed) for count in BY_BROKERS]
    by_subscriptions = [both(50, count, events=events, seed=seed) for count in BY_SUBSCRIPTIONS]
    if importlib.util.find_spec("matplotlib"):
        plot(by_brokers, by_subscriptions)
    else:
        print("no plot: matplotlib is not installed. pip install matplotlib adds it.", file=sys.stderr)
    picture = "![Messages per link against brokers and subscriptions](img/routing.svg)"
    rows = table(HEADINGS, [cells(row) for row in (*by_brokers, *by_subscriptions)])
    replace_block("routing", f"{rows}\n\n{picture}\n\n{made_by('python benchmarks/routing.py --page')}")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--brokers", type=int, default=50)
    ask.add_argument("--subscriptions", type=int, default=300)
    ask.add_argument("--events", type=int, default=200)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument("--page", action="store_true", help="the sweep, into docs/performance.md")
    given = ask.parse_args()
    if given.page:
        write_page(events=given.events, seed=given.seed)
        return
    row = both(given.brokers, given.subscriptions, events=given.events, seed=given.seed)
    print(json.dumps(row) if given.json else "\n".join(f"{key:28} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
