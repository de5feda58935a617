"""Who gets an event, or which events of a batch, among the clients of a home: matched, in force, and wanted by its
publisher."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from agvent.broker.homes import Version, admits, parsed_to
from agvent.broker.records import Deliveries
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
    to = parsed_to(publication.to)
    by_client: dict[str, list[tuple[tuple[str, int], bytes]]] = {}
    for version, places in found:
        if had:
            left = [place for place in places_in(places, publication.count) if place not in had]
            if not left:
                continue
            places = packed(left, publication.count)
        if admits(to, publication.destinations, version):
            theirs = by_client.setdefault(version.client, [])
            theirs.append(((version.subscription.id, version.number), places))
    clients = sorted(by_client.items())
    return Recipients(
        tuple((client, tuple(key for key, _ in theirs)) for client, theirs in clients),
        tuple(tuple(places for _, places in theirs) for _, theirs in clients),
    )
