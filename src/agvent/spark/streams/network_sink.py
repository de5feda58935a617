"""Due deliveries into a broker network: each event once, for the subscribers it is due to.

A batch's events have an order that is the same whenever it runs, and the client that publishes them has one name for
all runs of a query. So the sequence of a batch's first event, written beside the checkpoint before any is published,
tells a batch that runs again how many of its events the broker has: up to the last one it accepted.

This module needs pyspark when it is imported: `dispatch` does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from agvent.errors import NetworkFault
from agvent.event import EPOCH, MICROSECOND, Event
from agvent.net.client.client import Client
from agvent.net.client.connect import connect
from agvent.net.client.script import LoopThread
from agvent.net.link.tls import Credentials
from agvent.spark.files.file_slices import opened, system_of
from agvent.spark.streams.deliveries_sink import query_of
from agvent.store.log_reader import LogReader
from agvent.store.values import decode_values
from agvent.types import AgventType

BEGUN: Final = "published.json"
TOGETHER: Final = 1_024
"""Events that are under way at once: a broker's credit, and below what a client keeps before it waits."""

Due = tuple[Event, list[str]]
"""An event, and the subscribers it is due to."""


class BatchBegun(msgspec.Struct, frozen=True):
    """A batch that is being published, and the sequence of its first event."""

    batch: int
    first: int


class NetworkSink:
    """Publishes the batches of the query that has this checkpoint. A subscriber receives an event if the client of that
    name has a subscription there that matches it."""

    def __init__(
        self, brokers: str, log: str | Path, checkpoint: str, *, name: str = "", credentials: Credentials | None = None
    ) -> None:
        self.brokers, self.log, self.checkpoint = brokers, log, checkpoint
        self.name, self.credentials = name, credentials

    def __call__(self, due: DataFrame, number: int) -> None:
        types = {name: type_ for (name, _), type_ in LogReader(self.log).types.items()}
        with self._connected() as (thread, client):
            begun = self._begun(number, client.last_sequence + 1)
            done = client.last_sequence + 1 - begun.first
            if done < 0:
                raise NetworkFault(
                    f"{client.broker!r} does not know how far {client.name!r} has published: it is not its home",
                    hint="start its home broker, or use a new checkpoint, which starts from the beginning",
                )
            events = islice(_events(due, types), done, None)
            advertised: set[str | None] = {None}
            while some := list(islice(events, TOGETHER)):
                for name in {event.type for event, _ in some} - advertised:
                    thread.wait(client.advertise(types.get(name or "", AgventType(name=name or ""))))
                    advertised.add(name)
                thread.wait(_publish(client, some))

    @contextmanager
    def _connected(self) -> Iterator[tuple[LoopThread, Client]]:
        name = self.name or f"dispatch-{query_of(self.checkpoint)[:8]}"
        connecting = connect(self.brokers, name=name, credentials=self.credentials)
        thread = LoopThread("agvent dispatch")
        try:
            client = thread.wait(connecting.__aenter__())
            try:
                yield thread, client
            finally:
                thread.wait(connecting.__aexit__(None, None, None))
        finally:
            thread.close()

    def _begun(self, number: int, following: int) -> BatchBegun:
        """When the batch began: now, unless it is written down."""
        path = f"{self.checkpoint.removeprefix('file:').rstrip('/')}/{BEGUN}"
        system, inside = system_of(path)
        if system.get_file_info(inside).is_file:
            with opened(path) as file:
                known = msgspec.json.decode(file.read(), type=BatchBegun)
            if known.batch == number:
                return known
        begun = BatchBegun(number, following)
        with system.open_output_stream(f"{inside}.partial") as out:
            out.write(msgspec.json.encode(begun))
        system.move(f"{inside}.partial", inside)
        return begun


def _events(due: DataFrame, types: dict[str, AgventType]) -> Iterator[Due]:
    """The events of a batch in the order of the stream."""
    ordered = due.orderBy("position", "subscriber")
    rows = ordered.withColumn("event_time", sf.unix_micros("event_time")).toLocalIterator()
    for _, same in groupby(rows, key=lambda row: row["position"]):
        first, *others = same
        subscribers = dict.fromkeys(row["subscriber"] for row in (first, *others))
        yield _event(first, types), list(subscribers)


def _event(row: Any, types: dict[str, AgventType]) -> Event:
    known = types.get(row["type"])
    return Event(
        type=row["type"],
        ancestors=known.ancestors if known is not None else (),
        time=None if row["event_time"] is None else EPOCH + row["event_time"] * MICROSECOND,
        topic=row["topic_number"] if row["topic"] is None else row["topic"],
        channel=row["channel_number"] if row["channel"] is None else row["channel"],
        xml=row["xml"],
        attributes=decode_values(row["attributes"]),
    )


async def _publish(client: Client, some: list[Due]) -> None:
    """Publishes events in order, and returns when all of them are on a broker's disk; else with the first refusal."""
    answers = await asyncio.gather(
        *(client.publish(event, destinations=subscribers) for event, subscribers in some), return_exceptions=True
    )
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
