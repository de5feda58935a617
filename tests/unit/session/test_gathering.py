"""Events that gather in a session, and a broker that takes them apart."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Input, LinkUp, MessageCame, Send, Synced
from agvent.event import Event
from agvent.session.session import Session
from agvent.wire.batches import taken_apart
from agvent.wire.client_messages import Publish, Published
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication


class Line:
    """A session at a broker that takes its batches apart, as for a client that may not publish everything."""

    def __init__(self) -> None:
        self.broker, self.session = Broker("B1", 1), Session("ada")
        self.told: list[AnyMessage] = []
        self.give([LinkUp("ada", to_broker=False)])
        self.session.link_up()
        self.pump()

    def give(self, inputs: list[Input]) -> None:
        for effect in self.broker.step(inputs, 1):
            if isinstance(effect, Append):
                self.give([Synced(effect.number)])
            elif isinstance(effect, Send):
                self.told += self.session.receive(effect.message)

    def pump(self, *, last_first: bool = False) -> int:
        out = self.session.take()
        for message in [*out[1:], *out[:1]] if last_first else out:
            parts = taken_apart(message.publication) if isinstance(message, Publish) else []
            self.give([MessageCame("ada", Publish(one)) for one in parts] or [MessageCame("ada", message)])
        return len(out)


def sent(session: Session) -> list[Publication]:
    """What it sends, once it is attached."""
    session.attached, session.credit = True, limits.PUBLISH_CREDIT
    return [message.publication for message in session.take() if isinstance(message, Publish)]


def test_events_with_the_same_options_travel_as_one() -> None:
    """Another option, another quality, or an event that is no line begins the next; none changes its place."""
    session = Session("ada")
    for number in range(3):
        session.publish({"n": number})
    session.publish({"n": 3}, to="x = 1")
    session.publish({"n": 4}, to="x = 1")
    session.publish({"n": 5}, fast=True)
    session.publish(Event(attributes={"raw": b"\0"}))
    session.publish({"n": 6})
    found = [(one.first, one.sequence, one.count, one.to, one.fast) for one in sent(session)]
    assert found == [
        (1, 3, 3, "", False),
        (4, 5, 2, "x = 1", False),
        (1, 1, 1, "", True),
        (6, 6, 1, "", False),
        (7, 7, 1, "", False),
    ]
    assert session.unacknowledged_events == 8


@pytest.mark.parametrize("size", [1, 1_000, 60_000])
def test_what_gathers_is_bounded_as_a_batch_is(size: int) -> None:
    """In events and in bytes; one event may always go."""
    session = Session("ada")
    count = 3 * limits.BATCH_EVENTS_MAX if size == 1 else 200
    for _ in range(count):
        session.publish({"x": "x" * size})
    batches = list(session.unacknowledged.values())
    assert sum(one.count for one in batches) == count
    assert all(one.count <= limits.BATCH_EVENTS_MAX for one in batches)
    assert all(len(one.event) <= limits.BATCH_BYTES_MAX or one.count == 1 for one in batches)


@pytest.mark.parametrize("count", [3_000, 12_000])
def test_batches_that_are_taken_apart_and_overtake_a_large_event_are_all_taken(count: int) -> None:
    """The large event comes in chunks, after what was sent behind it: that waits for it, and nothing is dropped."""
    line = Line()
    line.session.publish({"x": "x" * 200_000})
    for number in range(count):
        line.session.publish({"n": number})
    line.pump(last_first=True)
    while line.pump():
        pass
    assert line.session.unacknowledged_events == 0
    assert line.session.unacknowledged == {}


def test_whoever_waits_for_an_event_in_a_batch_hears_of_it_when_it_is_taken() -> None:
    """Not only when the last one is, if the broker took the batch apart."""
    line = Line()
    for number in range(10):
        line.session.publish({"n": number})
    line.told.clear()
    parts = [
        one
        for message in line.session.take()
        if isinstance(message, Publish)
        for one in taken_apart(message.publication)
    ]
    line.give([MessageCame("ada", Publish(one)) for one in parts[:4]])
    assert [one.sequence for one in line.told if isinstance(one, Published)][-1:] == [4]
    assert line.session.unacknowledged_events == 10
    line.give([MessageCame("ada", Publish(one)) for one in parts[4:]])
    assert line.session.unacknowledged_events == 0
