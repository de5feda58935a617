"""A thousand brokers in the simulator: how long it takes, phase by phase.

    python benchmarks/large_network.py --json
    python benchmarks/large_network.py --page      into docs/performance.md

A random graph of brokers without faults. Ten of them advertise a type each; subscribers are spread over all of them;
events match one subscription in a thousand. Every event must have been acknowledged, and every delivery due have come,
counted by the index over all subscriptions at once.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.sim.topology import random_graph
from agvent.sim.world import World
from agvent.types import AgventType
from agvent.wire.messages import Deliver
from page import made_by, replace_block, short, table

PUBLISHERS: Final = 10
SECOND: Final = 1_000_000
BURST: Final = 1_000
CITIES: Final = 100


class Network:
    """The network, and what was asked of it."""

    def __init__(self, brokers: int, seed: int) -> None:
        self.world = World(seed, [])
        self.world.check_every = sys.maxsize
        self.world.build(random_graph(brokers, self.world.random))
        self.draw = Random(seed)
        self.index = Subscriptions()
        self.due = 0

    def wait(self, seconds: float) -> None:
        self.world.run(self.world.now + int(seconds * SECOND))

    def start(self) -> None:
        self.world.start()
        self.wait(5)

    def advertise(self) -> None:
        names = list(self.world.brokers)
        for number, home in enumerate(self.draw.sample(names, PUBLISHERS)):
            self.world.attach(f"p{number}", home)
        self.wait(1)
        for number in range(PUBLISHERS):
            self.world.ask(f"p{number}", "advertise", AgventType(name=f"T{number}"))
        self.wait(5)

    def subscribe(self, count: int) -> None:
        homes = list(self.world.brokers)
        for number, home in enumerate(homes):
            self.world.attach(f"s{number}", home)
        self.wait(1)
        for number in range(count):
            city, low = self.draw.randrange(CITIES), self.draw.randrange(900)
            filter = f"city = 'c{city}' AND price >= {low}"
            wanted = Subscription(id=f"x{number}", type=f"T{number % PUBLISHERS}", filter=filter)
            self.index.add(wanted)
            self.world.ask(f"s{number % len(homes)}", "subscribe", wanted)
        self.wait(10)

    def publish(self, count: int) -> None:
        for _ in range(count // BURST):
            events = [self._event() for _ in range(BURST)]
            self.due += len(self.index.match_batch(events).subscriptions)
            for event in events:
                self.world.ask(f"p{(event.type or '')[1:]}", "publish", event)
            self.wait(0.1)
        self.wait(10)

    def _event(self) -> Event:
        attributes = {"city": f"c{self.draw.randrange(CITIES)}", "price": self.draw.randrange(1_000)}
        return Event(type=f"T{self.draw.randrange(PUBLISHERS)}", attributes=attributes)

    def check(self) -> int:
        """The deliveries, all that were due and no other."""
        came = sum(len(t.message.subscriptions) for t in self.world.history.told if isinstance(t.message, Deliver))
        waiting = sum(len(client.session.unacknowledged) for client in self.world.clients.values())
        if (came, waiting) != (self.due, 0):
            sys.exit(f"error: {came:,} deliveries, {self.due:,} were due; {waiting:,} events not acknowledged")
        return came


def measure(*, brokers: int, subscriptions: int, events: int, seed: int) -> dict[str, Any]:
    """Seconds of each phase, and what happened."""
    network = Network(brokers, seed)
    seconds: dict[str, float] = {}
    phases: dict[str, Callable[[], None]] = {
        "start": network.start,
        "advertise": network.advertise,
        "subscribe": lambda: network.subscribe(subscriptions),
        "publish": lambda: network.publish(events),
    }
    for name, phase in phases.items():
        began = time.perf_counter()
        phase()
        seconds[name] = round(time.perf_counter() - began, 1)
    return {
        "brokers": brokers,
        "links": len(network.world.edges),
        "subscriptions": subscriptions,
        "events": events,
        "seed": seed,
        "seconds": seconds,
        "total_s": round(sum(seconds.values()), 1),
        "cpu_s": round(time.process_time(), 1),
        "deliveries": network.check(),
        "steps": network.world.steps,
        "frames": network.world.network.frames,
    }


def write_page(row: dict[str, Any]) -> None:
    what = ", ".join(f"{short(row[name])} {name}" for name in ("brokers", "subscriptions", "events"))
    lines = [[phase, f"{seconds:,.1f} s"] for phase, seconds in row["seconds"].items()]
    lines += [["together", f"{row['total_s']:,.1f} s (target 300)"], ["CPU time", f"{row['cpu_s']:,.1f} s"]]
    lines += [[name, short(row[name])] for name in ("links", "deliveries", "steps", "frames")]
    command = made_by("python benchmarks/large_network.py --page")
    replace_block("large-network", f"{table((what, ''), lines)}\n\n{command}")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--brokers", type=int, default=1_000)
    ask.add_argument("--subscriptions", type=int, default=10_000)
    ask.add_argument("--events", type=int, default=100_000)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument("--page", action="store_true", help="write the table of docs/performance.md")
    given = ask.parse_args()
    sizes = {"brokers": given.brokers, "subscriptions": given.subscriptions, "events": given.events}
    row = measure(seed=given.seed, **sizes)
    print(json.dumps(row) if given.json else "\n".join(f"{key:16} {value}" for key, value in row.items()))
    if given.page:
        write_page(row)


if __name__ == "__main__":
    main()
