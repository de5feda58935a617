"""What a principal may say in a second, and who waits when it says more."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.net.server.rate_limit import WAIT_SECONDS_MAX, Bucket, RateLimits

SECOND = 1_000_000


def test_a_bucket_gives_what_flows_into_it() -> None:
    """Two seconds' worth at once, then as much as comes; what was taken too much is waited for."""
    bucket = Bucket(10, 20)
    assert [bucket.take(20, 0), bucket.take(5, 0), bucket.take(0, SECOND // 4)] == [0.0, 0.5, 0.25]
    assert [bucket.take(10, 2 * SECOND), bucket.take(20, 20 * SECOND), bucket.take(1, 20 * SECOND)] == [0.0, 0.0, 0.1]


def test_each_principal_waits_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages and bytes are counted apart; who is gone begins anew."""
    monkeypatch.setattr(limits, "PRINCIPAL_MESSAGES_PER_SECOND_MAX", 10)
    monkeypatch.setattr(limits, "PRINCIPAL_BYTES_PER_SECOND_MAX", 1_000)
    allowances = RateLimits()
    assert allowances.take("mallory", 25, 0, 0) == 0.5
    assert allowances.take("mallory", 0, 5_000, 0) == WAIT_SECONDS_MAX
    assert allowances.take("ada", 20, 2_000, 0) == 0.0
    allowances.keep({"ada"})
    assert [allowances.take(name, 1, 100, 0) for name in ("mallory", "ada")] == [0.0, 0.1]
