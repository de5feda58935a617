"""A client's own keys, in a file that outlives its processes or in memory: what it signs with, what others seal for.

The file is written whole, under another name, and put in place of the old one; only its owner may read it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent.agents.secrecy.key_agreement import KEY_BYTES, public_of
from agvent.agents.secrecy.sealed_fields import SealState
from agvent.errors import CallerError, EnvironmentFault


class Ring(msgspec.Struct):
    """What the file holds: two private keys; as a publisher the seal of each type; as a subscriber the publishers'
    signing keys that it trusts, and the seal grants it took, each with the signing key of then."""

    signing: bytes
    sealing: bytes
    seals: dict[str, SealState] = {}
    trusted: dict[str, bytes] = {}
    grants: list[tuple[bytes, bytes]] = []


class Keyring:
    """Two key pairs and what came with them. Without a file they are made anew, and gone with the process."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.ring = _read(file) if file is not None and file.exists() else _made()
        self.signing = Ed25519PrivateKey.from_private_bytes(self.ring.signing)
        self.sealing = X25519PrivateKey.from_private_bytes(self.ring.sealing)
        if file is not None and not file.exists():
            self.save()

    @property
    def signing_key(self) -> str:
        """The public key that this client's code and seal grants are checked with, in hexadecimal."""
        return self.signing.public_key().public_bytes_raw().hex()

    @property
    def seal_key(self) -> str:
        """The public key that publishers seal for, in hexadecimal."""
        return public_of(self.sealing).hex()

    def save(self) -> None:
        """Writes the file, if there is one, when the ring has changed."""
        if self._file is None:
            return
        partial = self._file.with_name(f"{self._file.name}.partial")
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.msgpack.encode(self.ring))
        partial.replace(self._file)


def key_of(text: str) -> bytes:
    """The public key of this text, as `signing_key` and `seal_key` write it."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise CallerError(f"{text[:80]!r} is not a public key", hint=f"it has {2 * KEY_BYTES} hexadecimal digits")
    return key


def _made() -> Ring:
    return Ring(os.urandom(KEY_BYTES), os.urandom(KEY_BYTES), {}, {}, [])


def _read(file: Path) -> Ring:
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=Ring)
    except (OSError, ValueError, RecursionError) as error:
        raise EnvironmentFault(f"{file} is not a key file: {error}"[:300]) from None
