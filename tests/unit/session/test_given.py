"""What a client was given: each event once, whichever home gives it again."""

from __future__ import annotations

from random import Random

import pytest

from agvent import limits
from agvent.session.given import Given
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Deliver
from agvent.wire.lines import packed


def delivery(last: int, count: int = 1, places: tuple[int, ...] = (), life: int = 0, publisher: str = "p") -> Deliver:
    """Events of a publisher, for s and, where there are two or more, the last one for t."""
    picked = (b"", packed([max(len(places), count) - 1], count + 1)) if count > 1 and not places else ()
    if places:
        picked = (b"", packed([len(places) - 1], len(places) + 1))
    lines = len(places) or count
    return Deliver(
        number=last,
        after=0,
        behind=0,
        publisher=publisher,
        sequence=last,
        fast=False,
        event=b"\n".join(b'{"n":%d}' % n for n in range(lines)),
        subscriptions=("s", "t") if count > 1 else ("s",),
        count=count,
        places=packed(places, count) if places else b"",
        picked=picked,
        life=life,
    )


def wanted(found: Deliver | None) -> list[int]:
    """The sequences that are for somebody."""
    return [one.sequence for one in deliveries_in(found) if one.subscriptions] if found is not None else []


@pytest.mark.parametrize("seed", range(50))
def test_each_event_is_new_once(seed: int) -> None:
    """Batches and single events in any order, many of them twice or in part: every sequence is new exactly once."""
    random = Random(seed)
    given, had = Given(), set[int]()
    for _ in range(200):
        count = random.choice((1, 1, 2, 5))
        last = random.randint(count, 120)
        places = tuple(sorted(random.sample(range(count), random.randint(1, count - 1)))) if count > 2 else ()
        one = delivery(last, count, places)
        sequences = {single.sequence for single in deliveries_in(one)}
        if sequences.isdisjoint(had) and random.random() < 0.3:
            given.add(one)
        else:
            assert set(wanted(given.add_new(one))) == sequences - had
        had |= sequences
    assert given.add_new(delivery(121)) == delivery(121)


def test_what_is_given_in_part_keeps_its_numbers() -> None:
    given = Given()
    given.add(delivery(5))
    part = given.add_new(delivery(6, 3))
    assert part is not None
    assert part.event_count == 3
    assert [(one.sequence, one.subscriptions) for one in deliveries_in(part)] == [(4, ("s",)), (5, ()), (6, ("s", "t"))]
    assert given.add_new(delivery(6, 3)) is None


def test_another_life_has_other_events() -> None:
    given = Given()
    given.add(delivery(5))
    assert given.add_new(delivery(5, life=1)) is not None
    assert given.add_new(delivery(5, publisher="q")) is not None
    assert given.add_new(delivery(5)) is None


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one life as much as can be sent again, and of lives the last ones."""
    monkeypatch.setattr(limits, "PUBLISH_UNDER_WAY_MAX", 100)
    monkeypatch.setattr(limits, "GIVEN_LIVES_MAX", 2)
    given = Given()
    for sequence in range(2, 20_000, 2):
        given.add(delivery(sequence))
    (recent,) = given._lives.values()
    assert len(recent.lasts) <= 1_200
    assert all(given.add_new(delivery(sequence)) is None for sequence in range(19_900, 20_000, 2))
    for publisher in ("q", "r"):
        given.add(delivery(1, publisher=publisher))
    assert [life.publisher for life in given._lives] == ["q", "r"]
