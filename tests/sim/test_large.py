"""What is larger than a chunk of a link is overtaken there by what is small, and changes nothing but the time."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.broker_messages import Adverts, Delta, Hello, Routed
from tests.sim.watched import SECOND, Watched

LARGE = 3 * limits.CHUNK_BYTES_MAX


def deltas(world: Watched) -> list[Delta]:
    bodies = [message.body for _, _, message in world.watch.sent if isinstance(message, Routed)]
    return [body for body in bodies if isinstance(body, Delta)]


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
    assert tables.local.current == {}
    assert [type.description for _, _, type in tables.advertisements.found("")] == ["later"]
    assert session.requests == {}


@pytest.fixture
def small_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of what they are, so that a few hundred subscriptions do not fit a message."""
    for name in ("PART_BYTES_MAX", "MESSAGE_BYTES_MAX"):
        monkeypatch.setattr(limits, name, getattr(limits, name) // 100)


@pytest.mark.usefixtures("small_messages")
def test_subscriptions_that_do_not_fit_a_message_go_in_parts() -> None:
    """A home that restarts, and one whose network grows, says them all again: an entry has all of them or none."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("s", "B2")
    world.wait(1)
    for number in range(400):
        text = f"x = {number} AND y <> '{'z' * 1_000}'"
        world.ask("s", "subscribe", Subscription(id=f"{number}", filter=text))
    world.wait(5)
    world.forget_words()
    world.brokers["B2"].crash(with_disk=True)
    world.brokers["B2"].start()
    world.join("B3", ["B1"])
    world.wait(10)
    assert max(delta.parts for delta in deltas(world)) > 20
    for client, entry in (("p", "B1"), ("q", "B3")):
        if client == "q":
            world.attach(client, entry)
            world.wait(1)
        assert len(world.brokers[entry].broker.tables.interests.homes["B2"].roots) == 400
        world.ask(client, "publish", Event(attributes={"x": 3, "y": "a"}))
        world.wait(1)
    assert world.delivered("s") == [(1, ("3",)), (1, ("3",))]
    for number in range(400):
        world.ask("s", "unsubscribe", f"{number}")
    world.wait(5)
    assert world.brokers["B3"].broker.tables.interests.homes["B2"].roots == {}


@pytest.mark.usefixtures("small_messages")
def test_advertisements_that_do_not_fit_a_message_go_in_parts() -> None:
    """A broker that joins has all types, changed ones and tombstones included, as the others have them."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.wait(1)
    for number in range(40):
        world.ask("p", "advertise", AgventType(name=f"T{number}"), bytes(1_000 * number))
        world.wait(0.1)
    for number in range(5):
        world.ask("p", "advertise", AgventType(name=f"T{number}", description="later"))
        world.ask("p", "unadvertise", f"T{number + 10}")
        world.wait(0.1)
    world.wait(2)
    world.forget_words()
    world.join("B3", ["B1"])
    world.wait(5)
    parts = [m for _, link, m in world.watch.sent if isinstance(m, Adverts) and (link, m.owner) == ("B3", "B1")]
    assert len(parts) > 20
    first, joined = (world.brokers[name].broker.tables.advertisements for name in ("B1", "B3"))
    assert joined.found("") == first.found("")
    assert joined.known() == first.known()
    assert len(joined.found("")) == 35
