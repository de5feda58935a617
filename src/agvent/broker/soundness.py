"""What a neighbour may say: a message that no broker would send is refused before it changes anything.

A neighbour is believed what it says of the network. One of another make, or with a bug, may say what nobody can carry
out; that must end neither this broker nor, by the journal, each of its restarts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

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
    check = CHECKS.get(type(message))
    return check is None or check(message, name)


def is_sound_body(body: Body, name: str) -> bool:
    """The same of what a routed message brings to its target; brokers between only pass it on."""
    check = BODY_CHECKS.get(type(body))
    return check is None or check(body, name)


# Messages


def _is_sound_hello(hello: Hello, name: str) -> bool:
    return _is_name(hello.broker) and hello.broker != name


def _is_sound_adverts(adverts: Adverts, _: str) -> bool:
    return _is_trace(adverts.trace) and _is_name(adverts.owner) and 0 <= adverts.since < adverts.version


def _are_sound_copies(copies: Copies, _: str) -> bool:
    return _is_trace(copies.trace) and _is_publication(copies.publication)


def _is_sound_travel(travel: Travel, name: str) -> bool:
    is_mine = travel.journey.to == name
    is_single = _is_publication(travel.publication) and travel.publication.count == 1
    return _is_trace(travel.trace) and is_single and (not is_mine or is_readable(travel.publication))


def _is_sound_routed(routed: Routed, _: str) -> bool:
    return _is_trace(routed.trace)


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


# Bodies


def _is_sound_delta(delta: Delta, name: str) -> bool:
    return _is_name(delta.home) and delta.home != name and 0 <= delta.part < delta.parts


def _is_sound_claim(claim: Claim, _: str) -> bool:
    keys = (claim.client, claim.source.client, *(source.client for source in claim.before))
    return all(is_key(key, name_of(key)) for key in keys)


def _is_sound_handing(handing: Handing, _: str) -> bool:
    return all(_is_delivery(passed.delivery) for passed in handing.deliveries)


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


CHECKS: Final[Mapping[type[AnyMessage], Callable[[Any, str], bool]]] = {
    Hello: _is_sound_hello,
    Adverts: _is_sound_adverts,
    Copies: _are_sound_copies,
    Travel: _is_sound_travel,
    Routed: _is_sound_routed,
}
"""What a neighbour's message must be, by its type. tests/unit/broker/test_dispatch.py names those without a check."""

BODY_CHECKS: Final[Mapping[type[Body], Callable[[Any, str], bool]]] = {
    Delta: _is_sound_delta,
    Claim: _is_sound_claim,
    Handing: _is_sound_handing,
}
"""The same of what a routed message brings."""
