"""Links: connections that have introduced themselves as a client or a neighbour, and the messages on them.

Messages of neighbours become inputs of the broker. Messages of clients are checked against the grants, the rate limit
and the memory budget of their principal first.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from agvent import limits
from agvent.broker.interface import Input, LinkDown, LinkUp, Measured, MessageCame, Send
from agvent.net.link.connection import Connection
from agvent.net.server.access import AccessControl, Principal
from agvent.net.server.driver import BrokerDriver
from agvent.net.server.grants import ALL
from agvent.net.server.logs import Log
from agvent.net.server.memory_budget import MemoryBudgets
from agvent.net.server.rate_limit import RateLimits
from agvent.wire.batches import taken_apart
from agvent.wire.broker_messages import Hello
from agvent.wire.client_messages import Attach, Publish, Refused, Subscribe
from agvent.wire.host_messages import ForHost
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage
from agvent.wire.names import name_of


class Links:
    """The open links of a broker, by name, and the connection of each neighbour. `for_host` takes the requests that
    clients have for the sandbox host."""

    def __init__(self, driver: BrokerDriver, access: AccessControl, budgets: MemoryBudgets, log: Log) -> None:
        self._driver, self._access, self._budgets, self._log = driver, access, budgets, log
        self.for_host: Callable[[Connection, ForHost], None]
        self.open: dict[str, Connection] = {}
        self.neighbours: dict[str, Connection] = {}
        self.clients: dict[str, str] = {}  # link -> the client that introduced itself there
        self.principals: dict[str, Principal] = {}  # link -> whose client that is
        self._rates = RateLimits()
        self._sent: dict[str, None] = {}  # links that the current step has messages for
        self._opened = 0

    # Opening

    def begin_client(self, connection: Connection, name: str, principal: Principal) -> None:
        link = self._begin(connection, name)
        self.clients[link], self.principals[link] = name, principal

    def begin_neighbour(self, connection: Connection, name: str) -> None:
        """Opens the link to a neighbour. An older link to it is over, even if its end has not been noticed yet."""
        older = self.neighbours.get(name)
        if older is not None:
            older.abort("replaced by a newer connection")
            self.lost(older, "replaced")
        self.neighbours[name] = connection
        self._begin(connection, name, stall_us=limits.LINK_STALL_US)

    def _begin(self, connection: Connection, name: str, *, stall_us: int = limits.LINK_SILENCE_US) -> str:
        self._opened += 1
        link = f"{name}#{self._opened}"
        self.open[link] = connection
        self._log.say("link opened", link=link, address=connection.peer_address)
        connection.link = link
        connection.begin(stall_us=stall_us)
        return link

    # The connection's owner

    def said(self, connection: Connection, content: bytes) -> None:
        raise AssertionError("a link has begun: its end takes every frame")

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        if self._driver.is_closing:
            return
        link = connection.link
        inputs: list[Input] = []
        for one in what:
            if one is Change.UP:
                assert connection.end is not None
                inputs.append(LinkUp(link, link not in self.clients, connection.end.rtt_us))
            elif isinstance(one, Change):
                connection.abort("the peer restarted the link")
            elif isinstance(one, Hello) and self.neighbours.get(one.broker) is not connection:
                connection.abort(f"it says hello as broker {one.broker!r}, but introduced itself with another name")
            elif isinstance(one, ForHost) and link in self.clients:
                self.for_host(connection, one)
            elif link in self.clients:
                for part in self._parts(link, one):
                    self._check(connection, part, inputs)
            else:
                inputs.append(MessageCame(link, one))
        if inputs:
            self._driver.give(inputs)
        if link in self.clients:
            self._charge(connection, len(what))

    def lost(self, connection: Connection, reason: str) -> None:
        self._budgets.forget(connection)
        link = connection.link
        if self.open.pop(link, None) is None:
            return
        self._log.say("link closed", link=link, reason=reason)
        self.clients.pop(link, None)
        self.principals.pop(link, None)
        self._rates.keep({principal.name for principal in self.principals.values()})
        self.neighbours = {name: one for name, one in self.neighbours.items() if one is not connection}
        self._driver.give([LinkDown(link)])

    # A client's messages

    def _charge(self, connection: Connection, messages: int) -> None:
        """Stops reading for a while if the principal is over its rate, and checks its memory."""
        principal = self.principals[connection.link]
        self._budgets.weigh(principal.name, connection)
        size, connection.received_bytes = connection.received_bytes, 0
        wait = self._rates.take(principal.name, messages, size, self._driver.clock.now())
        if wait:
            self._driver.hops.counts["reads_throttled"] += 1
            connection.hold(wait)

    def _parts(self, link: str, message: AnyMessage) -> list[AnyMessage]:
        """A message. A batch of a principal with limited grants is checked event by event."""
        if not isinstance(message, Publish) or self.principals[link].grants is ALL:
            return [message]
        if not 1 < message.publication.count <= limits.BATCH_EVENTS_MAX:
            return [message]
        return [Publish(single) for single in taken_apart(message.publication)]

    def _check(self, connection: Connection, message: AnyMessage, inputs: list[Input]) -> None:
        """Passes a client's message on if its grants allow it. A publication that is denied is passed on without its
        event, because its place in the client's sequence must be filled."""
        denied = self.denial(connection.link, message)
        if denied is None:
            inputs.append(MessageCame(connection.link, message))
            return
        assert connection.end is not None
        connection.end.send(denied)
        if isinstance(message, Publish):
            emptied = msgspec.structs.replace(message.publication, event=b"")
            inputs.append(MessageCame(connection.link, Publish(emptied)))
        elif isinstance(message, Attach):
            connection.abort("it attaches with another name than it introduced itself with")

    def denial(self, link: str, message: AnyMessage) -> Refused | None:
        """The refusal of a client's message that its grants do not allow; None if they do."""
        client = self.clients.get(link)
        if client is None:
            return Refused(request=getattr(message, "request", 0), sequence=0, reason="the client has disconnected")
        held = self._subscriptions(client) if isinstance(message, Subscribe) else 0
        return self._access.denial(self.principals[link], client, message, held)

    def _subscriptions(self, client: str) -> int:
        """How many subscriptions a client has here; 0 while all clients together have fewer than one client may."""
        current = self._driver.broker.tables.local.current
        if len(current) < limits.CLIENT_SUBSCRIPTIONS_MAX:
            return 0
        return sum(name_of(version.client) == client for version in current.values())

    # The broker's messages

    def send(self, effect: Send) -> None:
        """Queues a message on its link; `flush` sends what a step queued. A link that has gone needs nothing."""
        connection = self.open.get(effect.link)
        if connection is None or connection.end is None or connection.is_closing:
            return
        oversized = connection.end.oversized
        connection.end.send(effect.message)
        if connection.end.oversized > oversized:
            self._driver.hops.counts["messages_too_large"] += 1
            self._log.say("message too large", link=effect.link, type=type(effect.message).__name__)
        self._sent[effect.link] = None
        if effect.link in self.clients:
            if connection.end.queued > limits.CLIENT_BACKLOG_MESSAGES_MAX:
                connection.abort(f"the client does not read: {limits.CLIENT_BACKLOG_MESSAGES_MAX} messages wait for it")
            self._budgets.weigh(self.principals[effect.link].name, connection)

    def flush(self) -> None:
        sent, self._sent = self._sent, {}
        for link in sent:
            self.open[link].pump()

    def measure(self) -> None:
        """Gives the broker the cost of each link to a neighbour."""
        self._driver.give(
            Measured(link, connection.end.rtt_us, connection.end.queued)
            for link, connection in self.open.items()
            if link not in self.clients and connection.end is not None and connection.end.rtt_us
        )

    # The operator

    def disconnect_clients(self, reason: str) -> None:
        for link in list(self.clients):
            self.open[link].close(reason)
