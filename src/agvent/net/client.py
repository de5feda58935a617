"""The client: what a program says to a broker network, and what it hears.

A call that needs an answer waits for it, across broken connections; to give up after a time use `asyncio.timeout`. What
was given up may still happen: a publication that nobody waits for is unknown, not undone.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from agvent import limits
from agvent.agents.advice import warnings_of
from agvent.agents.agvent import Agvent
from agvent.errors import CallerError, RefusedError, RequestRefusedError
from agvent.event import Budget, Event, EventId, microseconds
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.net.address import Address
from agvent.net.admission import Admission
from agvent.net.attachment import ATTACHING, Attachment
from agvent.net.deliveries import Arrival, Batch, Delivery, GapNotice
from agvent.net.receipts import Receipt, Receipts
from agvent.net.rows import Events, rows_of
from agvent.net.since import Past, past_of, since_of
from agvent.net.subscribed import Subscribed
from agvent.net.tls import Credentials
from agvent.session.session import Session
from agvent.types import AgventType
from agvent.wire.client_messages import (
    Advertised,
    Advertisements,
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

    from agvent.net.agvents import Agvents
    from agvent.net.keyring import Keyring
    from agvent.net.seals import Seals


class Found(msgspec.Struct, frozen=True):
    """An advertisement: who publishes a type, and at which broker."""

    broker: str
    publisher: str
    type: AgventType


Awaited = tuple[int, asyncio.Future[Published]]
"""A caller that waits for its publications up to a sequence."""


class Client:
    """One client of a broker network. `name` is who it is: a later process of that name goes on where this one ends."""

    def __init__(
        self,
        addresses: list[Address],
        *,
        name: str,
        is_guest: bool,
        context: Mapping[str, Any] | None,
        failover_s: float,
        credentials: Credentials | None = None,
        keys: Path | None = None,
        log: Path | None = None,
    ) -> None:
        self.name = name
        self._keys = keys
        self._log = log
        self.context: Mapping[str, Any] | None = context
        self._is_guest = is_guest  # nobody of that name comes back: it leaves nothing behind
        self._session = Session(name, prompt=False, life=secrets.randbits(32), guest=is_guest)
        self._attachment = Attachment(
            self._session, addresses, failover_s=failover_s, credentials=credentials, told=self._hear
        )
        self._answers: dict[int, asyncio.Future[AnyMessage]] = {}
        self._published: tuple[deque[Awaited], deque[Awaited]] = (deque(), deque())  # durable, fast
        self._refused: dict[tuple[bool, int], str] = {}
        self._subscribed: dict[str, Subscribed] = {}
        self._asked: dict[int, Subscribed] = {}  # the request that opened each subscription
        self._unclaimed: dict[str, list[Arrival]] = {}  # for subscriptions this process has not opened
        self._ended: dict[str, None] = {}  # subscriptions that it ended last: what was under way to them is for nobody
        self._finished: list[Arrival] = []  # more of their events are done
        self._known: dict[str, tuple[AgventType, ...]] = {}  # the advertised types that this client last heard of
        self.stopped: deque[Stopped] = deque(maxlen=limits.STOPPED_KEPT_MAX)
        """What happened to agvents of this client's: behaviours and routes that failed, and budgets that were spent."""
        self._room = asyncio.Event()
        self._over = ""  # why no broker will have it any more

    async def __aenter__(self) -> Self:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        try:
            await self._attachment.open()
            await self._answer_to(ATTACHING)
        except BaseException:
            await self._attachment.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._is_guest and self._session.attached:
            for id in list(self._subscribed):
                self._session.unsubscribe(id)
            for type in list(self._session.types):
                self._session.unadvertise(type)
        for subscribed in self._subscribed.values():
            subscribed.end()
        self._finish()
        await self._attachment.close()
        self._attachment.give_up("the client is closed")

    @property
    def broker(self) -> str:
        """The broker it is attached to now, or was last."""
        return self._session.broker

    @property
    def sequence(self) -> int:
        """The sequence of its last durable event, of this process or of one of its name before it."""
        return self._session.sequence

    @property
    def trouble(self) -> str:
        """Why it is not attached now; empty if it is."""
        return "" if self._session.attached else self._attachment.trouble or "not attached yet"

    # Types

    async def advertise(self, type: AgventType | str | type[Agvent]) -> Advertised:
        """Says that this client publishes events of a type, or agvents of a class; returns when the brokers that can be
        reached have answered with what they want of it, and names those that have not. Of a class whose code the
        sandbox host beside the home broker does not load nothing is said, and the CallerError has the reason."""
        made, code = self.agvents.advertised(_class_of(type)) if inspect.isclass(type) else (_type_of(type), b"")
        if code:
            await self._ask_host(Load(0, made, code))
        answer = await self._answer(self._session.advertise(made, code))
        assert isinstance(answer, Advertised)
        return answer

    async def unadvertise(self, type: str) -> None:
        await self._answer(self._session.unadvertise(type))

    @cached_property
    def keyring(self) -> Keyring:
        """This client's own keys."""
        from agvent.net.keyring import Keyring  # noqa: PLC0415 - cryptography, for those who have keys

        return Keyring(self._keys)

    @cached_property
    def agvents(self) -> Agvents:
        """This client's own agvents."""
        from agvent.net.agvents import Agvents  # noqa: PLC0415 - as above

        return Agvents(self.name, self.keyring, self.seals, self._host_key)

    @cached_property
    def seals(self) -> Seals:
        """Whom this client admits to sealed fields, and what it may open."""
        from agvent.net.seals import Seals  # noqa: PLC0415 - as above

        return Seals(self, self.keyring)

    async def _host_key(self) -> bytes:
        answer = await self._ask_host(GetHostKey(0))
        assert isinstance(answer, HostKey)
        return answer.key

    def _ask_host(self, asked: ForHost) -> asyncio.Future[AnyMessage]:
        """Asks the sandbox host beside the home broker."""
        return self._answer_to(self._session.ask_host(asked))

    async def types(self, type: str = "") -> list[Found]:
        """What is published: all advertisements, or those of a type and its subtypes."""
        answer = await self._answer(self._session.get_advertisements(type))
        assert isinstance(answer, Advertisements)
        return [Found(*one) for one in answer.found]

    # Subscriptions

    async def subscribe(
        self,
        filter: str = "",
        *,
        admit: bool = False,
        since: datetime | str | None = None,
        into: Subscribed | None = None,
        **options: Any,
    ) -> Subscribed:
        """Opens a subscription, or gives the one of this `id` another filter; options are those of Subscription. With
        `admit`, agvents may arrive: they are kept at home, where this client calls their behaviours. With `into`, what
        comes is given by that subscription, whoever has thousands of them and one loop.

        Returns when every reachable broker that may publish such events has it, and names those pending; `warnings` say
        what the filter asks that no advertisement of its type has. With `since`,
        a time or "beginning", what the network's event log has of the past is given first."""
        begins = since_of(since) if since is not None else None
        if since is not None and self._log is None:
            raise CallerError("since= reads the network's event log", hint="connect(…, log=FOLDER) says where it is")
        if since is not None and into is not None:
            raise CallerError("a subscription with since= is read by itself", hint="leave out into=")
        options.setdefault("id", self._free_id())
        options.setdefault("context", self.context)
        subscription = Subscription(filter=filter, **options)
        condition = subscription.condition()
        before = self._subscribed.get(subscription.id)
        subscribed = before or Subscribed(subscription, into)
        was = subscribed.subscription, subscribed.admits
        subscribed.subscription, subscribed.admits = subscription, admit
        self._subscribed[subscription.id] = subscribed
        self._ended.pop(subscription.id, None)
        for arrival in self._unclaimed.pop(subscription.id, []):
            self._put(subscribed, arrival)
        try:
            await self._open(subscribed)
        except RequestRefusedError:
            subscribed.subscription, subscribed.admits = was
            if before is None:
                del self._subscribed[subscription.id]
            raise
        if subscription.type is not None and subscription.filter:
            subscribed.warnings = await self._warnings(subscription.type, condition)
        if since is not None and self._log is not None:
            subscribed.past = Past(past_of(subscribed, self._log, begins, self.name))
        return subscribed

    def _free_id(self) -> str:
        """An id that no open subscription has."""
        numbers = count(len(self._subscribed) + 1)
        return next(id for id in map("s{}".format, numbers) if id not in self._subscribed)

    async def _warnings(self, type: str, condition: Condition) -> tuple[str, ...]:
        """What those who advertise a type cannot answer of a condition. Asked once for a type that is advertised, and
        again before anything is said."""
        known = self._known.get(type, ())
        if known and not warnings_of(condition, type, known):
            return ()
        self._known[type] = tuple(dict.fromkeys(found.type for found in await self.types(type)))
        return warnings_of(condition, type, self._known[type])

    async def _open(self, subscribed: Subscribed) -> None:
        request = self._session.subscribe(subscribed.subscription)
        self._asked[request] = subscribed
        await self._answer(request)

    async def unsubscribe(self, subscription: Subscribed | str) -> bool:
        """Ends a subscription, by its handle or its id; what it was owed is void. False: its home had none of that id,
        or had ended it when the connection broke."""
        id = subscription if isinstance(subscription, str) else subscription.subscription.id
        self._finish()  # what was acknowledged before is said before
        answer = await self._answer(self._session.unsubscribe(id))
        subscribed = self._subscribed.pop(id, None)
        if subscribed is not None:
            subscribed.void()
        self._ended[id] = None
        if len(self._ended) > limits.ENDED_KEPT_MAX:
            del self._ended[next(iter(self._ended))]
        for arrival in self._unclaimed.pop(id, []):
            arrival.close_all(id)
        assert isinstance(answer, Done)
        return answer.had

    async def set_context(self, context: Mapping[str, Any] | None) -> None:
        """Says something else about this subscriber, in all its subscriptions."""
        self.context = context
        for subscribed in list(self._subscribed.values()):
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

        `budget` is for an agvent that finds its own way. What goes wrong with an agvent is in `stopped`."""
        ends = microseconds(expires) if expires is not None else 0
        if self._session.unacknowledged_events >= limits.CLIENT_UNACKNOWLEDGED_MAX:
            await self._wait_for_room()
        if isinstance(event, Agvent):
            event = await self.agvents.event_of(event, self.broker, budget=budget)
        sequence = self._session.publish(event, to=to, destinations=tuple(destinations), expires=ends, fast=fast)
        published = await self._settled(sequence, fast=fast)
        reason = self._refused.pop((fast, sequence), None) if self._refused else None
        if reason is not None:
            raise RefusedError({0: reason}, [])
        return Receipt(EventId(self.name, sequence), published.entry, published.epoch)

    async def _made(
        self, given: Sequence[Event | Mapping[str, Any] | Agvent], budget: Budget | None
    ) -> list[Event | Mapping[str, Any]]:
        """What the session takes: of an agvent, its event."""
        return [
            await self.agvents.event_of(event, self.broker, budget=budget) if isinstance(event, Agvent) else event
            for event in given
        ]

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
        """Publishes events in order, as many at once as the broker gives credit for: of Arrow, each row is one. A
        RefusedError names those that were refused; the others are published."""
        ends = microseconds(expires) if expires is not None else 0
        sequences: list[range] = []  # one for each chunk: others may publish between two of them
        remaining = iter(rows_of(events))
        while given := list(islice(remaining, limits.BATCH_EVENTS_MAX)):
            chunk = await self._made(given, budget)
            if self._is_full:
                self._attachment.say()
                await self._wait_for_room()
            try:
                last = self._session.publish_batch(
                    chunk, to=to, destinations=tuple(destinations), expires=ends, fast=fast
                )
            except CallerError as error:
                raise await self._stopped_at(error, sequences, fast=fast) from None
            sequences.append(range(last - len(chunk) + 1, last + 1))
        if not sequences:
            return ()
        published = await self._settled(sequences[-1][-1], fast=fast)
        taken = sequences[0] if len(sequences) == 1 else [*chain.from_iterable(sequences)]
        return self._receipts(taken, published, fast=fast)

    async def _stopped_at(self, error: CallerError, sequences: list[range], *, fast: bool) -> CallerError:
        """The error of a chunk, which says what went out before it."""
        if sequences:
            await self._settled(sequences[-1][-1], fast=fast)
            error.hint = f"the first {sum(map(len, sequences)):,} events were published, and none of the others"
        return error

    @property
    def _is_full(self) -> bool:
        return self._session.unacknowledged_events >= limits.CLIENT_UNACKNOWLEDGED_MAX

    async def _wait_for_room(self) -> None:
        while self._is_full:
            if self._over:
                raise CallerError(self._over)
            self._room.clear()
            await self._room.wait()

    def _settled(self, sequence: int, *, fast: bool) -> asyncio.Future[Published]:
        """To be awaited until every publication up to a sequence is accepted or refused."""
        answer: asyncio.Future[Published] = self._loop.create_future()
        self._published[fast].append((sequence, answer))
        self._attachment.say()
        return answer

    def _receipts(self, sequences: Sequence[int], published: Published, *, fast: bool) -> Receipts:
        receipts = Receipts(self.name, sequences, published)
        refused = {}
        if self._refused:
            reasons = [(at, self._refused.pop((fast, one), None)) for at, one in enumerate(sequences)]
            refused = {at: reason for at, reason in reasons if reason is not None}
        if refused:
            raise RefusedError(refused, [one for at, one in enumerate(receipts) if at not in refused])
        return receipts

    # What the session tells

    async def _answer(self, request: int) -> AnyMessage:
        answer = self._answer_to(request)
        for superseded in [one for one in self._answers if one not in self._session.requests]:
            if superseded != request and not (given_up := self._answers.pop(superseded)).done():
                given_up.set_exception(CallerError("a later request took this one's place"))
        return await answer

    def _answer_to(self, request: int) -> asyncio.Future[AnyMessage]:
        answer: asyncio.Future[AnyMessage] = asyncio.get_running_loop().create_future()
        self._answers[request] = answer
        self._attachment.say()
        return answer

    def _hear(self, told: list[AnyMessage]) -> None:
        for message in told:
            if isinstance(message, (Deliver, Gap)):
                self._arrive(message)
            elif isinstance(message, Published):
                self._settle(message)
            elif isinstance(message, Refused) and message.sequence:
                self._refused.setdefault((message.fast, message.sequence), message.reason)
            elif isinstance(message, Refused) and message.is_of_attaching:
                self._give_up(message)
            elif isinstance(message, Stopped):
                self.stopped.append(message)
            else:
                self._resolve(message)

    def _settle(self, message: Published) -> None:
        waiting = self._published[message.fast]
        while waiting and waiting[0][0] <= message.sequence:
            _, answer = waiting.popleft()
            if not answer.done():
                answer.set_result(message)
        self._room.set()

    def _give_up(self, refused: Refused) -> None:
        """No broker will have it any more: whoever waits for one is told."""
        self._over = refused.reason
        self._resolve(refused)
        for waiting in self._published:
            for _, answer in waiting:
                if not answer.done():
                    answer.set_exception(CallerError(f"{refused.reason}; no broker has acknowledged this event"))
            waiting.clear()
        for subscribed in self._subscribed.values():
            subscribed.fail(refused.reason)
        self._room.set()

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

    def _arrive(self, message: Deliver | Gap) -> None:
        arrival = Arrival(message, self._done)
        for id in message.subscriptions:
            if id in self._subscribed:
                self._put(self._subscribed[id], arrival)
            elif id in self._ended:
                arrival.close_all(id)
            else:
                self._unclaimed.setdefault(id, []).append(arrival)
        if not message.subscriptions:
            self._done(arrival)

    def _put(self, subscribed: Subscribed, arrival: Arrival) -> None:
        item = arrival.item(subscribed.subscription.id)
        if subscribed.admits and isinstance(item, Delivery) and item.is_agvent:
            assert isinstance(arrival.message, Deliver)
            item.admission = Admission(self._ask_host, arrival.message, item.subscription)
        subscribed.put(item)

    def _done(self, arrival: Arrival) -> None:
        """Acknowledges, when this turn of the loop is over; a script does so from its own thread."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._done, arrival)
            return
        if not self._finished:
            self._loop.call_soon(self._finish)
        self._finished.append(arrival)

    def _finish(self) -> None:
        finished, self._finished = self._finished, []
        for arrival in finished:
            until = arrival.done_until()
            if arrival.message.number:  # a notice of the session's own has none
                self._session.done(arrival.message, until)
        self._attachment.say()


def _class_of(cls: type) -> type[Agvent]:
    if not issubclass(cls, Agvent) or cls is Agvent:
        raise CallerError(
            f"{cls.__name__} is no agvent class", hint="advertise a class of your own: class Book(Agvent)"
        )
    return cls


def _type_of(given: AgventType | str) -> AgventType:
    if isinstance(given, (AgventType, str)):
        return AgventType(name=given) if isinstance(given, str) else given
    what = type(given).__name__
    hint = f"advertise({what}) takes the class" if isinstance(given, Agvent) else "a type is a name, or a class"
    raise CallerError(f"a {what} cannot be advertised", hint=hint)


__all__ = ["Batch", "Client", "Delivery", "Found", "GapNotice", "Receipt", "Subscribed"]
