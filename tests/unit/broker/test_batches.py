"""A batch in a broker: one record and one delivery, or its events one by one where that cannot be."""

from __future__ import annotations

from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Effect, Input, LinkUp, MessageCame, Run, Send, Synced
from agvent.broker.records import Accepted, Arrived, Record
from agvent.filters.subscription import Subscription
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Attach, Deliver, Publish, Published, Received, Refused, Subscribe
from agvent.wire.parts import Publication

CONTENT = b'{"n":1}\n{"n":2}\n{"n":3}\n{"n":4}'
BATCH = Publication("ada", 4, CONTENT, count=4)


class Told:
    """A broker, and what it wrote down and said."""

    def __init__(self, *filters: str) -> None:
        self.broker = Broker("B1", 1)
        self.records: list[Record] = []
        self.said: list[object] = []
        self.runs: list[Run] = []
        self.give(
            LinkUp("ada", to_broker=False),
            MessageCame(
                "ada", Attach(client="ada", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
            ),
        )
        for at, filter in enumerate(filters, 1):
            self.give(MessageCame("ada", Subscribe(at, at, Subscription(id=f"s{at}", filter=filter))))

    def give(self, *inputs: Input) -> None:
        self._note(self.broker.step(inputs, 1))
        self.broker.check()

    def _note(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                self.records += effect.records
            elif isinstance(effect, Send):
                self.said.append(effect.message)
            elif isinstance(effect, Run):
                self.runs.append(effect)
        for effect in effects:
            if isinstance(effect, Append):
                self.give(Synced(effect.number))

    def publish(self, publication: Publication) -> None:
        self.give(MessageCame("ada", Publish(publication)))

    def of(self, kind: type) -> list[object]:
        return [one for one in (*self.records, *self.said) if isinstance(one, kind)]

    def delivered(self) -> list[tuple[int, tuple[str, ...]]]:
        found = [one for one in self.said if isinstance(one, Deliver)]
        return [(single.sequence, single.subscriptions) for one in found for single in deliveries_in(one)]


def test_a_batch_is_one_record_one_acknowledgement_one_delivery() -> None:
    """Each subscription gets its events of it, and the client none that it did not ask for."""
    told = Told("n > 1", "n = 3")
    told.publish(BATCH)
    assert [one.publication for one in told.of(Accepted)] == [BATCH]  # type: ignore[attr-defined]
    assert len(told.of(Arrived)) == 1
    assert [one.sequence for one in told.of(Published)] == [4]  # type: ignore[attr-defined]
    [delivery] = told.of(Deliver)
    assert isinstance(delivery, Deliver)
    assert (delivery.number, delivery.event) == (3, b'{"n":2}\n{"n":3}\n{"n":4}')
    assert told.delivered() == [(2, ("s1",)), (3, ("s1", "s2")), (4, ("s1",))]


def test_one_event_that_is_none_is_refused_alone() -> None:
    """The others of its batch are published."""
    told = Told("")
    told.publish(Publication("ada", 3, b'{"n":1}\n{"$type":"Unheard"}\n{"n":3}', count=3))
    told.publish(Publication("ada", 6, b'{"n":4}\n[]\n{"n":6}', count=3))
    told.publish(Publication("ada", 9, b'{"n":7}', count=3))
    told.publish(Publication("ada", 12, b'{"n":10}\n \n{"n":12}', count=3))
    assert [one.sequence for one in told.of(Refused)] == [2, 5, 7, 8, 9, 11]  # type: ignore[attr-defined]
    assert [sequence for sequence, _ in told.delivered()] == [1, 3, 4, 6, 10, 12]
    assert [one.sequence for one in told.of(Published)][-1] == 12  # type: ignore[attr-defined]


def test_a_batch_of_which_a_part_came_before_is_not_taken_twice() -> None:
    """A publisher that lost its link may put its events together in another way."""
    told = Told("")
    told.publish(Publication("ada", 2, b'{"n":1}\n{"n":2}', count=2))
    told.publish(BATCH)
    assert told.delivered() == [(sequence, ("s1",)) for sequence in (1, 2, 3, 4)]


def test_a_batch_whose_behaviours_must_be_asked_is_asked_event_by_event() -> None:
    """Only those events that such a filter might be for are."""
    told = Told("n > 2 AND is_dear(n)")
    told.publish(Publication("ada", 2, b'{"n":1}\n{"n":2}', count=2))
    assert (len(told.of(Accepted)), len(told.runs)) == (1, 0)
    told.publish(Publication("ada", 6, CONTENT, count=4))
    assert (len(told.of(Accepted)), len(told.runs)) == (3, 2)


def test_a_batch_is_acknowledged_in_part() -> None:
    """What was acknowledged of it does not come again, to the next process or after a restart."""
    told = Told("")
    told.publish(BATCH)
    told.give(MessageCame("ada", Received(2, 0)))
    told.said.clear()
    told.give(
        LinkUp("again", to_broker=False),
        MessageCame(
            "again", Attach(client="ada", incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1)
        ),
    )
    assert [sequence for sequence, _ in told.delivered()] == [3, 4]
    restarted = Broker("B1", 1, list(told.broker.tables.snapshot()))
    queue = restarted.tables.deliveries.clients["ada"].durable
    assert (queue.received, queue.event_count) == (2, 2)
