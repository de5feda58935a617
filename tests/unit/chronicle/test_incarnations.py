"""What the log calls the incarnations of a broker."""

from __future__ import annotations

from agvent.broker.records import Accepted, Arrived
from agvent.chronicle.incarnations import Incarnations, incarnations_in
from agvent.wire.parts import Entered, Publication

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
