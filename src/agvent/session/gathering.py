"""Events published one after another that will travel as one publication."""

from __future__ import annotations

from agvent import limits
from agvent.wire.lines import FEED, is_lines
from agvent.wire.parts import Publication

Options = tuple[str, tuple[str, ...], int, bool]
"""To whom, to which clients, when it expires, and whether it is fast."""


class Gathering:
    """Consecutive events with the same options, as many as a batch takes."""

    def __init__(self) -> None:
        self._contents: list[bytes] = []
        self._bytes = 0
        self._options: Options = ("", (), 0, False)
        self._are_lines = False

    def __bool__(self) -> bool:
        return bool(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def join(self, content: bytes, options: Options) -> bool:
        """Adds an event, if it may travel with those that are here: the first one always may."""
        contents, size = self._contents, self._bytes + len(content)
        if not contents:
            self._options, self._are_lines = options, is_lines(content)
        elif (
            options != self._options
            or len(contents) >= limits.BATCH_EVENTS_MAX
            or size >= limits.BATCH_BYTES_MAX
            or not (self._are_lines and is_lines(content))
        ):
            return False
        contents.append(content)
        self._bytes = size + 1
        return True

    def end(self, client: str, sequence: int, life: int) -> Publication:
        """All that are here as one publication, the last of which has this sequence; then there are none."""
        contents, (to, destinations, expires, fast) = self._contents, self._options
        self._contents, self._bytes = [], 0
        event = contents[0] if len(contents) == 1 else FEED.join(contents)
        return Publication(
            publisher=client,
            sequence=sequence,
            event=event,
            to=to,
            destinations=destinations,
            expires=expires,
            fast=fast,
            life=life,
            count=len(contents),
        )
