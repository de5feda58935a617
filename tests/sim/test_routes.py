"""Agvents that find their own way, step by step in small worlds."""

from __future__ import annotations

from typing import Any

from agvent.agents.types import type_of
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.behaviours import agvent
from agvent.sim.couriers import COURIERS
from agvent.wire.messages import Copies, Travel
from tests.sim.watched import Watched

LINE = [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
STAR = [("B1", "B2"), ("B1", "B3"), ("B1", "B4")]


def world_of(edges: list[tuple[str, str]], *subscribers: tuple[str, str, dict[str, Any]]) -> Watched:
    """A publisher `p` at B1 that advertised every courier, and subscribers with a home and a context."""
    world = Watched(edges)
    world.attach("p", "B1")
    world.wait(1)
    for cls in COURIERS:
        world.ask("p", "advertise", type_of(cls))
    for name, home, context in subscribers:
        world.attach(name, home)
        world.wait(0.5)
        world.ask(name, "subscribe", Subscription(id="all", context=context))
    world.wait(2)
    world.forget_words()
    return world


def publish(world: Watched, type: str, price: int = 6) -> None:
    world.ask("p", "publish", agvent(Event(type=type, attributes={"price": price})))
    world.wait(2)


def received(world: Watched, *clients: str) -> list[list[int]]:
    return [[sequence for sequence, _ in world.delivered(client)] for client in clients]


def test_a_sweep_goes_from_home_to_home() -> None:
    """One instance, from the nearest home to the farthest, in the middle of its program."""
    world = world_of(LINE, ("s2", "B2", {}), ("s4", "B4", {}))
    publish(world, "Sweep")
    assert received(world, "s2", "s4") == [[1], [1]]
    assert world.watch.hops(Travel) == [("B1", "B2"), ("B2", "B3"), ("B3", "B4")]
    assert world.watch.hops(Copies) == []
    assert world.brokers["B1"].broker.tables.custody.held == {}
    assert [node.broker.tables.journeys.errands for node in world.brokers.values()] == [{}, {}, {}, {}]


def test_two_algorithms_run_on_one_server() -> None:
    """Of two agvents for the same subscribers one visits all floors' homes and one delivers to its floor only."""
    world = world_of(STAR, ("s2", "B2", {"floor": 0}), ("s3", "B3", {"floor": 1}), ("s4", "B4", {"floor": 0}))
    publish(world, "Picky", price=3)
    publish(world, "Frugal", price=3)
    publish(world, "Sweep", price=3)
    assert received(world, "s2", "s3", "s4") == [[1, 2, 3], [3], [1, 3]]
