"""Paused programs on their way between sandbox hosts: encrypted and authenticated with a key that only hosts have.

Monty does not authenticate its dumps, and an altered one may run (ANCHORS: 220 of 2,000). So a host takes only what a
host of its network made, and only for the event that it was made for. Brokers see neither code nor hidden fields in it.

The event travels beside it, so what a dump has of the event's own blocks is left out, and put in again by the next
host: an agvent's weight on a link is that of its event, however much of it the program reads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from agvent import limits
from agvent.agents.secrecy.hidden_fields import ID_BYTES, HostKeys
from agvent.agents.secrecy.key_agreement import NONCE_BYTES
from agvent.errors import SecretError

PURPOSE = b"agvent snapshots"

Parts = list[bytes | int]
"""A dump: bytes of its own, and numbers of its agvent's blocks."""

_parts: Final = msgspec.msgpack.Decoder(Parts)


def belongs_to(principal: str, event: bytes) -> bytes:
    """What a snapshot is bound to: with another publisher or event it does not open."""
    return msgspec.msgpack.encode([principal, hashlib.sha256(event).digest()])


def close_snapshot(
    keys: HostKeys, dump: bytes, state: dict[str, Any], bound: bytes, random: Callable[[int], bytes]
) -> bytes:
    """A dump as it travels. `state` is what the program was given of its agvent."""
    parts = msgspec.msgpack.encode(_without(dump, list(_blocks(state))))
    if len(parts) > limits.SNAPSHOT_BYTES_MAX:
        raise SecretError(f"a snapshot of {len(parts)} bytes", hint=f"at most {limits.SNAPSHOT_BYTES_MAX} travel along")
    key_id, key = keys.shared(PURPOSE)
    nonce = random(NONCE_BYTES)
    return key_id + nonce + ChaCha20Poly1305(key).encrypt(nonce, parts, bound)


def open_snapshot(keys: HostKeys, snapshot: bytes, state: dict[str, Any], bound: bytes) -> bytes:
    """The dump; a SecretError if no host of this network made it, or not for this event."""
    key_id, nonce = snapshot[:ID_BYTES], snapshot[ID_BYTES : ID_BYTES + NONCE_BYTES]
    _, key = keys.shared(PURPOSE, key_id)
    try:
        parts = _parts.decode(ChaCha20Poly1305(key).decrypt(nonce, snapshot[ID_BYTES + NONCE_BYTES :], bound))
        blocks = list(_blocks(state))
        return b"".join(blocks[part] if isinstance(part, int) else part for part in parts)
    except (InvalidTag, ValueError, IndexError):
        raise SecretError("the snapshot was altered, or is another agvent's") from None


def _blocks(value: Any) -> Iterator[bytes]:
    """The large texts and bytes of a state, as a dump has them, in an order that every host finds."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _blocks(one)
    elif isinstance(value, (str, bytes)) and len(value) >= limits.SNAPSHOT_BLOCK_BYTES_MIN:
        yield value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _without(dump: bytes, blocks: list[bytes]) -> Parts:
    """A dump without those blocks that stand in it in their order, as those do that the program left as they were. A
    search goes through all the rest of a dump, so a few in vain are the last."""
    parts: Parts = []
    begin = missed = 0
    for number, block in enumerate(blocks):
        at = dump.find(block, begin)
        if at >= 0:
            parts += (dump[begin:at], number)
            begin = at + len(block)
        else:
            missed += 1
            if missed == limits.SNAPSHOT_BLOCKS_MISSED_MAX:
                break
    return [*parts, dump[begin:]]
