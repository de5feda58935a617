"""The broker as a function: the same inputs give the same effects, and a stranger's words change nothing."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Effect, Input, LinkUp, MessageCame, Ran, Run, Send, Synced
from agvent.broker.records import RejectedHere
from agvent.broker.tables.deliveries import BOOT_SHIFT
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.broker_messages import Hello
from agvent.wire.client_messages import (
    Advertise,
    Attach,
    Attached,
    Deliver,
    Move,
    Publish,
    Published,
    Refused,
    Source,
    Subscribe,
    Subscribed,
)
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall, Publication, Series
from tests.fuzz.wire import MESSAGES

EVENT = encode_event(Event(attributes={"price": 3}))
TOO_LARGE = bytes(limits.EVENT_BYTES_MAX + 1)


def synced(broker: Broker, effects: list[Effect], now: int) -> list[Effect]:
    """The effects, and those that follow when the journal is synced, and so on."""
    out = list(effects)
    while appends := [effect for effect in effects if isinstance(effect, Append)]:
        effects = broker.step([Synced(appends[-1].number)], now)
        out += effects
    return out


def attached() -> Broker:
    broker = Broker("B1", 1)
    synced(broker, broker.step([], 1), 1)
    attach = MessageCame(
        "ada", Attach(client="ada", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
    )
    effects = synced(broker, broker.step([LinkUp("ada", to_broker=False), attach], 2), 2)
    assert [effect.message for effect in effects if isinstance(effect, Send)] == [
        Attached(
            broker="B1",
            incarnation=1,
            credit=limits.PUBLISH_CREDIT,
            sequence=0,
            fast_sequence=0,
            received=0,
            fast_received=1 << BOOT_SHIFT,
        )
    ]
    return broker


def test_one_broker_alone_matches_and_delivers() -> None:
    """A subscription and a publication of one client: acknowledged and delivered, after the sync and not before."""
    broker = attached()
    subscribe = MessageCame("ada", Subscribe(1, 1, Subscription(id="s", filter="price > 2")))
    effects = synced(broker, broker.step([subscribe], 3), 3)
    assert [e.message for e in effects if isinstance(e, Send)] == [Subscribed(1, {"B1": 1}, ())]
    at_once = broker.step([MessageCame("ada", Publish(Publication("ada", 1, EVENT)))], 4)
    assert [effect for effect in at_once if isinstance(effect, Send)] == []
    effects = synced(broker, at_once, 4)
    assert [e.message for e in effects if isinstance(e, Send)] == [
        Published(sequence=1, fast=False, entry="B1", epoch=1, credit=limits.PUBLISH_CREDIT),
        Deliver(
            number=1, after=0, behind=0, publisher="ada", sequence=1, fast=False, event=EVENT, subscriptions=("s",)
        ),
    ]
    broker.check()


def test_the_same_inputs_give_the_same_effects() -> None:
    """Two brokers that are given the same do the same."""
    inputs: list[list[Input]] = [
        [
            LinkUp("ada", to_broker=False),
            MessageCame(
                "ada", Attach(client="ada", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
            ),
        ],
        [LinkUp("B2", to_broker=True), MessageCame("B2", Hello("B2", 1, {}))],
        [
            MessageCame("ada", Subscribe(1, 1, Subscription(id="s"))),
            MessageCame("ada", Publish(Publication("ada", 1, EVENT))),
        ],
    ]
    brokers = [Broker("B1", 1), Broker("B1", 1)]
    for at, given in enumerate(inputs, 1):
        first, second = [synced(broker, broker.step(list(given), at), at) for broker in brokers]
        assert first == second


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_stranger_changes_nothing(message: object) -> None:
    """What comes over a link that nobody has introduced himself on has no effect, but for the introductions."""
    broker = attached()
    effects = broker.step([LinkUp("x", to_broker=False), MessageCame("x", message)], 5)  # type: ignore[arg-type]
    if not isinstance(message, (Hello, Attach)):
        assert effects == []
    broker.check()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Publish(Publication("ben", 1, EVENT)), "'ada' cannot publish as 'ben'"),
        (Publish(Publication("ada", 1, b"\x01")), "not a message: Expected `object`, got `int`"),
        (Publish(Publication("ada", 1, EVENT, to="floor >")), "line 1, column 8: expected a value"),
        (Publish(Publication("ada", 1, TOO_LARGE)), "the event has 16777217 bytes, at most 16777216 are carried"),
        (Subscribe(1, 1, Subscription(id="s", context={"c": "c" * limits.REQUEST_BYTES_MAX})), "the request has 1677"),
        (Advertise(1, AgventType(name="Book"), TOO_LARGE), "the request has 1677"),
        (
            Publish(Publication("ada", 1, EVENT, to="floor = 3 OR is_dear(5)")),
            "`to` is about a subscriber's context, which has no behaviours to call: floor = 3 OR is_dear(5)",
        ),
        (Subscribe(1, 1, Subscription(id="s", filter="price >> 1")), "line 1, column 8: expected a value"),
        (Publish(Publication("ada", 1, EVENT, retried=((1, 2),) * 17)), "more than 16 ranges of retried events"),
        (Move(1, (Source("B2", 1, "ben", 0),)), "'ada' cannot move the deliveries of 'ben'"),
        (Move(1, (Source("B2", 1, "ada", 0),) * 65), "a client has at most 64 earlier homes"),
        (Move(1, (Source("B2", 1, "ada~x", 0),)), "'ada' cannot move the deliveries of 'ada~x'"),
        (
            Attach(
                client="ada",
                incarnation=1,
                received=0,
                fast_received=0,
                sequence=1,
                fast_sequence=1,
                broker="B2",
                moves=-3,
            ),
            "a client moves at most 524288 times, not -3",
        ),
        (
            Attach(
                client="ada",
                incarnation=1,
                received=0,
                fast_received=0,
                sequence=1,
                fast_sequence=1,
                broker="B2",
                moves=1 << 60,
            ),
            "a client moves at most 524288 times, not 1152921504606846976",
        ),
        (
            Attach(client="ada~1", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1),
            "'ada~1' cannot name a client",
        ),
        (Publish(Publication("ada", 1 << 63, EVENT)), "a sequence is at most 9223372036854775807"),
        (Subscribe(1, 1 << 63, Subscription(id="s")), "a version is at most 9223372036854775807"),
    ],
    ids=[
        "another's name",
        "no event",
        "a bad address",
        "a large event",
        "a large subscription",
        "large code",
        "an address that calls",
        "a bad filter",
        "retried",
        "another's queue",
        "many homes",
        "no key",
        "less than no moves",
        "many moves",
        "a key for a name",
        "a sequence beyond the log's",
        "a version beyond the log's",
    ],
)
def test_a_mistake_is_refused_and_changes_nothing(message: object, reason: str) -> None:
    """A client's mistake is answered with what is wrong. No record is written, but that an event was refused."""
    broker = attached()
    effects = broker.step([MessageCame("ada", message)], 5)  # type: ignore[arg-type]
    records = [type(record) for effect in effects if isinstance(effect, Append) for record in effect.records]
    effects = synced(broker, effects, 5)
    [refused] = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Refused)]
    assert refused.reason.startswith(reason)
    assert records in ([], [RejectedHere] if refused.sequence else [])


def test_a_first_event_that_comes_last_lets_all_that_waited_in() -> None:
    """A large event may be overtaken by a whole window of small ones."""
    broker = attached()
    late = range(2, limits.PUBLISH_CREDIT + 1)
    for sequence in late:
        broker.step([MessageCame("ada", Publish(Publication("ada", sequence, EVENT)))], 3)
    effects = synced(broker, broker.step([MessageCame("ada", Publish(Publication("ada", 1, EVENT)))], 4), 4)
    accepted = [e.message.sequence for e in effects if isinstance(e, Send) and isinstance(e.message, Published)]
    assert accepted == [1, *late]


def test_behaviours_of_a_publishers_events_are_asked_side_by_side() -> None:
    """Several of its events are asked at once; whatever order the answers come in, they are accepted in their own."""
    broker = attached()
    subscribe = MessageCame("ada", Subscribe(1, 1, Subscription(id="s", filter="twice(price) > 2")))
    synced(broker, broker.step([subscribe], 3), 3)
    published = [MessageCame("ada", Publish(Publication("ada", number, EVENT))) for number in (1, 2, 3)]
    runs = [effect for effect in broker.step(published, 4) if isinstance(effect, Run)]
    call = BehaviourCall("twice", (3,))
    assert runs == [Run(number, "ada", EVENT, (call,)) for number in (1, 2, 3)]
    assert broker.step([Ran(3, (Answered(call, 6),)), Ran(2, (Answered(call, None, "KeyError"),))], 5) == []
    effects = synced(broker, broker.step([Ran(1, (Answered(call, 6),))], 6), 6)
    delivered = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Deliver)]
    assert [(one.sequence, one.subscriptions) for one in delivered] == [(1, ("s",)), (3, ("s",))]
    broker.check()


def test_refusals_keep_their_place_among_a_publishers_events() -> None:
    """What has no event, and what a door emptied, is settled when what was published before it is accepted."""
    broker = attached()
    subscribe = MessageCame("ada", Subscribe(1, 1, Subscription(id="s", filter="twice(price) > 2")))
    synced(broker, broker.step([subscribe], 3), 3)
    contents = {1: EVENT, 2: b"", 3: EVENT, 4: b""}
    published = [
        MessageCame("ada", Publish(Publication("ada", number, content))) for number, content in contents.items()
    ]
    effects = synced(broker, broker.step(published, 4), 4)
    assert [type(effect) for effect in effects if not isinstance(effect, Append)] == [Run, Run]
    call = BehaviourCall("twice", (3,))
    settled = []
    for run in (1, 2):
        effects = synced(broker, broker.step([Ran(run, (Answered(call, 6),))], 5), 5)
        told = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, (Published, Refused))]
        settled.append([(type(message), message.sequence) for message in told])
    assert settled == [
        [(Published, 1), (Refused, 2), (Published, 2)],
        [(Published, 3), (Refused, 4), (Published, 4)],
    ]


def test_what_waits_for_answers_is_held_to_the_publishers_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends more than it may have unacknowledged has the rest wait as if it were early, and all come in order."""
    monkeypatch.setattr(limits, "PUBLISH_EVENTS_MAX", 3)
    broker = attached()
    subscribe = MessageCame("ada", Subscribe(1, 1, Subscription(id="s", filter="twice(price) > 2")))
    synced(broker, broker.step([subscribe], 3), 3)
    effects = broker.step([MessageCame("ada", Publish(Publication("ada", number, EVENT))) for number in range(1, 9)], 4)
    assert broker.entry.waiting() == {Series("ada", fast=False): 3}
    delivered = []
    while runs := [effect for effect in effects if isinstance(effect, Run)]:
        answers = [Ran(run.number, (Answered(run.calls[0], 6),)) for run in runs]
        effects = synced(broker, broker.step(answers, 5), 5)
        delivered += [e.message.sequence for e in effects if isinstance(e, Send) and isinstance(e.message, Deliver)]
    assert delivered == list(range(1, 9))
    assert broker.entry.waiting() == {}


def test_a_client_that_says_it_moved_has_few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those for which there is nothing here give way; one more than may be owed something is refused."""
    monkeypatch.setattr(limits, "CLIENT_KEYS_MAX", 4)
    broker = attached()
    for moves in range(1, 20):
        synced(
            broker,
            broker.step(
                [
                    MessageCame(
                        "ada",
                        Attach(
                            client="ada",
                            incarnation=1,
                            received=0,
                            fast_received=0,
                            sequence=1,
                            fast_sequence=1,
                            broker="B7",
                            moves=moves,
                        ),
                    )
                ],
                3,
            ),
            3,
        )
        assert len(broker.tables.deliveries.keys_of("ada")) <= 4
    refused = []
    for moves in range(20, 30):
        subscribe = MessageCame("ada", Subscribe(1, 1, Subscription(id="s")))
        attach = MessageCame(
            "ada",
            Attach(
                client="ada",
                incarnation=1,
                received=0,
                fast_received=0,
                sequence=1,
                fast_sequence=1,
                broker="B7",
                moves=moves,
            ),
        )
        effects = synced(broker, broker.step([attach, subscribe], 4), 4)
        refused += [e.message.reason for e in effects if isinstance(e, Send) and isinstance(e.message, Refused)]
    assert {*refused} == {"'ada' moved back before it took the deliveries that wait for it here"}
    assert len(broker.tables.deliveries.keys_of("ada")) == 4
    broker.check()
