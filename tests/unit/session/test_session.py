"""A session and a broker without a network: what outlives the client's process, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Input, LinkDown, LinkUp, MessageCame, Send, Synced
from agvent.broker.records import Accepted
from agvent.errors import CallerError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.types import AgventType
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import Deliver, Gap, Published, Refused, Source
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication

ALL = Subscription(id="all")


class Desk:
    """A broker and its clients' sessions, with everything on disk at once."""

    def __init__(self, name: str = "B1") -> None:
        self.broker = Broker(name, 1)
        self.sessions: dict[str, Session] = {}
        self.told: dict[str, list[AnyMessage]] = {}
        self.accepted: list[Publication] = []
        self.give([])

    def attach(self, session: Session, link: str) -> None:
        self.sessions[link], self.told[link] = session, []
        session.link_up()
        self.give([LinkUp(link, to_broker=False)])

    def detach(self, link: str) -> None:
        self.sessions.pop(link).link_down()
        self.give([LinkDown(link)])

    def give(self, inputs: list[Input]) -> None:
        """Steps until nobody has anything to say."""
        while True:
            inputs += [MessageCame(link, message) for link, one in self.sessions.items() for message in one.take()]
            if not inputs:
                return
            effects, inputs = self.broker.step(inputs, 1), []
            for effect in effects:
                if isinstance(effect, Append):
                    inputs.append(Synced(effect.number))
                    self.accepted += [one.publication for one in effect.records if isinstance(one, Accepted)]
                elif isinstance(effect, Send):
                    self.told[effect.link] += self.sessions[effect.link].receive(effect.message)

    def numbers(self, link: str) -> list[int]:
        """The sequences that were delivered there."""
        return [sequence for one in self.told[link] if isinstance(one, Deliver) for sequence in sequences_in(one)]


def publish(desk: Desk, link: str, count: int, *, fast: bool = False) -> list[int]:
    sequences = [desk.sessions[link].publish(Event(attributes={"n": n}), fast=fast) for n in range(count)]
    desk.give([])
    return sequences


def test_a_new_process_goes_on_where_the_last_one_ended() -> None:
    """Another session of the same client publishes after the sequences that were accepted, and receives what the
    first one was not done with."""
    desk = Desk()
    desk.attach(Session("ada", prompt=False), "first")
    desk.sessions["first"].subscribe(ALL)
    assert publish(desk, "first", 3) == [1, 2, 3]
    [message] = [one for one in desk.told["first"] if isinstance(one, Deliver)]
    desk.sessions["first"].done(message, 2)
    desk.give([])
    desk.detach("first")
    desk.attach(Session("ada", prompt=False), "second")
    assert desk.numbers("second") == [3]
    assert publish(desk, "second", 2) == [4, 5]
    assert desk.numbers("second") == [3, 4, 5]
    assert [one.sequence for one in desk.told["second"] if isinstance(one, Published)] == [5]


def test_a_new_process_replaces_its_subscription() -> None:
    """Versions go on too, so the second process's filter counts, though it knows nothing of the first one's."""
    desk = Desk()
    desk.attach(Session("ada"), "first")
    desk.sessions["first"].subscribe(Subscription(id="s", filter="n > 0"))
    desk.sessions["first"].subscribe(Subscription(id="s", filter="n > 1"))
    desk.give([])
    desk.detach("first")
    desk.attach(Session("ada"), "second")
    desk.sessions["second"].subscribe(Subscription(id="s", filter="n = 0"))
    publish(desk, "second", 3)
    assert desk.numbers("second") == [1]


def test_acknowledged_is_what_the_caller_is_done_with() -> None:
    """What is done out of order is acknowledged when nothing before it is undone; the same session is not given
    anything twice."""
    desk = Desk()
    session = Session("ada", prompt=False)
    desk.attach(session, "link")
    session.subscribe(ALL)
    for _ in range(3):
        publish(desk, "link", 1)
    first, second, third = (one for one in desk.told["link"] if isinstance(one, Deliver))
    queue = desk.broker.tables.deliveries.clients["ada"].durable
    acknowledged = []
    for message in (third, first, second):
        session.done(message)
        desk.give([])
        acknowledged.append(queue.received)
    assert acknowledged == [0, 1, 3]
    publish(desk, "link", 1)
    desk.detach("link")
    desk.attach(session, "again")
    assert desk.numbers("again") == []


@pytest.mark.parametrize("restarted", [False, True])
def test_fast_deliveries_do_not_stop_at_the_window(restarted: bool) -> None:
    """The numbers of fast deliveries begin anew with each boot, and the session begins where the broker does."""
    desk = Desk()
    session = Session("ada")
    desk.attach(session, "link")
    session.subscribe(ALL)
    assert publish(desk, "link", 200, fast=True)[-1] == 200
    assert desk.numbers("link") == list(range(1, 201))
    if restarted:
        desk.detach("link")
        desk.broker = Broker("B1", 1, desk.broker.tables.snapshot())
        desk.give([])
        desk.attach(session, "link")
        publish(desk, "link", 100, fast=True)
        assert desk.numbers("link") == list(range(201, 301))


def test_another_broker_is_told_everything() -> None:
    """A session that moves opens its subscriptions there, says where it was, and goes on with its sequences."""
    one, other = Desk("B1"), Desk("B2")
    session = Session("ada")
    one.attach(session, "link")
    session.subscribe(ALL)
    publish(one, "link", 2)
    one.detach("link")
    other.attach(session, "link")
    assert publish(other, "link", 1) == [3]
    client = other.broker.tables.deliveries.clients["ada~1"]
    assert client.moving is not None
    assert client.moving.sources == (Source("B1", 1, "ada", 2),)
    assert session.sources == ()  # the new home answers for them
    assert other.numbers("link") == []  # until the old one has handed over what it has


def test_what_was_sent_elsewhere_says_so() -> None:
    """What another broker may have accepted goes out with the range of such sequences, what is new without."""
    one, other = Desk("B1"), Desk("B2")
    session = Session("ada", life=7)
    one.attach(session, "link")
    publish(one, "link", 2)
    session.publish(Event())
    session.publish(Event())
    session.take()  # and nobody hears it
    session.publish(Event())
    one.detach("link")
    other.attach(session, "link")
    found = [(held.first, held.sequence, held.life, held.retried) for held in other.accepted]
    assert found == [(3, 4, 7, ((3, 4),)), (5, 5, 7, ())]


def test_what_a_broker_has_no_other_one_refuses() -> None:
    """Of a batch that was acknowledged in part all goes to the next home, and what that refuses of the part is in."""
    session = Session("ada")
    session.link_up()
    session.attached, session.credit = True, 10
    session.publish_batch([{"n": 1}, {"n": 2}, {"n": 3}])
    session.take()
    acknowledged = Published(sequence=1, fast=False, entry="B1", epoch=1, credit=10)
    assert session.receive(acknowledged) == [acknowledged]
    first, second = (Refused(request=0, sequence=n, reason="not advertised", fast=False) for n in (1, 2))
    assert session.receive(first) == []
    assert session.receive(second) == [second]


def test_a_refusal_says_of_which_quality() -> None:
    """Durable and fast events have sequences of their own, so a refusal names which one it is about."""
    desk = Desk()
    desk.attach(Session("ada"), "link")
    session = desk.sessions["link"]
    session.publish(Event(type="Unheard"), fast=True)
    desk.give([])
    refused = [one for one in desk.told["link"] if isinstance(one, Refused)]
    assert refused == [Refused(0, 1, "'ada' has not advertised the type 'Unheard'", True)]


def test_a_gap_beyond_the_window_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A subscriber that reads too late gets what it was sent, a notice for what was let go, and the rest."""
    monkeypatch.setattr(limits, "CLIENT_DELIVERIES_MAX", 200)
    desk = Desk()
    session = Session("ada", prompt=False)
    desk.attach(session, "link")
    session.subscribe(ALL)
    for n in range(500):
        session.publish(Event(attributes={"n": n, "raw": b"travels alone"}))
    desk.give([])
    done = 0
    while done < len(told := desk.told["link"]):
        for message in [one for one in told[done:] if isinstance(one, (Deliver, Gap))]:
            session.done(message)
        done = len(told)
        desk.give([])
    gaps = [one for one in told if isinstance(one, Gap)]
    received = desk.numbers("link")
    assert {gap.reason for gap in gaps} == {"quota"}
    assert received == sorted(set(received))
    let_go = {sequence for gap in gaps for sequence in range(gap.first, gap.last + 1)}
    assert sorted(let_go | set(received)) == list(range(1, 501))


@pytest.mark.parametrize(
    ("event", "options"),
    [
        ({"text": "x" * limits.EVENT_BYTES_MAX}, {}),
        (Event(attributes={"bytes": bytes(limits.EVENT_BYTES_MAX)}), {}),
        ({}, {"to": "a" * (limits.FILTER_CHARS_MAX + 1)}),
        ({}, {"destinations": ("ada" * limits.DESTINATION_CHARS_MAX,)}),
    ],
    ids=["a line", "bytes", "an address", "destinations"],
)
def test_what_no_broker_carries_is_not_published(event: Event | dict[str, str], options: dict[str, Any]) -> None:
    """Alone or among others: it is an error that names the bound, and nothing of it is published."""
    session = Session("ada")
    with pytest.raises(CallerError, match=r"at most [0-9]+ are (carried|read)"):
        session.publish(event, **options)
    with pytest.raises(CallerError, match=r"at most [0-9]+ are (carried|read)"):
        session.publish_batch([{"n": 1}, event], **options)
    assert session.publish({"n": 2}) == 1
    assert [one.count for one in session.unacknowledged.values()] == [1]


def test_a_subscription_that_no_broker_carries_is_not_asked_for() -> None:
    """Nor is a type: it is an error that names the bound, and what was asked before stands."""
    session = Session("ada")
    session.subscribe(ALL)
    with pytest.raises(CallerError, match="at most 16777216 are carried"):
        session.subscribe(Subscription(id="all", context={"text": "x" * limits.REQUEST_BYTES_MAX}))
    with pytest.raises(CallerError, match="at most 16777216 are carried"):
        session.advertise(AgventType(name="Book"), bytes(limits.REQUEST_BYTES_MAX))
    assert [one.subscription for one in session.subscriptions.values()] == [ALL]
    assert session.types == {}
