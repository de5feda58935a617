"""A subscription's past before its present: history from the network's event log, and then what comes.

The seam is the one that brokers and the audit go by: an event belongs to the present if the subscription was in force
where it entered, at the epoch at which it did. The subscription is opened first; when the log has it in force at every
broker that confirmed it, everything older is in the log too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from agvent.errors import CallerError, NetworkFault
from agvent.event import time_of
from agvent.net.client.deliveries import Batch, Delivery, GapNotice, Incoming
from agvent.net.client.open_subscription import OpenSubscription
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import encode_event

if TYPE_CHECKING:
    from agvent.store.event_columns import LoggedEvent
    from agvent.store.history import History
    from agvent.store.log_reader import LogReader

BEGINNING: Final = "beginning"
POLL_SECONDS: Final = 0.2
PAST_ITEMS_MAX: Final = 2_048
"""Events that are read ahead of whoever iterates."""

LOG_SECONDS_MAX: Final = 60.0
"""How long a log that somebody writes may be behind the network."""

Item = Delivery | GapNotice


class Lacking(NamedTuple):
    """The brokers from which the log has not heard of a subscription."""

    brokers: list[str]


def since_of(given: datetime | str) -> datetime | None:
    """The time that is asked for; None: the beginning."""
    if given == BEGINNING:
        return None
    return time_of(given.isoformat() if isinstance(given, datetime) else given)


class Past:
    """The past of a subscription, read in the background. Nothing in it is acknowledged: it is in the log."""

    def __init__(self, items: AsyncIterator[Item]) -> None:
        self._queue: asyncio.Queue[Item | Exception | None] = asyncio.Queue(PAST_ITEMS_MAX)
        self._task = asyncio.create_task(self._read(items))
        self._is_over = False

    async def _read(self, items: AsyncIterator[Item]) -> None:
        try:
            async for item in items:
                await self._queue.put(item)
            await self._queue.put(None)
        except Exception as error:  # noqa: BLE001 - it is whoever iterates who should see it
            await self._queue.put(error)

    async def next(self) -> Item | None:
        """The next one, None when all were given."""
        if self._is_over and self._queue.empty():
            return None
        item = await self._queue.get()
        if isinstance(item, Exception):
            raise item
        return item

    def end(self) -> None:
        """Reads no more. What was read is given still; then, and to whoever waits now, that there is none."""
        self._task.cancel()
        self._is_over = True
        if self._queue.empty():
            self._queue.put_nowait(None)


async def past_of(subscribed: OpenSubscription, log: Path, since: datetime | None, client: str) -> AsyncIterator[Item]:
    """What a log has for a subscription that was just opened, up to where its present begins."""
    begun = time.monotonic()
    history: History | Lacking = Lacking([])
    while isinstance(history, Lacking):  # files tell nobody that they changed
        await asyncio.sleep(POLL_SECONDS)
        if not subscribed.pending:
            history = await asyncio.to_thread(_history, log, subscribed, since, client)
        if isinstance(history, Lacking) and history.brokers and time.monotonic() - begun > LOG_SECONDS_MAX:
            silent = ", ".join(history.brokers)
            raise NetworkFault(
                f"{log} has not heard of this subscription from {silent} for {LOG_SECONDS_MAX:g} s",
                hint="is agvent log follow running, and does it follow every broker?",
            )
    id = subscribed.subscription.id
    if history.dropped:
        yield _item(
            Gap(
                number=0,
                after=0,
                behind=0,
                publisher="",
                first=0,
                last=0,
                fast=False,
                reason="retention",
                subscriptions=(id,),
            ),
            id,
        )
    chunks = history.chunks()
    while (records := await asyncio.to_thread(next, chunks, None)) is not None:
        for record in records:
            yield _delivery(record, id)


def _history(log: Path, subscribed: OpenSubscription, since: datetime | None, client: str) -> History | Lacking:
    """The past, if the log has the subscription in force at every broker that confirmed it."""
    from agvent.store.history import History, PastQuery, intervals  # noqa: PLC0415 - pyarrow and the matcher

    reader = _settled(log)
    if reader is None:
        return Lacking(sorted(subscribed.confirmed))
    subscription = subscribed.subscription
    in_force, still = intervals(reader, replace(subscription, id=f"{client}/{subscription.id}"))
    lacking = subscribed.confirmed.keys() - {entry.partition("~")[0] for entry in still}
    if lacking:
        return Lacking(sorted(lacking))
    return History(reader, PastQuery(subscription, client, since, datetime.now(UTC), in_force))


def _settled(log: Path) -> LogReader | None:
    """The log between two batches: its events are those that its catalogue was written for."""
    from agvent.chronicle.bookmark import WRITER, batches_done  # noqa: PLC0415 - pyarrow
    from agvent.store.log_reader import LogReader  # noqa: PLC0415

    done = batches_done(log)
    if done is None:
        raise CallerError(
            f"{log} is not the log of a network that runs", hint="agvent up --log, or agvent log follow, writes one"
        )
    reader = LogReader(log)
    return reader if reader.heads["catalogue"].batches.get(WRITER, 0) <= done else None


def _delivery(record: LoggedEvent, subscription: str) -> Item:
    event = record.event
    assert event.id is not None
    is_fast = record.quality == "fast"
    content = encode_event(event)
    message = Deliver(
        number=0,
        after=0,
        behind=0,
        publisher=event.id.publisher,
        sequence=event.id.sequence,
        fast=is_fast,
        event=content,
        subscriptions=(subscription,),
    )
    return _item(message, subscription)


def _item(message: Deliver | Gap, subscription: str) -> Item:
    """What is in the log need not be acknowledged."""
    item = Incoming(message, lambda *_: None).item(subscription)
    assert not isinstance(item, Batch)
    return item
