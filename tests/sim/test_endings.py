"""Subscriptions that end: what waits for them is owed to nobody, and stands in nobody's way."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.wire.client_messages import Deliver, Gap
from tests.sim.watched import Watched


def slow_reader() -> Watched:
    """A publisher and ada at one broker; ada acknowledges what she is done with, and begins with nothing."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    world.attach("ada", "B1")
    world.clients["ada"].session.prompt = False
    world.wait(1)
    return world


def subscribe(world: Watched, *subscriptions: Subscription) -> None:
    for subscription in subscriptions:
        world.ask("ada", "subscribe", subscription)
    world.wait(1)


def publish(world: Watched, *numbers: int) -> None:
    for n in numbers:
        world.ask("p", "publish", Event(attributes={"n": n}))
        world.wait(0.1)


def end(world: Watched, id: str) -> None:
    world.ask("ada", "unsubscribe", id)
    world.wait(1)


def waiting(world: Watched) -> list[tuple[int, tuple[str, ...]]]:
    """What waits for ada at her home."""
    queue = world.brokers["B1"].broker.tables.deliveries.clients["ada"].durable
    return [(number, one.subscriptions) for number, one in queue.waiting.items()]


def finish(world: Watched) -> None:
    """Ada is done with everything she was given."""
    ada = world.clients["ada"]
    for told in world.history.told:
        if told.client == "ada" and isinstance(told.message, (Deliver, Gap)):
            ada.session.done(told.message)
    ada.say()
    world.wait(1)


def test_what_waits_for_an_ended_subscription_is_owed_to_nobody() -> None:
    """It waits for the others only, and for none not at all: neither after a restart, nor for one of the same name."""
    world = slow_reader()
    subscribe(world, Subscription(id="all"), Subscription(id="dear", filter="n > 1"))
    publish(world, 1, 2)
    assert waiting(world) == [(1, ("all",)), (2, ("all", "dear"))]
    end(world, "all")
    assert waiting(world) == [(2, ("dear",))]
    end(world, "dear")
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].restart()
    subscribe(world, Subscription(id="all"))
    publish(world, 3)
    assert waiting(world) == [(3, ("all",))]
    finish(world)
    assert waiting(world) == []


def test_ended_subscriptions_do_not_fill_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that took nothing of the old one gets what is for the new one."""
    monkeypatch.setattr(limits, "DELIVERY_WINDOW", 4)
    world = slow_reader()
    subscribe(world, Subscription(id="old"))
    publish(world, *range(8))
    end(world, "old")
    subscribe(world, Subscription(id="new"))
    publish(world, 8, 9)
    assert world.delivered("ada")[-2:] == [(9, ("new",)), (10, ("new",))]


def test_a_reader_that_comes_back_is_not_held_up_by_what_went() -> None:
    """She had deliveries that are gone from her home's queue when her link broke: the next ones follow on them, and
    are acknowledged."""
    world = slow_reader()
    subscribe(world, Subscription(id="odd", filter="n IN (1, 3, 5)"), Subscription(id="even", filter="n IN (2, 4)"))
    publish(world, 1, 2, 3, 4)
    world.clients["ada"].leave()
    world.ask("ada", "unsubscribe", "even")
    publish(world, 5)
    world.clients["ada"].back()
    world.wait(5)
    world.clients["ada"].leave()
    world.clients["ada"].back()
    world.wait(5)
    publish(world, 5)
    assert world.delivered("ada") == [(n, ("even",) if n in (2, 4) else ("odd",)) for n in range(1, 7)]
    finish(world)
    assert waiting(world) == []


def test_a_batch_keeps_the_numbers_of_its_events() -> None:
    """Of a batch that was acknowledged in part, the rest comes again without what was for the ended one."""
    world = slow_reader()
    subscribe(world, Subscription(id="all"), Subscription(id="dear", filter="n IN (1, 4)"))
    world.ask("p", "publish_batch", [Event(attributes={"n": n}) for n in range(6)])
    world.wait(1)
    [given] = [one.message for one in world.history.told if isinstance(one.message, Deliver)]
    world.clients["ada"].session.done(given, given.number - 4)
    world.clients["ada"].say()
    end(world, "all")
    world.clients["ada"].leave()
    world.clients["ada"].session = Session("ada", prompt=False)  # the next process of her name
    world.clients["ada"].back()
    world.wait(5)
    assert [one for one in world.delivered("ada")[6:] if one[1]] == [(5, ("dear",))]
    finish(world)
    assert waiting(world) == []
