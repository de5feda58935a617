"""A disk: an append-only file of records that forgets what was not synced when the machine crashes.

A crash keeps any number of the unsynced records, in order, and may tear the one after them. Reading ends at the first
record that is not whole, as it does on a real disk.
"""

from __future__ import annotations

import zlib
from random import Random

from agvent.broker.records import Record, decode_record, encode_record
from agvent.wire.codec import PREFIX


class Disk:
    """What survives is `synced` and whatever of `unsynced` a crash leaves."""

    def __init__(self) -> None:
        self.synced: list[bytes] = []
        self.unsynced: list[bytes] = []

    def append(self, records: tuple[Record, ...]) -> None:
        self.unsynced += [_sealed(encode_record(record)) for record in records]

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
        contents = [_unsealed(data) for data in self.synced]
        whole = contents.index(None) if None in contents else len(contents)
        del self.synced[whole:]
        return [decode_record(content) for content in contents[:whole] if content is not None]


def _sealed(content: bytes) -> bytes:
    return PREFIX.pack(len(content), zlib.crc32(content)) + content


def _unsealed(data: bytes) -> bytes | None:
    """The content of a record on disk, None if it is torn."""
    content = data[PREFIX.size :]
    whole = len(data) >= PREFIX.size and PREFIX.unpack_from(data) == (len(content), zlib.crc32(content))
    return content if whole else None
