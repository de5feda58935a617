"""Agvents at their subscribers' home: let in, called and disposed of by messages that the broker has no part in.

What an agvent answers to its publisher goes out as an event of the broker's own client, on the topic ANSWERS and for
that publisher alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from agvent import limits
from agvent.agents.execution.ask import AskedAgvent
from agvent.agents.execution.residents import Residents
from agvent.agents.execution.sandbox import Arrival
from agvent.broker.broker import Broker
from agvent.broker.tables.local_subscriptions import key_of
from agvent.errors import AdmissionError, SandboxFault, WireError
from agvent.event import Event, EventId
from agvent.net.link.connection import Connection
from agvent.net.server.own_client import OwnClient
from agvent.net.server.programs import ProgramRunner
from agvent.net.server.recent_hops import RecentHops
from agvent.types import AgventType, unadvertised
from agvent.wire.client_messages import Advertise, Deliver, Done, Refused
from agvent.wire.codec import Visitor, decode_visitor
from agvent.wire.host_messages import Admit, Admitted, Dispose, ForHost, GetHostKey, HostKey, Invoke, Invoked, Load
from agvent.wire.messages import AnyMessage
from agvent.wire.names import name_of
from agvent.wire.parts import Answered

ANSWERS: Final = "agvent/answers"
"""The topic of what agvents answer to their publishers."""


class Visits:
    """Answers the requests that clients have for the sandbox host of their home. `denial` is the refusal of a message
    that the grants of the client on a link do not allow."""

    def __init__(
        self,
        broker: Broker,
        programs: ProgramRunner,
        own: OwnClient,
        *,
        hops: RecentHops,
        now: Callable[[], int],
        denial: Callable[[str, AnyMessage], Refused | None],
    ) -> None:
        self._broker, self._programs, self._own = broker, programs, own
        self._hops, self._now, self._denial = hops, now, denial
        self._residents = Residents()
        self._asked: Counter[str] = Counter()  # link -> requests that have no answer yet

    def came(self, connection: Connection, asked: ForHost) -> None:
        """Sees to a request, and answers it later."""
        attachment = self._broker.clients.attached.get(connection.link)
        if attachment is None or self._asked[connection.link] >= limits.CLIENT_CALLS_MAX:
            self._tell(
                connection, Refused(request=asked.request, sequence=0, reason="quota exceeded: too many calls at once")
            )
        else:
            self._asked[connection.link] += 1
            self._programs.spawn(self._see_to(connection, attachment.client, asked))

    async def _see_to(self, connection: Connection, client: str, asked: ForHost) -> None:
        link = connection.link
        try:
            self._tell(connection, await self._answer(connection, client, asked))
        finally:
            self._asked[link] -= 1
            if not self._asked[link]:
                del self._asked[link]

    def _tell(self, connection: Connection, message: AnyMessage) -> None:
        """Answers a client, if it is still there: one that comes back asks again."""
        if connection.end is not None and not connection.is_lost:
            connection.end.send(message)
            connection.pump()

    async def _answer(self, connection: Connection, client: str, asked: ForHost) -> AnyMessage:
        match asked:
            case GetHostKey(request):
                return await self._host_key(request)
            case Admit():
                return await self._admit(client, asked)
            case Invoke():
                return Invoked(asked.request, await self._invoke(client, asked))
            case Load():
                return await self._load(connection, asked)
            case Dispose(request, publisher, sequence, fast):
                id = EventId(publisher, sequence)
                if self._residents.dispose(client, id, fast=fast):
                    self._hops.disposed(id, name_of(client), self._now(), fast=fast)
                return Done(request)

    async def _host_key(self, request: int) -> HostKey | Refused:
        try:
            return HostKey(request, await self._programs.ask_host(lambda host: host.key))
        except SandboxFault as error:
            return Refused(request=request, sequence=0, reason=error.message)

    async def _load(self, connection: Connection, asked: Load) -> AnyMessage:
        """Has the host load code before it is advertised, if this client may bring it."""
        denied = self._denial(connection.link, Advertise(asked.request, asked.type, asked.code))
        if denied is not None:
            return denied
        try:
            await self._programs.load(asked.code)
        except (AdmissionError, SandboxFault) as error:
            return Refused(request=asked.request, sequence=0, reason=error.message)
        return Done(asked.request)

    # Arrival

    async def _admit(self, client: str, asked: Admit) -> Admitted:
        """Lets an agvent arrive, and keeps it; one that does not arrive without a fault is not let in."""
        known = self._broker.tables.deliveries.clients.get(client)
        queue = None if known is None else known.fast if asked.fast else known.durable
        delivery = None if queue is None else queue.waiting.get(asked.number)
        if queue is None or not isinstance(delivery, Deliver):
            return Admitted(asked.request, unadvertised(None), refusal="the delivery is no longer in the queue")
        try:
            visitor = decode_visitor(delivery.event)
        except WireError as error:
            return Admitted(asked.request, unadvertised(None), refusal=error.message)
        arrival = Arrival(
            delivery.publisher, delivery.event, name_of(client), self._context(client, asked.subscription)
        )
        expires = queue.expires.get(asked.number, 0)
        arrived = await self._programs.arrive(arrival)
        now = self._now()
        self._hops.visited(delivery, name_of(client), arrived, now, expires=expires)
        if arrived.fault:
            return Admitted(asked.request, self._type(delivery, visitor), refusal=arrived.fault)
        id, came = EventId(delivery.publisher, delivery.sequence), AskedAgvent(delivery.publisher, delivery.event)
        self._residents.keep(client, id, came, now, subscription=asked.subscription, expires=expires, fast=asked.fast)
        for value in arrived.answered:
            self._own.publish(_answer_event(delivery, visitor, name_of(client), value), to=delivery.publisher)
        return Admitted(asked.request, self._type(delivery, visitor), arrived.told)

    def expire(self) -> None:
        """Lets those go whose time is over, and those of subscriptions that are; asked for again and again."""
        current = self._broker.tables.local.current
        self._residents.expire(self._now(), lambda client, id: key_of(client, id) in current)

    def _context(self, client: str, subscription: str) -> dict[str, object]:
        """What the subscriber said about itself in that subscription."""
        version = self._broker.tables.local.current.get(key_of(client, subscription))
        return dict(version.subscription.context or {}) if version is not None else {}

    def _type(self, delivery: Deliver, visitor: Visitor) -> AgventType:
        """The agvent's type as its publisher advertised it with this program, whatever it advertises now."""
        program = visitor.cargo.program if visitor.cargo is not None else ""
        return self._broker.tables.code.type_of(delivery.publisher, program) or unadvertised(visitor.type)

    # Calls

    async def _invoke(self, client: str, asked: Invoke) -> Answered:
        id, now = EventId(asked.publisher, asked.sequence), self._now()
        try:
            task = self._residents.task(client, id, (asked.call,), now, fast=asked.fast)
        except AdmissionError as error:
            return Answered(asked.call, None, error.message)
        (answered,) = await self._programs.answers(task)
        return answered


def _answer_event(delivery: Deliver, visitor: Visitor, subscriber: str, value: object) -> Event:
    about = {"publisher": delivery.publisher, "sequence": delivery.sequence, "type": visitor.type}
    return Event(topic=ANSWERS, attributes={**about, "subscriber": subscriber, "answer": value})
