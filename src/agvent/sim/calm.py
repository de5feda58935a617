"""The calm at the end of a run: everything is mended and has come right, and then a few more events are published.

Chaos leaves things behind that no table of the end shows: a route that is no longer the best, a chain that waits for a
predecessor, a home that an entry still takes for unheard, a result that was matched ahead for subscriptions of before.
In a calm network nothing excuses them. Each of these events comes to everybody who wants it and to nobody else, the
fast ones too, in little more time than frames, disks and programs need, and over no link that it need not cross. Before
that a second and a half passes in which nothing happens, and in which brokers have nothing to say or to write.
checkers/calm.py judges both.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import COURIER_TYPES, TYPES, agvent, program_name
from agvent.sim.bounds import LOSSY
from agvent.sim.endings import attach_all
from agvent.sim.nodes import ClientNode
from agvent.sim.oracle import Answering
from agvent.sim.promises import PublishedId
from agvent.sim.world import World

PUBLISHERS: Final = 2
EVENTS: Final = 3
"""Clients that publish, and how many events each: enough that one can precede another."""

LASTS_US: Final = 60_000_000
"""How long it waits for the last of them, at most."""


IDLE_US: Final = 1_600_000
"""How long nothing happens: longer than the longest interval at which a broker looks at what waits."""

ANSWERED_US: Final = 40_000_000
"""How long a broker may still wait for an answer that was lost, and ask again: twice the longest wait, and more."""


class _Doings(NamedTuple):
    """What brokers have done so far, in numbers."""

    sent: int
    written: int
    links: int
    heard: int

    @classmethod
    def of(cls, world: World) -> _Doings:
        return cls(world.messages, world.records, world.link_changes, world.client_messages)

    def until(self, world: World) -> tuple[int, int]:
        """How many messages and records there were since; none where a link changed or a client did something."""
        now = _Doings.of(world)
        if (now.links, now.heard) != (self.links, self.heard):
            return (0, 0)
        return (now.sent - self.sent, now.written - self.written)


class CalmEvent(msgspec.Struct):
    """An event that was published in the calm, by a process at its home, and the subscriptions that it matches."""

    id: PublishedId
    fast: bool
    event: Event
    at: int
    home: str
    wanted: tuple[tuple[str, str], ...]  # process, subscription


class Calm(msgspec.Struct):
    """What was published in the calm, and where the run's history stood when it began."""

    at: int
    events: list[CalmEvent]
    hops: int
    told: int
    fast_lost: dict[str, int]
    links: int  # changes of links between brokers so far


def calm(world: World, is_quiet: Callable[[], bool]) -> None:
    """Lets the clients of a world publish a few events, and waits until they have come. No plan has them."""
    attach_all(world)  # guests that came at the very end are gone too
    random = world.random_of("calm")
    if not world.run(world.now + LASTS_US, done=is_quiet) or not all(map(_is_up, world.living())):
        return
    publishers = world.living()
    publishers = random.sample(publishers, min(PUBLISHERS, len(publishers)))
    for client in publishers:  # that events without a type enter at its broker was perhaps never said
        _ask(world, client, "publish", Event(channel=0, attributes=_attributes(random)))
    world.run(world.now + 1_000_000)
    if not world.run(world.now + LASTS_US, done=is_quiet):
        return
    world.run(world.now + ANSWERED_US, done=lambda: not any(node.is_to_wake for node in world.brokers.values()))
    live = [node.broker for node in world.brokers.values() if node.alive]
    asks_seldom = any(broker.tables.deliveries.given_up for broker in live)  # a home that was given up, now and then
    before = _Doings.of(world)
    world.run(world.now + IDLE_US)
    if not asks_seldom:
        world.idle = before.until(world)
    found = world.calm = Calm(
        at=world.now,
        events=[],
        hops=len(world.hops),
        told=len(world.history.told),
        fast_lost=fast_lost(world),
        links=world.link_changes,
    )
    count = 1 if not LOSSY.isdisjoint(world.small_limits) else random.randint(1, EVENTS)
    for client in publishers[:1] if count == 1 else publishers:
        for _ in range(count):
            _publish(world, random, client, found)
    world.run(world.now + 1_000_000)
    world.run(world.now + LASTS_US, done=lambda: is_quiet() and not _has_fast(world))


def _has_fast(world: World) -> bool:
    """Do fast events wait for a client, which may take its time with those before them?"""
    live = [node for node in world.brokers.values() if node.alive]
    return any(one.fast.waiting for node in live for one in node.broker.tables.deliveries.clients.values() if one.link)


def _is_up(client: ClientNode) -> bool:
    end = client.ends.get(client.home)
    return end is not None and end.up and client.session.broker == client.home


def _ask(world: World, client: ClientNode, method: str, *args: Any, **options: Any) -> int:
    with world.doings.unnoted():
        return world.ask(client.name, method, *args, **options)


def _attributes(random: Random) -> dict[str, Any]:
    return {"price": random.randrange(10), "city": random.choice(("Oslo", "Rome")), "open": random.random() < 0.5}


def _publish(world: World, random: Random, client: ClientNode, found: Calm) -> None:
    """One event, a fast one, or a few as a batch."""
    fast, has_couriers = random.random() < 0.3, _has_couriers(world)
    events = [_event(random, client) for _ in range(random.choice((1, 1, 1, 3)))]
    if len(events) > 1:
        last = _ask(world, client, "publish_batch", events, fast=fast)
    else:
        if not (has_couriers and (fast or events[0].type is None)):
            events = [agvent(events[0])]
        last = _ask(world, client, "publish", events[0], fast=fast)
    for at, event in enumerate(events, last - len(events) + 1):
        id = PublishedId(client.client, client.session.life, at)
        wanted = tuple(_wanting(world, event))
        found.events.append(CalmEvent(id, fast, event, world.now, client.home, wanted))


def _has_couriers(world: World) -> bool:
    """Has anybody advertised a type whose agvents find their own way?"""
    names = {type.name for type in COURIER_TYPES}
    return any(call.method == "advertise" and call.args[0].name in names for call in world.history.asked)


def _event(random: Random, client: ClientNode) -> Event:
    types = [type for type in TYPES + COURIER_TYPES if type.name in client.session.types]
    if types and random.random() < 0.7:
        type = random.choice(types)
        return Event(type=type.name, ancestors=type.ancestors, attributes=_attributes(random))
    return Event(channel=random.randrange(3), attributes=_attributes(random))


def _wanting(world: World, event: Event) -> list[tuple[str, str]]:
    """The subscriptions that an event matches, by the filter's own evaluator; of an agvent that finds its own way,
    those that its program chooses."""
    program = program_name(event) if event.cargo is not None and event.cargo.budget is not None else ""
    return [
        (client.name, subscribe.subscription.id)
        for client in world.living()
        for subscribe in client.session.subscriptions.values()
        if _matches(event, subscribe.subscription) and _chooses(program, event, subscribe.subscription)
    ]


def _matches(event: Event, subscription: Subscription) -> bool:
    return evaluate(subscription.condition(), event, Answering(event)) is True


def _chooses(program: str, event: Event, subscription: Subscription) -> bool:
    if program == "Picky":
        return bool((subscription.context or {}).get("floor") == event.attributes["price"] % 3)
    return True


def fast_lost(world: World) -> dict[str, int]:
    """The fast events that each broker has counted as lost. With a crash it counts those before the next that comes."""
    live = [node for node in world.brokers.values() if node.alive]
    return {node.name: node.broker.tables.fast_lost.total() - node.broker.tables.fast_lost["crash"] for node in live}
