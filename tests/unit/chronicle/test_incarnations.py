"""What the log calls the incarnations of a broker."""

from __future__ import annotations

from agvent.broker.records import Accepted, Arrived, Outcome, Visited
from agvent.chronicle.hops import Ways
from agvent.chronicle.incarnations import Incarnations, incarnations_in
from agvent.event import Budget
from agvent.wire.broker_messages import Journey
from agvent.wire.parts import Entered, Publication, Target

SECOND = 1_794_800_000


def test_records_name_incarnations_in_the_order_in_which_they_began() -> None:
    """Where an event entered is the same broker for its entry and for every home that it came to."""
    entered = Entered("b1", SECOND + 60, 3)
    event = Publication("ada", 1, b"")
    records = [
        Accepted(entered=entered, publication=event, targets=(), at=5),
        Arrived(entered=entered, publication=event, after=0, lost="", deliveries=()),
    ]
    known = Incarnations({})
    known.see({("b1", SECOND + 60), ("b1", SECOND)})
    assert [incarnations_in(record) for record in records] == [[("b1", SECOND + 60)]] * 2
    numbered = Entered("b1", 2, 3)
    assert [known.put(record) for record in records] == [
        Accepted(entered=numbered, publication=event, targets=(), at=5),
        Arrived(entered=numbered, publication=event, after=0, lost="", deliveries=()),
    ]


def test_the_homes_of_an_agvent_on_its_way_have_their_numbers() -> None:
    """A leg of a self-routing agvent names homes that no other record may have named, and its hop is theirs."""
    visited = Visited(
        entered=Entered("b1", SECOND, 3),
        publication=Publication("ada", 1, b""),
        journey=Journey(
            path=(0,),
            origin="b1",
            to="b2",
            targets=(Target("b3", SECOND + 60, 1, 0),),
            snapshot=b"",
            budget=Budget(),
            deadline=9,
        ),
        arrives=False,
        after=0,
        outcome=Outcome(deliveries=()),
        at=5,
    )
    assert incarnations_in(visited) == [("b1", SECOND), ("b3", SECOND + 60)]
    known = Incarnations({})
    known.see({("b3", SECOND), *incarnations_in(visited)})
    ways = Ways()
    ways.take("b2", "b2", known.put(visited), 6)
    assert [hop.homes for hop in ways.hops] == [("b3~2",)]
