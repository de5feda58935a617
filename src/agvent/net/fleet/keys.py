"""Keys of a network: one authority, a certificate for each broker, certificates or tokens for clients.

A certificate says who it is for in a URI among its alternative names: `agvent:broker:B1` or `agvent:client:ada`. A
client's has its grants there too: `agvent:grant:publish topic:Sports/#`, percent-encoded.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from agvent.errors import CallerError
from agvent.net.link.introduction import check_name
from agvent.net.server.grants import grant_of
from agvent.net.server.tokens import Token, read_signing_key, sign

AUTHORITY: Final = "authority"
TOKENS: Final = "tokens"
RESERVED: Final = (AUTHORITY, TOKENS, "hosts")
"""Names of the network's own files in the folder."""

AUTHORITY_DAYS: Final = 3650

COMMON_NAME_BYTES_MAX: Final = 64
"""Of X.509."""

PrivateKey = ec.EllipticCurvePrivateKey | Ed25519PrivateKey


def make_authority(folder: Path) -> None:
    """An authority's certificate and key, and the keys that sign and check tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name for name in (f"{AUTHORITY}.key", f"{AUTHORITY}.pem", f"{TOKENS}.key", f"{TOKENS}.pub")]
    if there := [path.name for path in files if path.exists()]:
        raise CallerError(
            f"{folder} has an authority already: {', '.join(there)}",
            hint="a second one would not be trusted by the first's",
        )
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agvent authority")])
    builder = _builder(name, name, key, AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    _write_private(folder / f"{AUTHORITY}.key", key)
    _write(folder / f"{AUTHORITY}.pem", builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    signing = Ed25519PrivateKey.generate()
    _write_private(folder / f"{TOKENS}.key", signing)
    public = signing.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _write(folder / f"{TOKENS}.pub", public)


def make_certificate(
    folder: Path, kind: str, name: str, *, grants: Sequence[str] = (), days: float = 365, replace: bool = False
) -> Path:
    """A certificate and key for a broker or a client, signed by the folder's authority. Those of that name that are
    there already stay, unless they are to be replaced."""
    check_name(name)
    if name in RESERVED:
        raise CallerError(f"{name!r} is reserved for the network's own keys", hint="choose another name")
    path = folder / f"{name}.pem"
    if not replace and path.exists():
        raise _exists(path)
    uris = [f"agvent:{kind}:{quote(name)}", *(f"agvent:grant:{quote(grant_of(text).text)}" for text in grants)]
    authority_key, authority = _authority(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _cut(name))])
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri) for uri in uris]
    names += [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    builder = _builder(subject, authority.subject, key, days)
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if kind == "broker" else [])]
    builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())  # type: ignore[arg-type]
    builder = builder.add_extension(issuer, critical=False)
    _write_private(folder / f"{name}.key", key, replace=replace)
    _write(path, builder.sign(authority_key, hashes.SHA256()).public_bytes(Encoding.PEM), replace=replace)
    return path


def make_token(folder: Path, name: str, *, grants: Sequence[str], days: float) -> str:
    """A token for a client, signed with the folder's key."""
    check_name(name)
    expires = int((datetime.now(UTC) + timedelta(days=days)).timestamp())
    return sign(Token(name=name, expires=expires, grants=tuple(grants)), read_signing_key(folder / f"{TOKENS}.key"))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: float
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks differ
        .not_valid_after(now + timedelta(days=days))
    )


def _authority(folder: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    try:
        key = load_pem_private_key((folder / f"{AUTHORITY}.key").read_bytes(), None)
        certificate = x509.load_pem_x509_certificate((folder / f"{AUTHORITY}.pem").read_bytes())
    except OSError as error:
        raise CallerError(f"{error.filename}: {error.strerror}", hint=f"agvent keys authority {folder}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key, certificate = None, None
    if certificate is None or not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CallerError(
            f"{folder / AUTHORITY}.key and .pem are not the key and certificate of an authority",
            hint="put back what `agvent keys authority` made",
        )
    return key, certificate


def _cut(name: str) -> str:
    """As much of a name as a subject has room for; who it is for says the URI."""
    return name.encode()[:COMMON_NAME_BYTES_MAX].decode(errors="ignore")


def _write_private(path: Path, key: PrivateKey, *, replace: bool = False) -> None:
    """Only its owner may read it, from the moment it exists."""
    _write(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), mode=0o600, replace=replace)


def _write(path: Path, data: bytes, *, mode: int = 0o644, replace: bool = False) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL), mode)
    except FileExistsError:
        raise _exists(path) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _exists(path: Path) -> CallerError:
    return CallerError(
        f"{path} exists already, for a broker or a client", hint="choose another name, or replace it with --replace"
    )
