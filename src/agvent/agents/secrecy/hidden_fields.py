"""Hidden fields: encrypted by the publisher for the sandbox hosts, bound to publisher, type and program.

A publisher makes a key pair for HIDES_PER_KEY_MAX agvents, so that a host derives a cipher once for all of them. Nonces
are random, 96 bits: a count would repeat itself in a process that was forked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from agvent import limits
from agvent.agents.secrecy.key_agreement import KEY_BYTES, NONCE_BYTES, agreed, public_of
from agvent.errors import SecretError, WireError
from agvent.wire.codec import decode_value, encode_value

PURPOSE = b"agvent hidden fields"
ID_BYTES = 8
HEAD_BYTES = ID_BYTES + KEY_BYTES + NONCE_BYTES


@lru_cache(limits.HIDING_KEYS_KEPT_MAX)
def bound_to(publisher: str, type: str, program: str) -> bytes:
    """What hidden fields belong to: with another publisher, type or program they do not open."""
    return msgspec.msgpack.encode([publisher, type, program])


def id_of(public: bytes) -> bytes:
    """The name of a host key in what was encrypted for it."""
    return hashlib.sha256(public).digest()[:ID_BYTES]


class Hider:
    """A publisher's side: hides fields for the hosts that have the private half of `host_key`."""

    def __init__(self, host_key: bytes, random: Callable[[int], bytes]) -> None:
        self._host_key, self._random = host_key, random
        self._left = 0

    def hide(self, fields: dict[str, Any], bound: bytes) -> bytes:
        """The fields as bytes that only a sandbox host opens."""
        if not self._left:
            private = X25519PrivateKey.from_private_bytes(self._random(KEY_BYTES))
            self._cipher = agreed(private, self._host_key, PURPOSE)
            self._head = id_of(self._host_key) + public_of(private)
            self._left = limits.HIDES_PER_KEY_MAX
        self._left -= 1
        nonce = self._random(NONCE_BYTES)
        return self._head + nonce + self._cipher.encrypt(nonce, encode_value(fields), bound)


class HostKeys:
    """A host's side: the private keys of the network's sandbox hosts, the newest last."""

    def __init__(self, keys: Sequence[X25519PrivateKey]) -> None:
        self._keys = {id_of(public_of(key)): key for key in keys}
        self.public = public_of(keys[-1])
        self._cipher = lru_cache(limits.HIDING_KEYS_KEPT_MAX)(self._derived)
        self._shared: dict[tuple[bytes, bytes], bytes] = {}  # what hosts share beside, by purpose and key

    def _derived(self, key_id: bytes, public: bytes) -> ChaCha20Poly1305:
        if key_id not in self._keys:
            raise SecretError("hidden fields for another network's hosts, or for a key that is gone")
        return agreed(self._keys[key_id], public, PURPOSE)

    def shared(self, purpose: bytes, key_id: bytes | None = None) -> tuple[bytes, bytes]:
        """A secret that every host has and nobody else, of the newest key or of a named one; with the key's name."""
        key_id = key_id or id_of(self.public)
        if key_id not in self._keys:
            raise SecretError("made by another network's hosts, or with a key that is gone")
        if (purpose, key_id) not in self._shared:
            private = self._keys[key_id].private_bytes_raw()
            self._shared[purpose, key_id] = HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(private)
        return key_id, self._shared[purpose, key_id]

    def reveal(self, hidden: bytes, bound: bytes) -> dict[str, Any]:
        """The fields; a SecretError if they are not for this host, were altered, or belong to another agvent."""
        head, content = hidden[:HEAD_BYTES], hidden[HEAD_BYTES:]
        if len(head) < HEAD_BYTES:
            raise SecretError("hidden fields are cut short")
        cipher = self._cipher(head[:ID_BYTES], head[ID_BYTES : ID_BYTES + KEY_BYTES])
        try:
            fields = decode_value(cipher.decrypt(head[-NONCE_BYTES:], content, bound))
        except (InvalidTag, WireError):
            raise SecretError("hidden fields were altered, or are another agvent's") from None
        if not isinstance(fields, dict):
            raise SecretError("hidden fields are not fields")
        return fields
