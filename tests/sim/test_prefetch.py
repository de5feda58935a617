"""Asking the indexes for a whole step at once changes nothing but the price."""

from __future__ import annotations

import pytest

from agvent.broker import prefetch
from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Input, MessageCame, Send, Synced
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.matching.matches import Matches
from agvent.matching.subscriptions import Subscriptions
from agvent.sim.run import run
from agvent.sim.scenario import Scenario, Workload, scenario_of
from agvent.wire.client_messages import Attach, Deliver, Publish, Refused, Subscribe
from agvent.wire.codec import encode_event
from agvent.wire.parts import Publication

BUSY = Workload(clients=3, actions=400, duration_us=3_000_000)


@pytest.mark.parametrize(
    "scenario",
    [scenario_of(39, faults="all"), scenario_of(5, faults="moves"), Scenario(seed=1, faults="none", workload=BUSY)],
)
def test_a_run_goes_the_same_way(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Always, as it is, and never: the same frames at the same times."""
    digests = set()
    for least in (1, prefetch.EVENTS_MIN, 1_000_000):
        monkeypatch.setattr(prefetch, "EVENTS_MIN", least)
        digests.add(run(scenario).digest)
    assert len(digests) == 1


def stepped(broker: Broker, inputs: list[Input]) -> list[Send]:
    """One step, and what is sent when its records are on disk."""
    sent: list[Send] = []
    effects = broker.step(inputs, 1)
    while effects:
        sent += [effect for effect in effects if isinstance(effect, Send)]
        numbers = [effect.number for effect in effects if isinstance(effect, Append)]
        effects = broker.step([Synced(numbers[-1])], 1) if numbers else []
    return sent


def publish(sequence: int, content: bytes | None = None) -> MessageCame:
    event = encode_event(Event(attributes={"n": sequence})) if content is None else content
    return MessageCame("p", Publish(Publication("p", sequence, event)))


def test_one_question_for_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty events ask the index once; a change between two of them is seen by the second; a bad one is refused."""
    broker = Broker("B1", 1)
    stepped(
        broker,
        [
            MessageCame(
                link, Attach(client=link, incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
            )
            for link in ("p", "ada")
        ],
    )
    stepped(broker, [MessageCame("ada", Subscribe(1, 1, Subscription(id="late", filter="n > 25")))])
    asked: list[int] = []
    together = Subscriptions.match_batch

    def counted(self: Subscriptions, events: list[Event]) -> Matches:
        asked.append(len(events))
        return together(self, events)

    monkeypatch.setattr(Subscriptions, "match_batch", counted)
    monkeypatch.setattr(Subscriptions, "match", lambda *_: pytest.fail("one by one"))
    sent = stepped(broker, [publish(n) for n in range(1, 51)])
    assert asked == [50]
    assert [one.message.sequence for one in sent if isinstance(one.message, Deliver)] == list(range(26, 51))
    monkeypatch.undo()
    change = MessageCame("ada", Subscribe(2, 2, Subscription(id="late", filter="n > 99")))
    sent = stepped(broker, [publish(51), publish(52, b"\xc1"), change, publish(53), publish(54)])
    assert [one.message.sequence for one in sent if isinstance(one.message, Deliver)] == [51]
    assert [one.message.sequence for one in sent if isinstance(one.message, Refused)] == [52]
