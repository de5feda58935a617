"""Signed tokens."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent.errors import DeniedError
from agvent.net.server.tokens import Token, sign, verify


def test_a_token_is_what_its_signer_said() -> None:
    """It comes back whole; another's signature, a changed letter, an old one and nonsense are denied."""
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    token = Token(name="ada", expires=1_000, grants=("publish *",))
    text = sign(token, key)
    assert verify(text, [other.public_key(), key.public_key()], 999) == token
    for wrong, keys, now in (
        (text, [other.public_key()], 999),
        (text, [], 999),
        ("A" + text[1:], [key.public_key()], 999),
        (text[:-4] + "AAAA", [key.public_key()], 999),
        (text, [key.public_key()], 1_000),
        ("no token", [key.public_key()], 999),
        ("é.é", [key.public_key()], 999),
    ):
        with pytest.raises(DeniedError):
            verify(wrong, keys, now)
