"""What a broker keeps in memory, by name: the most of it that any one home, client or publisher has there."""

from __future__ import annotations

from agvent.broker.broker import Broker
from agvent.broker.tables.queues import Queue
from agvent.wire.parts import Publication


def memory_use(broker: Broker) -> dict[str, int]:
    """The amounts now. checkers/memory.py has the bound of each."""
    custody, clients = broker.tables.custody, broker.tables.deliveries.clients.values()
    moving = [client.moving for client in clients if client.moving is not None]
    return {
        "copies": custody.event_count,
        "bytes of copies": custody.event_bytes,
        "untaken": max(custody.untaken.values(), default=0),
        "deliveries": max((len(client.durable.waiting) for client in clients), default=0),
        "events in a queue": max((_events_in(client.durable) for client in clients), default=0),
        "bytes of deliveries": max((client.durable.event_bytes for client in clients), default=0),
        "fast deliveries": max((len(client.fast.waiting) for client in clients), default=0),
        "bytes of fast deliveries": max((client.fast.event_bytes for client in clients), default=0),
        "deliveries beside a move": max((len(one.waiting) for one in moving), default=0),
        "bytes of deliveries beside a move": max((one.waiting_bytes for one in moving), default=0),
        "bytes handed over": max((one.handed_bytes for one in moving), default=0),
        "early copies": max(_early(broker).values(), default=0),
        "events that wait for answers": max(broker.entry.waiting().values(), default=0),
    }


def _events_in(queue: Queue) -> int:
    """The deliveries that wait in it, without notices."""
    return sum(1 for one in queue.waiting.values() if one.event_count)


def _early(broker: Broker) -> dict[str, int]:
    """The events of each entry whose predecessors have not come."""
    found: dict[str, int] = {}
    for chain, waiting in broker.tables.chains.early.items():
        found[chain.entry] = found.get(chain.entry, 0) + sum(_count(early.publication) for early in waiting.values())
    return found


def _count(publication: Publication) -> int:
    return publication.count if publication.event else 1
