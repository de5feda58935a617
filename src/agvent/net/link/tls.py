"""TLS: contexts for brokers and clients, and who a peer is by its certificate.

Certificates are checked by the network's own authority and name a broker or a client, not a host: a broker may move to
another machine and stays who it is.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from urllib.parse import unquote

import msgspec

from agvent.errors import CallerError


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What a client shows, and whom it believes: an authority; a certificate with its key, or a token."""

    authority: Path
    certificate: Path | None = None
    key: Path | None = None
    token: str = ""


class Peer(msgspec.Struct, frozen=True):
    """Who a certificate is for, and until when, in seconds since 1970."""

    kind: str
    name: str
    grants: tuple[str, ...] = ()
    expires: float = 0


def server_context(authority: Path, certificate: Path, key: Path) -> ssl.SSLContext:
    """A broker's: its certificate is shown, a peer's is checked if it shows one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_OPTIONAL
    return _loaded(context, authority, certificate, key)


def dial_context(authority: Path, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """Whoever dials: the broker's certificate is checked; which broker it names is asked after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    return _loaded(context, authority, certificate, key)


def _loaded(context: ssl.SSLContext, authority: Path, certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(authority)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        named = ", ".join(str(path) for path in (authority, certificate, key) if path is not None)
        raise CallerError(f"cannot use {named}: {error.strerror or error}", hint="agvent keys makes them") from None
    return context


def peer_of(transport: asyncio.BaseTransport) -> Peer | None:
    """Who is at the other end, by its certificate; None if it showed none."""
    shown = transport.get_extra_info("peercert")
    if not shown:
        return None
    uris = [value for kind, value in shown.get("subjectAltName", ()) if kind == "URI"]
    grants = tuple(unquote(uri.removeprefix("agvent:grant:")) for uri in uris if uri.startswith("agvent:grant:"))
    expires = ssl.cert_time_to_seconds(shown["notAfter"])
    for uri in uris:
        for kind in ("broker", "client"):
            if uri.startswith(f"agvent:{kind}:"):
                return Peer(kind, unquote(uri.removeprefix(f"agvent:{kind}:")), grants, expires)
    return None
