"""Restart equivalence: the tables that a disk would give again, beside those of the broker that goes on.

A look compares a broker's tables with those of its whole journal, of a snapshot written now, and of the snapshot of the
look before with everything since. A run has some looks: where a kind of record first comes to a disk, where a broker
has started again, and a few anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent.broker.records import Record, decode_record, encode_record
from agvent.broker.tables.tables import Tables
from agvent.sim.durable import difference, durable, tables_of

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode

ANYWHERE: Final = 0.005
"""How likely a sync is looked at that brought nothing new."""

NEW: Final = 0.25
"""And one that brought a kind of record for the first time in the run."""


class TakenSnapshot(msgspec.Struct):
    """The tables that a snapshot gave, and how many records of its broker they stand for."""

    life: int
    tables: Tables
    count: int


class Restarts:
    """The looks of one run. They draw from a source of their own: a run is the same without them."""

    def __init__(self, seed: int) -> None:
        self.found: list[str] = []
        self.random = Random(f"restarts {seed}")
        self._kinds: set[type[Record]] = set()  # of records that came to a disk
        self._images: dict[str, TakenSnapshot] = {}  # broker -> what the last look took

    def synced(self, node: BrokerNode, records: list[Record]) -> None:
        """A group came to a broker's disk."""
        new = {type(record) for record in records} - self._kinds
        self._kinds |= new
        if self.random.random() < (NEW if new else ANYWHERE):
            self.look(node, whole=False)

    def started(self, node: BrokerNode) -> None:
        """A broker has started; on an empty disk there was nothing to read."""
        if node.kept:
            self.look(node, whole=True)

    def look(self, node: BrokerNode, *, whole: bool) -> None:
        """Compares the tables now; `whole`: with those of the whole journal too, which costs more."""
        pending = node.unsynced
        records = [*node.kept, *pending]
        wanted = durable(node.broker.tables)
        image = self._images.pop(node.name, None)
        if image is not None and image.life == node.life:
            for record in records[image.count :]:
                image.tables.apply(record)
            self._judge(node, wanted, image.tables, "a snapshot and the records since")
        if whole:
            tables = tables_of(node.name, node.incarnation, records)
            self._judge(node, wanted, tables, "its whole journal")
        taken = tables_of(node.name, node.incarnation, snapshot_of(node.broker.tables))
        if self._judge(node, wanted, taken, "a snapshot"):
            self._images[node.name] = TakenSnapshot(node.life, taken, len(records))

    def _judge(self, node: BrokerNode, wanted: dict[str, Any], tables: Tables, source: str) -> bool:
        """Are they what is wanted?"""
        if found := difference(wanted, durable(tables)):
            self.found.append(f"{node.name} would start from {source} with other tables:{found}")
            return False
        tables.check()
        return True


def snapshot_of(tables: Tables) -> Iterator[Record]:
    """The records of a snapshot, as a disk gives them back."""
    return (decode_record(encode_record(record)) for record in tables.snapshot())
