"""The clients that are attached now, by their links, and what each of them said too early."""

from __future__ import annotations

import msgspec

from agvent import limits
from agvent.broker.outbox import Outbox
from agvent.broker.pending import TellClient
from agvent.wire.names import name_of
from agvent.wire.parts import Publication


class EarlyPlace(msgspec.Struct, frozen=True, gc=False):
    """Where a publication that came early has its turn."""

    fast: bool
    sequence: int


class Attachment(msgspec.Struct):
    """A client, by its key, on its link. `expected` are the next sequences, durable and fast; later ones wait in
    `early`, and in `again` those that are on their way in and were sent again when there was no room."""

    number: int  # no other attachment of this broker's run has it
    client: str
    expected: list[int]
    early: dict[EarlyPlace, Publication]
    again: dict[EarlyPlace, Publication]
    refused: list[int]  # up to which sequences it was told what is refused, durable and fast
    early_bytes: int = 0  # of the events in both

    def keep(self, publication: Publication) -> None:
        """Keeps one that is early, as far as a client may have any unacknowledged; more than that are dropped. The next
        one is always kept: it waits for room, and all others for it. A repeat has a place of its own: it may come after
        the next one, and must not take that one's."""
        expected = self.expected[publication.fast]
        has_room = len(self.early) < limits.PUBLISH_UNDER_WAY_MAX and self.early_bytes <= limits.PUBLISH_BYTES_MAX
        if has_room or publication.first <= expected:
            place = EarlyPlace(publication.fast, publication.first)
            kept = self.again if publication.first < expected else self.early
            before = kept.get(place)
            kept[place] = publication
            self.early_bytes += len(publication.event) - (len(before.event) if before is not None else 0)

    def following(self, *, fast: bool) -> Publication | None:
        """The one whose turn it is, if it came early or again."""
        again = next((place for place in self.again if place.fast == fast), None)
        if again is not None:
            publication = self.again.pop(again, None)
        else:
            publication = self.early.pop(EarlyPlace(fast, self.expected[fast]), None)
        if publication is not None:
            self.early_bytes -= len(publication.event)
        return publication

    def note_refused(self, until: int, *, fast: bool) -> int:
        """It is told what is refused up to a sequence; gives up to which it was told before."""
        before = self.refused[fast]
        self.refused[fast] = max(before, until)
        return before

    @property
    def name(self) -> str:
        return name_of(self.client)


class Attachments(dict[str, Attachment]):
    """By link."""

    def __init__(self, out: Outbox) -> None:
        super().__init__()
        self._out = out
        self._count = 0

    def attach(self, link: str, client: str, expected: list[int]) -> Attachment:
        """A client on its link; `expected` are the sequences it will send next."""
        self._count += 1
        attachment = self[link] = Attachment(
            number=self._count, client=client, expected=expected, early={}, again={}, refused=[0, 0]
        )
        return attachment

    def is_same(self, link: str, number: int) -> bool:
        """Is this attachment still the one on its link?"""
        attachment = self.get(link)
        return attachment is not None and attachment.number == number

    def links_of(self, client: str) -> list[str]:
        """The links of the client with this key."""
        return [link for link, attachment in self.items() if attachment.client == client]

    def links_named(self, name: str) -> list[str]:
        """The links of the client with this name."""
        return [link for link, attachment in self.items() if attachment.name == name]

    def tell(self, work: TellClient) -> None:
        """Tells the client if it is still there. One that came back meanwhile asks again, and says first what it will
        send: an acknowledgement from before would make that untrue."""
        if self.is_same(work.link, work.attachment):
            self._out.send(work.link, work.message)
