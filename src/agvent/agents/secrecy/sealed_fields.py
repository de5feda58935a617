"""Sealed fields: encrypted end to end with a seal key, which the publisher grants to each subscriber it admits.

A seal grant is the seal key wrapped to the subscriber's public key and signed by the publisher. Brokers carry grants
and sealed bytes; neither opens the other. A new seal key has the next number; those admitted get it, nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from agvent.agents.secrecy.key_agreement import KEY_BYTES, NONCE_BYTES, agreed, public_of
from agvent.errors import SecretError, WireError
from agvent.wire.codec import decode_value, encode_value

PURPOSE = b"agvent seal grant"
NUMBER_BYTES = 8
FIRST_BYTES = 6
"""Of a random first number: of 2^16 processes of a publisher that kept nothing, two have the same by 1 in 2^17."""
NO_NONCE = bytes(NONCE_BYTES)
"""The nonce of a wrapped key: its key pair is made for this one grant."""


class SealGrant(msgspec.Struct, frozen=True):
    """A seal key for one subscriber, signed by the publisher."""

    publisher: str
    type: str
    number: int
    subscriber: str
    public: bytes
    wrapped: bytes
    signature: bytes = b""

    def statement(self) -> bytes:
        """What is signed: everything but the signature."""
        return msgspec.msgpack.encode([PURPOSE, *msgspec.structs.astuple(self)[:-1]])


def encode_grant(grant: SealGrant) -> bytes:
    """The bytes of a seal grant."""
    return msgspec.msgpack.encode(grant)


def decode_grant(content: bytes) -> SealGrant:
    """The seal grant of these bytes, whose signature `Unsealer.take` looks at."""
    try:
        return msgspec.msgpack.decode(content, type=SealGrant)
    except (ValueError, RecursionError) as error:
        raise SecretError(f"not a seal grant: {error}"[:200]) from None


class SealState(msgspec.Struct, frozen=True):
    """What a publisher keeps of a type's seal: the seal key in use and its number, who is admitted by which key."""

    number: int
    key: bytes
    admitted: dict[str, bytes]


class Sealer:
    """A publisher's side, for one type of its agvents. `number` is that of the seal key in use.

    Numbers begin at a random one: a publisher that kept nothing of its last seal keys does not give their numbers
    again."""

    def __init__(
        self,
        publisher: str,
        type: str,
        key: Ed25519PrivateKey,
        random: Callable[[int], bytes],
        before: SealState | None = None,
    ) -> None:
        self.publisher, self.type = publisher, type
        self._key, self._random = key, random
        self.admitted: dict[str, bytes] = {}
        if before is not None:
            self.number, self._seal_key, self.admitted = before.number, before.key, dict(before.admitted)
        else:
            self.number = int.from_bytes(random(FIRST_BYTES), "big")
            self.rotate()

    def state(self) -> SealState:
        """What another process of this publisher's needs to go on."""
        return SealState(self.number, self._seal_key, dict(self.admitted))

    def admit(self, subscriber: str, public: bytes) -> SealGrant:
        """Lets a subscriber read what is sealed from the seal key in use on."""
        self.admitted[subscriber] = public
        return self._grant(subscriber)

    def revoke(self, subscriber: str) -> tuple[SealGrant, ...]:
        """Lets a subscriber read no more: a new seal key, and grants for the others."""
        del self.admitted[subscriber]
        return self.rotate()

    def rotate(self) -> tuple[SealGrant, ...]:
        """A new seal key, and a grant for each that is admitted."""
        self.number += 1
        self._seal_key = self._random(KEY_BYTES)
        return tuple(map(self._grant, self.admitted))

    def seal(self, fields: dict[str, Any]) -> bytes:
        """The fields as bytes that only admitted subscribers open."""
        number, nonce = self.number.to_bytes(NUMBER_BYTES, "big"), self._random(NONCE_BYTES)
        bound = _bound(self.publisher, self.type, self.number)
        return number + nonce + ChaCha20Poly1305(self._seal_key).encrypt(nonce, encode_value(fields), bound)

    def _grant(self, subscriber: str) -> SealGrant:
        private = X25519PrivateKey.from_private_bytes(self._random(KEY_BYTES))
        cipher = agreed(private, self.admitted[subscriber], PURPOSE)
        bound = _bound(self.publisher, self.type, self.number)
        wrapped = cipher.encrypt(NO_NONCE, self._seal_key, bound)
        grant = SealGrant(self.publisher, self.type, self.number, subscriber, public_of(private), wrapped)
        return msgspec.structs.replace(grant, signature=self._key.sign(grant.statement()))


class Unsealer:
    """A subscriber's side: its private key, and the seal keys it was granted."""

    def __init__(self, key: X25519PrivateKey) -> None:
        self._key = key
        self.public = public_of(key)
        self._seal_keys: dict[tuple[str, str, int], bytes] = {}

    def take(self, grant: SealGrant, publisher_key: bytes) -> None:
        """Takes a grant; a SecretError if it is not the publisher's, or for another subscriber."""
        try:
            Ed25519PublicKey.from_public_bytes(publisher_key).verify(grant.signature, grant.statement())
        except (InvalidSignature, ValueError):
            raise SecretError(f"the grant is not {grant.publisher}'s"[:200]) from None
        bound = _bound(grant.publisher, grant.type, grant.number)
        try:
            key = agreed(self._key, grant.public, PURPOSE).decrypt(NO_NONCE, grant.wrapped, bound)
        except InvalidTag:
            raise SecretError("the grant is for another subscriber") from None
        self._seal_keys[grant.publisher, grant.type, grant.number] = key

    def open(self, publisher: str, type: str, sealed: bytes) -> dict[str, Any]:
        """The sealed fields; a SecretError if this subscriber was not admitted, or they were altered."""
        number = int.from_bytes(sealed[:NUMBER_BYTES], "big")
        nonce, content = sealed[NUMBER_BYTES : NUMBER_BYTES + NONCE_BYTES], sealed[NUMBER_BYTES + NONCE_BYTES :]
        key = self._seal_keys.get((publisher, type, number))
        if key is None:
            raise SecretError(f"no grant for seal key {number} of {publisher}'s {type}"[:200])
        try:
            fields = decode_value(ChaCha20Poly1305(key).decrypt(nonce, content, _bound(publisher, type, number)))
        except (InvalidTag, ValueError, WireError):
            raise SecretError("sealed fields were altered") from None
        if not isinstance(fields, dict):
            raise SecretError("sealed fields are not fields")
        return fields


def _bound(publisher: str, type: str, number: int) -> bytes:
    return msgspec.msgpack.encode([publisher, type, number])
