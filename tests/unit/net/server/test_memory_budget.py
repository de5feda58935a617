"""What a principal's connections keep in memory, and which of them goes."""

from __future__ import annotations

from collections import Counter

import pytest

from agvent import limits
from agvent.net.link.clock import Clock
from agvent.net.link.connection import Connection
from agvent.net.link.dial import Dialled
from agvent.net.server.memory_budget import MemoryBudgets


def connections(count: int) -> list[Connection]:
    return [Connection(Dialled(), Clock()) for _ in range(count)]


def test_of_a_principal_that_keeps_too_much_the_greatest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its connections count together; others' do not, and what has gone meanwhile does not."""
    monkeypatch.setattr(limits, "PRINCIPAL_KEPT_BYTES_MAX", 100)
    small, great, other = connections(3)
    kept: Counter[Connection] = Counter({small: 40, great: 60, other: 100})
    budgets = MemoryBudgets(kept.__getitem__)
    assert [budgets.note("mallory", small), budgets.note("mallory", great), budgets.note("ada", other)] == [None] * 3
    kept.update({small: 10})
    assert budgets.note("mallory", small) is great
    kept.update({small: 50})
    assert budgets.note("mallory", small) is None
    assert budgets.note("mallory", great) is small
    kept[great] = 0
    assert budgets.note("mallory", small) is None


def test_all_principals_together_keep_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where names cost nothing, many of them keep no more than one may: whoever keeps most goes first."""
    monkeypatch.setattr(limits, "KEPT_BYTES_MAX", 100)
    first, second, third = connections(3)
    kept = {first: 30, second: 50, third: 10}
    budgets = MemoryBudgets(kept.__getitem__)
    assert [budgets.note(name, one) for name, one in zip("abc", kept, strict=True)] == [None] * 3
    kept[third] = 40
    assert budgets.note("c", third) is second
    budgets.forget(first)
    kept[third] = 100
    assert budgets.note("c", third) is None
