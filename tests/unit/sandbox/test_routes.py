"""Routes in both sandboxes: the same decisions, in the middle of a program too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agvent import limits
from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.execution.sandbox import Sandbox
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.secrecy.hidden_fields import HostKeys
from agvent.agents.travel.stop import Decision, Departure, Local, Stop, Way
from agvent.sandbox.host import SandboxHost
from agvent.wire.codec import encode_event
from tests.couriers import ALL, Clumsy, Endless, Everywhere, Inquirer, Order, Talker, stop, surroundings
from tests.publishing_house import Book
from tests.sandboxes import HIDER, KEYS, booked, random, trusted


def host(*classes: type[Agvent], keys: HostKeys | None = KEYS) -> SandboxHost:
    programs = Programs()
    for cls in classes:
        programs.trust(program_of(cls))
    return SandboxHost(programs, keys, workers=1)


def decided(sandbox: Sandbox, stop: Stop) -> Decision:
    """What one agvent decides."""
    (decision,) = sandbox.route([stop])
    return decision


@pytest.fixture(scope="module", params=["trusted", "host"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "trusted":
        yield trusted(Book, *ALL)
    else:
        with host(Book, *ALL) as started:
            yield started


def test_an_order_visits_warehouses_until_it_is_filled(sandbox: Sandbox) -> None:
    """It takes 8 here, moves to the cheapest broker with what is missing, and ends there: D and B are declined."""
    first = decided(sandbox, stop(Order(amount=10)))
    assert (first.delivered, first.clones, first.fault) == (("ann/1", "bob/1"), (), "")
    assert first.moved == Departure("C", ("B", "C", "D"))
    there = surroundings(
        "C", targets=(Way("B", 300, "A"), Way("D", 500, "A")), subscribers=(Local("eve/1", "eve", {"stock": 2}),)
    )
    assert decided(sandbox, stop(Order(amount=10), there, first.snapshot)) == Decision(("eve/1",))


def test_a_program_moves_again_and_again(sandbox: Sandbox) -> None:
    """What it knows after three stops is what it learned at each."""
    snapshot = b""
    for server, left in (("A", ("B", "C", "D")), ("B", ("C", "D")), ("C", ("D",))):
        ways = tuple(Way(broker, number, broker) for number, broker in enumerate(left))
        around = surroundings(server, targets=ways, subscribers=(Local("ann/1", "ann", {"stock": 1}),))
        decision = decided(sandbox, stop(Order(amount=4), around, snapshot))
        assert (decision.delivered, decision.moved) == (("ann/1",), Departure(left[0], left))
        snapshot = decision.snapshot
    around = surroundings("D", targets=(), subscribers=(Local("ann/1", "ann", {"stock": 1}),))
    assert decided(sandbox, stop(Order(amount=4), around, snapshot)) == Decision(("ann/1",))


def test_the_default_route_in_code(sandbox: Sandbox) -> None:
    """A clone goes to each neighbour with the targets behind it, and everybody here gets it."""
    assert decided(sandbox, stop(Everywhere())) == Decision(
        ("ann/1", "bob/1"), (Departure("B", ("B", "D")), Departure("C", ("C",)))
    )


def test_many_stops_are_executed_together(sandbox: Sandbox) -> None:
    """Each has its own decision, in order, whatever the others do."""
    stops = [stop(Order(amount=1)), stop(Clumsy()), stop(Everywhere())]
    assert sandbox.route(stops) == [decided(sandbox, one) for one in stops]


def test_an_agvent_that_talks_nonsense_is_not_understood(sandbox: Sandbox) -> None:
    """It is told so, and goes on."""
    assert decided(sandbox, stop(Talker(said={"performative": "sing"}))) == Decision(("ann/1", "bob/1"))
    assert (
        decided(sandbox, stop(Talker(said={"performative": "query-ref", "content": {"ref": "budget"}}))) == Decision()
    )


def test_a_fault_decides_nothing(sandbox: Sandbox) -> None:
    """What was agreed to before an exception is not kept, nor what an agvent that talks for ever said."""
    assert decided(sandbox, stop(Clumsy())) == Decision(fault="ValueError")
    assert decided(sandbox, stop(Endless())).fault in ("RuntimeError", "too many messages to the manager agent")


class Shouter(Agvent):
    """Says what is no value, at length."""

    def route(self, server: Any) -> None:
        words = ["x" * 8_000_000, 10**30]
        for _ in range(100):
            server.say(words)


def test_a_stop_has_its_time_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """What messages take on their way counts too, understood or not."""
    monkeypatch.setattr(limits, "STOP_CLOCK_FACTOR", 0.1)
    with host(Shouter) as started:
        assert decided(started, stop(Shouter())) == Decision(fault="TimeoutError")


def test_a_route_decides_however_often_it_was_asked_before() -> None:
    """A session that all the messages of earlier stops have worn out is replaced, and nobody sees it."""
    stops = limits.SESSION_SUSPENSIONS_MAX // 800 + 5
    with host(Inquirer) as started:
        decisions = [decided(started, stop(Inquirer(times=800))) for _ in range(stops)]
        assert decisions == [Decision(("ann/1", "bob/1"))] * stops
        assert started.quarantined() == ()


def test_without_a_route_there_is_nothing_to_execute(sandbox: Sandbox) -> None:
    """A program that has none, or that is not here, is a fault."""
    order, book = stop(Order(amount=1)), booked()
    assert decided(trusted(), order).fault == f"the program {program_of(Order).hash[:12]} is not here"
    assert decided(sandbox, Stop("house", book, b"", surroundings())).fault == "its program has no route"


class Carrier(Agvent):
    """Reads blocks of data, and goes from broker to broker with what it made of them."""

    _blocks: list[bytes]
    _text: str
    made: int

    def route(self, server: Any) -> None:
        made = "y" * self.made
        while server.targets() and server.move(server.targets()[0]["broker"]):
            if len(made) != self.made or sum(len(block) for block in self._blocks) != len(self._text):
                return
        server.deliver()


def moved(started: SandboxHost, carrier: Carrier) -> list[tuple[str, int]]:
    """What became of it at three stops: a fault, and the bytes of its snapshot."""
    event, snapshot, found = encode_event(published(carrier, "house", hider=HIDER)), b"", []
    for left in (("B",), ("C",), ()):
        around = surroundings(targets=tuple(Way(broker, 1, broker) for broker in left))
        decision = decided(started, Stop("house", event, snapshot, around))
        snapshot = decision.snapshot
        found.append((decision.fault or "".join(decision.delivered), len(snapshot)))
    return found


def test_a_large_agvent_moves_with_a_small_snapshot() -> None:
    """What it reads of its event travels with the event: 10 MB of blocks. What it made is bounded."""
    with host(Carrier) as started:
        large = Carrier(_blocks=[random(500_000) for _ in range(10)], _text="x" * 5_000_000, made=1)
        (first, size), (second, same), last = moved(started, large)
        assert (first, second, last) == ("", "", ("ann/1bob/1", 0))
        assert max(size, same) < 100_000
        fault, size = moved(started, Carrier(_blocks=[], _text="", made=limits.SNAPSHOT_BYTES_MAX))[0]
        assert (fault.startswith("a snapshot of 10"), size) == (True, 0)


def test_a_snapshot_goes_on_in_another_host_and_nowhere_else() -> None:
    """Hosts with the network's key take it, for the event that it was made for, unaltered."""
    order, around = Order(amount=10), surroundings("C", targets=(), subscribers=())
    with host(*ALL) as here:
        snapshot = decided(here, stop(order)).snapshot
    altered = snapshot[:-1] + bytes([snapshot[-1] ^ 1])
    with host(*ALL) as there:
        assert decided(there, stop(order, around, snapshot)) == Decision()
        assert decided(there, stop(order, around, altered)).fault == "the snapshot was altered, or is another agvent's"
        other = decided(there, stop(Order(amount=11), around, snapshot)).fault
        assert other == "the snapshot was altered, or is another agvent's"
        assert decided(there, stop(order, around, b"short")).fault.startswith("made by another network's hosts")
    with host(*ALL, keys=None) as keyless:
        assert decided(keyless, stop(order)).fault == "this sandbox has no key for snapshots"
