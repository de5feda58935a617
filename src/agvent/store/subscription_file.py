"""A file of subscriptions: JSON Lines `{"id": "s1", "language": "sql", "filter": "pages > 200"}`, up to millions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import FileIO
from typing import TYPE_CHECKING, NamedTuple

from agvent.errors import CallerError, FilterError, SubscriptionError
from agvent.event_json import decode_line
from agvent.filters.subscription import Subscription, subscription_of
from agvent.store.line_chunks import line_chunks

if TYPE_CHECKING:  # checking a file of filters needs no index, and no NumPy
    from agvent.matching.subscriptions import Subscriptions


class Mistake(NamedTuple):
    """A line that is no subscription, or one whose filter cannot be read."""

    line: int
    id: str | None
    error: CallerError

    def located(self, source: str) -> SubscriptionError:
        """The error with file, line and subscription in its message."""
        text = self.error.message
        if isinstance(self.error, FilterError):
            text = f"in the filter of {self.id!r}, {self.error}"
        return SubscriptionError(f"{source} line {self.line}: {text}", hint=self.error.hint)


class SubscriptionFile:
    """The subscriptions of a file, in order. `line_of` has the line of every id read so far."""

    def __init__(self, stream: FileIO, *, language: str, advance: Callable[[int], None] | None = None) -> None:
        self.stream = stream
        self.language = language
        self.advance = advance
        self.line_of: dict[str, int] = {}

    def __iter__(self) -> Iterator[Subscription | Mistake]:
        """Each line's subscription, its filter not yet read, or what is wrong with it. Empty lines are nothing."""
        number = 0
        for chunk in line_chunks(self.stream):
            lines = chunk.split(b"\n")
            for line in lines if lines[-1] else lines[:-1]:
                number += 1
                if line.strip():
                    yield self._read(number, line)
            if self.advance:
                self.advance(len(chunk))

    def _read(self, number: int, line: bytes) -> Subscription | Mistake:
        try:
            source = decode_line(line)
            if isinstance(source, dict):
                source.setdefault("language", self.language)
            found = subscription_of(source)
        except CallerError as error:
            return Mistake(number, None, error)
        first = self.line_of.setdefault(found.id, number)
        if first != number:
            return Mistake(number, found.id, SubscriptionError(f"the id {found.id!r} is taken by line {first}"))
        return found

    def mistake_in(self, found: Subscription) -> Mistake | None:
        """What is wrong with the filter of a subscription of this file."""
        try:
            found.condition()
        except CallerError as error:
            return Mistake(self.line_of[found.id], found.id, error)
        return None

    def load_into(self, index: Subscriptions, source: str) -> None:
        """Adds every subscription to the index; the first mistake in the file ends it as an error that names the line.

        The index reads the filters, each once; only after a mistake are they read again, to find the line.
        """
        read: list[Subscription] = []

        def good() -> Iterator[Subscription]:
            for found in self:
                if isinstance(found, Mistake):
                    raise found.located(source)
                read.append(found)
                yield found

        try:
            index.add_many(good())
        except CallerError:
            for mistake in map(self.mistake_in, read):
                if mistake:
                    raise mistake.located(source) from None
            raise
