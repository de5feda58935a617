"""Intervals of epochs: which versions of the pairs that matched were in force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agvent.errors import SubscriptionError
from agvent.matching.index.in_force import FOREVER, InForce
from agvent.matching.index.search import SearchResult

Interval = tuple[int, str, int, int]


def in_force(*intervals: Interval, count: int = 4) -> InForce:
    ordinals, brokers, begin, end = zip(*intervals, strict=True) if intervals else ((), (), (), ())
    return InForce.of(
        ordinals=np.array(ordinals, np.int64),
        brokers=brokers,
        from_epoch=np.array(begin, np.int64),
        to_epoch=np.array(end, np.int64),
        count=count,
    )


def kept(known: InForce, matches: list[list[int]], brokers: list[str | None], epochs: list[int]) -> list[list[int]]:
    """The ordinals of each event that remain."""
    ordinals = np.array([one for event in matches for one in event], np.int32)
    ends = np.cumsum([len(event) for event in matches], dtype=np.int64)
    found = known.kept(SearchResult(ordinals, ends), known.codes(brokers), np.array(epochs, np.int64))
    starts = np.concatenate(([0], found.ends))
    return [found.subscriptions[a:b].tolist() for a, b in pairwise(starts)]


def test_an_interval_has_its_first_epoch_and_not_its_last() -> None:
    """A version is in force for from_epoch <= epoch < to_epoch."""
    known = in_force((0, "b", 3, 5))
    assert kept(known, [[0]] * 4, ["b"] * 4, [2, 3, 4, 5]) == [[], [0], [0], []]


def test_brokers_are_apart() -> None:
    """The epochs of one broker say nothing about another; nothing is in force at an unknown one or none."""
    known = in_force((0, "b1", 0, 10), (0, "b2", 5, FOREVER), (1, "b2", 0, 5))
    brokers = ["b1", "b2", "b2", "b3", None]
    assert kept(known, [[0, 1]] * 5, brokers, [4, 4, 6, 4, 4]) == [[0], [1], [0], [], []]


def test_a_version_may_come_back() -> None:
    """Several intervals of one version at one broker each count; the gap between them does not."""
    known = in_force((2, "b", 8, FOREVER), (2, "b", 1, 3), (2, "b", 3, 5))
    assert kept(known, [[2]] * 6, ["b"] * 6, [0, 1, 4, 5, 8, 99]) == [[], [2], [2], [], [2], [2]]


def test_a_version_without_an_interval_is_nowhere_in_force() -> None:
    """A match of it is dropped."""
    assert kept(in_force(), [[0, 3], [1]], ["b", "b"], [0, 1]) == [[], []]


@pytest.mark.parametrize(
    ("intervals", "complaint"),
    [
        ([(0, "b", 5, 3)], "epochs 5 to 3, ends before it begins"),
        ([(0, "b", 1, 5), (0, "b", 4, 6)], "epochs 1 to 5, overlaps the next one"),
    ],
)
def test_intervals_that_contradict_are_refused(intervals: list[Interval], complaint: str) -> None:
    """An interval that ends before it begins, or overlaps another of its version and broker, is an error."""
    with pytest.raises(SubscriptionError) as caught:
        in_force(*intervals)
    assert caught.value.message == f"an interval in force at 'b', {complaint}"


@st.composite
def histories(draw: st.DrawFn) -> list[Interval]:
    """Intervals that do not overlap: sorted cuts of the epochs for each version and broker, every other one used."""
    made: list[Interval] = []
    for ordinal in range(4):
        for broker in ("b1", "b2", "b3"):
            cuts = sorted(draw(st.sets(st.integers(0, 12), max_size=5)))
            made += [(ordinal, broker, a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    return draw(st.permutations(made))


EVENTS = st.lists(
    st.tuples(st.sampled_from(("b1", "b2", "b3", "b4")), st.integers(0, 13), st.lists(st.integers(0, 3), unique=True)),
    max_size=8,
)


@given(histories(), EVENTS)
def test_every_pair_is_judged_by_its_definition(
    history: list[Interval], events: list[tuple[str, int, list[int]]]
) -> None:
    """What is kept, of batches and of single pairs, is what the definition says, pair by pair."""
    known = in_force(*history)
    expected = [
        [o for o in ordinals if any(o == i and b == broker and f <= epoch < t for i, b, f, t in history)]
        for broker, epoch, ordinals in events
    ]
    brokers, epochs, matches = ([event[at] for event in events] for at in range(3))
    assert kept(known, matches, brokers, epochs) == expected  # type: ignore[arg-type]
    pairs = [(broker, epoch, one) for broker, epoch, ordinals in events for one in ordinals]
    holds = known.holds(
        np.array([one for _, _, one in pairs], np.int32),
        known.codes([broker for broker, _, _ in pairs]),
        np.array([epoch for _, epoch, _ in pairs], np.int64),
    )
    assert holds.tolist() == [
        one in kept_there for kept_there, (_, _, ordinals) in zip(expected, events, strict=True) for one in ordinals
    ]
