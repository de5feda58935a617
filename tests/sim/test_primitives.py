"""The primitives of ABDES §4, and its five styles of subscription, through a line of three brokers without a fault."""

from __future__ import annotations

from typing import Any

import pytest

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.types import AgventType
from agvent.wire.client_messages import Advertised, AdvertisementsFound, Done, Gap, Refused, Subscribed, TypeGone
from agvent.wire.messages import AnyMessage
from tests.sim.watched import SECOND, Watched

ITEM = AgventType(name="Item")
BOOK = AgventType(name="Book", ancestors=("Item",), description="A new book.")


def line() -> Watched:
    """A publisher at B1, subscribers at B3; B2 is between them."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    for client, home in (("p", "B1"), ("ada", "B3"), ("ben", "B3")):
        world.attach(client, home)
    world.wait(1)
    return world


def told(world: Watched, client: str, *kinds: type[AnyMessage]) -> list[AnyMessage]:
    return [one.message for one in world.history.told if one.client == client and isinstance(one.message, kinds)]


def test_advertise_reaches_everybody_and_says_who_answered() -> None:
    """`advertise` returns when every broker has considered it; each has the type in its table."""
    world = line()
    request = world.ask("p", "advertise", BOOK)
    world.wait(1)
    assert told(world, "p", Advertised) == [Advertised(request, ("B2", "B3"), ())]
    assert {node.broker.tables.advertisements.found("") for node in world.brokers.values()} == {(("B1", "p", BOOK),)}


def test_the_advertisement_list_is_all_or_by_type() -> None:
    """A subscriber gets the list of types, all or those of a type and its subtypes."""
    world = line()
    world.ask("p", "advertise", BOOK)
    world.ask("p", "advertise", AgventType(name="Tape"))
    world.wait(1)
    everything = world.ask("ada", "get_advertisements")
    items = world.ask("ada", "get_advertisements", "Item")
    world.wait(1)
    answers = {
        one.request: one.found
        for one in told(world, "ada", AdvertisementsFound)
        if isinstance(one, AdvertisementsFound)
    }
    assert [type.name for _, _, type in answers[everything]] == ["Book", "Tape"]
    assert answers[items] == (("B1", "p", BOOK),)


def test_subscribe_says_since_which_epoch_each_entry_has_it() -> None:
    """`subscribe` returns when every advertising broker holds it, with that broker's epoch; others do not hold it."""
    world = line()
    world.ask("p", "advertise", BOOK)
    world.wait(1)
    request = world.ask("ada", "subscribe", Subscription(id="s", type="Book"))
    world.wait(1)
    interests = world.brokers["B1"].broker.tables.interests
    own = world.brokers["B3"].broker.tables.interests.epoch
    assert told(world, "ada", Subscribed) == [Subscribed(request, {"B3": own, "B1": interests.epoch}, ())]
    assert interests.homes["B3"].roots == {"ada/s": 1}
    middle = world.brokers["B2"].broker.tables.interests.homes
    assert "B3" not in middle or middle["B3"].roots == {}


def test_a_later_advertisement_pulls_the_subscriptions_that_are_there() -> None:
    """Time decoupling: a subscription made before anybody publishes its type receives what is published later."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="s", type="Item"))
    world.wait(1)
    world.ask("p", "advertise", BOOK)
    world.wait(1)
    world.ask("p", "publish", Event(type="Book", ancestors=("Item",)))
    world.wait(1)
    assert world.delivered("ada") == [(1, ("s",))]


def test_an_event_may_come_before_the_answer_to_its_advertisement() -> None:
    """A subscription whose position its entry has is in force there, though its filter comes only with the answer."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="s", type="Item"))
    world.ask("ben", "subscribe", Subscription(id="s", channel=7))  # brings the position of both to B1
    world.wait(1)
    world.ask("p", "advertise", BOOK)
    world.ask("p", "publish", Event(type="Book", ancestors=("Item",)))
    world.wait(1)
    assert (world.delivered("ada"), world.delivered("ben")) == ([(1, ("s",))], [])


@pytest.mark.parametrize(
    ("wanted", "wanted_not", "event"),
    [
        ({"channel": 42}, {"channel": 43}, {"channel": 42}),
        ({"pattern": "Sports/#"}, {"topic": "Sports/NHL"}, {"topic": "Sports/NBA"}),
        ({"filter": "price > 10"}, {"filter": "price > 20"}, {"attributes": {"price": 15}}),
        ({"type": "Item"}, {"type": "Tape"}, {"type": "Book", "ancestors": ("Item",)}),
        ({"filter": "is_dear(10)"}, {"filter": "is_dear(20)"}, {"attributes": {"price": 15}}),
    ],
    ids=["channel", "topic", "content", "type", "agent"],
)
def test_the_five_styles_take_the_same_path(
    wanted: dict[str, Any], wanted_not: dict[str, Any], event: dict[str, Any]
) -> None:
    """Channel, topic, content, type and behaviour (ABDES table 1): who asked for it gets it, who did not does not."""
    world = line()
    world.ask("p", "advertise", BOOK)
    world.ask("ada", "subscribe", Subscription(id="s", **wanted))
    world.ask("ben", "subscribe", Subscription(id="s", **wanted_not))
    world.wait(1)
    world.ask("p", "publish", agvent(Event(**event)))
    world.wait(1)
    assert (world.delivered("ada"), world.delivered("ben")) == ([(1, ("s",))], [])


def test_several_subscriptions_of_a_client_are_one_delivery() -> None:
    """An event that two subscriptions of a client match comes once and names both."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="a", filter="price > 1"))
    world.ask("ada", "subscribe", Subscription(id="b", filter="price > 2"))
    world.wait(1)
    world.ask("p", "publish", Event(attributes={"price": 3}))
    world.wait(1)
    assert world.delivered("ada") == [(1, ("a", "b"))]


def test_unsubscribe_ends_deliveries() -> None:
    """After `unsubscribe` has returned nothing comes any more, and the entry sends nothing that way."""
    world = line()
    world.ask("p", "publish", Event())  # every broker hears that events without a type enter there
    world.wait(1)
    world.hops.clear()
    world.ask("ada", "subscribe", Subscription(id="s"))
    world.wait(1)
    request = world.ask("ada", "unsubscribe", "s")
    world.wait(1)
    world.ask("p", "publish", Event())
    world.wait(1)
    assert told(world, "ada", Done) == [Done(request)]
    assert world.delivered("ada") == []
    assert world.hops == []


def test_the_last_publisher_of_a_type_is_missed() -> None:
    """NotifyUnadvertisement: sent when the last publisher of a type and its subtypes goes, not before."""
    world = line()
    world.ask("p", "advertise", BOOK)
    world.ask("ben", "advertise", ITEM)
    world.ask("ada", "subscribe", Subscription(id="s", type="Item"))
    world.wait(1)
    world.ask("p", "unadvertise", "Book")
    world.wait(1)
    assert told(world, "ada", TypeGone) == []
    world.ask("ben", "unadvertise", "Item")
    world.wait(1)
    assert told(world, "ada", TypeGone) == [TypeGone("Item")]


def test_a_tombstone_is_a_name_and_there_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a type that was taken back brokers keep no more than its name. A publisher has so many names at a broker, and
    may use each again."""
    monkeypatch.setattr(limits, "PUBLISHER_TYPES_MAX", 3)
    world = line()
    for number in (1, 2, 3, 1, 4):
        world.ask("p", "advertise", AgventType(name=f"T{number}", description="d" * 1_000, ancestors=("Thing",)))
        world.wait(1)
        world.ask("p", "unadvertise", f"T{number}")
        world.wait(1)
    entries = [
        entry for owned in world.brokers["B3"].broker.tables.advertisements.snapshot() for entry in owned.entries
    ]
    assert [(entry.type, entry.live) for entry in entries] == [(AgventType(name=f"T{n}"), False) for n in (1, 2, 3)]
    reasons = [message.reason for message in told(world, "p", Refused) if isinstance(message, Refused)]
    assert reasons == ["'p' has advertised 3 types here"]


def test_who_is_away_misses_the_last_publisher_when_it_is_back() -> None:
    """Once, of the types that it still asks for and that nobody publishes again."""
    world = line()
    for type in ("Book", "Film", "Song"):
        world.ask("p", "advertise", AgventType(name=type))
        world.ask("ada", "subscribe", Subscription(id=type, type=type))
    world.wait(1)
    world.clients["ada"].leave()
    world.wait(5)
    for type in ("Book", "Film", "Song"):
        world.ask("p", "unadvertise", type)
    world.wait(1)
    world.ask("p", "advertise", AgventType(name="Film"))
    world.wait(1)
    for _ in range(2):
        world.clients["ada"].back()
        world.wait(2)
        world.clients["ada"].leave()
        world.wait(5)
    assert told(world, "ada", TypeGone) == [TypeGone("Book"), TypeGone("Song")]


def test_a_type_that_was_not_advertised_cannot_be_published() -> None:
    """The publisher is told, and its next event goes through."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="s"))
    world.wait(1)
    world.ask("p", "publish", Event(type="Book"))
    world.ask("p", "publish", Event())
    world.wait(1)
    assert told(world, "p", Refused) == [Refused(0, 1, "'p' has not advertised the type 'Book'")]
    assert world.delivered("ada") == [(2, ("s",))]


def test_an_event_is_of_the_supertypes_that_were_advertised() -> None:
    """Nobody who advertised nothing of the kind can publish to the subscribers of a supertype."""
    world = line()
    world.ask("p", "advertise", AgventType(name="Book"))
    world.wait(1)
    world.ask("p", "publish", Event(type="Book", ancestors=("Item",)))
    world.wait(1)
    assert told(world, "p", Refused) == [Refused(0, 1, "'Book' was not advertised as a subtype of 'Item'")]


def test_a_publisher_chooses_among_subscribers_by_their_context() -> None:
    """Double side filtering: `to` is judged by the context each subscription has when the event enters."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="s", context={"floor": 3}))
    world.ask("ben", "subscribe", Subscription(id="s", context={"floor": 4}))
    world.wait(1)
    world.ask("p", "publish", Event(), to="floor = 3")
    world.wait(1)
    world.ask("ben", "subscribe", Subscription(id="s", context={"floor": 3}))
    world.wait(1)
    world.ask("p", "publish", Event(), to="floor = 3")
    world.wait(1)
    assert (world.delivered("ada"), world.delivered("ben")) == ([(1, ("s",)), (2, ("s",))], [(2, ("s",))])


def test_an_event_may_name_its_destinations() -> None:
    """Of the subscribers it matches, an event with explicit destinations reaches those alone."""
    world = line()
    for client in ("ada", "ben"):
        world.ask(client, "subscribe", Subscription(id="s"))
    world.wait(1)
    world.ask("p", "publish", Event(), destinations=("ben",))
    world.wait(1)
    assert (world.delivered("ada"), world.delivered("ben")) == ([], [(1, ("s",))])


def test_an_expired_event_is_not_delivered() -> None:
    """What expires while its subscriber is away becomes a gap notice; what comes after it is delivered."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="s"))
    world.wait(1)
    world.clients["ada"].leave()
    world.ask("p", "publish", Event(), expires=world.now + SECOND)
    world.ask("p", "publish", Event())
    world.wait(5)
    world.clients["ada"].back()
    world.wait(3)
    assert world.delivered("ada") == [(2, ("s",))]
    [gap] = told(world, "ada", Gap)
    assert isinstance(gap, Gap)
    assert (gap.first, gap.last, gap.reason) == (1, 1, "expired")


def test_covered_subscriptions_stay_at_home() -> None:
    """Of two subscriptions of one home only the coverer is at the entry; when it goes the other takes its place."""
    world = line()
    world.ask("ada", "subscribe", Subscription(id="wide", filter="price > 10"))
    world.ask("ben", "subscribe", Subscription(id="narrow", filter="price > 20"))
    world.wait(1)
    home = world.brokers["B1"].broker.tables.interests.homes["B3"]
    assert home.roots == {"ada/wide": 1}
    epoch = world.brokers["B1"].broker.tables.interests.epoch
    world.ask("ada", "unsubscribe", "wide")
    world.wait(1)
    assert home.roots == {"ben/narrow": 1}
    assert world.brokers["B1"].broker.tables.interests.epoch == epoch + 1
    world.ask("p", "publish", Event(attributes={"price": 25}))
    world.wait(1)
    assert (world.delivered("ada"), world.delivered("ben")) == ([], [(1, ("narrow",))])
