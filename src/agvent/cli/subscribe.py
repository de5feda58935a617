"""`agvent subscribe`: open a subscription, and print what comes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agvent.cli.languages import add_language
from agvent.cli.where import LOG, add_where, client, folder, is_interrupted, run_async
from agvent.event import TYPES, Event
from agvent.store.values import encode_values

if TYPE_CHECKING:
    from agvent.net.client.client import Client
    from agvent.net.client.deliveries import Delivery, GapNotice

SUMMARY = "open a subscription, and print what comes"

DESCRIPTION = """\
Open a subscription of a client and print its events, one a line, until Ctrl-C.
The subscription stays open; events are queued for the next run (agvent
unsubscribe ends it). An event is acknowledged when it has been printed. If two
subscriptions of a client match the same event, it is not acknowledged and comes
again. Use one client (--as) per subscription.
"""

EPILOG = """\
examples:
  agvent subscribe "price > 100" --as ada --id dear
  agvent subscribe --pattern "Sports/#" --as ada --id sports --count 10
  agvent subscribe "price > 100" --as ada --id old --since 2026-03-01
  agvent subscribe "price > 100" --as ada --id dear --detach

exit codes: 0 done, 2 a mistake in the filter, 3 no broker answers, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as", dest="name", metavar="NAME", required=True, help="the client that subscribes")
    parser.add_argument("--id", default="s1", help="the subscription's id (s1)")
    parser.add_argument("--detach", action="store_true", help="open it, and do not wait for events")
    add_what(parser)
    parser.set_defaults(run=run)


def add_what(parser: argparse.ArgumentParser) -> None:
    """The options that say which events."""
    parser.add_argument("filter", metavar="FILTER", nargs="?", default="", help="the condition on events (all)")
    parser.add_argument("--type", help="events of this type and its subtypes")
    parser.add_argument("--topic", help="events of this topic")
    parser.add_argument("--pattern", help="events of topics like this: Sports/#")
    parser.add_argument("--channel", help="events of this channel")
    parser.add_argument("--count", type=int, metavar="N", help="end after N events")
    parser.add_argument("--since", metavar="TIME", help="first past events since a time, or since the `beginning`")
    parser.add_argument("--log", type=Path, metavar="LOG", help="the network's event log, for --since (FOLDER/log)")
    add_language(parser, whose="the filter")
    add_where(parser)


def run(args: argparse.Namespace) -> int:
    return run_async(subscribed(args, args.name, args.id, detach=args.detach))


async def subscribed(args: argparse.Namespace, name: str, id: str, *, detach: bool) -> int:
    """Opens the subscription and prints what comes, until it is interrupted."""
    options = {key: getattr(args, key) for key in ("type", "topic", "pattern", "channel") if getattr(args, key)}
    log = args.log or folder(args) / LOG
    async with client(args, name, log=log) as subscriber:
        printing = _print(subscriber, args, {"id": id, **options}, detach=detach)
        return 130 if await is_interrupted(printing) else 0


async def _print(subscriber: Client, args: argparse.Namespace, options: dict[str, Any], *, detach: bool) -> None:
    subscription = await subscriber.subscribe(args.filter, since=args.since, language=args.language, **options)
    for warning in subscription.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if detach:
        waiting = f"; not yet known to {', '.join(subscription.pending)}" if subscription.pending else ""
        shown = {"subscription": options["id"], "confirmed": subscription.confirmed, "pending": subscription.pending}
        print(msgspec.json.encode(shown).decode() if args.json else f"{options['id']} is open{waiting}")
        return
    left = args.count
    while left is None or left > 0:
        item = await anext(subscription)
        print(line_of(item, as_json=args.json), flush=True)
        item.acknowledge()
        left = None if left is None else left - 1


def line_of(item: Delivery | GapNotice, *, as_json: bool) -> str:
    """An event or a gap notice as a line."""
    from agvent.net.client.deliveries import Delivery

    if not isinstance(item, Delivery):
        gap = {"publisher": item.publisher, "first": item.first, "last": item.last, "reason": item.reason}
        events = f"{item.publisher}:{item.first} to {item.last}" if item.publisher else "some events"
        return msgspec.json.encode({"gap": gap}).decode() if as_json else f"gap: {events} will not come ({item.reason})"
    id = f"{item.id.publisher}:{item.id.sequence}"
    event = event_text(item.event)
    return f'{{"id":{msgspec.json.encode(id).decode()},"event":{event}}}' if as_json else f"{id}  {event}"


def event_text(event: Event) -> str:
    """An event as the JSON object that `agvent publish` takes."""
    headers = {f"${name}": getattr(event, name) for name in ("topic", "channel", "xml") if getattr(event, name)}
    if event.type is not None:
        headers["$type"] = list(event.lookup((TYPES,)))  # type: ignore[arg-type]
    if event.time is not None:
        headers["$time"] = event.time.isoformat()
    return encode_values({**headers, **event.attributes})
