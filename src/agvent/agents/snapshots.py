"""Paused programs on their way between sandbox hosts: encrypted and authenticated with a key that only hosts have.

Monty does not authenticate its dumps, and an altered one may run (ANCHORS: 220 of 2,000). So a host takes only what a
host of its network made, and only for the event that it was made for. Brokers see neither code nor hidden fields in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from agvent import limits
from agvent.agents.boxes import NONCE_BYTES
from agvent.agents.hiding import ID_BYTES, HostKeys
from agvent.errors import SecretError

PURPOSE = b"agvent snapshots"


def belongs_to(principal: str, event: bytes) -> bytes:
    """What a snapshot is bound to: with another publisher or event it does not open."""
    return msgspec.msgpack.encode([principal, hashlib.sha256(event).digest()])


def close_snapshot(keys: HostKeys, dump: bytes, bound: bytes, random: Callable[[int], bytes]) -> bytes:
    """A dump as it travels."""
    if len(dump) > limits.SNAPSHOT_BYTES_MAX:
        raise SecretError(f"a snapshot of {len(dump)} bytes", hint=f"at most {limits.SNAPSHOT_BYTES_MAX} travel along")
    key_id, key = keys.shared(PURPOSE)
    nonce = random(NONCE_BYTES)
    return key_id + nonce + ChaCha20Poly1305(key).encrypt(nonce, dump, bound)


def open_snapshot(keys: HostKeys, snapshot: bytes, bound: bytes) -> bytes:
    """The dump; a SecretError if no host of this network made it, or not for this event."""
    key_id, nonce = snapshot[:ID_BYTES], snapshot[ID_BYTES : ID_BYTES + NONCE_BYTES]
    _, key = keys.shared(PURPOSE, key_id)
    try:
        return ChaCha20Poly1305(key).decrypt(nonce, snapshot[ID_BYTES + NONCE_BYTES :], bound)
    except (InvalidTag, ValueError):
        raise SecretError("the snapshot was altered, or is another agvent's") from None
