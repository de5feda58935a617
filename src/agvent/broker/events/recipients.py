"""Who gets an event, or which events of a batch, among the clients of a home: matched, in force, and wanted by its
publisher."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from agvent.broker.records import Deliveries
from agvent.broker.tables.local_subscriptions import Version, admits, parsed_to
from agvent.wire.lines import packed, places_in
from agvent.wire.parts import Publication

Found = list[tuple[Version, bytes]]
"""The versions that match a batch, each with the places of its events."""


class Recipients(msgspec.Struct, frozen=True):
    """What an Arrived says of them."""

    deliveries: Deliveries = ()
    places: tuple[tuple[bytes, ...], ...] = ()


def grouped(versions: Iterable[Version]) -> Deliveries:
    """For each client its versions."""
    by_client: dict[str, list[tuple[str, int]]] = {}
    for version in versions:
        by_client.setdefault(version.client, []).append((version.subscription.id, version.number))
    return tuple((client, tuple(theirs)) for client, theirs in sorted(by_client.items()))


def recipients_of_batch(publication: Publication, found: Found, had: Collection[int]) -> Recipients:
    """Of a batch, without the events that came before by another entry."""
    if publication.to or publication.destinations:
        to = parsed_to(publication.to)
        found = [(version, places) for version, places in found if admits(to, publication.destinations, version)]
    if had:
        found = _without(found, publication.count, had)
    by_client: dict[str, Found] = {}
    for version, places in found:
        by_client.setdefault(version.client, []).append((version, places))
    places_of = {client: tuple(places for _, places in by_client[client]) for client in sorted(by_client)}
    return Recipients(grouped(version for version, _ in found), tuple(places_of.values()))


def _without(found: Found, count: int, had: Collection[int]) -> Found:
    left = [(version, [at for at in places_in(places, count) if at not in had]) for version, places in found]
    return [(version, packed(places, count)) for version, places in left if places]
