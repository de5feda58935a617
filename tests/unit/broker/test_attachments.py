"""What a client publishes too early, or again while there is no room, waits for its turn."""

from __future__ import annotations

from agvent.broker.clients.attachments import Attachment
from agvent.wire.parts import Publication


def test_a_repeat_does_not_take_the_place_of_the_next_event() -> None:
    """A large event that is sent again may come after the next one: both are kept, the repeat first."""
    attachment = Attachment(number=1, client="c", expected=[22, 1], early={}, again={}, refused=[0, 0])
    for sequence in (21, 22, 23, 20):
        attachment.keep(Publication("c", sequence, b"event"))
    found = []
    while (one := attachment.following(fast=False)) is not None:
        found.append(one.sequence)
        attachment.expected[False] = max(attachment.expected[False], one.sequence + 1)
    assert found == [21, 20, 22, 23]
    assert attachment.early_bytes == 0
