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
    records = [Accepted(entered, event, (), 5), Arrived(entered, event, 0, "", ())]
    known = Incarnations({})
    known.see({("b1", SECOND + 60), ("b1", SECOND)})
    assert [incarnations_in(record) for record in records] == [[("b1", SECOND + 60)]] * 2
    numbered = Entered("b1", 2, 3)
    assert [known.put(record) for record in records] == [
        Accepted(numbered, event, (), 5),
        Arrived(numbered, event, 0, "", ()),
    ]
