"""How far the next batch of a stream goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agvent.errors import LogError
from agvent.spark.log.offsets import advanced, beginning, event_count

COUNTS = st.dictionaries(st.sampled_from(["b1", "b2", "b3", "b4"]), st.integers(0, 1000))


@given(ends=COUNTS, events_max=st.integers(1, 500))
def test_batches_of_any_size_reach_the_end(ends: dict[str, int], events_max: int) -> None:
    """Every batch has an event and not more than it may, no broker goes back, and the last offset is the end."""
    end, offset = {"ev": ends, "sub": 9}, beginning()
    while (following := advanced(offset, end, events_max)) != offset:
        assert 0 < event_count(following) - event_count(offset) <= events_max
        assert all(following["ev"][broker] >= count for broker, count in offset["ev"].items())
        assert following["sub"] == 9
        offset = following
    assert event_count(offset) == event_count(end)


def test_the_catalogue_does_not_move_alone() -> None:
    """Without a new event the offset stays, so that no batch is run for a change of subscriptions."""
    start = {"ev": {"b1": 3}, "sub": 4}
    assert advanced(start, {"ev": {"b1": 3}, "sub": 5}) is start
    assert advanced(start, {"ev": {"b1": 4}, "sub": 5}) == {"ev": {"b1": 4}, "sub": 5}


def test_each_broker_has_its_share() -> None:
    """A bounded batch takes from every broker in proportion to what is waiting there."""
    end = {"ev": {"b1": 900, "b2": 100}, "sub": 2}
    assert advanced(beginning(), end, 100) == {"ev": {"b1": 90, "b2": 10}, "sub": 2}


@pytest.mark.parametrize("ends", [{"b1": 2}, {"b2": 5}])
def test_a_log_that_is_behind_its_stream_is_another(ends: dict[str, int]) -> None:
    """A stream does not go on in a log that has less than it has read."""
    with pytest.raises(LogError, match="this stream has read 3 already"):
        advanced({"ev": {"b1": 3}, "sub": 1}, {"ev": ends, "sub": 1})
