"""What clients do in a run: a seed's choice of types, filters, events and moments.

Few attributes with few values, so that filters match often, cover each other often, and change often.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import COURIER_TYPES, TYPES, agvent
from agvent.sim.scenario import Workload
from agvent.sim.world import World

TOPICS: Final = ("Sports/NBA", "Sports/NHL", "News/Oslo")
PATTERNS: Final = ("Sports/#", "+/Oslo", "#")


class Actors:
    """The clients of a run and their doings, all drawn from the world's seed."""

    def __init__(self, world: World, workload: Workload) -> None:
        self.world, self.workload = world, workload
        self.random: Random = world.random
        self.types = COURIER_TYPES if workload.couriers else TYPES
        self.names: list[str] = []
        self.subscribed: dict[str, list[str]] = {}
        self.advertised: dict[str, list[str]] = {}
        self._ids = 0

    def attach(self) -> None:
        """Every client to a broker, with an advertisement or a subscription to begin with."""
        homes = list(self.world.brokers)
        for number in range(self.workload.clients):
            name = f"c{number}"
            self.world.attach(name, self.random.choice(homes))
            self.names.append(name)
            self.subscribed[name], self.advertised[name] = [], []
            if number % 2 or self.random.random() < 0.3:
                self._subscribe(name)
            if not number % 2:
                self._advertise(name)

    def schedule(self) -> None:
        """Spreads the actions over the chaos phase."""
        start = self.world.now
        for _ in range(self.workload.actions):
            self.world.at(start + self.random.randrange(self.workload.duration_us), self.act)

    def act(self) -> None:
        name = self.random.choice(self.names)
        doing = self.random.choices(DOINGS, WEIGHTS)[0]
        getattr(self, f"_{doing}")(name)

    # Doings

    def _publish(self, name: str) -> None:
        for _ in range(self.random.choice((1, 1, 2, 4))):
            options: dict[str, Any] = {}
            if self.random.random() < 0.1:
                options["to"] = f"floor = {self.random.randrange(3)}"
            if self.random.random() < 0.05:
                options["destinations"] = (self.random.choice(self.names),)
            if self.random.random() < 0.05:
                options["expires"] = self.world.now + self.random.randrange(100_000, 5_000_000)
            if self.random.random() < 0.1:
                options["fast"] = True
            self.world.ask(name, "publish", self._agvent(self._event(name)), **options)
            if self.random.random() < 0.3:
                events = [self._event(name) for _ in range(self.random.choice((2, 3, 8)))]
                self.world.ask(name, "publish_batch", events, **options)

    def _agvent(self, event: Event) -> Event:
        """The event with the program of its type; one without a type, where there are couriers, with that of any."""
        if event.type is None and self.workload.couriers:
            return agvent(event, self.random.choice(self.types).name)
        return agvent(event)

    def _event(self, name: str) -> Event:
        random = self.random
        attributes = {
            "price": random.randrange(10),
            "city": random.choice(("Oslo", "Rome")),
            "open": random.random() < 0.5,
        }
        types = [type for type in self.types if type.name in self.advertised[name]]
        if types and random.random() < 0.8:
            type = random.choice(types)
            return Event(type=type.name, ancestors=type.ancestors, attributes=attributes)
        if random.random() < 0.5:
            return Event(topic=random.choice(TOPICS), attributes=attributes)
        return Event(channel=random.randrange(3), attributes=attributes)

    def _subscribe(self, name: str) -> None:
        if len(self.subscribed[name]) >= 6:
            return
        self._ids += 1
        self.subscribed[name].append(f"s{self._ids}")
        self.world.ask(name, "subscribe", self._subscription(f"s{self._ids}"))

    def _subscription(self, id: str) -> Subscription:
        random = self.random
        low = random.randrange(10)
        filters = (
            "",
            f"price >= {low}",
            f"price < {low} AND city = 'Oslo'",
            "open",
            f"price BETWEEN {low} AND {low + 3}",
            f"city = 'Rome' AND is_dear({low})",
            f"twice(price) > {low} OR fails()",
        )
        options: dict[str, Any] = {"filter": random.choice(filters)}
        if random.random() < 0.7:
            options["type"] = random.choice(self.types).name
        elif random.random() < 0.5:
            options["pattern"] = random.choice(PATTERNS)
        else:
            options["channel"] = random.randrange(3)
        if random.random() < 0.4:
            options["context"] = {"floor": random.randrange(3)}
        return Subscription(id=id, **options)

    def _replace(self, name: str) -> None:
        if self.subscribed[name]:
            self.world.ask(name, "subscribe", self._subscription(self.random.choice(self.subscribed[name])))

    def _unsubscribe(self, name: str) -> None:
        if self.subscribed[name]:
            id = self.subscribed[name].pop(self.random.randrange(len(self.subscribed[name])))
            self.world.ask(name, "unsubscribe", id)

    def _advertise(self, name: str) -> None:
        type = self.random.choice(self.types)
        if type.name not in self.advertised[name]:
            self.advertised[name].append(type.name)
            self.world.ask(name, "advertise", type)

    def _unadvertise(self, name: str) -> None:
        if self.advertised[name]:
            type = self.advertised[name].pop(self.random.randrange(len(self.advertised[name])))
            self.world.ask(name, "unadvertise", type)

    def _leave(self, name: str) -> None:
        node = self.world.clients[name]
        if node.ends:
            node.leave()
            self.world.at(self.world.now + self.random.randrange(100_000, 5_000_000), self.back, name)

    def back(self, name: str) -> None:
        if not self.world.clients[name].ends:
            self.world.clients[name].back()


DOINGS: Final = ("publish", "subscribe", "replace", "unsubscribe", "advertise", "unadvertise", "leave")
WEIGHTS: Final = (60, 10, 6, 4, 5, 3, 5)
