"""Events as lines, and many of them as one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agvent import limits
from agvent.event import Event, Int32
from agvent.wire.batches import after_number, batches_of, deliveries_in, delivery_of, grouped, put_together, taken_apart
from agvent.wire.client_messages import Deliver
from agvent.wire.codec import content_of, decode_event, encode_event
from agvent.wire.lines import has_lines, is_lines, line_of, lines_in, lines_of, packed, places_in, types_in
from agvent.wire.parts import Publication
from tests.strategies import events

LINES = (b'{"n":0}', b'{"n":1}', b'{"n":2}', b'{"n":3}')
BATCH = Publication("p", 9, b"\n".join(LINES), count=4)


@given(events())
def test_a_line_is_the_event_and_nothing_else_is_a_line(event: Event) -> None:
    """What a line says has the same MessagePack, kinds and all; what it cannot say is MessagePack."""
    content = content_of(event)
    assert encode_event(decode_event(content)) == encode_event(event) if is_lines(content) else line_of(event) is None


@pytest.mark.parametrize(
    "source",
    [
        {"n": float("inf")},
        {"n": float("nan")},
        {"n": 1 << 63},
        {"n": Int32(1)},
        {"n": b"bytes"},
        {"n": {"$bytes": "AAEC"}},
        {"n": {1: 2}},
        {"n": "\ud800"},
        {"$topic": True},
        {"$type": 3},
        {"$else": 1},
        {1: 2},
    ],
    ids=repr,
)
def test_what_no_line_says_exactly_is_none(source: dict[Any, Any]) -> None:
    """JSON has no such value, or reads it as another; or it is no event. Then there are no lines of it and others."""
    assert line_of(source) is None
    assert lines_of([{"n": 1}, source]) is None


@given(st.lists(events(), max_size=4))
def test_several_events_are_encoded_as_each_is(many: list[Event]) -> None:
    """Given as dicts: the same lines, or none if one has none."""
    sources = [{**one.attributes} for one in many]
    each = [line_of(source) for source in sources]
    assert lines_of(sources) == (None if None in each else b"\n".join(one for one in each if one is not None))


@pytest.mark.parametrize("length", [1, 300])
def test_lines_are_cut_and_counted_however_long_they_are(length: int) -> None:
    """Long ones are found by another search; a blank one, one that is no object and a wrong count are seen."""
    lines = [b'{"x":"' + b"x" * length * at + b'"}' for at in (1, 2, 3)]
    content = b"\n".join(lines)
    assert lines_in(content) == lines
    assert [has_lines(content, count) for count in (2, 3, 4)] == [False, True, False]
    for bad in (b"", b" ", b"[" + b"1" * length + b"]"):
        assert not has_lines(b"\n".join([lines[0], bad, lines[2]]), 3)
        assert not has_lines(b"\n".join([bad, *lines[1:]]), 3)


def test_a_line_says_where_an_event_is_addressed() -> None:
    """Type and ancestors, topic and channel are members with reserved names."""
    event = Event(type="Book", ancestors=("Item",), topic="t", channel=3, attributes={"list": [1, {"deep": None}]})
    line = line_of(event)
    assert line == b'{"$type":["Book","Item"],"$topic":"t","$channel":3,"list":[1,{"deep":null}]}'
    assert decode_event(line) == event
    assert types_in(line + b'\n{"$type":"Book"}\n{"n":1}') == {("Book", "Item"), ("Book",)}


def test_publications_are_put_together_and_taken_apart() -> None:
    """Consecutive lines with the same options become one publication, and the same ones again."""
    singles = [Publication("p", 6 + at, line) for at, line in enumerate(LINES)]
    assert list(put_together(singles)) == [BATCH]
    assert taken_apart(BATCH) == singles


def test_only_what_belongs_together_is_put_together() -> None:
    """Another option, a missing sequence, an event that is no line: each ends a batch."""
    line = LINES[0]
    singles = [
        Publication("p", 1, line),
        Publication("p", 2, line, "floor = 3"),
        Publication("p", 4, line, "floor = 3"),
        Publication("p", 5, b"\x80", "floor = 3"),
        Publication("p", 6, line, "floor = 3"),
        Publication("p", 7, line, "floor = 3", retried=((7, 7),)),
    ]
    assert list(put_together(singles)) == singles


def test_a_batch_has_its_bounds() -> None:
    """As many events as may be, and no more bytes than may be."""
    many = [LINES[0]] * (limits.BATCH_EVENTS_MAX + 2)
    wide = [b'{"x":"%s"}' % (b"x" * 20_000)] * 5
    mixed = [LINES[0], LINES[1], b"\x80", b"\x80", LINES[2]]
    for contents, counts in ((many, [limits.BATCH_EVENTS_MAX, 2]), (wide, [2, 2, 1]), (mixed, [2, 1, 1, 1])):
        assert [count for _, count in grouped(contents)] == counts
        singles = [Publication("p", at, content) for at, content in enumerate(contents, 1)]
        assert [one.count for one in put_together(singles)] == counts
        assert b"\n".join(content for content, _ in grouped(contents)) == b"\n".join(contents)


def test_a_batch_that_is_not_what_it_says_has_no_events() -> None:
    """Whoever looks at them one by one refuses each."""
    assert [one.event for one in taken_apart(Publication("p", 3, b'{"n":1}', count=3))] == [b"", b"", b""]


picks = st.lists(st.sets(st.integers(0, 3), min_size=1).map(sorted), min_size=1, max_size=3)


@given(picks, st.integers(0, 4))
def test_each_subscription_gets_the_events_it_picked(picked: list[list[int]], gone: int) -> None:
    """And nobody an event that nobody picked; without those that were acknowledged."""
    ids = tuple(f"s{at}" for at in range(len(picked)))
    delivery = delivery_of(BATCH, ids, tuple(packed(pick, 4) for pick in picked))
    union = sorted({place for pick in picked for place in pick})
    assert lines_in(delivery.event) == [LINES[place] for place in union]
    expected = [
        (6 + place, LINES[place], tuple(id for id, pick in zip(ids, picked, strict=True) if place in pick))
        for place in union
    ]
    assert _events(delivery) == expected
    assert delivery.event_count == len(union)
    numbered = replace(delivery, number=20)
    left = after_number(numbered, 20 - len(union) + min(gone, len(union) - 1))
    assert isinstance(left, Deliver)
    assert _events(left) == expected[min(gone, len(union) - 1) :]
    assert left.number == 20


def _events(delivery: Deliver) -> list[tuple[int, bytes, tuple[str, ...]]]:
    return [(one.sequence, one.event, one.subscriptions) for one in deliveries_in(delivery)]


def test_all_places_are_no_bytes() -> None:
    """The common case costs nothing, and is told from none by nobody having picked none."""
    assert packed([0, 1], 2) == b""
    assert list(places_in(b"", 2)) == [0, 1]
    assert is_lines(BATCH.event)


def test_events_become_batches_within_their_bounds() -> None:
    """Plain dicts are encoded together, others one by one; the lines and their order are the same."""
    many = [{"n": n, "x": "x" * 100} for n in range(limits.BATCH_EVENTS_MAX + 1)]
    together, mixed = list(batches_of(many)), list(batches_of([*many[:2], {"raw": b"\0"}, many[2]]))
    assert [count for _, count in mixed] == [2, 1, 1]
    assert sum(count for _, count in together) == len(many)
    assert all(len(content) <= limits.BATCH_BYTES_MAX for content, _ in together)
    assert [decode_event(line).attributes for content, _ in together for line in lines_in(content)] == many
    assert list(batches_of(many[:3])) == [(b"\n".join(content_of(one) for one in many[:3]), 3)]
    assert list(batches_of([])) == []
