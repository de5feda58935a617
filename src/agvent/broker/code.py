"""The code that publishers brought with their advertisements: what the sandbox host beside this broker is given.

It stays when the advertisement changes or goes, because agvents that were published before run it still, and so does
the type that it came with: it says what a subscriber may call of them. The broker itself does not read the code.
"""

from __future__ import annotations

from collections.abc import Iterator

from agvent import limits
from agvent.broker.advertisements import Advertisements
from agvent.broker.records import Brought, Owned
from agvent.types import AgventType
from agvent.wire.codec import encode_value


class Code:
    """Signed programs, by publisher and hash, the oldest first. `count` is how many came: it only grows."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Brought] = {}
        self._bytes = 0  # of all that is kept
        self.count = 0

    def __iter__(self) -> Iterator[Brought]:
        return iter(self._kept.values())

    def __bool__(self) -> bool:
        return bool(self._kept)

    def apply(self, record: Owned) -> None:
        """Keeps what an owner's advertisements bring."""
        for entry in record.entries:
            if entry.code:
                self.bring(Brought(entry.publisher, entry.type.program, entry.code, entry.type))

    def type_of(self, publisher: str, program: str) -> AgventType | None:
        """The type as this publisher advertised it with this program; None if that is not here."""
        brought = self._kept.get((publisher, program))
        return brought.type if brought is not None else None

    def bring(self, record: Brought) -> None:
        """Keeps one; beyond CODE_BYTES_MAX the oldest go."""
        key = record.publisher, record.program
        if key in self._kept:
            self._bytes -= _size(self._kept.pop(key))
        self._kept[key] = record
        self._bytes += _size(record)
        self.count += 1
        while self._bytes > limits.CODE_BYTES_MAX and len(self._kept) > 1:
            self._bytes -= _size(self._kept.pop(next(iter(self._kept))))

    def snapshot(self, advertisements: Advertisements) -> Iterator[Brought]:
        """What no advertisement has any more: the others bring their own."""
        advertised = advertisements.code()
        yield from (brought for brought in self if brought.code not in advertised)

    def check(self) -> None:
        assert self._bytes == sum(map(_size, self))


def _size(brought: Brought) -> int:
    """The bytes of the code and of its type."""
    return len(brought.code) + len(encode_value(brought.type))
