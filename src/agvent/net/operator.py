"""What an operator may ask a broker: what it has, and to cut, heal, drain, forget, release, stop.

An operator's connection carries requests and answers, one JSON object each: a request is a frame, an answer as many
frames as it needs and an empty one.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent import limits
from agvent.errors import CallerError
from agvent.net.connection import Connection
from agvent.net.door import Principal
from agvent.wire.names import first_number

if TYPE_CHECKING:
    from agvent.net.server import BrokerServer


KILL_SECONDS: Final = 0.02

CHOKED_SECONDS: Final = 0.05
"""How often it looks whether an operator has read its answers."""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request; `name` is the neighbour, broker or type it is about."""

    request: str
    name: str = ""
    publisher: str = ""
    sequence: int = 0
    fast: bool = False


class Asking(msgspec.Struct):
    """An operator, the end of its silence, and what it asked that has no answer yet."""

    principal: Principal
    late: asyncio.TimerHandle
    requests: deque[bytes] = msgspec.field(default_factory=deque)


class Operator:
    """Answers operators. What it changes is the driver's or an input of the broker's, never a table."""

    def __init__(self, server: BrokerServer) -> None:
        self.server = server
        self.connections: dict[Connection, Asking] = {}  # the longest silent first
        self._do: dict[str, Callable[[Request], Any]] = {
            "status": lambda _: self.status(),
            "types": lambda _: self._types(),
            "trace": lambda one: server.memory.find(one.publisher, one.sequence, server.clock.now(), fast=one.fast),
            "cut": self._cut,
            "heal": self._heal,
            "drain": lambda _: self._drain(),
            "forget": self._forget,
            "release": lambda one: server.behaviours.release(one.name),
            "stop": lambda _: server.stopping.set(),
            "kill": lambda _: self._kill(),
        }

    def welcome(self, connection: Connection, principal: Principal) -> None:
        """When there are as many as there may be, the one that has been silent longest goes."""
        if len(self.connections) >= limits.OPERATORS_MAX:
            silent = next(iter(self.connections))
            self.lost(silent)
            silent.abort("other operators came after it")
        self.connections[connection] = Asking(principal, self._silence(connection))

    def _silence(self, connection: Connection) -> asyncio.TimerHandle:
        late = limits.OPERATOR_SILENCE_SECONDS_MAX
        return asyncio.get_running_loop().call_later(late, connection.abort, "silent for too long")

    def lost(self, connection: Connection) -> None:
        asking = self.connections.pop(connection, None)
        if asking is not None:
            asking.late.cancel()

    def asked(self, connection: Connection, content: bytes) -> None:
        """Takes a request. Until all are answered no more is read."""
        requests = self.connections[connection].requests
        requests.append(content)
        if len(requests) == 1:
            connection.pause()
            asyncio.get_running_loop().call_soon(self._go_on, connection)

    def _go_on(self, connection: Connection) -> None:
        """Answers one request, when the answers before have gone; others' turns come in between."""
        loop = asyncio.get_running_loop()
        if connection not in self.connections or connection.is_closing:
            return
        if connection.is_choked:
            loop.call_later(CHOKED_SECONDS, self._go_on, connection)
            return
        asking = self.connections[connection] = self.connections.pop(connection)
        asking.late.cancel()
        asking.late = self._silence(connection)
        self._tell(connection, asking.requests.popleft())
        self.server.weigh(asking.principal, connection)
        if asking.requests:
            loop.call_soon(self._go_on, connection)
        else:
            connection.read_on()

    def _tell(self, connection: Connection, content: bytes) -> None:
        try:
            answer = {"ok": self._answer(content)}
        except CallerError as error:
            answer = {"error": str(error), "hint": error.hint}
        whole = msgspec.json.encode(answer)
        for at in range(0, len(whole), limits.CHUNK_BYTES_MAX):
            connection.say(whole[at : at + limits.CHUNK_BYTES_MAX])
        connection.say(b"")

    def _answer(self, content: bytes) -> Any:
        try:
            request = msgspec.json.decode(content, type=Request)
        except (ValueError, RecursionError) as error:
            raise CallerError(f"not a request: {str(error)[:200]}") from None
        if request.request not in self._do:
            raise CallerError(f"no request {request.request!r}", hint=f"there are {', '.join(self._do)}")
        return self._do[request.request](request)

    # What a broker has

    def status(self) -> dict[str, Any]:
        server, tables = self.server, self.server.broker.tables
        journal = server.commit.journal
        return {
            "broker": server.config.name,
            "incarnation": server.identity.incarnation,
            "boot": tables.boot,
            "pid": os.getpid(),
            "admin": f"{server.config.admin.host}:{server.admin.port}" if server.config.admin and server.admin else "",
            "sandbox_pid": server.behaviours.pid,
            "quarantined": [
                {
                    "publisher": one.principal,
                    "type": one.type,
                    "program": one.program,
                    "call": one.call,
                    "fault": one.fault,
                }
                for one in server.behaviours.quarantined
            ],
            "up_s": (server.clock.now() - server.started) // 1_000_000,
            "draining": server.draining,
            "disk_full": server.commit.full,
            "links": self._links(),
            "clients": self._clients(),
            "subscriptions": len(tables.homes.current),
            "brokers": tables.advertisements.owners(),
            "custody": tables.custody.event_count,
            "epoch": tables.interests.epoch,
            "fast_lost": dict(tables.fast_lost),
            "journal_bytes": journal.segment_bytes + journal.snapshot_bytes,
            "counts": {
                **server.memory.counts,
                "refused": server.broker.refused,
                "groups": server.commit.groups,
                "records": server.commit.records,
            },
        }

    def _links(self) -> list[dict[str, Any]]:
        neighbours, custody = self.server.neighbours, self.server.broker.tables.custody
        names = sorted({*neighbours.addresses, *neighbours.linked, *neighbours.cut})
        found = []
        for name in names:
            connection = neighbours.linked.get(name)
            end = connection.end if connection is not None else None
            found.append(
                {
                    "neighbour": name,
                    "state": "cut" if name in neighbours.cut else "up" if end is not None and end.up else "down",
                    "rtt_us": end.rtt_us if end is not None else 0,
                    "queued": end.queued if end is not None else 0,
                    "untaken": custody.untaken.get(name, 0),
                    "trouble": neighbours.troubles.get(name, ""),
                }
            )
        return found

    def _clients(self) -> list[dict[str, Any]]:
        return [
            {
                "client": name,
                "attached": bool(client.link),
                "waiting": client.durable.event_count,
                "delivered": client.durable.received - first_number(name),
                "moving": "here" if client.is_moving else "away" if client.claimed else "",
            }
            for name, client in sorted(self.server.broker.tables.deliveries.clients.items())
        ]

    def _types(self) -> list[dict[str, Any]]:
        found = self.server.broker.tables.advertisements.found("")
        return [{"broker": owner, "publisher": publisher, "type": type} for owner, publisher, type in found]

    # What it does

    def _cut(self, request: Request) -> None:
        self._check_neighbour(request.name)
        self.server.neighbours.cut_link(request.name)

    def _heal(self, request: Request) -> None:
        self._check_neighbour(request.name)
        self.server.neighbours.heal_link(request.name)

    def _check_neighbour(self, name: str) -> None:
        neighbours = self.server.neighbours
        known = sorted({*neighbours.addresses, *neighbours.linked, *neighbours.cut})
        if name not in known:
            raise CallerError(
                f"{self.server.config.name!r} has no neighbour {name!r}", hint=f"it has {', '.join(known) or 'none'}"
            )

    def _drain(self) -> dict[str, int]:
        """Sends the clients away and takes no new ones; gives what is still here to be handed on."""
        self.server.draining = True
        for link in list(self.server.clients):
            self.server.links[link].close("drained")
        return {"custody": len(self.server.broker.tables.custody.held)}

    def _kill(self) -> None:
        """Ends the process as a crash does, when the answer has gone out."""
        asyncio.get_running_loop().call_later(KILL_SECONDS, os.kill, os.getpid(), signal.SIGKILL)

    def _forget(self, request: Request) -> None:
        if request.name == self.server.config.name:  # it would go on taking events that nobody delivers
            hint = "`agvent broker drain` sends its clients away; when it has stopped for good, another broker is told"
            raise CallerError(f"{request.name!r} cannot forget itself", hint=hint)
        if request.name not in self.server.broker.tables.advertisements:
            raise CallerError(f"no broker {request.name!r} is known here")
        self.server.forget(request.name)
