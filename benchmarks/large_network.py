"""A thousand brokers in the simulator: how long it takes, phase by phase.

    python benchmarks/large_network.py --json
    python benchmarks/large_network.py --page      into docs/performance.md

A random graph of brokers without faults. Ten of them advertise a type each; subscribers are spread over all of them; an
event matches one subscription on average. Each phase lasts until the network has come to rest. Every event must have
been acknowledged, and every delivery due have come, counted by the index over all subscriptions at once.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.sim.checkers import CHECKERS
from agvent.sim.run import NOTHING
from agvent.sim.topology import random_graph
from agvent.sim.world import World
from agvent.types import AgventType
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Deliver
from page import made_by, replace_block, short, table

PUBLISHERS: Final = 10
SECOND: Final = 1_000_000
LONGEST_S: Final = 120
BURST: Final = 10_000
"""Events published at once, by all publishers together; what goes beyond their credit waits in their sessions."""
CITIES: Final = 550
"""Of 10,000 subscriptions a thousand name an event's type, two of these its city, one of them its price."""
GC_THRESHOLD: Final = 200_000
"""A million live objects make the collector's default of 700 a tenth of the time."""


class Network:
    """The network, and what was asked of it."""

    def __init__(self, brokers: int, seed: int) -> None:
        self.world = World(seed, [])
        self.world.check_every = sys.maxsize
        self.world.build(random_graph(brokers, self.world.random))
        self.draw = Random(seed)
        self.index = Subscriptions()
        self.due = 0

    def wait(self, until: Callable[[], bool]) -> None:
        if not self.world.run(self.world.now + LONGEST_S * SECOND, done=until):
            sys.exit(f"error: the network has not come to rest in {LONGEST_S} virtual seconds")

    def start(self) -> None:
        self.world.start()
        tables = [node.broker.tables.advertisements for node in self.world.brokers.values()]
        self.wait(lambda: all(len(table.known()) == len(tables) for table in tables))

    def advertise(self) -> None:
        names = list(self.world.brokers)
        for number, home in enumerate(self.draw.sample(names, PUBLISHERS)):
            self.world.attach(f"p{number}", home)
        self.wait(self.has_attached)
        for number in range(PUBLISHERS):
            self.world.ask(f"p{number}", "advertise", AgventType(name=f"T{number}"))
        self.wait(self.has_answered)

    def has_attached(self) -> bool:
        return all(client.session.attached for client in self.world.clients.values())

    def has_answered(self) -> bool:
        return not any(client.session.requests for client in self.world.clients.values())

    def is_at_rest(self) -> bool:
        """Has every event been acknowledged by its entry, every copy by its home, every delivery by its client?"""
        return not CHECKERS["custody"](self.world, NOTHING)

    def subscribe(self, count: int) -> None:
        homes = list(self.world.brokers)
        for number, home in enumerate(homes):
            self.world.attach(f"s{number}", home)
        self.wait(self.has_attached)
        for number in range(count):
            city, low = self.draw.randrange(CITIES), self.draw.randrange(900)
            filter = f"city = 'c{city}' AND price >= {low}"
            wanted = Subscription(id=f"x{number}", type=f"T{number % PUBLISHERS}", filter=filter)
            self.index.add(wanted)
            self.world.ask(f"s{number % len(homes)}", "subscribe", wanted)
        self.wait(self.has_answered)

    def publish(self, count: int) -> None:
        for first in range(0, count, BURST):
            events = [self._event() for _ in range(min(BURST, count - first))]
            self.due += len(self.index.match_batch(events).subscriptions)
            for event in events:
                self.world.ask(f"p{(event.type or '')[1:]}", "publish", event)
            self.wait(self.is_at_rest)

    def _event(self) -> Event:
        attributes = {"city": f"c{self.draw.randrange(CITIES)}", "price": self.draw.randrange(1_000)}
        return Event(type=f"T{self.draw.randrange(PUBLISHERS)}", attributes=attributes)

    def check(self) -> int:
        """The deliveries, all that were due and no other."""
        told = (one.message for one in self.world.history.told)
        delivered = (one for batch in told if isinstance(batch, Deliver) for one in deliveries_in(batch))
        came = sum(len(one.subscriptions) for one in delivered)
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
    gc.set_threshold(GC_THRESHOLD)
    sizes = {"brokers": given.brokers, "subscriptions": given.subscriptions, "events": given.events}
    row = measure(seed=given.seed, **sizes)
    print(json.dumps(row) if given.json else "\n".join(f"{key:16} {value}" for key, value in row.items()))
    if given.page:
        write_page(row)


if __name__ == "__main__":
    main()
