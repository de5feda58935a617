"""The client for scripts and notebooks: the same calls as `Client`, but blocking.

Its event loop runs in a thread of its own, so the connection stays alive while the script does something else.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import uvloop

from agvent.agents.authoring.agvent import Agvent
from agvent.errors import CallerError
from agvent.event import Event
from agvent.net.client.advertising import AdvertisedType
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Batch, Delivery, GapNotice
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.receipts import Receipt
from agvent.types import AgventType
from agvent.wire.client_messages import Advertised, Stopped

if TYPE_CHECKING:
    from agvent.agents.secrecy.sealed_fields import Sealer
    from agvent.net.client.agvents import Agvents
    from agvent.net.client.keyring import Keyring
    from agvent.net.client.seals import Seals

Result = TypeVar("Result")

SETTLE_SECONDS: Final = 0.1
"""How long a cancelled TLS handshake takes to let go of its socket."""


class LoopThread:
    """An event loop in a thread."""

    def __init__(self, name: str) -> None:
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def wait(self, coroutine: Coroutine[Any, Any, Result], timeout: float | None = None) -> Result:
        """Runs a coroutine there and waits for it; when the wait ends early, so does the coroutine."""
        if self.loop.is_closed():
            coroutine.close()
            raise CallerError("the client is closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        self.wait(_settled())
        self.wait(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _settled() -> None:
    """Waits until cancelled tasks have ended and a connection in its TLS handshake is closed: the loop cannot close
    while it is open."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(SETTLE_SECONDS if others else 0.01)


class ScriptSubscription:
    """An open subscription of a script. Iterate over it, or call `next` with a timeout.

    >>> from agvent import connect, local_broker
    >>> with local_broker() as url, connect(url) as ada:
    ...     cheap = ada.subscribe("price < 10")
    ...     receipt = ada.publish({"price": 8})
    ...     cheap.next(timeout=30).event.attributes, cheap.next(timeout=0.01)
    ({'price': 8}, None)
    """

    def __init__(self, thread: LoopThread, subscribed: OpenSubscription) -> None:
        self._thread, self.subscribed = thread, subscribed

    @property
    def warnings(self) -> tuple[str, ...]:
        """Attributes of the filter that no advertisement of its type has."""
        return self.subscribed.warnings

    def __iter__(self) -> Iterator[Delivery | GapNotice]:
        while (item := self.next()) is not None:
            yield item

    def next(self, timeout: float | None = None) -> Delivery | GapNotice | None:
        """The next item; None after `timeout` seconds, or when the subscription has ended."""
        return self._thread.wait(_next(self.subscribed, timeout))

    def batches(self) -> Iterator[Batch | GapNotice]:
        """The same events in batches."""
        batches = self.subscribed.batches()
        while (item := self._thread.wait(_first(batches))) is not None:
            yield item


async def _next(subscribed: OpenSubscription, seconds: float | None) -> Delivery | GapNotice | None:
    try:
        async with asyncio.timeout(seconds):
            return await anext(subscribed, None)
    except TimeoutError:
        return None


async def _first(batches: AsyncIterator[Batch | GapNotice]) -> Batch | GapNotice | None:
    return await anext(batches, None)


class ScriptSeals:
    """`Seals` with blocking calls."""

    def __init__(self, thread: LoopThread, seals: Seals) -> None:
        self._thread, self._seals = thread, seals

    def sealer(self, type: str) -> Sealer:
        return self._seals.sealer(type)

    def admit(self, cls: type[Agvent], subscriber: str, seal_key: str) -> None:
        self._thread.wait(self._seals.admit(cls, subscriber, seal_key))

    def revoke(self, cls: type[Agvent], subscriber: str) -> None:
        self._thread.wait(self._seals.revoke(cls, subscriber))

    def rotate(self, cls: type[Agvent]) -> None:
        self._thread.wait(self._seals.rotate(cls))

    def trust(self, publisher: str, signing_key: str) -> None:
        self._thread.wait(self._seals.trust(publisher, signing_key))

    def open(self, delivery: Delivery) -> dict[str, Any]:
        return self._thread.wait(self._seals.open(delivery))


class ScriptClient:
    """`Client` with blocking calls, made by `connect` in a `with` statement.

    >>> from agvent import connect, local_broker
    >>> with local_broker("B1") as url, connect(url, name="ada") as ada:
    ...     ada.name, ada.broker, ada.last_error
    ('ada', 'B1', '')
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    @property
    def name(self) -> str:
        return self.client.name

    @property
    def context(self) -> Mapping[str, Any] | None:
        return self.client.context

    @property
    def broker(self) -> str:
        return self.client.broker

    @property
    def last_sequence(self) -> int:
        return self.client.last_sequence

    @property
    def last_error(self) -> str:
        return self.client.last_error

    @property
    def failures(self) -> deque[Stopped]:
        return self.client.failures

    @property
    def keyring(self) -> Keyring:
        return self.client.keyring

    @property
    def agvents(self) -> Agvents:
        return self.client.agvents

    @property
    def seals(self) -> ScriptSeals:
        return ScriptSeals(self._thread, self.client.seals)

    def __enter__(self) -> Self:
        self._thread = LoopThread("agvent client")
        try:
            self.client = self._thread.wait(_opened(self._options))
        except BaseException:
            self._thread.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._thread.wait(self.client.__aexit__(*error))
        finally:
            self._thread.close()

    def advertise(self, type: AgventType | str | type[Agvent]) -> Advertised:
        return self._thread.wait(self.client.advertise(type))

    def unadvertise(self, type: str) -> None:
        self._thread.wait(self.client.unadvertise(type))

    def types(self, type: str = "") -> list[AdvertisedType]:
        return self._thread.wait(self.client.types(type))

    def subscribe(
        self, filter: str = "", *, into: ScriptSubscription | None = None, **options: Any
    ) -> ScriptSubscription:
        options["into"] = into.subscribed if into is not None else None
        return ScriptSubscription(self._thread, self._thread.wait(self.client.subscribe(filter, **options)))

    def unsubscribe(self, subscription: ScriptSubscription | str) -> bool:
        given = subscription if isinstance(subscription, str) else subscription.subscribed
        return self._thread.wait(self.client.unsubscribe(given))

    def set_context(self, context: Mapping[str, Any] | None) -> None:
        self._thread.wait(self.client.set_context(context))

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Runs a coroutine of a delivery and waits for it: `shop.run(delivery.agvent.price(10))`."""
        return self._thread.wait(coroutine)

    def publish(self, event: Event | Agvent | Mapping[str, Any], **options: Any) -> Receipt:
        return self._thread.wait(self.client.publish(event, **options))

    def publish_batch(self, events: Iterable[Event | Agvent | Mapping[str, Any]], **options: Any) -> Sequence[Receipt]:
        return self._thread.wait(self.client.publish_batch(events, **options))


async def _opened(options: dict[str, Any]) -> Client:
    return await Client(**options).__aenter__()
