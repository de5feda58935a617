"""What an entry had acknowledged and only its disk knew: subscribers elsewhere are told that it may be missing."""

from __future__ import annotations

from agvent.broker.interface import Forget
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.client_messages import Gap
from tests.sim.watched import Watched


def cut_off() -> Watched:
    """p publishes books at B1, which is cut off from B2 when it acknowledges one; at B2 are ada, ben and cyd."""
    world = Watched([("B1", "B2")])
    world.attach("p", "B1")
    for client in ("ada", "ben", "cyd"):
        world.attach(client, "B2")
    world.wait(1)
    world.ask("p", "advertise", AgventType(name="Book"))
    world.ask("ada", "subscribe", Subscription(id="all"))
    world.ask("ben", "subscribe", Subscription(id="books", type="Book"))
    world.ask("cyd", "subscribe", Subscription(id="news", type="News"))
    world.wait(1)
    world.network.paths["B1", "B2"].cut = world.network.paths["B2", "B1"].cut = True
    world.ask("p", "publish", Event(type="Book"))
    world.wait(1)
    assert world.clients["p"].session.unacknowledged == {}
    return world


def gaps(world: Watched) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Client, publisher, reason and subscriptions of the notices that clients were given."""
    found = [(told.client, told.message) for told in world.history.told if isinstance(told.message, Gap)]
    return sorted((client, gap.publisher, gap.reason, gap.subscriptions) for client, gap in found)


def test_those_whom_it_may_concern_are_told_once() -> None:
    """Of nobody in particular: who had published what, only that disk knew. What comes after it is delivered."""
    world = cut_off()
    world.brokers["B1"].crash(with_disk=False)
    world.brokers["B1"].start()
    world.mend("B1", "B2")
    world.wait(5)
    told = [("ada", "", "lost_disk", ("all",)), ("ben", "", "lost_disk", ("books",))]
    assert gaps(world) == told
    world.brokers["B2"].crash(with_disk=True)
    world.brokers["B2"].start()
    world.wait(10)
    world.ask("p", "publish", Event(type="Book"))
    world.wait(5)
    assert gaps(world) == told
    assert [world.delivered(client) for client in ("ada", "ben", "cyd")] == [[(2, ("all",))], [(2, ("books",))], []]


def test_who_is_away_is_told_when_it_is_back() -> None:
    """The notice waits in the queue like a delivery, across a restart of the home."""
    world = cut_off()
    world.clients["ada"].leave()
    world.brokers["B1"].crash(with_disk=False)
    world.brokers["B1"].start()
    world.mend("B1", "B2")
    world.brokers["B2"].crash(with_disk=True)
    world.brokers["B2"].start()
    world.wait(5)
    assert [client for client, *_ in gaps(world)] == ["ben"]
    world.clients["ada"].back()
    world.wait(5)
    assert [client for client, *_ in gaps(world)] == ["ada", "ben"]


def test_an_entry_that_is_forgotten_leaves_the_same_gap() -> None:
    """What waits on its disk will not come either."""
    world = cut_off()
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B2"].do([Forget("B1")])
    world.wait(1)
    assert gaps(world) == [("ada", "", "forgotten", ("all",)), ("ben", "", "forgotten", ("books",))]
