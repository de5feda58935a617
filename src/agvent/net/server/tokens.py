"""Tokens: a name, an expiry and grants, signed with Ed25519. Whoever holds one is who it names.

base64url(JSON) . base64url(signature)
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from agvent.errors import CallerError, DeniedError
from agvent.net.server.grants import grant_of


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What a token says; `expires` is in seconds since 1970."""

    name: str
    expires: int
    grants: tuple[str, ...]


def sign(token: Token, key: Ed25519PrivateKey) -> str:
    for grant in token.grants:
        grant_of(grant)
    content = msgspec.json.encode(token)
    return f"{_text(content)}.{_text(key.sign(content))}"


def verify(text: str, keys: list[Ed25519PublicKey], now_s: float) -> Token:
    """The token, if one of the keys signed it and it has not expired; a DeniedError otherwise."""
    content, _, signature = text.strip().partition(".")
    try:
        said, signed = _bytes(content), _bytes(signature)
    except (ValueError, binascii.Error):
        raise DeniedError("the token cannot be read") from None
    if not any(_is_signed(key, signed, said) for key in keys):
        raise DeniedError("the token is not signed by this network's authority")
    token = msgspec.json.decode(said, type=Token)
    if token.expires <= now_s:
        raise DeniedError(f"the token of {token.name!r} has expired")
    return token


def _is_signed(key: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read_signing_key(path: Path) -> Ed25519PrivateKey:
    key = _loaded(lambda data: load_pem_private_key(data, None), path)
    if not isinstance(key, Ed25519PrivateKey):
        raise CallerError(
            f"{path} holds no private Ed25519 key", hint="`agvent keys authority` makes it, as tokens.key"
        )
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    key = _loaded(load_pem_public_key, path)
    if not isinstance(key, Ed25519PublicKey):
        raise CallerError(f"{path} holds no public Ed25519 key", hint="`agvent keys authority` makes it, as tokens.pub")
    return key


def _loaded(load: Callable[[bytes], Any], path: Path) -> Any:
    """The key of a file; None if it holds none, or one that has a password."""
    data = _read(path)
    try:
        return load(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CallerError(f"{path}: {error.strerror}") from None
