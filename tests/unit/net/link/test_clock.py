"""The time that brokers and clients use."""

from __future__ import annotations

import pytest

from agvent.net.link.clock import Clock


def test_the_clock_does_not_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wall time that jumps after the start is not looked at."""
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert clock.now() >= before > 1_700_000_000_000_000
