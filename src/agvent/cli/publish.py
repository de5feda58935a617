"""`agvent publish`: events from a file, a pipe or the command line into a network."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agvent.cli.where import add_where, client, run_async
from agvent.errors import CallerError, EventError, RefusedError
from agvent.event import Event
from agvent.event_json import decode_event
from agvent.store.chunks import line_chunks, open_input, shown_name

if TYPE_CHECKING:
    from agvent.net.client import Client

SUMMARY = "publish events to a network"

DESCRIPTION = """\
Publish events: one JSON object of attributes per line of EVENTS, which is a
file, - for standard input, or the object itself. It returns when every event is
on a broker's disk. Types that the events have ($type) are advertised first.
"""

EPILOG = """\
examples:
  agvent publish '{"symbol": "IBM", "price": 99.5}'
  agvent publish events.jsonl --as ada
  tail -f events.jsonl | agvent publish -

exit codes: 0 all are published, 1 some were refused, 2 a line is no event,
3 no broker answers
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("events", metavar="EVENTS", help="file of events, -, or one event")
    parser.add_argument(
        "--as", dest="name", metavar="NAME", default="", help="the client that publishes them (a guest)"
    )
    parser.add_argument("--to", metavar="FILTER", default="", help="only to subscribers whose context it accepts")
    parser.add_argument("--fast", action="store_true", help="do not wait for a disk; lost with a crash")
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    published, refused, last = run_async(_publish(args))
    seconds = time.monotonic() - began
    if args.json:
        shown = {"published": published, "refused": refused, "seconds": round(seconds, 3), "last": last}
        print(msgspec.json.encode(shown).decode())
    else:
        print(f"{published:,} published, {refused:,} refused in {seconds:.1f} s; the last is {last}")
    return 1 if refused else 0


async def _publish(args: argparse.Namespace) -> tuple[int, int, str]:
    published = refused = 0
    last = "none"
    known: set[str] = set()
    async with client(args, args.name) as publisher:
        with _bar() as bar:
            task = bar.add_task("events", total=None)
            batches = _batches(args.events)
            # A pipe is read in a thread: links stay alive while nothing comes.
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                await _advertise(publisher, batch, known)
                try:
                    receipts = await publisher.publish_batch(batch, to=args.to, fast=args.fast)
                except RefusedError as error:
                    receipts = list(error.receipts)
                    refused += len(error.reasons)
                    print(f"refused: {next(iter(error.reasons.values()))}", file=sys.stderr)
                published += len(receipts)
                last = f"{publisher.name}:{receipts[-1].id.sequence}" if receipts else last
                bar.advance(task, len(batch))
    return published, refused, last


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
        yield [decode_event(source.encode())]
        return
    number = 0
    with open_input(source) as file:
        for chunk in line_chunks(file):
            lines = chunk.splitlines()
            yield [_event(source, number + at, line) for at, line in enumerate(lines, 1) if line.strip()]
            number += len(lines)


def _event(source: str, number: int, line: bytes) -> Event:
    try:
        return decode_event(line)
    except EventError as error:
        raise CallerError(f"{shown_name(source)}, line {number}: {error}") from None
