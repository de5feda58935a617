"""Who may come in, and what each may do: introductions against certificates and tokens, messages against grants.

A broker without keys lets everybody in and everything through: it listens on loopback, or was told to be insecure.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from agvent import limits
from agvent.agents.execution.signed_programs import Programs, decode_code
from agvent.errors import AgventError, CallerError, DeniedError
from agvent.net.link.introduction import GUEST, Introduction
from agvent.net.link.tls import Peer
from agvent.net.server.grants import ALL, Grants
from agvent.wire.client_messages import Advertise, Attach, Publish, Refused, Subscribe
from agvent.wire.codec import decode_event
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Principal(msgspec.Struct, frozen=True):
    """Somebody who was let in. Its clients are called as it is, or as it is, a dot, and something. `expires` is when
    what it showed is over, in seconds since 1970; 0: never."""

    name: str
    grants: Grants
    expires: float = 0

    def has_enough_clients(self, names: Collection[str], client: str) -> bool:
        """Is this another client, beside as many of this principal's as a home may have?"""
        if client in names or len(names) < limits.PRINCIPAL_CLIENTS_MAX:
            return False
        theirs = sum(name == self.name or name.startswith(f"{self.name}.") for name in names)
        return theirs >= limits.PRINCIPAL_CLIENTS_MAX


class AccessControl:
    """The broker's door. `keys` check tokens; without `is_locked` nobody has to show anything."""

    def __init__(self, *, is_locked: bool, keys: list[Ed25519PublicKey]) -> None:
        self.is_locked, self.keys = is_locked, keys

    def principal(self, introduction: Introduction, peer: Peer | None) -> Principal:
        """Who is at the door; a DeniedError if nobody we know."""
        if not self.is_locked:
            return Principal(introduction.name, ALL)
        if introduction.kind == "broker":
            if peer is None or (peer.kind, peer.name) != ("broker", introduction.name):
                raise DeniedError(f"it must show the certificate of broker {introduction.name!r}")
            return Principal(introduction.name, ALL, peer.expires)
        found = self._shown(introduction, peer)
        if introduction.kind == "operator":
            found.grants.check_administer()
        elif introduction.name != found.name and not introduction.name.startswith(f"{found.name}."):
            guest = f"; a guest of {found.name!r} says so with --principal {found.name}, or connect(principal=…)"
            whose = f"it must show the certificate or token of {introduction.name!r}, not of {found.name!r}"
            raise DeniedError(whose + (guest if introduction.name.startswith(GUEST) else ""))
        return found

    def _shown(self, introduction: Introduction, peer: Peer | None) -> Principal:
        if introduction.token:
            # Loaded by those who check tokens: it is a compiled library of some size.
            from agvent.net.server.tokens import verify  # noqa: PLC0415

            token = verify(introduction.token, self.keys, time.time())
            return Principal(token.name, Grants(token.grants, token.name), token.expires)
        if peer is not None and peer.kind == "client":
            return Principal(peer.name, Grants(peer.grants, peer.name), peer.expires)
        raise DeniedError("it must show a client's certificate or a token")

    def denial(self, principal: Principal, client: str, message: AnyMessage, subscriptions: int) -> Refused | None:
        """What a client is told in place of what it asked and may not; None if it may."""
        try:
            if isinstance(message, Attach) and message.client != client:
                raise DeniedError(f"this connection is for {client!r}, not for {message.client!r}")
            if isinstance(message, Subscribe):
                principal.grants.check_subscribe(message.subscription)
                if subscriptions >= limits.CLIENT_SUBSCRIPTIONS_MAX:
                    raise DeniedError(f"a client has at most {limits.CLIENT_SUBSCRIPTIONS_MAX} subscriptions")
            elif isinstance(message, Advertise):
                principal.grants.check_advertise(message.type)
                if message.code:
                    principal.grants.check_code(message.type)
                    check_code(client, message)
            elif isinstance(message, Publish) and principal.grants is not ALL:
                principal.grants.check_publish(decode_event(message.publication.event))
        except AgventError as error:
            if isinstance(message, Publish):
                return Refused(
                    request=0,
                    sequence=message.publication.sequence,
                    reason=error.message,
                    fast=message.publication.fast,
                )
            return Refused(request=getattr(message, "request", 0), sequence=0, reason=error.message)
        return None


def check_code(client: str, message: Advertise) -> None:
    """Refuses code that is not this client's, not signed by it, or not that of the type."""
    signed = decode_code(message.code)
    if signed.principal != client:
        raise DeniedError(f"the code is of {signed.principal!r}, not of {client!r}")
    program = Programs({client: frozenset({signed.key})}).admit(signed)
    if program.hash != message.type.program:
        raise CallerError("the program is not the one that the type names")
