"""The client against a broker on a real socket and a real disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from agvent import Event, connect, decode_event, limits
from agvent.broker.clients.clients import Clients
from agvent.errors import CallerError, EventError, FilterError, NetworkFault, RefusedError
from agvent.event import EventId
from agvent.filters.subscription import Subscription
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Batch, Delivery, GapNotice
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.publications import Publications
from agvent.net.client.receipts import Receipt
from agvent.net.fleet.fleet import free_ports
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import Address, address_of
from agvent.net.link.dial import ask
from agvent.net.server.config import Config
from agvent.net.server.server import BrokerServer
from agvent.types import AdvertisedAttribute, AgventType
from agvent.wire.client_messages import Refused
from agvent.wire.host_messages import Invoke
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import BehaviourCall

BOOK = AgventType(name="Book", attributes=(AdvertisedAttribute("pages", "int"),), ancestors=("Item",))


@pytest.fixture
def url() -> Iterator[str]:
    with local_broker() as url:
        yield url


async def take(subscription: OpenSubscription, count: int) -> list[Delivery]:
    """That many deliveries, each acknowledged."""
    found: list[Delivery] = []
    async with asyncio.timeout(120):
        while len(found) < count:
            item = await anext(subscription)
            assert isinstance(item, Delivery)
            item.acknowledge()
            found.append(item)
    return found


async def status(url: str) -> dict[str, Any]:
    found: dict[str, Any] = await ask(address_of(url), "status")
    return found


def test_an_event_reaches_whoever_asked_for_it(url: str) -> None:
    """Values keep their kinds; what does not match does not come."""

    async def story() -> None:
        async with connect(url, name="ada") as ada, connect(url) as guest:
            dear = await ada.subscribe("price > 100", pattern="market/#")
            event = Event(
                topic="market/nyse",
                time=datetime(2026, 3, 1, tzinfo=UTC),
                attributes={"price": 120.5, "raw": b"\0", "tags": ["a", 1, None]},
            )
            await guest.publish({"$topic": "market/nyse", "price": 99})
            receipt = await guest.publish(event)
            [delivery] = await take(dear, 1)
            assert (delivery.id, delivery.subscription, delivery.fast) == (receipt.id, "s1", False)
            assert delivery.event.attributes == event.attributes
            assert (delivery.event.topic, delivery.event.time, delivery.event.id) == (
                event.topic,
                event.time,
                receipt.id,
            )

    asyncio.run(story())


def test_a_batch_is_published_in_order_and_as_fast_as_credit_allows(url: str) -> None:
    """More events than credit, window and unacknowledged publications may have: all arrive, in order, once."""

    async def story() -> None:
        async with connect(url) as client:
            everything = await client.subscribe()
            publishing = asyncio.create_task(client.publish_batch([{"n": n} for n in range(3_000)]))
            found = await take(everything, 3_000)
            assert [one.event.attributes["n"] for one in found] == list(range(3_000))
            receipts = await publishing
            assert [one.id for one in receipts] == [one.id for one in found]

    asyncio.run(story())


def test_what_came_together_is_taken_together(url: str) -> None:
    """The same events in the same order; asking for the next batch acknowledges the last, event by event if wanted."""

    async def first() -> list[int]:
        async with connect(url, name="ada") as ada, connect(url, name="ben") as ben:
            odd = await ada.subscribe("odd = TRUE", id="odd")
            await ben.publish_batch([{"n": n, "odd": n % 2 == 1} for n in range(2_000)])
            await ben.publish(Event(attributes={"n": 2_001, "odd": True, "raw": b"\0"}))
            await ben.publish_batch([{"n": n, "odd": True} for n in (2_003, 2_005, 2_007)])
            seen: list[int] = []
            async for batch in odd.batches():
                assert isinstance(batch, Batch)
                numbers = [event.attributes["n"] for event in batch.events]
                assert len(batch) == len(batch.deliveries) == len(numbers)
                lines = batch.json_lines
                if lines is None:
                    assert numbers == [2_001]
                else:
                    assert [decode_event(line).attributes["n"] for line in lines.splitlines()] == numbers
                seen += numbers
                if seen[-1] == 2_007:
                    batch.deliveries[0].acknowledge()
                    return seen
        raise AssertionError("the subscription ended")

    async def second() -> list[int]:
        async with connect(url, name="ada") as ada:
            odd = await ada.subscribe("odd = TRUE", id="odd")
            one = await anext(odd)  # one by one, and then the rest of what came with it
            assert isinstance(one, Delivery)
            async for batch in odd.batches():
                assert isinstance(batch, Batch)
                return [one.event.attributes["n"], *(event.attributes["n"] for event in batch.events)]
        raise AssertionError("the subscription ended")

    assert asyncio.run(first()) == [*range(1, 2_000, 2), 2_001, 2_003, 2_005, 2_007]
    assert asyncio.run(second()) == [2_005, 2_007]


def test_a_batch_for_two_subscriptions_is_acknowledged_by_both(url: str) -> None:
    """Each takes its own part of what came; when both are done, nothing comes again."""

    async def story() -> None:
        async with connect(url, name="ada") as ada, connect(url, name="ben") as ben:
            low, high = await ada.subscribe("n < 6", id="low"), await ada.subscribe("n > 3", id="high")
            await ben.publish_batch([{"n": n} for n in range(10)])
            parts = []
            for one in (low, high):
                batch = await anext(one.batches())
                assert isinstance(batch, Batch)
                batch.acknowledge()
                batch.acknowledge()
                parts.append([event.attributes["n"] for event in batch.events])
            assert parts == [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9]]
            async with asyncio.timeout(30):
                while (await status(url))["clients"][0]["queued"]:
                    pass

    asyncio.run(story())


def test_several_subscriptions_are_read_in_one_loop(url: str) -> None:
    """What comes to any of them comes there, and says which it is for; one that ends leaves the others."""

    async def story() -> None:
        async with connect(url) as client:
            low = await client.subscribe("n < 2", id="low")
            high = await client.subscribe("n > 0", id="high", into=low)
            await client.publish_batch([{"n": n} for n in range(3)])
            found = await take(low, 4)
            assert sorted((one.event.attributes["n"], one.subscription) for one in found) == [
                (0, "low"), (1, "high"), (1, "low"), (2, "high"),
            ]  # fmt: skip
            await client.unsubscribe(high)
            await client.publish_batch([{"n": n} for n in range(3)])
            assert [one.event.attributes["n"] for one in await take(low, 2)] == [0, 1]

    asyncio.run(story())


def test_rows_of_arrow_are_events(url: str) -> None:
    """Columns are attributes and reserved names what they say; a null is not there."""
    columns = {"$topic": ["a", "b", None], "n": [1, None, 3], "tags": [["x"], [], None]}

    async def story() -> None:
        async with connect(url) as client:
            everything = await client.subscribe()
            for events in (pyarrow.record_batch(columns), pyarrow.table(columns)):
                receipts = await client.publish_batch(events)
                found = await take(everything, 3)
                assert [one.id for one in found] == [one.id for one in receipts[:]]
                assert [(one.event.topic, one.event.attributes) for one in found] == [
                    ("a", {"n": 1, "tags": ["x"]}),
                    ("b", {"tags": []}),
                    (None, {"n": 3}),
                ]

    asyncio.run(story())


def test_a_request_with_a_value_that_no_message_has_is_refused_alone(url: str) -> None:
    """What else was asked in the same turn of the loop is answered, and so is what comes after it."""

    async def strange(client: Client) -> AnyMessage:
        return await client._answer(
            client._session.ask_host(
                Invoke(request=0, publisher="ada", sequence=1, fast=False, call=BehaviourCall("f", (2**70,)))
            )
        )

    async def story() -> None:
        async with connect(url) as client, asyncio.timeout(20):
            refused, receipt, found = await asyncio.gather(
                strange(client), client.publish({"n": 1}), client.types(), return_exceptions=True
            )
            assert isinstance(refused, CallerError)
            assert "it has a value that cannot be sent" in refused.message
            assert isinstance(receipt, Receipt)
            assert found == []
            assert (await client.publish({"n": 2})).id == EventId(client.name, 2)

    asyncio.run(story())


def test_batches_that_are_published_at_once_have_their_own_receipts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither has those of the other, though another's turn comes before each chunk, as when agvents are sealed."""
    made = Publications._made

    async def slowly(publications: Publications, *given: Any) -> Any:
        await asyncio.sleep(0)
        return await made(publications, *given)

    monkeypatch.setattr(Publications, "_made", slowly)

    async def story() -> None:
        async with connect(url) as client:
            sizes = (3 * limits.BATCH_EVENTS_MAX, 2 * limits.BATCH_EVENTS_MAX, 1)
            batches = [client.publish_batch([{"of": of}] * size) for of, size in enumerate(sizes)]
            given = await asyncio.gather(*batches)
            ids = [{receipt.id for receipt in receipts} for receipts in given]
            assert [len(one) for one in ids] == [len(receipts) for receipts in given] == list(sizes)
            assert len(set.union(*ids)) == sum(sizes)

    asyncio.run(story())


def test_a_fast_event_waits_for_no_disk(url: str) -> None:
    """Fast events arrive beyond the window too, and have sequences of their own."""

    async def story() -> None:
        async with connect(url) as client:
            everything = await client.subscribe()
            assert (await client.publish({"n": -1})).id.sequence == 1
            publishing = asyncio.create_task(client.publish_batch([{"n": n} for n in range(300)], fast=True))
            found = await take(everything, 301)
            assert [one.id.sequence for one in found if one.fast] == list(range(1, 301))
            await publishing

    asyncio.run(story())


def test_what_is_not_acknowledged_comes_again_to_the_next_process(url: str) -> None:
    """A client that ends without acknowledging gets it when it is back; what it acknowledged it does not."""

    async def first() -> None:
        async with connect(url, name="ada") as ada, connect(url) as guest:
            subscription = await ada.subscribe(id="all")
            await guest.publish_batch([{"n": n} for n in range(3)])
            await take(subscription, 1)
            await anext(subscription)

    async def second() -> list[int]:
        async with connect(url, name="ada") as ada:
            found = await take(await ada.subscribe(id="all"), 2)
            return [one.event.attributes["n"] for one in found]

    asyncio.run(first())
    assert asyncio.run(second()) == [1, 2]


def test_asking_for_the_next_acknowledges_the_last(url: str) -> None:
    """In a loop nothing has to be said; the one that the loop ended with is not acknowledged."""

    async def story() -> None:
        async with connect(url, name="ada") as ada:
            subscription = await ada.subscribe(id="all")
            await ada.publish_batch([{"n": n} for n in range(5)])
            async for delivery in subscription:
                if delivery.id.sequence == 4:  # type: ignore[union-attr]
                    break
        [client] = (await status(url))["clients"]
        assert (client["client"], client["queued"], client["delivered"]) == ("ada", 2, 3)

    asyncio.run(story())


def test_guests_that_went_are_no_clients(url: str) -> None:
    """Of a home that would have them for ever, and count them."""

    async def story() -> None:
        for _ in range(3):
            async with connect(url) as guest:
                await guest.publish({"n": 1})
                await guest.subscribe("n > 1")
        async with asyncio.timeout(10):
            while (await status(url))["clients"]:
                pass

    asyncio.run(story())


def test_a_guest_leaves_nothing_behind(url: str) -> None:
    """Its subscriptions and advertisements end with it."""

    async def story() -> None:
        async with connect(url) as guest:
            await guest.subscribe("a = 1")
            await guest.advertise(BOOK)
            assert (await status(url))["subscriptions"] == 1
        async with connect(url) as other:
            async with asyncio.timeout(10):
                while (await status(url))["subscriptions"] or await other.types():
                    pass

    asyncio.run(story())


def test_types_say_who_publishes_what(url: str) -> None:
    """By type or supertype; an event of a type that was not advertised is refused, the others of its batch are not."""

    async def story() -> None:
        async with connect(url, name="acme") as acme:
            answer = await acme.advertise(BOOK)
            assert (answer.confirmed, answer.pending) == ((), ())
            for asked in ("", "Book", "Item"):
                [found] = await acme.types(asked)
                assert (found.broker, found.publisher, found.type) == ("local", "acme", BOOK)
            assert await acme.types("Tape") == []
            books = await acme.subscribe("pages > 100", type="Item")
            with pytest.raises(RefusedError, match="rejected 1: 'acme' has not advertised the type 'Tape'") as raised:
                await acme.publish_batch(
                    [{"$type": ["Book", "Item"], "pages": 200}, {"$type": "Tape"}, {"$type": "Book", "pages": 1}]
                )
            assert list(raised.value.reasons) == [1]
            assert [one.id.sequence for one in raised.value.receipts] == [1, 3]
            assert [one.id.sequence for one in await take(books, 1)] == [1]
            await acme.unadvertise("Book")
            assert await acme.types() == []

    asyncio.run(story())


def test_publishers_filter_by_the_subscribers_context(url: str) -> None:
    """`to=` is asked of each subscriber's context, which may change; `destinations` names clients."""

    async def story() -> None:
        async with connect(url, name="ada", context={"floor": 3}) as ada, connect(url, name="ben") as ben:
            of_ada, of_ben = await ada.subscribe(), await ben.subscribe()
            await ben.publish({"n": 1}, to="floor = 3")
            await ben.publish({"n": 2}, destinations=["ben"])
            await ada.set_context({"floor": 4})
            await ben.publish({"n": 3}, to="floor = 3")
            await ben.publish({"n": 4})
            assert [one.event.attributes["n"] for one in await take(of_ada, 2)] == [1, 4]
            assert [one.event.attributes["n"] for one in await take(of_ben, 2)] == [2, 4]

    asyncio.run(story())


def test_one_event_for_two_subscriptions_is_acknowledged_by_both(url: str) -> None:
    """It comes once to each, and counts as received when both are done with it."""

    async def story() -> None:
        async with connect(url, name="ada") as ada:
            low, high = await ada.subscribe("n > 0", id="low"), await ada.subscribe("n > 1", id="high")
            await ada.publish({"n": 2})
            await take(low, 1)
            assert (await status(url))["clients"][0]["queued"] == 1
            await take(high, 1)
            async with asyncio.timeout(10):
                while (await status(url))["clients"][0]["queued"]:
                    pass

    asyncio.run(story())


def test_unsubscribing_ends_the_iteration(url: str) -> None:
    """What waited is void; later events do not come."""

    async def story() -> None:
        async with connect(url) as client:
            subscription = await client.subscribe()
            await client.publish_batch([{"n": n} for n in range(3)])
            await anext(subscription)
            await client.unsubscribe(subscription)
            await client.publish({"n": 3})
            assert [item async for item in subscription] == []

    asyncio.run(story())


def test_what_an_ended_subscription_was_owed_waits_for_nobody(url: str) -> None:
    """Not for the next process, which has another one open; nor for one of the same name that is opened later."""

    async def story() -> None:
        async with connect(url, name="ben") as ben:
            for id in ("a", "b"):
                await ben.subscribe("n > 0", id=id)
            await ben.publish_batch([{"n": n} for n in range(3)])
            await ben.publish({"n": 3})
        async with connect(url, name="ben") as ben:
            await ben.unsubscribe("b")
        async with connect(url, name="ben") as ben:
            again = await ben.subscribe("n > 0", id="a")
            assert [one.event.attributes["n"] for one in await take(again, 3)] == [1, 2, 3]
        async with connect(url, name="ben") as ben:
            assert (await status(url))["clients"][0]["queued"] == 0
            again = await ben.subscribe("n > 0", id="a")
            await ben.publish({"n": 4})
            assert (await anext(again)).event.attributes["n"] == 4  # type: ignore[union-attr]
            await ben.unsubscribe(again)
            again = await ben.subscribe("n > 0", id="a")
            await ben.publish({"n": 5})
            assert [one.event.attributes["n"] for one in await take(again, 1)] == [5]

    asyncio.run(story())


def test_a_reader_that_ended_what_it_did_not_read_goes_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone or in a loop with others, what an ended subscription left unread takes no room in the window."""
    monkeypatch.setattr(limits, "DELIVERY_WINDOW", 8)

    async def story() -> None:
        async with connect(url, name="ben") as ben:
            kept = await ben.subscribe("n = 11", id="kept")
            for id, into in (("old", None), ("shared", kept)):
                old = await ben.subscribe("n < 12", id=id, into=into)
                for n in range(12):
                    await ben.publish({"n": n})
                await ben.unsubscribe(old)
            await ben.publish({"n": 11})
            assert [(one.id.sequence, one.subscription) for one in await take(kept, 3)] == [
                (12, "kept"), (24, "kept"), (25, "kept"),
            ]  # fmt: skip
            async with asyncio.timeout(10):
                while (await status(url))["clients"][0]["queued"]:
                    pass

    asyncio.run(story())


def test_mistakes_are_the_callers(url: str) -> None:
    """A filter that cannot be read, a name that cannot be one, an event that is none: before anything is sent."""

    async def story() -> None:
        async with connect(url) as client:
            with pytest.raises(FilterError):
                await client.subscribe("price >> 1")
            with pytest.raises(CallerError, match="cannot name an attribute"):
                await client.publish(Event(attributes={"$x": 1}))

    with pytest.raises(CallerError, match="cannot be a name"):
        connect(url, name="a/b")
    asyncio.run(story())


def test_a_client_that_no_broker_has_is_told_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it connects."""
    monkeypatch.setattr(Clients, "_has_room", lambda *_: False)

    async def story() -> None:
        async with asyncio.timeout(20), connect(url, name="ada"):
            raise AssertionError("it is attached")

    with pytest.raises(CallerError, match="moved back before it took"):
        asyncio.run(story())


def test_what_no_broker_will_acknowledge_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is turned away for good: what it published and what it asked, before and after, and where it waits for
    room."""

    async def story() -> None:
        async with asyncio.timeout(20), connect(url, name="ada") as ada:
            ada._session.credit = 0
            waiting = [asyncio.create_task(ada.publish({"n": n})) for n in range(3)]
            await asyncio.sleep(0.1)
            ada._connection.give_up("the token expired")
            for one in waiting:
                with pytest.raises(CallerError, match="the token expired; no broker has acknowledged"):
                    await one
            with pytest.raises(CallerError, match="the token expired"):
                await ada.publish({"n": 4})
            with pytest.raises(CallerError, match="the token expired"):
                await ada.advertise("Book")
            monkeypatch.setattr(limits, "CLIENT_UNACKNOWLEDGED_MAX", 1)
            with pytest.raises(CallerError, match="the token expired"):
                await ada.publish({"n": 5})

    asyncio.run(story())


def test_whoever_reads_is_told_that_the_client_was_turned_away(url: str) -> None:
    """When what had come was given."""

    async def story() -> None:
        async with asyncio.timeout(20), connect(url, name="ada") as ada, connect(url) as guest:
            wanted = await ada.subscribe("n > 0")
            await guest.publish({"n": 1})
            await wanted._came.wait()
            ada._connection.give_up("the token expired")
            assert isinstance(await anext(wanted), Delivery)
            with pytest.raises(CallerError, match="the token expired"):
                await anext(wanted)

    asyncio.run(story())


def test_a_second_process_of_a_name_takes_its_place(url: str) -> None:
    """The first is told who came, and does not come back."""

    async def story() -> None:
        async with asyncio.timeout(20), connect(url, name="ada") as first:
            wanted = await first.subscribe("n > 0", id="all")
            async with connect(url, name="ada") as second:
                with pytest.raises(CallerError, match="another process of the name 'ada' has come"):
                    await anext(wanted)
                again = await second.subscribe("n > 0", id="all")
                await second.publish({"n": 1})
                assert len(await take(again, 1)) == 1
            assert "another process" in first.last_error

    asyncio.run(story())


def test_a_subscription_without_an_id_takes_nobodys_place(url: str) -> None:
    async def story() -> list[str]:
        async with connect(url) as client:
            first, second = await client.subscribe("n > 0"), await client.subscribe("n > 10")
            await client.unsubscribe(first)
            third = await client.subscribe("n > 100")
            assert second.subscription.filter == "n > 10"
            return [one.subscription.id for one in (first, second, third)]

    assert asyncio.run(story()) == ["s1", "s2", "s3"]


def test_a_change_that_is_refused_changes_nothing(url: str) -> None:
    """The subscription stands here as it stands there; one that was never open is not."""

    async def story() -> None:
        async with asyncio.timeout(20), connect(url, name="ada") as ada:
            wanted = await ada.subscribe("n > 0", id="x")
            long = "y" * (limits.SUBSCRIBED_ID_CHARS_MAX + 1)
            with pytest.raises(CallerError, match="characters"):
                await ada.subscribe("n > 0", id=long)
            assert long not in {*ada._dispatch.open, *ada._session.subscriptions}
            request = ada._session.subscribe(Subscription(id="x", filter="n > 5"))
            ada._session.receive(Refused(request, 0, "denied"))
            assert ada._session.subscriptions["x"].subscription.filter == "n > 0"
            await ada.publish({"n": 9})
            assert len(await take(wanted, 1)) == 1

    asyncio.run(story())


def test_a_subscription_that_was_given_up_can_be_asked_for_again(tmp_path: Path) -> None:
    """Its broker was away when it was asked for first."""

    def broker(port: int) -> BrokerServer:
        config = Config(name="B1", listen=Address("127.0.0.1", port), data=tmp_path, neighbours={}, tls=None)
        return BrokerServer(config, write=lambda _: None)

    async def story() -> None:
        server = broker(0)
        await server.start()
        port = server.port
        async with asyncio.timeout(30), connect(f"127.0.0.1:{port}", name="ada") as ada:
            await server.stop()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await ada.subscribe("n > 0", id="x")
            server = broker(port)
            await server.start()
            assert (await ada.subscribe("n > 0", id="x")).subscription.id == "x"
        await server.stop()

    asyncio.run(story())


def test_a_batch_says_how_much_of_it_went_out(url: str) -> None:
    """An event that is none ends it where it stands; of its own chunk nothing is published."""

    async def story() -> int:
        async with asyncio.timeout(30), connect(url, name="ada") as ada:
            good = [{"n": n} for n in range(limits.BATCH_EVENTS_MAX + 10)]
            with pytest.raises(EventError, match="object") as told:
                await ada.publish_batch([*good, {"n": object()}])
            assert (
                told.value.hint == f"the first {limits.BATCH_EVENTS_MAX:,} events were published, the others were not"
            )
            return ada.last_sequence

    assert asyncio.run(story()) == limits.BATCH_EVENTS_MAX


def test_a_client_that_is_closed_says_so(url: str) -> None:
    async def story() -> None:
        async with connect(url, name="ada") as ada:
            wanted = await ada.subscribe("n > 0")
        async with asyncio.timeout(10):
            for call in (ada.publish({"n": 1}), ada.types(), ada.subscribe("n > 1", id="z")):
                with pytest.raises(CallerError, match="the client is closed"):
                    await call
            assert [item async for item in wanted] == []

    asyncio.run(story())
    with connect(url, name="ben") as ben:
        pass
    with pytest.raises(CallerError, match="the client is closed"):
        ben.publish({"n": 1})


def test_no_broker_is_a_network_fault() -> None:
    """The message names each address that was tried."""
    [port] = free_ports(1)

    async def story() -> None:
        async with connect(f"127.0.0.1:{port},localhost:{port}"):
            pass

    with pytest.raises(NetworkFault, match=f"no broker can be reached: 127.0.0.1:{port}: .*; localhost:{port}: "):
        asyncio.run(story())


def test_a_restarted_broker_finds_its_clients_again(tmp_path: Path) -> None:
    """A client outlives its broker: what it asks meanwhile is answered when the broker is back."""
    [port] = free_ports(1)

    async def story(ada: Client, subscription: OpenSubscription) -> None:
        async with asyncio.timeout(20):
            assert (await ada.publish({"n": 2})).id.sequence == 2
            assert [one.event.attributes["n"] for one in await take(subscription, 2)] == [1, 2]

    async def whole() -> None:
        first = local_broker(data=tmp_path, port=port)
        url = await asyncio.to_thread(first.__enter__)
        async with connect(url, name="ada") as ada:
            subscription = await ada.subscribe()
            await ada.publish({"n": 1})
            await asyncio.to_thread(first.__exit__, None, None, None)
            telling = asyncio.create_task(story(ada, subscription))
            second = local_broker(data=tmp_path, port=port)
            await asyncio.to_thread(second.__enter__)
            await telling
            await asyncio.to_thread(second.__exit__, None, None, None)

    asyncio.run(whole())


def test_a_client_whose_home_stays_away_goes_to_another_broker() -> None:
    """It says its subscriptions there, and its caller gets a notice that something may be missing."""

    async def story(home: str, other: str, leave: Any) -> None:
        async with connect(f"{home},{other}", name="ada", failover_s=0.2) as ada:
            subscription = await ada.subscribe()
            await ada.publish({"n": 1})
            assert [one.event.attributes["n"] for one in await take(subscription, 1)] == [1]
            assert ada.broker == "B1"
            await asyncio.to_thread(leave.__exit__, None, None, None)
            assert (await ada.publish({"n": 2})).entry == "B2"
            notice = await anext(subscription)
            assert isinstance(notice, GapNotice)
            assert (notice.reason, notice.publisher) == ("moved", "")
            assert [one.event.attributes["n"] for one in await take(subscription, 1)] == [2]

    with local_broker("B2") as other:
        leaving = local_broker("B1")
        home = leaving.__enter__()

        async def before() -> None:
            async with connect(home, name="ada"):
                pass

        asyncio.run(before())
        asyncio.run(story(home, other, leaving))


def test_a_script_needs_no_loop(url: str) -> None:
    """The same calls, each of which waits; iteration too."""
    with connect(url, name="ada", context={"floor": 3}) as ada:
        subscription = ada.subscribe("n > 1")
        ada.advertise("Book")
        assert [one.type.name for one in ada.types()] == ["Book"]
        ada.publish_batch([{"n": n} for n in range(4)])
        ada.publish({"n": 9}, to="floor = 3")
        ada.set_context({"floor": 4})
        ada.publish({"n": 10}, to="floor = 3")
        found = []
        for delivery in subscription:
            assert isinstance(delivery, Delivery)
            found.append(delivery.event.attributes["n"])
            if len(found) == 3:
                delivery.acknowledge()  # from the script's own thread
                break
        assert found == [2, 3, 9]
        assert subscription.next(0.05) is None
        ada.unadvertise("Book")
        ada.unsubscribe(subscription)
        assert list(subscription) == []
