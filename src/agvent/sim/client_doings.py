"""More things that clients do: those that need a name, a link and a request in the right state at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final

from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType

if TYPE_CHECKING:
    from agvent.sim.nodes import ClientNode
    from agvent.sim.world import World

SOON_US: Final = (1, 3_000, 50_000, 1_000_000, 5_000_000)


class ClientDoings:
    """A part of workload.py's actors."""

    world: World
    random: Random
    types: tuple[AgventType, ...]
    names: list[str]
    subscribed: dict[str, dict[str, Subscription]]
    advertised: dict[str, list[str]]
    ended: dict[str, tuple[dict[str, None], dict[str, None]]]
    back: Callable[[str], None]
    _ask: Callable[..., None]
    _open: Callable[[str, Subscription], None]
    _subscription: Callable[[str], Subscription]
    _node: Callable[[str], ClientNode]
    _event: Callable[[str], Event]
    _agvent: Callable[[Event], Event]
    _publish: Callable[[str], None]
    _flap: Callable[[str], None]
    _next_process: Callable[..., None]

    def _waver(self, name: str) -> None:
        """The link breaks; the client changes its mind more than once, and comes back, perhaps elsewhere."""
        random, node = self.random, self._node(name)
        if not node.ends:
            return
        if random.random() < 0.7:
            self.world.doings.leave(node.name)
        for _ in range(random.choice((1, 2, 4))):
            kind = random.choice(("type", "type", "subscription", "subscription", "publish"))
            if kind == "type":
                self._change_type(name)
            elif kind == "subscription":
                self._change_subscription(name)
            else:
                self._publish(name)
        if node.ends:
            return
        if random.random() < 0.3:
            self._come_back_elsewhere(name)
        else:
            self.world.doing(self.world.now + random.choice(SOON_US), self.back, name)

    def _come_back_elsewhere(self, name: str) -> None:
        node = self._node(name)
        homes = [one.name for one in self.world.brokers.values() if not one.left and one.name != node.home]
        self.back(name)
        if homes:
            self.world.doings.move(node.name, home=self.random.choice(homes))

    def _change_type(self, name: str) -> None:
        advertised = self.advertised[name]
        type = self.random.choice(self.types)
        if type.name in advertised:
            self._ask(name, "unadvertise", type.name)
        else:
            advertised.append(type.name)
        if self.random.random() < 0.7:
            self._ask(name, "advertise", type)
        else:
            advertised.remove(type.name)
            self.ended[name][1][type.name] = None
            self._ask(name, "unadvertise", type.name)

    def _change_subscription(self, name: str) -> None:
        random, subscribed = self.random, self.subscribed[name]
        if not subscribed:
            return
        subscription = random.choice(list(subscribed.values()))
        if random.random() < 0.5:
            self._ask(name, "unsubscribe", subscription.id)
        self._open(name, subscription if random.random() < 0.5 else self._subscription(subscription.id))

    def _mistake(self, name: str) -> None:
        """The client publishes something that must be refused, among other events; perhaps it mends its ways."""
        random = self.random
        options: dict[str, Any] = {"fast": True} if random.random() < 0.2 else {}
        self._ask(name, "publish", self._agvent(self._event(name)), **options)
        missing = [type for type in self.types if type.name not in self.advertised[name]]
        if missing and random.random() < 0.7:
            type = random.choice(missing)
            event = Event(type=type.name, ancestors=type.ancestors, attributes={"price": random.randrange(10)})
            if random.random() < 0.5:
                self._ask(name, "publish_batch", [self._event(name), event, self._event(name)], **options)
            else:
                self._ask(name, "publish", self._agvent(event), **options)
            if random.random() < 0.3:
                self.advertised[name].append(type.name)
                self._ask(name, "advertise", type)
        else:
            self._ask(name, "publish", self._event(name), to="is_dear(3)", **options)
        if random.random() < 0.5:
            self._ask(name, "publish", self._event(name), **options)
        if random.random() < 0.5:
            self._flap(name)

    def _stream(self, name: str) -> None:
        """Plain events one by one, which travel as batches, and one with a program between them."""
        random = self.random
        options: dict[str, Any] = {"fast": True} if random.random() < 0.2 else {}
        for _ in range(random.choice((3, 8, 20))):
            event = self._event(name)
            self._ask(name, "publish", self._agvent(event) if random.random() < 0.2 else event, **options)

    def _look(self, name: str) -> None:
        """The client asks which types there are."""
        self._ask(name, "get_advertisements", self.random.choice(("", *(type.name for type in self.types))))

    def _season(self, name: str) -> None:
        """All publishers of a type withdraw it, perhaps while a subscriber is away; perhaps one comes back to it."""
        random, world = self.random, self.world
        type = random.choice(self.types)
        begins = 0
        if random.random() < 0.5:
            node = self._node(name)
            if node.ends:
                world.doings.leave(node.name)
                begins = 6_000_000
                world.doing(world.now + begins + random.choice((1_000_000, 3_000_000)), self.back, name)
        world.doing(world.now + begins, self._withdraw, type.name)
        if random.random() < 0.5:
            world.doing(world.now + begins + random.choice((300_000, 2_000_000)), self._advertise_again, type)

    def _withdraw(self, type: str) -> None:
        for name in list(self.names):
            if type in self.advertised[name] and not self._node(name).is_over:
                self.advertised[name].remove(type)
                self.ended[name][1][type] = None
                self._ask(name, "unadvertise", type)

    def _advertise_again(self, type: Any) -> None:
        name = self.random.choice(self.names)
        if type.name not in self.advertised[name] and not self._node(name).is_over:
            self.advertised[name].append(type.name)
            self._ask(name, "advertise", type)

    def _rival(self, name: str) -> None:
        """Another process of the client's name comes while it is still there: it is told so, and ends."""
        node = self._node(name)
        if node.session.guest or len(node.homes) > 1 or not (node.ends and node.session.attached):
            return  # one that is attaching may be heard after the other, and would take the place of that
        self.world.doings.give_way(node.name)
        self.world.doing(self.world.now + 2_000_000, self.world.doings.end, node.name)
        self._next_process(name, beside=True)
