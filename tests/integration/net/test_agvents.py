"""Agvents over real processes: code that travels with its advertisement, filters that call behaviours."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent import Agvent, connect
from agvent.agents.authoring.agvent import Opaque
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Program
from agvent.agents.authoring.type_table import table_of
from agvent.agents.execution.signed_programs import encode_code, sign
from agvent.broker.records import Owned
from agvent.cli.trace import line_of
from agvent.errors import AdmissionError, BehaviourError, CallerError, NetworkFault
from agvent.event import Cargo, Event
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.fleet.keys import make_authority, make_certificate
from agvent.net.fleet.local import local_broker
from agvent.net.link.address import Address, address_of
from agvent.net.link.dial import ask
from agvent.net.link.tls import Credentials
from agvent.net.server.config import Config, TlsConfig
from agvent.net.server.server import BrokerServer
from agvent.net.server.visits import ANSWERS
from agvent.types import AgventType
from agvent.wire.broker_messages import Entry
from agvent.wire.client_messages import Stopped
from tests.integration.net.story import LINE, Story, running
from tests.publishing_house import Book, book

FIGURE_6 = """
    author = 'Valentina Plekhanova' AND pages > 200 AND published > TIMESTAMP '2002-01-01'
    AND references_contain('Alonso, E.') AND wholesale_price(1000, 'Istanbul') < 150000 AND margin() > 0.2
"""


async def titles(subscription: OpenSubscription, count: int) -> list[str]:
    """The titles of that many books."""
    found: list[str] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            item = await anext(subscription)
            assert isinstance(item, Delivery), item
            found.append(item.event.attributes["title"])
            item.acknowledge()
    return found


async def publish(story: Story, *, last: str) -> None:
    """Two books that the subscription wants, with three between them that it does not."""
    async with connect(story.address("B1"), name="house") as house:
        await house.advertise(Book)
        books = [
            book(title="first"),
            book(title="dear", list_price=500.0),
            book(title="no references", _references=[]),
            book(title="no margin", margin=0.1),
            book(title=last),
        ]
        await house.publish_batch(books)


async def life(story: Story, broker: str, sequence: int) -> list[str]:
    """What a broker's trace says of the life of one of the house's books, without times."""
    hops = await ask(address_of(story.address(broker)), "trace", publisher="house", sequence=sequence)
    stages = ("created", "admitted", "executed", "migrated", "delivered", "disposed")
    return [line_of(hop, hop["at"]).split("  ")[2] for hop in hops if hop["what"] in stages]


async def arrive_and_answer(story: Story) -> None:
    """A book arrives at a shop of B3, in the host beside B3; its house is at B1. Its trace is its life."""
    address = story.address("B3")
    async with connect(story.address("B1"), name="house") as house, connect(address, name="oslo") as oslo:
        answers = await house.subscribe(topic=ANSWERS)
        wanted = await oslo.subscribe("title = 'arriving'", type="Book", admit=True, context={"city": "Oslo"})
        receipt = await house.publish(book(title="arriving"))
        delivery = await anext(wanted)
        assert isinstance(delivery, Delivery)
        assert (delivery.messages, delivery.refusal) == (({"hello": "oslo", "price": 80.0},), "")
        assert await delivery.agvent.wholesale_price(1000, destination="Oslo") == 41_500.0
        answer = await anext(answers)
        assert isinstance(answer, Delivery)
        about = {"publisher": "house", "sequence": receipt.id.sequence, "type": "Book", "subscriber": "oslo"}
        assert (answer.id.publisher, answer.event.attributes) == ("$B3", {**about, "answer": ["Oslo", 2]})
        await delivery.dispose()
        assert [await life(story, broker, receipt.id.sequence) for broker in ("B1", "B2", "B3")] == [
            ["created, and published at B1", "admitted at B1", "executed at B1", "migrated from B1 to B2, for B3"],
            ["migrated from B2 to B3, for B3"],
            [
                "delivered at B3 to oslo, shop",
                "oslo admitted it at B3",
                "executed at B3 for oslo",
                "disposed at B3 for oslo",
            ],
        ]


async def across_three_brokers(story: Story) -> None:
    await story.linked()
    async with connect(story.address("B3"), name="shop", context={"city": "Oslo"}) as shop:
        wanted = await shop.subscribe(FIGURE_6, type="Book")
        await publish(story, last="second")
        assert await titles(wanted, 2) == ["first", "second"]
        os.kill((await story.status("B1"))["sandbox_pid"], signal.SIGKILL)
        await publish(story, last="host killed")
        assert await titles(wanted, 2) == ["first", "host killed"]
        story.fleet.kill("B1")
        story.fleet.start("B1")
        story.fleet.wait_until_up()
        await publish(story, last="broker killed")
        assert await titles(wanted, 2) == ["first", "broker killed"]
        await arrive_and_answer(story)
        assert (await story.status("B2"))["sandbox_pid"] == 0  # it passed everything on and ran nothing


def test_a_filter_calls_behaviours_across_processes(tmp_path: Path) -> None:
    """The subscription of seed 002, figure 6, from another broker; also after the host and the broker were killed.
    `agvent types` shows the table of figure 5."""
    with running(tmp_path, LINE) as story:
        asyncio.run(across_three_brokers(story))
        words = [sys.executable, "-m", "agvent.cli.main", "types", "Publication", "--at", story.address("B3")]
        shown = subprocess.run(words, capture_output=True, text=True, check=True)
        assert shown.stdout == f"{table_of(type_of(Book))}\n  by house at B1\n"


def test_code_takes_a_grant(tmp_path: Path) -> None:
    """Who may advertise and publish a type may not bring its program, unless that is granted too."""
    make_authority(tmp_path)
    make_certificate(tmp_path, "broker", "B1")
    about = ["type:Book", "type:Publication"]
    grants = [f"{action} {one}" for action in ("advertise", "publish") for one in about]
    make_certificate(tmp_path, "client", "eve", grants=grants)
    make_certificate(tmp_path, "client", "house", grants=[*grants, "code type:Book"])

    def file(name: str) -> Path:
        return tmp_path / name

    def shown(name: str) -> Credentials:
        return Credentials(authority=file("authority.pem"), certificate=file(f"{name}.pem"), key=file(f"{name}.key"))

    tls = TlsConfig(authority=file("authority.pem"), certificate=file("B1.pem"), key=file("B1.key"), tokens=[])
    with local_broker("B1", tls=tls) as url:
        denied = pytest.raises(CallerError, match="denied: 'eve' has no grant `code type:Book`")
        with connect(url, name="eve", credentials=shown("eve")) as eve, denied:
            eve.advertise(Book)
        with connect(url, name="house", credentials=shown("house")) as house:
            house.advertise(Book)
            assert house.publish(book()).id.sequence == 1


class Rude(Agvent):
    """Raises when it arrives at somebody it does not know."""

    n: int
    secret: Opaque[int] = 7

    def twice(self) -> int:
        """Two times n."""
        return 2 * self.n

    def arrive(self, subscriber: Any) -> None:
        subscriber.tell({"ann": self.n}[subscriber.name])


class Kind(Rude):
    """Comes to anybody."""

    def arrive(self, subscriber: Any) -> None:
        subscriber.tell(self.n)


def hops(url: str, sequence: int) -> list[str]:
    """The trace of an event of eve's, without times."""
    found = asyncio.run(ask(address_of(url), "trace", publisher="eve", sequence=sequence))
    return [line_of(hop, hop["at"]).split("  ")[2] for hop in found]


def test_an_agvent_is_let_in_or_refused_and_its_trace_says_so() -> None:
    """With the reason; one that is not let in cannot be called, one that is until it is disposed of."""
    with local_broker("B1") as url, connect(url, name="eve") as eve:
        eve.advertise(Rude)
        with connect(url, name="ann") as ann, connect(url, name="ben") as ben:
            let, refused = (one.subscribe("twice() < 10", admit=True) for one in (ann, ben))
            eve.publish_batch([Rude(n=3), {"n": 4}])
            told, not_told = let.next(30), refused.next(30)
            assert isinstance(told, Delivery)
            assert isinstance(not_told, Delivery)
            assert (told.messages, not_told.messages, not_told.refusal) == ((3,), (), "KeyError")
            assert ann.run(told.agvent.twice()) == 6
            with pytest.raises(BehaviourError, match="secret is opaque: filters compare it, nobody reads it"):
                ann.run(told.agvent.secret())
            with pytest.raises(AdmissionError, match="the agvent was not admitted: KeyError"):
                _ = not_told.agvent
            ann.run(told.dispose())
            with pytest.raises(BehaviourError, match="eve's agvent 1 is not here for ann"):
                ann.run(told.agvent.twice())
        assert hops(url, 1)[:6] == [
            "created, and published at B1",
            "entered at B1, for B1",
            "admitted at B1",
            "executed at B1",
            "arrived at B1, for ann, ben",
            "delivered at B1 to ann, ben",
        ]
        assert sorted(hops(url, 1)[6:-1]) == [
            "ann admitted it at B1",
            "ben rejected it at B1: KeyError",
            "executed at B1 for ann",
        ]
        assert hops(url, 1)[-1] == "disposed at B1 for ann"
        assert hops(url, 2) == ["entered at B1, for nobody; a behaviour gave no answer: the event has no program"]


async def called_for_ever(delivery: Delivery) -> None:
    while True:
        await delivery.agvent.twice()


def test_who_unsubscribes_lets_its_agvents_go() -> None:
    """They were kept for the subscription; a call says that they are not here."""

    async def until_gone(url: str) -> None:
        async with connect(url, name="eve") as eve, connect(url) as guest, asyncio.timeout(30):
            await eve.advertise(Kind)
            let = await guest.subscribe("twice() < 10", admit=True)
            await eve.publish(Kind(n=3))
            delivery = await anext(let)
            assert isinstance(delivery, Delivery)
            assert await delivery.agvent.twice() == 6
            await guest.unsubscribe(let)
            with pytest.raises(BehaviourError, match="eve's agvent 1 is not here for"):
                await called_for_ever(delivery)

    with local_broker("B1") as url:
        asyncio.run(until_gone(url))


def priced() -> tuple[type[Agvent], type[Agvent]]:
    """Two versions of a type: the later one has another price, and no old behaviour."""

    class Wine(Agvent):
        n: int

        def price(self) -> int:
            return self.n

        def is_old(self) -> bool:
            return self.n > 1

    class Later(Agvent):
        n: int

        def price(self) -> int:
            return 10 * self.n

    Later.__name__ = "Wine"
    return Wine, Later


def test_an_agvent_of_an_earlier_version_has_its_own_behaviours() -> None:
    """For the filters that call them, and for the subscriber that let it in, beside agvents of the version now
    advertised."""
    earlier, later = priced()
    with local_broker() as url, connect(url, name="house") as house, connect(url, name="shop") as shop:
        house.advertise(earlier)
        wanted = shop.subscribe("is_old() OR price() = 20", type="Wine", admit=True)
        house.advertise(later)
        house.publish_batch([earlier(n=1), earlier(n=2), later(n=1), later(n=2)])
        came = [wanted.next(30), wanted.next(30)]
        assert all(isinstance(one, Delivery) for one in came)
        agvents = [one.agvent for one in came if isinstance(one, Delivery)]
        assert [shop.run(one.price()) for one in agvents] == [2, 20]
        assert shop.run(agvents[0].is_old()) is True
        assert "is_old" not in dir(agvents[1])


def test_what_cannot_be_advertised_is_named() -> None:
    """A class that is none of agvents, the base of them all, an agvent itself, and what is no type."""
    wrong: list[tuple[Any, str]] = [
        (int, "int is not an agvent class"),
        (Agvent, "Agvent is not an agvent class"),
        (Rude(n=1), "a Rude cannot be advertised"),
        (None, "a NoneType cannot be advertised"),
    ]
    with local_broker() as url, connect(url, name="eve") as eve:
        for given, message in wrong:
            with pytest.raises(CallerError, match=message):
                eve.advertise(given)


def test_a_subscriber_is_warned_of_what_a_type_has_not() -> None:
    """Until somebody advertises a version that has it; the subscription is open all the same."""
    earlier, later = priced()
    with local_broker() as url, connect(url, name="house") as house, connect(url, name="shop") as shop:
        assert shop.subscribe("is_old()", type="Wine").warnings == ()
        house.advertise(later)
        warned = shop.subscribe("is_old()", type="Wine")
        assert warned.warnings == ("Wine has no behaviour is_old",)
        house.advertise(earlier)
        assert shop.subscribe("is_old()", type="Wine").warnings == ()
        house.publish(earlier(n=2))
        assert isinstance(warned.next(30), Delivery)


class Broken(Agvent):
    """Python takes it, and no worker does."""

    def price(self, given: Any) -> int:
        return len([1 for given.n in (1, 2)])


def test_code_that_does_not_load_is_not_advertised() -> None:
    """The publisher is told why; what it advertised before stays."""
    with local_broker() as url, connect(url, name="eve") as eve:
        eve.advertise(Rude)
        with pytest.raises(CallerError, match="Broken does not load: SyntaxError"):
            eve.advertise(Broken)
        assert [found.type.name for found in eve.types()] == ["Rude"]


class Slow(Agvent):
    """Never answers."""

    def ends(self, n: int) -> bool:
        """It does not."""
        while n:
            n = abs(n)
        return True


def until_quarantined(url: str, *held: str) -> None:
    async def look() -> None:
        async with asyncio.timeout(30):
            while True:
                status = await ask(address_of(url), "status")
                if [one["type"] for one in status["quarantined"]] == list(held):
                    break

    asyncio.run(look())


def test_who_is_in_quarantine_is_shown_and_can_be_released() -> None:
    """A type that does not end its calls; its events are published all the same, for nobody who asks. The publisher is
    told."""
    with local_broker("B1") as url, connect(url, name="eve") as eve, connect(url, name="ann") as ann:
        eve.advertise(Slow)
        ann.subscribe(" OR ".join(f"ends({n})" for n in range(1, 5)), type="Slow")
        eve.publish(Slow())
        assert list(eve.failures) == [Stopped(sequence=1, broker="B1", reason="ends failed: TimeoutError", declined=())]
        until_quarantined(url, "Slow")
        with pytest.raises(CallerError, match="'Fast' is not in quarantine"):
            asyncio.run(ask(address_of(url), "release", name="Fast"))
        asyncio.run(ask(address_of(url), "release", name="Slow"))
        until_quarantined(url)


def test_names_of_the_brokers_own_clients_are_taken() -> None:
    """Nobody can answer in a broker's name."""
    with (
        local_broker("B1") as url,
        pytest.raises(NetworkFault, match=r"names that begin with \$ are reserved"),
    ):
        connect(url, name="$B1").__enter__()


async def with_bad_code(folder: Path, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said before eve's agvents needed her code."""
    config = Config(name="B1", listen=Address("127.0.0.1", 0), data=folder, neighbours={})
    server = BrokerServer(config, write=lambda line: said.append(msgspec.json.decode(line)))
    await server.start()
    stolen = encode_code(sign(program_of(Book), "house", Ed25519PrivateKey.generate()))
    endless = Program(type="Bad", source="while True: pass\n")
    slow = encode_code(sign(endless, "eve", Ed25519PrivateKey.generate()))
    brought = {"p1": b"\xc1", "p2": stolen, "p3": slow, endless.hash: slow}
    for version, (program, code) in enumerate(brought.items(), 1):
        entry = Entry(version, "eve", AgventType(name="Bad", program=program), True, code)
        server.broker.tables.apply(Owned("B2", 1, version, (entry,), False))  # as a neighbour's word would
    url = f"127.0.0.1:{server.port}"
    async with connect(url, name="house") as house, connect(url, name="eve") as eve:
        wanted = await house.subscribe("references_contain('Alonso, E.')")
        await house.advertise(Book)
        await house.publish(book(title="still here"))
        assert await titles(wanted, 1) == ["still here"]
        before = list(said)
        await eve.advertise(AgventType(name="Bad"))
        for program in (*brought, *brought):
            await eve.publish(Event(type="Bad", cargo=Cargo(program)))
    await server.stop()
    return before


def test_code_that_a_neighbour_should_not_have_let_in_is_refused_here_too(tmp_path: Path) -> None:
    """Bytes that are none, code that is signed for another, another program, one that does not end to load; the broker
    says so once, when an agvent needs it. Nobody else waits for that."""
    said: list[dict[str, Any]] = []
    before = asyncio.run(with_bad_code(tmp_path, said))
    assert "code rejected" not in [one["message"] for one in before]
    refused = [one["reason"] for one in said if one["message"] == "code rejected"]
    assert refused[0].startswith("not code: ")
    assert refused[1:] == ["it is signed for 'house'", "it is another program", "Bad does not load: TimeoutError"]
