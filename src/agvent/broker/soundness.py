"""What a neighbour may say: a message that no broker would send is refused before it changes anything.

A neighbour is believed what it says of the network. One of another make, or with a bug, may say what nobody can carry
out; that must end neither this broker nor, by the journal, each of its restarts.
"""

from __future__ import annotations

from typing import Final

from agvent import limits
from agvent.broker.tables.local_subscriptions import parsed_to
from agvent.errors import AgventError
from agvent.wire.broker_messages import Adverts, Body, Claim, Copies, Delta, Handing, Hello, Routed, Travel
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import decode_event
from agvent.wire.lines import lines_in, places_in
from agvent.wire.messages import AnyMessage
from agvent.wire.names import is_key, name_of
from agvent.wire.parts import Publication, Trace

COST_MAX: Final = 1 << 48
"""Nine years in µs: the costs of the longest way are together still a 64-bit integer."""


def is_sound(message: AnyMessage, name: str) -> bool:
    """Can the broker of this name do what the message asks of it?"""
    match message:
        case Hello():
            return _is_name(message.broker) and message.broker != name
        case Adverts():
            return _is_trace(message.trace) and _is_name(message.owner) and 0 <= message.since < message.version
        case Copies():
            return _is_trace(message.trace) and _is_publication(message.publication)
        case Travel():
            is_mine = message.journey.to == name
            is_single = _is_publication(message.publication) and message.publication.count == 1
            return _is_trace(message.trace) and is_single and (not is_mine or is_readable(message.publication))
        case Routed():
            return _is_trace(message.trace)
        case _:
            return True


def is_readable(publication: Publication) -> bool:
    """Does a single publication have an event, and an address that can be read?"""
    try:
        decode_event(publication.event)
        parsed_to(publication.to)
    except AgventError:
        return False
    return True


def _is_name(name: str) -> bool:
    return bool(name) and "/" not in name


def _is_trace(trace: Trace) -> bool:
    return bool(trace) and all(0 <= cost <= COST_MAX for _, cost in trace)


def _is_publication(publication: Publication) -> bool:
    return 0 < publication.count <= min(publication.sequence, limits.BATCH_EVENTS_MAX)


def is_sound_body(body: Body, name: str) -> bool:
    """The same of what a routed message brings to its target; brokers between only pass it on."""
    match body:
        case Delta():
            return _is_name(body.home) and body.home != name and 0 <= body.part < body.parts
        case Claim():
            keys = (body.client, body.source.client, *(source.client for source in body.before))
            return all(is_key(key, name_of(key)) for key in keys)
        case Handing():
            return all(_is_delivery(passed.delivery) for passed in body.deliveries)
        case _:
            return True


def _is_delivery(delivery: Deliver | Gap) -> bool:
    """Has a batch as many events as it says, and does each subscription pick among them?"""
    if isinstance(delivery, Gap):
        return True
    if delivery.count == 1:
        return not delivery.places
    if not 1 < delivery.count <= limits.BATCH_EVENTS_MAX or any(
        len(one) % 2 for one in (delivery.places, *delivery.picked)
    ):
        return False
    count = len(lines_in(delivery.event))
    return (
        count == delivery.event_count
        and len(delivery.picked) == len(delivery.subscriptions)
        and all(place < delivery.count for place in places_in(delivery.places, delivery.count))
        and all(place < count for pick in delivery.picked for place in places_in(pick, count))
    )
