"""Introductions: a new connection says who it is, and is welcomed or rejected.

A connection that is welcome gets another owner: the links, if a client or a broker introduced itself, or the operator
requests.
"""

from __future__ import annotations

import msgspec

from agvent import limits
from agvent.broker.tables.deliveries import Deliveries
from agvent.errors import AgventError
from agvent.net.link.connection import Connection
from agvent.net.link.introduction import Introduction, RejectedIntroduction, Welcome, check_name, introduction_of
from agvent.net.link.tls import peer_of
from agvent.net.server.access import AccessControl, Principal
from agvent.net.server.config import Config
from agvent.net.server.links import Links
from agvent.net.server.listener import Listener
from agvent.net.server.logs import Log
from agvent.net.server.neighbours import Neighbours
from agvent.net.server.operator import OperatorRequests
from agvent.net.server.own_client import MARK
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage
from agvent.wire.names import name_of


class Reception:
    """Owns connections until they have introduced themselves. `deliveries` says which clients are at home here."""

    def __init__(
        self,
        config: Config,
        incarnation: int,
        access: AccessControl,
        *,
        links: Links,
        neighbours: Neighbours,
        operators: OperatorRequests,
        deliveries: Deliveries,
        links_max: int,
        log: Log,
    ) -> None:
        self._config, self._incarnation, self._access = config, incarnation, access
        self._links, self._neighbours, self._operators = links, neighbours, operators
        self._deliveries, self._links_max, self._log = deliveries, links_max, log
        self.listener: Listener
        self.is_draining = False

    # The connection's owner

    def said(self, connection: Connection, content: bytes) -> None:
        introduction = introduction_of(content)
        try:
            check_name(introduction.name, chars_max=limits.CLIENT_NAME_CHARS_MAX)
            principal = self._access.principal(introduction, peer_of(connection.transport))
        except AgventError as error:
            self._reject(connection, error.message, final=True)
            return
        reason = self._objection(introduction, principal)
        if reason:
            crossed = introduction.kind == "broker" and self._neighbours.is_crossed(introduction.name)
            self._reject(connection, reason, is_noted=not crossed)
        else:
            self._welcome(connection, introduction, principal)

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        raise AssertionError("no link begins before the introduction")

    def lost(self, connection: Connection, reason: str) -> None:
        self.listener.lost(connection, reason)

    # Welcome or rejected

    def _welcome(self, connection: Connection, introduction: Introduction, principal: Principal) -> None:
        self.listener.introduced(connection)
        connection.expires = principal.expires
        welcome = Welcome(
            broker=self._config.name,
            incarnation=self._incarnation,
            load=len(self._links.clients),
            home=self._is_home(introduction.name),
        )
        connection.say(msgspec.json.encode(welcome))
        if introduction.kind == "operator":
            connection.owner = self._operators
            self._operators.welcome(connection, principal)
            return
        connection.owner = self._links
        if introduction.kind == "broker":
            self._neighbours.came(introduction.name, connection)
        else:
            self._links.begin_client(connection, introduction.name, principal)

    def _is_home(self, client: str) -> bool:
        known = self._deliveries.clients.get(self._deliveries.current(client))
        return known is not None and not known.claimed

    def _reject(self, connection: Connection, reason: str, *, final: bool = False, is_noted: bool = True) -> None:
        """Closes the connection. A dial that crosses this broker's own is normal, and is not logged."""
        if is_noted:
            self._log.say("rejected", reason=reason, address=connection.peer_address)
        connection.say(msgspec.json.encode(RejectedIntroduction(reason=reason, final=final)))
        connection.close(reason)

    def _objection(self, introduction: Introduction, principal: Principal) -> str:
        """Why an introduction is rejected; empty if it is welcome."""
        mine = self._config.name
        if introduction.to not in ("", mine):
            return f"the introduction is for broker {introduction.to!r}, but this is {mine!r}"
        is_full = len(self._links.open) >= self._links_max
        if introduction.kind == "broker":
            is_full = is_full and introduction.name not in self._config.neighbours
            return "too many connections" if is_full else self._neighbours.objection(introduction.name)
        if introduction.kind == "operator":
            return ""
        if introduction.name.startswith(MARK):
            return f"names that begin with {MARK} are reserved for brokers"
        if self.is_draining:
            return f"broker {mine!r} is draining"
        return "too many connections" if is_full else self._quota_exceeded(introduction, principal)

    def _quota_exceeded(self, introduction: Introduction, principal: Principal) -> str:
        theirs = sum(one.name == principal.name for one in self._links.principals.values())
        if theirs >= limits.PRINCIPAL_CONNECTIONS_MAX:
            return f"quota exceeded: principal {principal.name!r} has {theirs} connections"
        names = {name_of(key) for key in self._deliveries.clients}
        if principal.has_enough_clients(names, introduction.name):
            return f"quota exceeded: principal {principal.name!r} has {limits.PRINCIPAL_CLIENTS_MAX} clients here"
        return ""
