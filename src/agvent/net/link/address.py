"""Where a broker listens: a host and a port."""

from __future__ import annotations

import ipaddress
from typing import Final, NamedTuple

from agvent.errors import CallerError

PORT: Final = 4780
PORT_MAX: Final = 65_535
PORT_DIGITS_MAX: Final = 5
SCHEME: Final = "agvent://"


class Address(NamedTuple):
    """A host, which may be a name, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address:
    """An address from text; the scheme and the port may be left out.

    >>> [str(address_of(text)) for text in ("agvent://localhost", "10.0.0.1:99", "[::1]:4781", "::1")]
    ['localhost:4780', '10.0.0.1:99', '[::1]:4781', '[::1]:4780']
    """
    rest = text.removeprefix(SCHEME).rstrip("/")
    host, port = rest, ""
    if rest.startswith("["):
        host, _, after = rest[1:].partition("]")
        port = after.removeprefix(":")
    elif rest.count(":") == 1:
        host, _, port = rest.partition(":")
    if not _is_host(host) or not _is_port(port):
        raise CallerError(f"{text!r} is not an address", hint="write host:port, such as 127.0.0.1:4780")
    return Address(host, int(port) if port else PORT)


def _is_host(host: str) -> bool:
    """May it be a name or a number? Labels of a name have 1 to 63 characters."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return bool(host) and host.isprintable() and not any(c in host for c in "/?@ ")


def _is_port(port: str) -> bool:
    return not port or (port.isdecimal() and len(port) <= PORT_DIGITS_MAX and int(port) <= PORT_MAX)


def addresses_of(text: str) -> list[Address]:
    """The addresses of a list with commas."""
    return [address_of(part.strip()) for part in text.split(",")]


def is_loopback(host: str) -> bool:
    """Does only this machine reach it?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
