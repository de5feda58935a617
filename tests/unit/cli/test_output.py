"""The sentence that ends a run."""

from __future__ import annotations

from agvent.cli.output import MatchTotals


def test_the_sentence_names_every_total() -> None:
    """Events, subscriptions, matches, speed, and rejected lines if there are any."""
    totals = MatchTotals(subscriptions=1000, events=20_000, matches=7, seconds=0.5)
    assert totals.sentence() == "20,000 events against 1,000 subscriptions: 7 matches (40,000 events/s)"
    totals.rejected = 3
    assert totals.sentence().endswith(": 7 matches, 3 lines rejected (40,000 events/s)")


def test_no_time_is_no_division_by_zero() -> None:
    """A run without input has no speed."""
    assert MatchTotals().sentence() == "0 events against 0 subscriptions: 0 matches (no events/s)"
