"""Many events as one: publications put together and taken apart, and the part of a batch that is for one client.

A batch is a publication of consecutive sequences, `count` of them up to `sequence`. It is one message, one record, one
link of its chain, and for each client one delivery. Every event in it has its own sequence, and its own number in a
client's queue, so it may be taken apart anywhere, and acknowledged in part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from agvent import limits
from agvent.event import Event
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.codec import content_of
from agvent.wire.lines import FEED, is_lines, lines_in, lines_of, packed, places_in
from agvent.wire.parts import Publication

D = TypeVar("D", Deliver, Gap, Deliver | Gap)


def put_together(publications: Iterable[Publication]) -> Iterator[Publication]:
    """The same events in the same order, in as few publications as their bounds allow."""
    run: list[Publication] = []
    events = size = 0
    for one in publications:
        events, size = events + one.count, size + len(one.event) + 1
        is_full = events > limits.BATCH_EVENTS_MAX or size > limits.BATCH_BYTES_MAX
        if run and (is_full or not _follows(run[-1], one)):
            yield _joined(run)
            run = []
        if not run:
            events, size = one.count, len(one.event)
        run.append(one)
    if run:
        yield _joined(run)


def batches_of(events: Sequence[Event | Mapping[str, Any]]) -> Iterable[tuple[bytes, int]]:
    """Events as the bytes of batches, each with the number of its events. An EventError if one of them is none."""
    lines = lines_of(events)
    if lines is None:
        return grouped([content_of(event) for event in events])
    if 0 < len(events) <= limits.BATCH_EVENTS_MAX and len(lines) <= limits.BATCH_BYTES_MAX:
        return [(lines, len(events))]
    return grouped(lines_in(lines)) if events else ()


def grouped(contents: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Events' bytes as those of batches, each with the number of its events."""
    run: list[bytes] = []
    size = 0
    for content in contents:
        size += len(content) + 1
        is_full = len(run) >= limits.BATCH_EVENTS_MAX or size > limits.BATCH_BYTES_MAX
        if run and (is_full or not is_lines(content) or not is_lines(run[0])):
            yield FEED.join(run), len(run)
            run, size = [], len(content)
        run.append(content)
    if run:
        yield FEED.join(run), len(run)


def _follows(before: Publication, after: Publication) -> bool:
    return (
        before.sequence == after.first - 1
        and is_lines(before.event)
        and is_lines(after.event)
        and before.fast == after.fast
        and before.to == after.to
        and before.destinations == after.destinations
        and before.expires == after.expires
        and before.retried == after.retried
    )


def _joined(run: list[Publication]) -> Publication:
    if len(run) == 1:
        return run[0]
    content = FEED.join([one.event for one in run])
    return replace(run[-1], event=content, count=sum(one.count for one in run))


def taken_apart(publication: Publication) -> list[Publication]:
    """Its events one by one; one that says another number of them than it has gives as many without an event."""
    if publication.count == 1:
        return [publication]
    lines = lines_in(publication.event)
    if len(lines) != publication.count:
        lines = [b""] * publication.count
    return [
        replace(publication, sequence=publication.first + place, event=line, count=1)
        for place, line in enumerate(lines)
    ]


def delivery_of(publication: Publication, ids: tuple[str, ...], picks: tuple[bytes, ...]) -> Deliver:
    """What a client gets of a publication, without its number: the events that one of its subscriptions picked."""
    content, count = publication.event, publication.count
    places = b""
    if count > 1 and all(picks):
        union = sorted(set(places_in(b"".join(picks), count)))
        if len(union) < count:
            lines = lines_in(content)
            content = FEED.join([lines[place] for place in union])
            at = {place: number for number, place in enumerate(union)}
            picks = tuple(packed([at[place] for place in places_in(pick, count)], len(union)) for pick in picks)
            places = packed(union, count)
    publisher, sequence, fast, life = publication.publisher, publication.sequence, publication.fast, publication.life
    return Deliver(
        number=0,
        after=0,
        behind=0,
        publisher=publisher,
        sequence=sequence,
        fast=fast,
        event=content,
        subscriptions=ids,
        count=count,
        places=places,
        picked=picks,
        life=life,
    )


def sequences_in(delivery: Deliver) -> list[int]:
    """The sequences of a delivery's events."""
    return [delivery.first + place for place in places_in(delivery.places, delivery.count)]


def after_number(delivery: Deliver | Gap, number: int) -> Deliver | Gap:
    """The rest of a delivery of which the events up to a number were acknowledged."""
    gone = number - (delivery.number - delivery.event_count)
    if gone <= 0 or isinstance(delivery, Gap):
        return delivery
    left = deliveries_in(delivery)[gone:]
    places = packed([one.sequence - delivery.first for one in left], delivery.count)
    wanted = {id for one in left for id in one.subscriptions}
    ids = tuple(id for id in delivery.subscriptions if id in wanted)
    picked = tuple(packed([at for at, one in enumerate(left) if id in one.subscriptions], len(left)) for id in ids)
    content = FEED.join([one.event for one in left])
    return replace(delivery, event=content, subscriptions=ids, places=places, picked=picked)


def without(delivery: D, id: str) -> D:
    """A delivery without one of its subscriptions. All its events stay, also those that are for nobody now: each has
    its number."""
    ids = tuple(one for one in delivery.subscriptions if one != id)
    if isinstance(delivery, Gap) or not delivery.picked:
        return replace(delivery, subscriptions=ids)
    picked = zip(delivery.subscriptions, delivery.picked, strict=True)
    return replace(delivery, subscriptions=ids, picked=tuple(pick for one, pick in picked if one != id))


def deliveries_in(delivery: Deliver) -> list[Deliver]:
    """Its events one by one, each for the subscriptions that it is for."""
    if delivery.count == 1:
        return [delivery]
    lines = lines_in(delivery.event)
    ids: list[list[str]] = [[] for _ in lines]
    for id, pick in zip(delivery.subscriptions, delivery.picked, strict=True):
        for place in places_in(pick, len(lines)):
            ids[place].append(id)
    return [
        replace(delivery, sequence=sequence, event=line, subscriptions=tuple(theirs), count=1, places=b"", picked=())
        for sequence, line, theirs in zip(sequences_in(delivery), lines, ids, strict=True)
    ]
