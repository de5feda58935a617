"""A run as an event log, so that `agvent spark audit` and `analyse` judge it as they judge a real network."""

from __future__ import annotations

import os

from agvent.broker.records import Accepted, Visited
from agvent.chronicle.chronicle import Chronicle
from agvent.chronicle.hops import Ways
from agvent.chronicle.log_names import DURABLE, logged_name, moment
from agvent.chronicle.log_rows import Row, empty_rows
from agvent.sim.world import World
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter


def write_log(world: World, path: str | os.PathLike[str]) -> None:
    """Writes what came to be on the brokers' disks, and the ways of copies, into a new log."""
    rows = empty_rows()
    chronicles: dict[tuple[str, int], Chronicle] = {}
    for one in world.history.on_disk:
        key = (one.broker, one.incarnation)
        if key not in chronicles:
            chronicles[key] = Chronicle(*key)
        chronicles[key].take(one.record, one.at)
    for chronicle in chronicles.values():
        rows.extend(chronicle.drain())
    rows.gaps += _lost_with_disks(world, [chronicle.name for chronicle in chronicles.values()])
    rows.traces += _traces(world) + _legs(world)
    create_log(path)
    with LogWriter(path) as log:
        rows.write(log)
        log.snapshot()


def _lost_with_disks(world: World, homes: list[str]) -> list[Row]:
    """What entered at a broker that lost its disk, and may have been on no other: here the world knows it."""
    entered: dict[tuple[str, int], dict[str, list[int]]] = {}
    for one in world.history.on_disk:
        if isinstance(one.record, Accepted):
            publication = one.record.publication
            by_publisher = entered.setdefault((one.broker, one.incarnation), {})
            by_publisher.setdefault(publication.publisher, []).extend((publication.first, publication.sequence))
    return [
        {
            "home_broker": home,
            "publisher": publisher,
            "first_sequence": min(sequences),
            "last_sequence": max(sequences),
            "quality": DURABLE,
            "reason": "lost_disk",
            "noticed_at": moment(world.now),
        }
        for lost in world.history.lost_disks
        for publisher, sequences in entered.get(lost, {}).items()
        for home in homes
    ]


def _legs(world: World) -> list[Row]:
    """A row for each home and leg of an agvent that found its own way."""
    ways = Ways({}, [])
    for one in world.history.on_disk:
        if isinstance(one.record, (Accepted, Visited)):
            ways.take(one.broker, logged_name(one.broker, one.incarnation), one.record, one.at)
    return ways.drain()


def _traces(world: World) -> list[Row]:
    """A row for each home and link that a copy to it went over."""
    return [
        {
            "publisher": hop.event.publisher,
            "sequence": sequence,
            "quality": "fast" if hop.event.fast else DURABLE,
            "destination": logged_name(home, world.brokers[home].incarnation),
            "hop": hop.hop,
            "from_broker": hop.source,
            "to_broker": hop.target,
            "sent_at": moment(hop.sent),
            "received_at": moment(hop.received) if hop.received else None,
            "queue": hop.queue,
            "bytes": hop.bytes,
        }
        for hop in world.hops
        for home in hop.homes
        for sequence in range(hop.event.sequence - hop.events + 1, hop.event.sequence + 1)
    ]
