"""The client of a broker network: it advertises, publishes and subscribes.

A call that needs an answer waits for it across reconnects; use `asyncio.timeout` to stop waiting. A call that was given
up may still take effect: the outcome of a publication that nobody waits for is unknown, not undone.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from agvent import limits
from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.filter_warnings import warnings_of
from agvent.errors import CallerError, RequestRefusedError
from agvent.event import Budget, Event, microseconds
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.net.client.advertising import AdvertisedType, class_of, named_type
from agvent.net.client.broker_connection import ATTACHING, BrokerConnection
from agvent.net.client.dispatch import DeliveryDispatch
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.publications import Publications, Publishable, PublishOptions
from agvent.net.client.publishable import Events
from agvent.net.client.receipts import Receipt
from agvent.net.client.since import Past, past_of, since_of
from agvent.net.link.address import Address
from agvent.net.link.tls import Credentials
from agvent.session.session import Session
from agvent.types import AgventType
from agvent.wire.client_messages import (
    Advertised,
    AdvertisementsFound,
    Deliver,
    Done,
    Gap,
    Published,
    Refused,
    Stopped,
)
from agvent.wire.client_messages import Subscribed as InForce
from agvent.wire.host_messages import ForHost, GetHostKey, HostKey, Load
from agvent.wire.messages import AnyMessage

if TYPE_CHECKING:
    import pyarrow

    from agvent.net.client.agvents import Agvents
    from agvent.net.client.keyring import Keyring
    from agvent.net.client.seals import Seals


class Client:
    """One client of a broker network, made by `connect`. A later process with the same `name` continues where this one
    ends.

    >>> import asyncio
    >>> from agvent import connect, local_broker
    >>> async def main(url):
    ...     async with connect(url, name="ada") as ada:
    ...         cheap = await ada.subscribe("price < 10")
    ...         await ada.publish({"title": "Emma", "price": 8})
    ...         delivery = await anext(cheap)
    ...         return delivery.event.attributes["title"]
    >>> with local_broker() as url:
    ...     asyncio.run(main(url))
    'Emma'
    """

    def __init__(
        self,
        addresses: list[Address],
        *,
        name: str,
        is_guest: bool,
        context: Mapping[str, Any] | None,
        failover_s: float,
        credentials: Credentials | None = None,
        key_file: Path | None = None,
        event_log: Path | None = None,
    ) -> None:
        self.name = name
        self._key_file, self._event_log = key_file, event_log
        self.context: Mapping[str, Any] | None = context
        self._is_guest = is_guest  # it leaves nothing behind, because no process of its name follows
        self._session = Session(name, prompt=False, life=secrets.randbits(32), guest=is_guest)
        self._connection = BrokerConnection(
            self._session, addresses, failover_s=failover_s, credentials=credentials, on_messages=self._hear
        )
        self._publications = Publications(self._session, self._event_of, self._connection.say)
        self._dispatch = DeliveryDispatch(self._session, self._ask_host, self._connection.say)
        self._answers: dict[int, asyncio.Future[AnyMessage]] = {}
        self._asked: dict[int, OpenSubscription] = {}  # the request that opened each subscription
        self._known: dict[str, tuple[AgventType, ...]] = {}  # the advertised types that this client last heard of
        self.failures: deque[Stopped] = deque(maxlen=limits.STOPPED_KEPT_MAX)
        """The latest failures of this client's agvents: behaviours and routes that failed, and budgets that ran out."""

    async def __aenter__(self) -> Self:
        self._publications.begin()
        self._dispatch.begin()
        try:
            await self._connection.open()
            await self._answer_to(ATTACHING)
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._is_guest and self._session.attached:
            for id in list(self._dispatch.open):
                self._session.unsubscribe(id)
            for type in list(self._session.types):
                self._session.unadvertise(type)
        self._dispatch.close()
        await self._connection.close()
        self._connection.give_up("the client is closed")

    @property
    def broker(self) -> str:
        """The broker that the client is attached to, or was attached to last."""
        return self._session.broker

    @property
    def last_sequence(self) -> int:
        """The sequence of its last durable event, which an earlier process of its name may have published."""
        return self._session.sequence

    @property
    def last_error(self) -> str:
        """Why the client is not attached now; empty if it is."""
        return "" if self._session.attached else self._connection.last_error or "not attached yet"

    # Types

    async def advertise(self, type: AgventType | str | type[Agvent]) -> Advertised:
        """Advertises a type of events, or an agvent class with its code, before events of it are published.

        Returns when every broker that can be reached has answered; the result names those that have not. If the sandbox
        host of the home broker cannot load the code, nothing is advertised, and the CallerError has the reason."""
        made, code = self.agvents.advertised(class_of(type)) if inspect.isclass(type) else (named_type(type), b"")
        if code:
            await self._ask_host(Load(0, made, code))
        answer = await self._answer(self._session.advertise(made, code))
        assert isinstance(answer, Advertised)
        return answer

    async def unadvertise(self, type: str) -> None:
        """Withdraws the advertisement of a type."""
        await self._answer(self._session.unadvertise(type))

    @cached_property
    def keyring(self) -> Keyring:
        """The keys that this client signs with and that others seal for."""
        from agvent.net.client.keyring import Keyring  # noqa: PLC0415 - cryptography, for those who have keys

        return Keyring(self._key_file)

    @cached_property
    def agvents(self) -> Agvents:
        """Signs and encodes the agvents of this client."""
        from agvent.net.client.agvents import Agvents  # noqa: PLC0415 - as above

        return Agvents(self.name, self.keyring, self.seals, self._host_key)

    @cached_property
    def seals(self) -> Seals:
        """Sealed fields: admits subscribers to this client's, and opens those of others."""
        from agvent.net.client.seals import Seals  # noqa: PLC0415 - as above

        return Seals(self, self.keyring)

    async def _event_of(self, event: Publishable, budget: Budget | None) -> Event | Mapping[str, Any]:
        if isinstance(event, Agvent):
            return await self.agvents.event_of(event, self.broker, budget=budget)
        return event

    async def _host_key(self) -> bytes:
        answer = await self._ask_host(GetHostKey(0))
        assert isinstance(answer, HostKey)
        return answer.key

    def _ask_host(self, asked: ForHost) -> asyncio.Future[AnyMessage]:
        """Sends a request to the sandbox host of the home broker."""
        return self._answer_to(self._session.ask_host(asked))

    async def types(self, type: str = "") -> list[AdvertisedType]:
        """All advertisements, or those of a type and its subtypes."""
        answer = await self._answer(self._session.get_advertisements(type))
        assert isinstance(answer, AdvertisementsFound)
        return [AdvertisedType(*one) for one in answer.found]

    # Subscriptions

    async def subscribe(
        self,
        filter: str = "",
        *,
        admit: bool = False,
        since: datetime | str | None = None,
        into: OpenSubscription | None = None,
        **options: Any,
    ) -> OpenSubscription:
        """Opens a subscription, or changes the filter of the one with this `id`. The options are those of Subscription.

        Returns when every reachable broker that may publish such events knows the subscription; `pending` names the
        others. `warnings` name attributes that no advertisement of its type has.

        `admit=True` lets agvents arrive: the home broker keeps them, and this client calls their behaviours.
        `since`, a time or "beginning", gives past events from the network's event log first.
        `into` gives the deliveries to another subscription, so that one loop reads thousands of them."""
        begins = since_of(since) if since is not None else None
        if since is not None and self._event_log is None:
            raise CallerError(
                "since= needs the network's event log", hint="name its folder: connect(…, event_log=FOLDER)"
            )
        if since is not None and into is not None:
            raise CallerError("since= and into= cannot be combined", hint="leave out into=")
        options.setdefault("id", self._free_id())
        options.setdefault("context", self.context)
        subscription = Subscription(filter=filter, **options)
        condition = subscription.condition()
        before = self._dispatch.open.get(subscription.id)
        subscribed = before or OpenSubscription(subscription, into)
        was = subscribed.subscription, subscribed.admits
        subscribed.subscription, subscribed.admits = subscription, admit
        self._dispatch.add(subscribed)
        try:
            await self._open(subscribed)
        except RequestRefusedError:
            subscribed.subscription, subscribed.admits = was
            if before is None:
                del self._dispatch.open[subscription.id]
            raise
        if subscription.type is not None and subscription.filter:
            subscribed.warnings = await self._warnings(subscription.type, condition)
        if since is not None and self._event_log is not None:
            subscribed.past = Past(past_of(subscribed, self._event_log, begins, self.name))
        return subscribed

    def _free_id(self) -> str:
        """An id that no open subscription has."""
        numbers = count(len(self._dispatch.open) + 1)
        return next(id for id in map("s{}".format, numbers) if id not in self._dispatch.open)

    async def _warnings(self, type: str, condition: Condition) -> tuple[str, ...]:
        """Warnings about a condition that the advertisements of a type cannot answer. The advertisements are read once
        for each type, and again before a warning is given."""
        known = self._known.get(type, ())
        if known and not warnings_of(condition, type, known):
            return ()
        self._known[type] = tuple(dict.fromkeys(found.type for found in await self.types(type)))
        return warnings_of(condition, type, self._known[type])

    async def _open(self, subscribed: OpenSubscription) -> None:
        request = self._session.subscribe(subscribed.subscription)
        self._asked[request] = subscribed
        await self._answer(request)

    async def unsubscribe(self, subscription: OpenSubscription | str) -> bool:
        """Ends a subscription, by its handle or its id; deliveries that were queued for it are dropped. False: the home
        broker had none with this id, or had ended it when the connection broke."""
        id = subscription if isinstance(subscription, str) else subscription.subscription.id
        self._dispatch.acknowledge_finished()  # before the home broker forgets the subscription
        answer = await self._answer(self._session.unsubscribe(id))
        self._dispatch.remove(id)
        assert isinstance(answer, Done)
        return answer.had

    async def set_context(self, context: Mapping[str, Any] | None) -> None:
        """Changes the context of this subscriber in all its subscriptions."""
        self.context = context
        for subscribed in list(self._dispatch.open.values()):
            subscribed.subscription = msgspec.structs.replace(subscribed.subscription, context=context)
            await self._open(subscribed)

    # Events

    async def publish(
        self,
        event: Event | Agvent | Mapping[str, Any],
        *,
        to: str = "",
        destinations: Sequence[str] = (),
        expires: datetime | None = None,
        fast: bool = False,
        budget: Budget | None = None,
    ) -> Receipt:
        """Publishes an event, and returns when a broker has it on disk; with `fast`, when it has it in memory.

        `budget` is for a self-routing agvent. `failures` has what goes wrong with an agvent later."""
        publications = self._publications
        if self._session.unacknowledged_events >= limits.CLIENT_UNACKNOWLEDGED_MAX:
            await publications.wait_for_room()
        if isinstance(event, Agvent):
            event = await self._event_of(event, budget)
        ends = microseconds(expires) if expires is not None else 0
        sequence = self._session.publish(event, to=to, destinations=tuple(destinations), expires=ends, fast=fast)
        return publications.receipt(sequence, await publications.settled(sequence, fast=fast), fast=fast)

    async def publish_batch(
        self,
        events: Events | pyarrow.RecordBatch | pyarrow.Table,
        *,
        to: str = "",
        destinations: Sequence[str] = (),
        expires: datetime | None = None,
        fast: bool = False,
        budget: Budget | None = None,
    ) -> Sequence[Receipt]:
        """Publishes events in order, as many at once as the broker gives credit for. Each row of an Arrow batch or
        table is an event. A RefusedError names the events that were refused; the others are published."""
        options = PublishOptions(to=to, destinations=destinations, expires=expires, fast=fast, budget=budget)
        return await self._publications.publish_batch(events, options)

    # What the session tells

    async def _answer(self, request: int) -> AnyMessage:
        answer = self._answer_to(request)
        for superseded in [one for one in self._answers if one not in self._session.requests]:
            if superseded != request and not (given_up := self._answers.pop(superseded)).done():
                given_up.set_exception(CallerError("replaced by a later request for the same subscription or type"))
        return await answer

    def _answer_to(self, request: int) -> asyncio.Future[AnyMessage]:
        answer: asyncio.Future[AnyMessage] = asyncio.get_running_loop().create_future()
        self._answers[request] = answer
        self._connection.say()
        return answer

    def _hear(self, messages: list[AnyMessage]) -> None:
        for message in messages:
            if isinstance(message, (Deliver, Gap)):
                self._dispatch.arrive(message)
            elif isinstance(message, Published):
                self._publications.settle(message)
            elif isinstance(message, Refused) and message.sequence:
                self._publications.refuse(message)
            elif isinstance(message, Refused) and message.is_of_attaching:
                self._resolve(message)
                self._publications.close(message.reason)
                self._dispatch.fail(message.reason)
            elif isinstance(message, Stopped):
                self.failures.append(message)
            else:
                self._resolve(message)

    def _resolve(self, message: AnyMessage) -> None:
        request = getattr(message, "request", ATTACHING)
        if isinstance(message, InForce) and request in self._asked:
            subscribed = self._asked[request]
            subscribed.confirmed, subscribed.pending = message.confirmed, message.pending
            if not message.pending:
                del self._asked[request]
        answer = self._answers.pop(request, None)
        if answer is None or answer.done():
            return
        if isinstance(message, Refused):
            answer.set_exception(RequestRefusedError(message.reason))
        else:
            answer.set_result(message)
