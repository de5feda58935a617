"""What a publisher gets for its events: that a broker has taken them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec

from agvent.event import EventId
from agvent.wire.client_messages import Published


class Receipt(msgspec.Struct, frozen=True):
    """An event that a broker has taken: on disk there, or in memory if it was a fast one."""

    id: EventId
    entry: str
    epoch: int


class Receipts(Sequence[Receipt]):
    """The receipts of a batch, made when somebody looks at them."""

    def __init__(self, publisher: str, sequences: Sequence[int], published: Published) -> None:
        self._publisher, self._sequences, self._published = publisher, sequences, published

    def __len__(self) -> int:
        return len(self._sequences)

    @overload
    def __getitem__(self, at: int) -> Receipt: ...

    @overload
    def __getitem__(self, at: slice) -> Receipts: ...

    def __getitem__(self, at: int | slice) -> Receipt | Receipts:
        if isinstance(at, slice):
            return Receipts(self._publisher, self._sequences[at], self._published)
        return Receipt(EventId(self._publisher, self._sequences[at]), self._published.entry, self._published.epoch)
