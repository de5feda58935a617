"""The judges' oracle is the filter's evaluator, asked once."""

from __future__ import annotations

from random import Random

from agvent.agents.execution.answers import Answers
from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.sim.agvents import agvent
from agvent.sim.oracle import Answering, admits, clauses_of, entered, published
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall

FILTERS = (
    "",
    "open",
    "price >= 7",
    "price < 8 AND city = 'Oslo'",
    "is_dear(4)",
    "twice(price) > 3 OR fails()",
    "NOT is_dear(4)",
    "city = 'Rome' AND is_dear(7)",
)
SUBSCRIPTIONS = [
    Subscription(id="any", type=type, topic=topic, pattern=pattern, channel=channel, filter=filter)
    for type in (None, "Quote", "Trade")
    for topic, pattern, channel in (
        (None, None, None),
        ("Sports/NBA", None, None),
        (None, "Sports/#", None),
        (None, None, 2),
    )
    for filter in FILTERS
]
ANSWERS = (
    Answered(BehaviourCall("is_dear", (4,)), value=True),
    Answered(BehaviourCall("is_dear", (7,)), value=None),
)


def _events() -> list[Event]:
    random = Random(1)
    attributes = [
        {"price": random.randrange(10), "city": city, "open": is_open}
        for city in ("Oslo", "Rome")
        for is_open in (True, False)
    ]
    return [
        event
        for values in attributes
        for event in (
            Event(type="Quote", attributes=values),
            Event(type="Trade", ancestors=("Quote",), attributes=values),
            Event(topic="Sports/NBA", attributes=values),
            Event(topic="News/Oslo", attributes=values),
            Event(channel=2, attributes=values),
        )
    ]


def test_it_says_of_an_event_on_a_disk_what_the_evaluator_says() -> None:
    """And says it again, when it remembers."""
    for event in [*_events(), *map(agvent, _events())]:
        for answers in ((), ANSWERS):
            behaviours = Answers(answers, event.cargo)
            expected = [evaluate(one.condition(), event, behaviours) is True for one in SUBSCRIPTIONS]
            for _ in range(2):
                question = entered(encode_event(event), answers)
                assert [question.matches(clauses_of(one)) for one in SUBSCRIPTIONS] == expected


def test_it_says_of_a_published_event_what_the_evaluator_says() -> None:
    """With the answers that the event's behaviours give here."""
    for event in [*_events(), *map(agvent, _events())]:
        expected = [evaluate(one.condition(), event, Answering(event)) is True for one in SUBSCRIPTIONS]
        for _ in range(2):
            assert [published(event).matches(clauses_of(one)) for one in SUBSCRIPTIONS] == expected


def test_a_publishers_filter_is_asked_of_the_subscribers_context() -> None:
    """No filter admits everybody; one that is unknown admits nobody."""
    near = Subscription(id="any", context={"floor": 1})
    assert [admits(to, near) for to in ("", "floor = 1", "floor = 2")] == [True, True, False]
    assert not admits("floor = 1", Subscription(id="any"))
