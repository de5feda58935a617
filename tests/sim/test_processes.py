"""Several processes of a client's name, one after the other: what is one's is not taken for another's."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.records import Accepted
from agvent.chronicle.chronicle import Chronicle
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.types import AgventType
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Deliver, Gap, Published, Refused
from tests.sim.watched import Watched

ALL = Subscription(id="all")


def star() -> Watched:
    """A publisher at B1, in the middle; ada is at home at B2, and B3 is beyond B1."""
    world = Watched([("B1", "B2"), ("B1", "B3")])
    world.attach("p", "B1")
    world.attach("ada", "B2")
    world.wait(1)
    world.ask("ada", "subscribe", ALL)
    world.wait(2)
    return world


def next_process(world: Watched, client: str, home: str) -> None:
    """The client's process ends, and another one of its name begins at a broker."""
    world.clients[client].leave()
    world.wait(1)
    world.clients[client].session = Session(client, life=2)
    world.move(client, home)
    world.wait(1)


def publish(world: Watched, count: int, client: str = "p") -> None:
    for _ in range(count):
        world.ask(client, "publish", Event())
        world.wait(0.2)
    world.wait(1)


def numbers(world: Watched) -> list[int]:
    return [sequence for sequence, _ in world.delivered("ada")]


def test_a_publisher_goes_on_after_what_an_earlier_process_published_there() -> None:
    """Its second home has events of its name with its own sequences: it takes later ones, and all of them arrive."""
    world = star()
    world.move("p", "B3")
    world.wait(2)
    publish(world, 5)
    next_process(world, "p", "B1")
    publish(world, 1)
    world.move("p", "B3")
    world.wait(5)
    publish(world, 3)
    accepted = [one.record.publication for one in world.history.on_disk if isinstance(one.record, Accepted)]
    assert [(one.life, one.sequence) for one in accepted if one.life] == [(2, 1), (2, 6), (2, 7), (2, 8)]
    assert numbers(world) == [1, 2, 3, 4, 5, 1, 6, 7, 8]


def test_what_was_not_acknowledged_and_has_another_events_number_is_refused() -> None:
    """It was tried at a broker that went: nobody knows whether it was published, and its publisher is told."""
    world = star()
    world.move("p", "B3")
    world.wait(2)
    publish(world, 5)
    next_process(world, "p", "B2")
    world.brokers["B2"].fsync_us = 60_000_000
    publish(world, 2)
    world.move("p", "B3")
    world.wait(2)
    publish(world, 1)
    told = [one.message for one in world.history.told if one.client == "p"]
    assert [one.sequence for one in told if isinstance(one, Refused)] == [1, 2]
    assert [one.sequence for one in told if isinstance(one, Published)][-1] == 6
    assert world.clients["p"].session.unacknowledged == {}


def test_events_of_two_processes_with_the_same_number_are_two() -> None:
    """One waits at the old home, the other comes to the new one: both are given."""
    world = star()
    world.clients["ada"].leave()
    publish(world, 3)
    next_process(world, "p", "B3")
    world.move("ada", "B3")
    while world.brokers["B2"].broker.tables.local.current:
        world.wait(0.001)
    world.wait(0.05)
    for _ in range(4):
        world.ask("p", "publish", Event())
        world.wait(0.01)
    world.wait(30)
    told = [one.message for one in world.history.told if one.client == "ada" and isinstance(one.message, Deliver)]
    given = [(one.life, one.sequence) for message in told for one in deliveries_in(message)]
    assert sorted(given) == [(0, 1), (0, 2), (0, 3), (2, 1), (2, 2), (2, 3), (2, 4)]


def test_a_client_that_another_home_claims_is_told_and_comes_back_as_another() -> None:
    """The claim is an earlier process's, which moved while its old home was out of reach."""
    world = star()
    world.cut("B1", "B3")
    world.move("ada", "B3")
    world.wait(2)
    next_process(world, "ada", "B2")
    world.ask("ada", "subscribe", ALL)
    publish(world, 2)
    world.mend("B1", "B3")
    world.wait(20)
    publish(world, 2)
    world.ask("ada", "publish", Event())
    world.wait(10)
    session = world.clients["ada"].session
    assert (session.attached, session.moves, session.unacknowledged) == (True, 1, {})
    assert numbers(world) == [1, 2, 3, 4, 1]
    gaps = [one.message for one in world.history.told if one.client == "ada" and isinstance(one.message, Gap)]
    assert [(gap.reason, gap.subscriptions) for gap in gaps] == [("moved", ("all",))]


@pytest.mark.parametrize("ask", ["subscribe", "unsubscribe"])
def test_nobody_attaches_to_a_client_that_is_claimed(ask: str) -> None:
    """It would be let go under its link, and what it asked then would end its broker."""
    world = star()
    world.cut("B1", "B3")
    world.move("ada", "B3")
    world.wait(2)
    next_process(world, "ada", "B2")
    home = world.brokers["B2"].broker
    for path in (("B1", "B3"), ("B3", "B1")):
        world.network.paths[path].cut = False
    while not home.tables.deliveries.clients["ada"].claimed:
        world.wait(0.05)
    world.clients["ada"].leave()
    world.wait(0.1)
    world.clients["ada"].back()
    world.wait(0.2)
    assert [one.client for one in home.clients.attached.values()] == ["ada~1"]
    while "ada" in home.tables.deliveries.clients:
        world.wait(0.1)
    world.ask("ada", ask, Subscription(id="more") if ask == "subscribe" else "all")
    world.wait(2)
    publish(world, 1)
    assert world.clients["ada"].session.requests == {}


def test_a_second_process_that_moves_has_a_key_of_its_own() -> None:
    """The first one has been where it goes: what waits for the second comes, and the old home forgets it."""
    world = star()
    world.move("ada", "B3")
    world.wait(10)
    next_process(world, "ada", "B2")
    world.ask("ada", "subscribe", ALL)
    world.wait(1)
    publish(world, 1)
    world.clients["ada"].leave()
    publish(world, 3)
    world.move("ada", "B3")
    world.wait(10)
    publish(world, 2)
    assert numbers(world) == [1, 2, 3, 4, 5, 6]
    assert "ada" not in world.brokers["B2"].broker.tables.deliveries.clients


def test_what_a_client_no_longer_advertises_goes_when_it_comes_back() -> None:
    """It took the type back elsewhere, before its first home had closed its part."""
    world = star()
    world.ask("ada", "advertise", AgventType(name="Book"))
    world.ask("ada", "advertise", AgventType(name="Film"))
    world.wait(2)
    world.cut("B1", "B3")
    world.move("ada", "B3")
    world.wait(1)
    world.ask("ada", "unadvertise", "Book")
    world.wait(1)
    world.move("ada", "B2")
    world.wait(2)
    world.mend("B1", "B3")
    world.wait(20)
    for node in world.brokers.values():
        table = node.broker.tables.advertisements
        found = [(owner, type.name) for owner in world.brokers for type in table.types_of(owner, "ada")]
        assert found == [("B2", "Film")]


def test_the_log_begins_anew_with_a_client_that_comes_after_one_that_left() -> None:
    """Every delivery has its row, of the first process and of the second."""
    world = star()
    publish(world, 3)
    world.move("ada", "B3")
    world.wait(10)
    world.ask("ada", "unsubscribe", "all")
    world.wait(2)
    next_process(world, "ada", "B2")
    world.ask("ada", "subscribe", Subscription(id="again"))
    world.wait(2)
    publish(world, 2)
    chronicle = Chronicle("B2", 1)
    for one in world.history.on_disk:
        if one.broker == "B2":
            chronicle.take(one.record, one.at)
    logged = [(row["sequence"], row["subscription"]) for row in chronicle.rows.deliveries]
    assert logged == [(1, "ada/all"), (2, "ada/all"), (3, "ada/all"), (4, "ada/again"), (5, "ada/again")]


def test_a_guest_that_took_its_leave_is_forgotten() -> None:
    """At once if it has nothing here; one that broke off after a while, with its subscriptions."""
    world = star()
    for name in ("guest-1", "guest-2"):
        world.attach(name, "B1")
        world.clients[name].leave()
        world.clients[name].session = Session(name, guest=True)
        world.clients[name].back()
    world.wait(1)
    world.ask("guest-2", "subscribe", ALL)
    world.ask("guest-2", "advertise", AgventType(name="Book"))
    world.wait(2)
    tables = world.brokers["B1"].broker.tables
    assert {*tables.deliveries.clients} == {"p", "guest-1", "guest-2"}
    for name in ("guest-1", "guest-2"):
        world.clients[name].leave()
    world.wait(60)
    assert [*tables.deliveries.clients] == ["p", "guest-2"]
    publish(world, 2)
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].restart()
    tables = world.brokers["B1"].broker.tables
    world.wait(limits.GUEST_WAIT_US / 1e6 + 10)
    assert [*tables.deliveries.clients] == ["p"]
    assert not tables.local.current
    assert tables.advertisements.found("") == ()


def test_a_guest_that_was_forgotten_is_told_what_was_published() -> None:
    """Its link broke before the acknowledgement, and it comes back as another client: the event is its own."""
    world = star()
    world.attach("guest-1", "B1")
    world.clients["guest-1"].leave()
    world.clients["guest-1"].session = Session("guest-1", guest=True)
    world.clients["guest-1"].back()
    world.wait(1)
    world.network.paths["B1", "guest-1"].cut = True
    publish(world, 1, "guest-1")
    world.clients["guest-1"].leave()
    world.wait(60)
    assert "guest-1" not in world.brokers["B1"].broker.tables.deliveries.clients
    world.mend("B1", "guest-1")
    world.clients["guest-1"].back()
    world.wait(5)
    publish(world, 1, "guest-1")
    told = [one.message for one in world.history.told if one.client == "guest-1"]
    assert [one.sequence for one in told if isinstance(one, Published)] == [1, 2]
    assert not [one for one in told if isinstance(one, Refused)]
