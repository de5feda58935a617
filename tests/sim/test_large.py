"""What is larger than a chunk of a link is overtaken there by what is small, and changes nothing but the time."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.broker_messages import Hello
from tests.sim.watched import SECOND, Watched

LARGE = 3 * limits.CHUNK_BYTES_MAX


def types_at(world: Watched, broker: str) -> list[str]:
    return [type.name for _, _, type in world.brokers[broker].broker.tables.advertisements.found("")]


@pytest.mark.parametrize("kept", [limits.EARLY_ADVERTS_MAX, 1, 0])
def test_a_large_advertisement_is_overtaken(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Changes that came before it are applied after it at every broker; what is not kept till then is asked for."""
    monkeypatch.setattr(limits, "EARLY_ADVERTS_MAX", kept)
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.attach("p", "B1")
    world.attach("q", "B1")
    world.attach("s", "B3")
    world.wait(1)
    world.forget_words()
    world.brokers["B1"].fsync_us = SECOND // 2  # what is on disk together is said together
    world.ask("q", "advertise", AgventType(name="First"))
    world.wait(0.1)
    world.ask("p", "advertise", AgventType(name="Large"), b"x" * LARGE)
    world.wait(0.1)
    for name in ("Small", "Tiny"):
        world.ask("q", "advertise", AgventType(name=name))
    world.wait(3)
    for broker in ("B1", "B2", "B3"):
        assert types_at(world, broker) == ["Large", "First", "Small", "Tiny"]
    assert bool(world.watch.hops(Hello)) == (kept < 2)
    world.ask("s", "subscribe", Subscription(id="tiny", type="Tiny"))
    world.wait(1)
    world.ask("q", "publish", Event(type="Tiny"))
    world.wait(2)
    assert world.delivered("s") == [(1, ("tiny",))]


def test_what_a_client_asks_is_done_in_that_order() -> None:
    """A large request is not overtaken by the one that takes it back, nor by one that replaces it."""
    world = Watched([("B1", "B2")])
    world.attach("s", "B1")
    world.wait(1)
    session = world.clients["s"].session
    session.subscribe(Subscription(id="gone", context={"c": "c" * LARGE}))
    session.unsubscribe("gone")
    session.advertise(AgventType(name="Gone"), b"x" * LARGE)
    session.unadvertise("Gone")
    session.advertise(AgventType(name="Changed"), b"x" * LARGE)
    session.advertise(AgventType(name="Changed", description="later"))
    world.clients["s"].say()
    world.wait(5)
    tables = world.brokers["B1"].broker.tables
    assert tables.homes.current == {}
    assert [type.description for _, _, type in tables.advertisements.found("")] == ["later"]
    assert session.requests == {}
