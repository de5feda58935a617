"""What clients do in a run: a seed's choice of types, filters, events and moments.

Few attributes with few values, so that filters match often, cover each other often, and change often.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.event import Budget, Event
from agvent.filters.subscription import Subscription
from agvent.sim import odd_values
from agvent.sim.agvents import COURIER_TYPES, TYPES, agvent
from agvent.sim.client_doings import ClientDoings
from agvent.sim.interest_doings import PLAIN, InterestDoings, is_plain
from agvent.sim.moments import Moments
from agvent.sim.nodes import ClientNode
from agvent.sim.scenario import Workload
from agvent.sim.world import World
from agvent.types import AgventType

TOPICS: Final = ("Sports/NBA", "Sports/NHL", "News/Oslo")
PATTERNS: Final = ("Sports/#", "+/Oslo", "#")

FOR_EVER_US: Final = 800_000
"""An event that is to expire so soon is given the last moment that there is instead, which no calendar has."""


class Actors(InterestDoings, ClientDoings):
    """The clients of a run and their doings, all drawn from the world's seed."""

    def __init__(self, world: World, workload: Workload) -> None:
        self.world, self.workload = world, workload
        self.random: Random = world.random
        self.types = COURIER_TYPES if workload.couriers else (*TYPES, *PLAIN) if workload.plain_types else TYPES
        self.names: list[str] = []
        self.processes: dict[str, str] = {}  # client -> its process now
        self.subscribed: dict[str, dict[str, Subscription]] = {}
        self.advertised: dict[str, list[str]] = {}
        self.ended: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # subscriptions, types that a client ended
        self._ids = self._lives = self._guests = 0
        self._busy = ""

    def attach(self) -> None:
        """Every client to a broker, with an advertisement or a subscription to begin with."""
        homes = list(self.world.brokers)
        for number in range(self.workload.clients):
            name = f"c{number}"
            self.world.attach(name, self.random.choice(homes))
            self._begin(name, name)
            if number % 2 or self.random.random() < 0.3:
                self._subscribe(name)
            if not number % 2:
                self._advertise(name)

    def schedule(self, moments: Moments) -> None:
        """Spreads the actions over the chaos phase, or around its moments."""
        for _ in range(self.workload.actions):
            self.world.doing(moments.draw(), self.act)

    def act(self) -> None:
        if not self.workload.moments or self._busy not in self.names or self.random.random() < 0.4:
            self._busy = self.random.choice(self.names)  # where doings gather, some are of one client
        name = self._busy
        if self.workload.doings:
            weights = [SWARMING[doing] for doing in self.workload.doings]
            doing = self.random.choices(("publish", *self.workload.doings), (40, *weights))[0]
        else:
            doing = self.random.choices(DOINGS, WEIGHTS)[0]
        if not self._node(name).is_over:
            getattr(self, f"_{doing}")(name)

    def _begin(self, client: str, process: str) -> None:
        self.names.append(client)
        self.processes[client] = process
        self.subscribed[client], self.advertised[client] = {}, []
        self.ended[client] = {}, {}

    def _node(self, client: str) -> ClientNode:
        return self.world.clients[self.processes[client]]

    def _ask(self, client: str, method: str, *args: Any, **options: Any) -> None:
        self.world.ask(self.processes[client], method, *args, **options)

    # Doings

    def _publish(self, name: str) -> None:
        for _ in range(self.random.choice((1, 1, 2, 4))):
            options: dict[str, Any] = {}
            if self.random.random() < 0.1:
                options["to"] = f"floor = {self.random.randrange(3)}"
            if self.random.random() < 0.05:
                options["destinations"] = (self.random.choice(self.names),)
            if self.random.random() < 0.05:
                lasts = self.random.randrange(100_000, 5_000_000)
                options["expires"] = limits.INT_MAX if lasts < FOR_EVER_US else self.world.now + lasts
            if self.random.random() < 0.1:
                options["fast"] = True
            self._ask(name, "publish", self._agvent(self._event(name)), **options)
            if self.random.random() < 0.3:
                events = [self._event(name) for _ in range(self.random.choice((2, 3, 8)))]
                self._ask(name, "publish_batch", events, **options)

    def _agvent(self, event: Event) -> Event:
        """The event with the program of its type; one without a type, where there are couriers, with that of any. Some
        couriers have little to spend."""
        if is_plain(event):
            return event
        program = event.type or (self.random.choice(self.types).name if self.workload.couriers else "Quote")
        budget = self._budget() if self.workload.couriers and self.random.random() < 0.3 else None
        return agvent(event, program, budget)

    def _budget(self) -> Budget:
        """What an agvent may use, much of one and little of another."""
        draw = self.random.choice
        return Budget(
            hops=draw((0, 1, 2, 3, 64)),
            clones=draw((0, 1, 3, 1_024)),
            bytes=draw((0, 150, 1_000, 1 << 30)),
            time_us=draw((1, 20_000, 400_000, 3_000_000, 3_600_000_000)),
        )

    def _event(self, name: str) -> Event:
        random, attributes = self.random, self._attributes()
        types = [type for type in self.types if type.name in self.advertised[name]]
        if types and random.random() < 0.8:
            type = random.choice(types)
            return Event(type=type.name, ancestors=type.ancestors, attributes=attributes)
        if random.random() < 0.5:
            return Event(topic=random.choice(TOPICS), attributes=attributes)
        return Event(channel=random.randrange(3), attributes=attributes)

    def _attributes(self) -> dict[str, Any]:
        random = self.random
        attributes: dict[str, Any] = {
            "price": random.randrange(10),
            "city": random.choice(("Oslo", "Rome")),
            "open": random.random() < 0.5,
        }
        if self.workload.large and random.random() < 0.2:
            attributes["note"] = "x" * self._note_chars()
        if self.workload.plain_types and random.random() < 0.2:
            attributes[odd_values.NAME] = random.choice(odd_values.ODD)
        return attributes

    def _note_chars(self) -> int:
        """Some of one chunk, some of many: any number, as one that fills its chunks exactly is an edge."""
        chunk = limits.CHUNK_BYTES_MAX
        return self.random.randrange(1, min(self.random.choice((500, 3_000, 20_000)), 12 * chunk))

    def _subscribe(self, name: str) -> None:
        if len(self.subscribed[name]) >= 6:
            return
        self._ids += 1
        self._open(name, self._subscription(f"s{self._ids}"))

    def _open(self, name: str, subscription: Subscription) -> None:
        self.subscribed[name][subscription.id] = subscription
        self._ask(name, "subscribe", subscription)

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
            self._open(name, self._subscription(self.random.choice(list(self.subscribed[name]))))

    def _context(self, name: str) -> None:
        """The client is somewhere else now: another context, the same filters."""
        floor = self.random.randrange(3)
        for subscription in list(self.subscribed[name].values()):
            self._open(name, msgspec.structs.replace(subscription, context={"floor": floor}))

    def _unsubscribe(self, name: str) -> None:
        if self.subscribed[name]:
            id = self.random.choice(list(self.subscribed[name]))
            del self.subscribed[name][id]
            self.ended[name][0][id] = None
            self._ask(name, "unsubscribe", id)

    def _advertise(self, name: str) -> None:
        type = self.random.choice(self.types)
        if type.name not in self.advertised[name]:
            self.advertised[name].append(type.name)
            self._ask(name, "advertise", type, **self._code(type.name))

    def _code(self, type: str) -> dict[str, bytes]:
        """In a world of the swarm a type comes with code or without; a broker keeps it for a host, and does not read
        it. The same program has the same code."""
        if not self.workload.doings or self.random.random() < 0.7:
            return {}
        return {"code": f"the code of {type}".encode()}

    def _debut(self, name: str) -> None:
        """The client publishes events of a type at once when it has advertised it: no broker has answered yet. A type
        that it has it takes back before."""
        type = self.random.choice(self.types)
        if type.name in self.advertised[name]:
            self._ask(name, "unadvertise", type.name)
        else:
            self.advertised[name].append(type.name)
        self.ended[name][1].pop(type.name, None)
        self._ask(name, "advertise", type)
        for _ in range(self.random.choice((1, 1, 3))):
            events = [self._of_type(type) for _ in range(self.random.choice((1, 3)))]
            fast = self.random.random() < 0.1
            if len(events) > 1:
                self._ask(name, "publish_batch", events, fast=fast)
            else:
                self._ask(name, "publish", self._agvent(events[0]), fast=fast)

    def _of_type(self, type: AgventType) -> Event:
        return Event(type=type.name, ancestors=type.ancestors, attributes=self._attributes())

    def _unadvertise(self, name: str) -> None:
        if self.advertised[name]:
            type = self.advertised[name].pop(self.random.randrange(len(self.advertised[name])))
            self.ended[name][1][type] = None
            self._ask(name, "unadvertise", type)

    def _burst(self, name: str) -> None:
        for _ in range(self.random.choice((5, 20, 40))):
            self._ask(name, "publish", self._agvent(self._event(name)), fast=self.random.random() < 0.2)

    def _succeed(self, name: str) -> None:
        """The client's process ends without a word, and some time later another one of its name begins."""
        if self._node(name).session.guest:
            self._end_guest(name)
            return
        if len(self._node(name).homes) > 1:
            return  # another process does not know where the one before was at home
        is_heard = self._node(name).session.attached  # else it may be heard after the next one
        self.world.doings.end(self.processes[name])
        soon = self.workload.moments and is_heard and self.random.random() < 0.5
        after = self.random.choice((1, 3_000, 30_000)) if soon else self.random.randrange(10_000, 6_000_000)
        self.world.doing(self.world.now + after, self._next_process, name)

    def _next_process(self, name: str, *, beside: bool = False) -> None:
        """Another process of the name begins, at the same broker; it may be there beside the one before."""
        before, self._lives = self._node(name), self._lives + 1
        if not before.is_over and not beside:
            return
        self.processes[name] = f"{name}+{self._lives}"
        self.world.attach(self.processes[name], before.home, client=name, life=self._lives)
        for type in [type for type in self.types if type.name in self.advertised[name]]:
            self._ask(name, "advertise", type)
        for id, subscription in list(self.subscribed[name].items()):
            if self.random.random() < 0.7:
                self._open(name, subscription if self.random.random() < 0.5 else self._subscription(id))
            else:
                del self.subscribed[name][id]
                self.ended[name][0][id] = None
        for id in self.ended[name][0]:  # the process before may have been asked to, and ended before it said so
            self._ask(name, "unsubscribe", id)
        for gone in [type for type in self.ended[name][1] if type not in self.advertised[name]]:
            self._ask(name, "unadvertise", gone)

    def _guest(self, _: str) -> None:
        """Somebody comes, whose name nobody has again, and ends without a word."""
        self._guests += 1
        guest = f"g{self._guests}"
        homes = [node.name for node in self.world.brokers.values() if not node.left]
        self.world.attach(guest, self.random.choice(homes), guest=True)
        self._begin(guest, guest)
        self._subscribe(guest)
        if self.random.random() < 0.5:
            self._advertise(guest)
        self._publish(guest)
        self.world.doing(self.world.now + self.random.randrange(50_000, 8_000_000), self._end_guest, guest)

    def _end_guest(self, guest: str) -> None:
        if guest in self.names:
            self.world.doings.end(guest)
            self.names.remove(guest)

    def _leave(self, name: str) -> None:
        node = self._node(name)
        if node.ends:
            self.world.doings.leave(node.name)
            self.world.doing(self.world.now + self.random.randrange(100_000, 5_000_000), self.back, name)

    def _flap(self, name: str) -> None:
        """The client's link breaks, and is there again before everybody has noticed."""
        node = self._node(name)
        if node.ends:
            self.world.doings.leave(node.name)
            self.world.doing(self.world.now + self.random.choice((1, 3_000, 50_000)), self.back, name)

    def _hop(self, name: str) -> None:
        """The client goes to another broker, or to one where it was, and often on before anything is settled."""
        node = self._node(name)
        stayed = [one.name for one in self.world.brokers.values() if not one.left and one.name != node.home]
        if not stayed or not node.ends or not node.session.broker:
            return
        home = self.random.choice([*stayed, *(home for home in node.homes if home in stayed)])
        self.world.doings.move(node.name, home=home)
        if self.random.random() < 0.4:
            self.world.doing(
                self.world.now + self.random.choice((5_000, 100_000, 1_000_000)), self._hop_on, node.client
            )

    def _hop_on(self, name: str) -> None:
        if name in self.names and not self._node(name).is_over:
            self._hop(name)

    def _say_again(self, name: str) -> None:
        """The client asks for what it has: a type that it advertises, a subscription as it is."""
        for type in [type for type in self.types if type.name in self.advertised[name]][:1]:
            self._ask(name, "advertise", type, **self._code(type.name))
        for subscription in list(self.subscribed[name].values())[:1]:
            self._open(name, subscription)

    def all_back(self) -> None:
        """Guests are gone, and a client whose process has ended has another; `mend` attached the others."""
        for name in list(self.names):
            node = self._node(name)
            if node.session.guest:
                self.names.remove(name)
            elif node.is_over:
                self._next_process(name)

    def back(self, name: str) -> None:
        self.world.doings.back(self.processes[name])


DOINGS: Final = ("publish", "subscribe", "replace", "unsubscribe", "advertise", "unadvertise", "leave")
WEIGHTS: Final = (60, 10, 6, 4, 5, 3, 5)
SWARMING: Final = {
    "subscribe": 10, "replace": 10, "unsubscribe": 6, "advertise": 6, "unadvertise": 5, "leave": 5, "burst": 4,
    "succeed": 4, "guest": 4, "context": 5, "flap": 6, "hop": 5, "say_again": 3, "cover": 8, "echo": 6, "widen": 8,
    "many": 3, "campaign": 4, "revise": 4, "debut": 8, "waver": 5, "mistake": 5, "stream": 5, "look": 3, "season": 2,
    "rival": 3,
}  # fmt: skip
"""How often each is done in a world of the swarm that has it, beside 40 publications."""
