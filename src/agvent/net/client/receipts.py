"""Receipts of a publisher: a broker has taken its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec

from agvent.event import EventId
from agvent.wire.client_messages import Published


class Receipt(msgspec.Struct, frozen=True):
    """A broker, the `entry`, has taken an event: on disk, or in memory if it was a fast one. `epoch` says which
    subscription changes the entry had applied.

    >>> from agvent import connect, local_broker
    >>> with local_broker("B1") as url, connect(url, name="ada") as ada:
    ...     ada.publish({"price": 8})
    Receipt(id=EventId(publisher='ada', sequence=1), entry='B1', epoch=0)
    """

    id: EventId
    entry: str
    epoch: int


class Receipts(Sequence[Receipt]):
    """The receipts of a batch, each made when it is read."""

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
