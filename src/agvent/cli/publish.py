"""`agvent publish`: events from a file, a pipe or the command line into a network."""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from io import FileIO
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agvent.cli.where import add_where, client, is_interrupted, run_async
from agvent.errors import CallerError, EventError, RefusedError
from agvent.event import Event
from agvent.event_json import decode_event
from agvent.store.line_chunks import line_chunks, open_input, shown_name

if TYPE_CHECKING:
    from agvent.net.client.client import Client

SUMMARY = "publish events to a network"

DESCRIPTION = """\
Publish events: one JSON object of attributes per line of EVENTS, which is a
file, - for standard input, or the object itself. It returns when every event is
on a broker's disk. Types that the events have ($type) are advertised first.
Ctrl-C ends it; events that were not yet acknowledged may or may not be published.
A line that is not an event ends it too; the command reports what was published
before.
"""

EPILOG = """\
examples:
  agvent publish '{"symbol": "IBM", "price": 99.5}'
  agvent publish events.jsonl --as ada
  tail -f events.jsonl | agvent publish -

exit codes: 0 all are published, 1 some were rejected, 2 a line is not an event,
3 no broker answers, 130 interrupted
"""


class PublishTotals(msgspec.Struct):
    """What became of the events so far; those that no broker has answered are `unknown`."""

    published: int = 0
    rejected: int = 0
    unknown: int = 0
    seconds: float = 0.0
    last: str = "none"

    def sentence(self) -> str:
        unknown = f", {self.unknown:,} unknown" if self.unknown else ""
        said = f"{self.published:,} published, {self.rejected:,} rejected{unknown} in {self.seconds:.1f} s"
        return f"{said}; the last is {self.last}"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("events", metavar="EVENTS", help="file of events, -, or one event")
    parser.add_argument(
        "--as", dest="name", metavar="NAME", default="", help="the client that publishes them (a guest)"
    )
    parser.add_argument("--to", metavar="FILTER", default="", help="only to subscribers whose context it matches")
    parser.add_argument("--fast", action="store_true", help="do not wait for a disk; lost with a crash")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    totals = PublishTotals()
    batches = _batches(args.events)
    interrupted = run_async(is_interrupted(_published(args, batches, totals)))
    return 130 if interrupted else 1 if totals.rejected else 0


async def _published(args: argparse.Namespace, batches: Iterator[list[Event]], totals: PublishTotals) -> None:
    """Publishes the events and says what became of them, of those before a mistake too."""
    began = time.monotonic()
    async with client(args, args.name) as publisher:
        try:
            await _publish(publisher, args, batches, totals)
        finally:
            totals.seconds = round(time.monotonic() - began, 3)
            print(msgspec.json.encode(totals).decode() if args.json else totals.sentence(), flush=True)


async def _publish(
    publisher: Client, args: argparse.Namespace, batches: Iterator[list[Event]], totals: PublishTotals
) -> None:
    known: set[str] = set()
    with _bar() as bar:
        task = bar.add_task("events", total=None)
        async for batch in _read(batches):
            await _advertise(publisher, batch, known)
            totals.unknown = len(batch)
            try:
                receipts = await publisher.publish_batch(batch, to=args.to, fast=args.fast)
            except RefusedError as error:
                receipts = list(error.receipts)
                totals.rejected += len(error.reasons)
                print(f"rejected: {next(iter(error.reasons.values()))}", file=sys.stderr)
            totals.unknown = 0
            totals.published += len(receipts)
            totals.last = f"{publisher.name}:{receipts[-1].id.sequence}" if receipts else totals.last
            bar.advance(task, len(batch))


async def _read(batches: Iterator[list[Event]]) -> AsyncIterator[list[Event]]:
    """Each batch, read in a thread: links stay alive while a pipe is idle. An executor's threads would be waited for in
    the end; a daemon, which an idle pipe may keep for ever, is not."""
    while True:
        reading: Future[list[Event] | None] = Future()
        threading.Thread(target=_fill, args=(reading, batches), daemon=True).start()
        batch = await asyncio.wrap_future(reading)
        if batch is None:
            return
        yield batch


def _fill(reading: Future[list[Event] | None], batches: Iterator[list[Event]]) -> None:
    reading.set_running_or_notify_cancel()
    try:
        reading.set_result(next(batches, None))
    except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
        reading.set_exception(error)


async def _advertise(publisher: Client, batch: list[Event], known: set[str]) -> None:
    """Advertises the types that are met for the first time."""
    from agvent.types import AgventType

    for event in batch:
        if event.type is not None and event.type not in known:
            known.add(event.type)
            await publisher.advertise(AgventType(name=event.type, ancestors=event.ancestors))


def _bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _batches(source: str) -> Iterator[list[Event]]:
    """Events as they come: a batch is what a read of the input brought."""
    if source.lstrip().startswith("{"):
        return iter([[decode_event(source.encode())]])
    return _batches_of(source, open_input(source))


def _batches_of(source: str, opened: FileIO) -> Iterator[list[Event]]:
    number = 0
    with opened as file:
        for chunk in line_chunks(file):
            lines = chunk.splitlines()
            yield [_event(source, number + at, line) for at, line in enumerate(lines, 1) if line.strip()]
            number += len(lines)


def _event(source: str, number: int, line: bytes) -> Event:
    try:
        return decode_event(line)
    except EventError as error:
        raise CallerError(f"{shown_name(source)}, line {number}: {error}") from None
