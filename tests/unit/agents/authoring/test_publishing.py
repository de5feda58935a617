"""From an instance to its event: what a publisher gives beside it."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.agents.authoring.publishing import published
from agvent.errors import EventError
from agvent.event import Budget
from tests.couriers import Order


def test_a_budget_travels_in_the_cargo() -> None:
    """As it was given, nothing at all included."""
    budgets = [Budget(hops=0, clones=0, bytes=0, time_us=0), Budget(hops=3)]
    cargos = [published(Order(amount=1), "house", budget=budget).cargo for budget in budgets]
    assert [cargo and cargo.budget for cargo in cargos] == budgets


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(hops=1.5), "a budget of hops cannot be 1.5"),  # type: ignore[arg-type]
        (Budget(clones=-1), "a budget of clones cannot be -1"),
        (Budget(bytes=2**70), "a budget of bytes cannot be 1180591620717411303424"),
        (Budget(time_us=True), "a budget of time_us cannot be True"),
        ({"hops": 1}, "a budget cannot be a dict"),
    ],
    ids=["fraction", "negative", "beyond 64 bits", "bool", "dict"],
)
def test_a_budget_that_is_none_is_refused(budget: Any, message: str) -> None:
    """When the agvent is published, and not by a broker far away."""
    with pytest.raises(EventError) as raised:
        published(Order(amount=1), "house", budget=budget)
    assert raised.value.message == message
