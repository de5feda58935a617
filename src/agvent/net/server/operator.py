"""Operators' connections: requests such as status, cut, heal, drain, forget, release and stop, and their answers.

Requests and answers are JSON objects. A request is one frame. An answer is one or more frames, and an
empty one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.errors import CallerError
from agvent.net.link.connection import Connection
from agvent.net.server.access import Principal
from agvent.net.server.memory_budget import MemoryBudgets
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage

CHOKED_SECONDS: Final = 0.05
"""How often the broker checks whether an operator has read its answers."""


class OperatorRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request; `name` is the neighbour, broker or type it is about."""

    request: str
    name: str = ""
    publisher: str = ""
    sequence: int = 0
    fast: bool = False


class OperatorConnection(msgspec.Struct):
    """An operator, its idle timer, and the requests that have no answer yet."""

    principal: Principal
    late: asyncio.TimerHandle
    requests: deque[bytes] = msgspec.field(default_factory=deque)


class OperatorRequests:
    """Answers operators. `actions` has the function for each request; `budgets` bound what their answers keep."""

    def __init__(self, actions: Mapping[str, Callable[[OperatorRequest], Any]], budgets: MemoryBudgets) -> None:
        self._actions, self._budgets = actions, budgets
        self.connections: dict[Connection, OperatorConnection] = {}  # the longest idle first

    def welcome(self, connection: Connection, principal: Principal) -> None:
        """Takes a new operator. When there are too many, the one that was idle longest is disconnected."""
        if len(self.connections) >= limits.OPERATORS_MAX:
            idle = next(iter(self.connections))
            self._drop(idle)
            idle.abort("too many operator connections")
        self.connections[connection] = OperatorConnection(principal, self._idle_timer(connection))

    def _idle_timer(self, connection: Connection) -> asyncio.TimerHandle:
        late = limits.OPERATOR_SILENCE_SECONDS_MAX
        return asyncio.get_running_loop().call_later(late, connection.abort, "idle timeout")

    def _drop(self, connection: Connection) -> None:
        asking = self.connections.pop(connection, None)
        if asking is not None:
            asking.late.cancel()

    # The connection's owner

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        raise AssertionError("an operator's connection has no link")

    def lost(self, connection: Connection, reason: str) -> None:
        self._budgets.forget(connection)
        self._drop(connection)

    def said(self, connection: Connection, content: bytes) -> None:
        """Takes a request. No more is read until all requests have their answers."""
        requests = self.connections[connection].requests
        requests.append(content)
        if len(requests) == 1:
            connection.pause()
            asyncio.get_running_loop().call_soon(self._go_on, connection)

    def _go_on(self, connection: Connection) -> None:
        """Answers one request, when the answers before it are sent; other connections have their turn in between."""
        loop = asyncio.get_running_loop()
        if connection not in self.connections or connection.is_closing:
            return
        if connection.is_choked:
            loop.call_later(CHOKED_SECONDS, self._go_on, connection)
            return
        asking = self.connections[connection] = self.connections.pop(connection)
        asking.late.cancel()
        asking.late = self._idle_timer(connection)
        self._tell(connection, asking.requests.popleft())
        self._budgets.weigh(asking.principal.name, connection)
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
            request = msgspec.json.decode(content, type=OperatorRequest)
        except (ValueError, RecursionError) as error:
            raise CallerError(f"not a request: {str(error)[:200]}") from None
        if request.request not in self._actions:
            raise CallerError(f"unknown request {request.request!r}", hint=f"requests: {', '.join(self._actions)}")
        return self._actions[request.request](request)
