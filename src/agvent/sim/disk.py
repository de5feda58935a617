"""A disk: an append-only file of records that forgets what was not synced when the machine crashes.

A crash keeps any number of the unsynced records, in order, and may tear the one after them. Reading ends at the first
record that is not whole, as it does on a real disk.
"""

from __future__ import annotations

from random import Random

import msgspec

from agvent.broker.records import AnyRecord, Record
from agvent.errors import WireError
from agvent.wire.codec import framed, unframed

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(AnyRecord)


class Disk:
    """What survives is `synced` and whatever of `unsynced` a crash leaves."""

    def __init__(self) -> None:
        self.synced: list[bytes] = []
        self.unsynced: list[bytes] = []

    def append(self, records: tuple[Record, ...]) -> None:
        self.unsynced += [framed(_encoder.encode(record)) for record in records]

    def sync(self, count: int) -> None:
        """The first `count` unsynced records are safe."""
        self.synced += self.unsynced[:count]
        del self.unsynced[:count]

    def crash(self, random: Random) -> int:
        """Says how many of the unsynced records are whole on the disk."""
        kept = whole = random.randint(0, len(self.unsynced))
        if kept < len(self.unsynced) and random.random() < 0.5:
            torn = self.unsynced[kept]
            self.unsynced[kept] = torn[: random.randrange(len(torn))]
            kept += 1
        self.synced += self.unsynced[:kept]
        self.unsynced.clear()
        return whole

    def read(self) -> list[Record]:
        """The records after a restart; what is torn, and all after it, is cut off."""
        records: list[Record] = []
        for at, data in enumerate(self.synced):
            try:
                records.append(_decoder.decode(unframed(data)))
            except WireError:
                del self.synced[at:]
                break
        return records
