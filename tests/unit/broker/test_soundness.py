"""What a neighbour says and no broker would: refused and counted, and nothing of it in the journal."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Input, LinkUp, MessageCame, Send, Synced
from agvent.broker.records import Record
from agvent.event import Budget, Event
from agvent.filters.subscription import Subscription
from agvent.wire.broker_messages import (
    Adverts,
    Applied,
    Body,
    Claim,
    Considered,
    Copies,
    Delta,
    Handing,
    Hello,
    Interest,
    Passed,
    Routed,
    Travel,
)
from agvent.wire.broker_messages import Journey as Leg
from agvent.wire.client_messages import Attach, Deliver, Gap, Source, Subscribe
from agvent.wire.codec import encode_event
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Entered, Publication, Target

EVENT = encode_event(Event(attributes={"n": 1}))
ENTERED = Entered("B2", 1, 1)
MINE = (Target("B1", 1, 1, 0),)
WAY = (("B2", 128),)
SOURCE = Source("B1", 1, "ada~x", 0)
DELTA = Delta(
    home="B2",
    incarnation=1,
    previous=0,
    number=1,
    position=1,
    considered=(Considered("B1", 1, 1),),
    roots=(),
    ended=(),
)
APPLIED = Applied(entry="B2", incarnation=1, number=1, position=1, epoch=1, settled=1)
BATCH = Deliver(
    number=2,
    after=0,
    behind=0,
    publisher="p",
    sequence=2,
    fast=False,
    event=b"{}\n{}",
    subscriptions=("all",),
    count=2,
    picked=(b"",),
)
LEG = Leg(path=(), origin="B2", to="B1", targets=MINE, snapshot=b"", budget=Budget(), deadline=9)


class Watched:
    """A broker with a neighbour B2 and a client ada that wants everything; its journal, and what it sends."""

    def __init__(self) -> None:
        self.journal: list[Record] = []
        self.sent: list[AnyMessage] = []
        self.broker = Broker("B1", 1)
        self.step([LinkUp("B2", to_broker=True), MessageCame("B2", Hello("B2", 1, {})), LinkUp("ada", to_broker=False)])
        self.say(Adverts(owner="B2", incarnation=1, since=0, version=1, entries=(), trace=WAY))
        self.step(
            [
                MessageCame(
                    "ada", Attach(client="ada", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
                ),
                MessageCame("ada", Subscribe(1, 1, Subscription(id="all"))),
            ]
        )

    def step(self, inputs: list[Input]) -> None:
        while inputs:
            effects = self.broker.step(inputs, 1)
            self.sent += [effect.message for effect in effects if isinstance(effect, Send)]
            appended = [effect for effect in effects if isinstance(effect, Append)]
            self.journal += [record for effect in appended for record in effect.records]
            inputs = [Synced(effect.number) for effect in appended]
        self.broker.check()

    def say(self, message: AnyMessage) -> None:
        self.step([MessageCame("B2", message)])


def routed(body: Body) -> Routed:
    return Routed(targets=("B1",), trace=WAY, body=body)


def copies(publication: Publication, entered: Entered = ENTERED) -> Copies:
    return Copies(entered=entered, publication=publication, targets=MINE, trace=WAY)


def handing(delivery: Deliver) -> Routed:
    return routed(Handing(source=SOURCE, client="ada", taken=0, deliveries=(Passed(delivery, 0),), drained=False))


@pytest.mark.parametrize(
    "message",
    [
        Hello("B1", 1, {}),
        Hello("B3", 1, {}),
        Adverts(owner="B3", incarnation=1, since=0, version=1, entries=(), trace=()),
        Adverts(owner="B3", incarnation=1, since=0, version=0, entries=(), trace=WAY),
        Adverts(owner="B3/x", incarnation=1, since=0, version=1, entries=(), trace=WAY),
        Adverts(owner="B3", incarnation=1, since=0, version=1, entries=(), trace=(("B2", -1),)),
        Adverts(owner="B3", incarnation=1, since=0, version=1, entries=(), trace=(("B2", 1 << 63),)),
        Copies(entered=ENTERED, publication=Publication("p", 1, EVENT), targets=MINE, trace=()),
        copies(Publication("p", 1, EVENT, count=0)),
        copies(Publication("p", 1, EVENT, count=2)),
        Routed(targets=("B1",), trace=(), body=APPLIED),
        routed(replace(DELTA, home="B1")),
        routed(replace(DELTA, home="B2/x")),
        routed(Claim(home="B2", client="ada", source=SOURCE, taken=0, close=False, before=(SOURCE,))),
        handing(replace(BATCH, event=b"{}")),
        handing(replace(BATCH, subscriptions=("all", "more"))),
        handing(replace(BATCH, picked=(b"\7\0",))),
        Travel(entered=ENTERED, publication=Publication("p", 1, b""), journey=LEG, trace=WAY),
    ],
)  # fmt: skip
def test_what_no_broker_says_is_refused(message: AnyMessage) -> None:
    """Nothing is written down and nothing is said; it is counted."""
    watched = Watched()
    written, said = len(watched.journal), len(watched.sent)
    watched.say(message)
    assert (len(watched.journal), len(watched.sent), watched.broker.refused) == (written, said, 1)


def test_a_root_that_cannot_be_filed_is_left_out() -> None:
    """An entry has the other roots of the Delta and says so, also after a restart from its journal."""
    watched = Watched()
    bad = [Subscription(id="s/" + "i" * 1_022), Subscription(id="s/filter", filter="n >"), Subscription(id="s/good")]
    roots = tuple(Interest(1, one) for one in bad)
    watched.say(
        routed(
            Delta(
                home="B2",
                incarnation=1,
                previous=0,
                number=1,
                position=1,
                considered=(Considered("B1", 1, 1),),
                roots=roots,
                ended=(),
            )
        )
    )
    assert watched.broker.refused == 2
    answers = [one.body for one in watched.sent if isinstance(one, Routed) and isinstance(one.body, Applied)]
    assert [(answer.number, answer.position) for answer in answers] == [(1, 1)]
    again = Broker("B1", 1, watched.journal)
    assert again.tables.interests.homes["B2"].roots == {"s/good": 1}


@pytest.mark.parametrize(
    "publication",
    [
        Publication("p", 1, b"\1"),
        Publication("p", 1, EVENT, to="floor >"),
        Publication("p", 2, b"{}", count=2),
        Publication("p", 2, b"{}\n{", count=2),
    ],
    ids=["no event", "a bad address", "a line too few", "no line"],
)
def test_a_copy_that_cannot_be_read_is_a_gap(publication: Publication) -> None:
    """The subscriber learns that something is missing, and what its publisher sent next is delivered."""
    watched = Watched()
    watched.say(copies(publication))
    last = publication.sequence
    follower = Target("B1", 1, 1, last)
    watched.say(Copies(entered=ENTERED, publication=Publication("p", last + 1, EVENT), targets=(follower,), trace=WAY))
    told = [one for one in watched.sent if isinstance(one, (Deliver, Gap))]
    assert [(type(one), one.number) for one in told] == [(Gap, 1), (Deliver, 2)]
    assert told[0] == Gap(
        number=1,
        after=0,
        behind=0,
        publisher="p",
        first=1,
        last=last,
        fast=False,
        reason="unreadable",
        subscriptions=("all",),
    )


def test_a_copy_of_what_entered_here_does_not_come_back_to_this_home() -> None:
    """A neighbour that says so changes nothing: its sequence would be that of events that enter here later."""
    watched = Watched()
    watched.say(copies(Publication("ada", 9, EVENT), Entered("B1", 1, 1)))
    assert watched.broker.tables.chains.last == {}


def test_what_is_for_another_broker_is_passed_on() -> None:
    """Whether it can be carried out is for its target to judge: a home's own Delta may come back to it on the way."""
    watched = Watched()
    delta = Delta(
        home="B1",
        incarnation=1,
        previous=0,
        number=1,
        position=1,
        considered=(Considered("B2", 1, 1),),
        roots=(),
        ended=(),
    )
    watched.say(Routed(targets=("B2",), trace=(("B3", 128), ("B2", 128)), body=delta))
    assert isinstance(watched.sent[-1], Routed)
    assert (watched.sent[-1].targets, watched.sent[-1].body, watched.broker.refused) == (("B2",), delta, 0)
