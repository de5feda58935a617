"""X25519, HKDF-SHA256 and ChaCha20-Poly1305, put together once for hidden fields and for seal grants."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from agvent.errors import SecretError

KEY_BYTES = 32
NONCE_BYTES = 12


def public_of(private: X25519PrivateKey) -> bytes:
    """The public half of a key, as bytes."""
    return private.public_key().public_bytes_raw()


def agreed(private: X25519PrivateKey, public: bytes, purpose: bytes) -> ChaCha20Poly1305:
    """The cipher that both halves agree on. The public keys are part of it, so that neither can be exchanged."""
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise SecretError("a public key is not valid") from None
    both = b"".join(sorted((public, public_of(private))))
    return ChaCha20Poly1305(HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose + both).derive(shared))
