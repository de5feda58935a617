"""Information hiding: what an agvent hides is in no broker, journal, message or subscriber, and is where it must be."""

from __future__ import annotations

import gc
import struct
from collections.abc import Iterator
from types import FunctionType, ModuleType

import msgspec

from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.secrecy.hidden_fields import bound_to
from agvent.filters.subscription import Subscription
from agvent.sim.disk import Disk
from agvent.wire.codec import decode_event, encode_message
from tests.publishing_house import CANARY, Book
from tests.sandboxes import KEYS, booked, trusted
from tests.sim.watched import Watched

OPAQUE = "0.4242"
"""The opaque margin, as it would be printed."""


def memory_of(root: object) -> Iterator[object]:
    """Everything that can be reached from an object; not code, which holds the constants of these tests."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        found = waiting.pop()
        if id(found) not in seen and not isinstance(found, (type, ModuleType, FunctionType)):
            seen[id(found)] = found
            waiting += gc.get_referents(found)
            if isinstance(found, msgspec.Struct):  # those without garbage collection do not tell
                waiting += [getattr(found, name) for name in found.__struct_fields__]
            yield found


def holds_secrets(root: object) -> bool:
    """Is a hidden or opaque value among all that can be reached from an object?"""
    for found in memory_of(root):
        if isinstance(found, float) and str(found) == OPAQUE:
            return True
        if isinstance(found, str) and CANARY in found:
            return True
        if isinstance(found, bytes) and (CANARY.encode() in found or struct.pack(">d", float(OPAQUE)) in found):
            return True
    return False


def contents_of(disk: Disk) -> list[bytes]:
    """The bytes of a journal's files."""
    return [path.read_bytes() for path in disk.folder.iterdir()]


def held(event: bytes) -> Watched:
    """A world of two brokers in which the event waits at the second for a shop that is away."""
    world = Watched([("B1", "B2")])
    for node in world.brokers.values():
        node.sandbox = trusted(Book)
    world.attach("house", "B1")
    world.attach("shop", "B2")
    world.ask("house", "advertise", type_of(Book))
    asks = "references_contain('Alonso, E.')"
    world.ask("shop", "subscribe", Subscription(id="asks", type="Book", filter=asks))
    world.ask("shop", "subscribe", Subscription(id="dear", type="Book", filter="margin() > 0.4"))
    world.wait(1)
    world.clients["shop"].leave()
    world.ask("house", "publish", decode_event(event))
    world.wait(1)
    return world


def test_nothing_hidden_leaves_the_sandboxes() -> None:
    """Filters that ask hidden and opaque fields get their answers across two brokers; the values themselves are in
    neither's memory, journal or messages, and not at the subscriber. The sandbox reads them from the same bytes."""
    event = booked(margin=float(OPAQUE), _references=["Alonso, E.", CANARY])
    world = held(event)
    for node in world.brokers.values():
        assert not holds_secrets(node.broker)
        assert not holds_secrets(contents_of(node.disk))
    world.clients["shop"].back()
    world.wait(5)
    assert world.delivered("shop") == [(1, ("asks", "dear"))]
    assert not any(holds_secrets(encode_message(message)) for _, _, message in world.watch.sent)
    assert not holds_secrets(world.clients["shop"].session)
    assert not holds_secrets(world.history.told)
    cargo = decode_event(event).cargo
    assert cargo is not None
    revealed = KEYS.reveal(cargo.hidden, bound_to("house", "Book", program_of(Book).hash))
    assert revealed == {"margin": float(OPAQUE), "_references": ["Alonso, E.", CANARY]}


def test_the_search_finds_what_is_not_hidden() -> None:
    """The same search finds the canary in broker, journal, messages and subscriber if it is an attribute."""
    assert holds_secrets(booked(list_price=float(OPAQUE)))
    world = held(booked(margin=0.5, title=CANARY))
    assert [holds_secrets(contents_of(node.disk)) for node in world.brokers.values()] == [True, True]
    assert holds_secrets(world.brokers["B2"].broker)
    world.clients["shop"].back()
    world.wait(5)
    assert holds_secrets(world.history.told)
    assert any(holds_secrets(encode_message(message)) for _, _, message in world.watch.sent)
