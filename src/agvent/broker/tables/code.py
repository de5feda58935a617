"""The code that publishers brought with their advertisements: what the sandbox host beside this broker is given.

It stays when the advertisement changes or goes, because agvents that were published before run it still, and so does
the type that it came with: it says what a subscriber may call of them. The broker itself does not read the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from agvent import limits
from agvent.broker.records import Brought, Owned
from agvent.broker.tables.advertisements import Advertisements
from agvent.types import AgventType
from agvent.wire.codec import encode_value


class Code:
    """Signed programs by publisher, each by its hash, the oldest first. `count` is how many came: it only grows."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Brought]] = {}
        self._bytes: dict[str, int] = {}  # of what is kept of each publisher
        self._total = 0  # and of all of them
        self.count = 0

    def __iter__(self) -> Iterator[Brought]:
        return chain.from_iterable(theirs.values() for theirs in self._kept.values())

    def __bool__(self) -> bool:
        return bool(self._kept)

    def apply(self, record: Owned) -> None:
        """Keeps what an owner's advertisements bring."""
        for entry in record.entries:
            if entry.code:
                self.bring(Brought(entry.publisher, entry.type.program, entry.code, entry.type))

    def type_of(self, publisher: str, program: str) -> AgventType | None:
        """The type as this publisher advertised it with this program; None if that is not here."""
        brought = self._kept.get(publisher, {}).get(program)
        return brought.type if brought is not None else None

    def bring(self, record: Brought) -> None:
        """Keeps one; beyond CODE_BYTES_MAX the oldest of whoever has most go, and the one that came last stays."""
        self._drop(record.publisher, record.program)
        self._kept.setdefault(record.publisher, {})[record.program] = record
        self._add(record.publisher, _size(record))
        self.count += 1
        while self._total > limits.CODE_BYTES_MAX and not self._is_only(record):
            most = max(self._bytes, key=lambda who: (not self._is_last(who, record), self._bytes[who]))
            self._drop(most, next(iter(self._kept[most])))

    def _is_last(self, publisher: str, record: Brought) -> bool:
        """Is this all that is kept of a publisher?"""
        return publisher == record.publisher and len(self._kept[publisher]) == 1

    def _is_only(self, record: Brought) -> bool:
        """Is this all that is kept?"""
        return len(self._kept) == 1 and self._is_last(record.publisher, record)

    def _add(self, publisher: str, size: int) -> None:
        self._bytes[publisher] = self._bytes.get(publisher, 0) + size
        self._total += size

    def _drop(self, publisher: str, program: str) -> None:
        """Keeps it no longer, if it is there."""
        theirs = self._kept.get(publisher, {})
        if program in theirs:
            self._add(publisher, -_size(theirs.pop(program)))
            if not theirs:
                del self._kept[publisher], self._bytes[publisher]

    def snapshot(self, advertisements: Advertisements) -> Iterator[Brought]:
        """What no advertisement brings any more. It is older than what they bring, and stands before them."""
        entries = advertisements.code()
        yield from (brought for brought in self if (brought.publisher, brought.program) not in entries)

    def shared(self, advertisements: Advertisements) -> Iterator[Brought]:
        """What came after the advertisement that a snapshot has last for this program: it stands behind them, or that
        one's type would be the program's."""
        for (publisher, program), entry in advertisements.code().items():
            brought = self._kept.get(publisher, {}).get(program)
            if brought is not None and (brought.code, brought.type) != (entry.code, entry.type):
                yield brought

    def check(self) -> None:
        assert self._total == sum(self._bytes.values())
        assert self._bytes == {who: sum(map(_size, theirs.values())) for who, theirs in self._kept.items()}


def _size(brought: Brought) -> int:
    """The bytes of the code and of its type."""
    return len(brought.code) + len(encode_value(brought.type))
