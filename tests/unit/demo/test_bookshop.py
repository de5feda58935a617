"""The bookshop of the demonstration."""

from __future__ import annotations

from random import Random

import pytest

from agvent.agents.authoring.publishing import published
from agvent.agents.execution.ask import AskedAgvent, asked
from agvent.demo.bookshop import HOUSES, SHOPS, Shop
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.wire.codec import encode_event
from tests.sandboxes import HIDER, trusted


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
def test_a_wish_says_the_same_in_both_forms(shop: Shop) -> None:
    """The filter and the Python function of a shop agree on every publication, and choose some of them."""
    random = Random(1)
    made = [house.make(random) for house in HOUSES for _ in range(300)]
    events = [published(one, "house", hider=HIDER) for one in made]
    condition = Subscription(id="wish", filter=shop.filter, type=shop.type.__name__).condition()
    by_filter, _ = asked(
        [AskedAgvent("house", encode_event(event)) for event in events],
        lambda number, answers: evaluate(condition, events[number], answers) is True,
        trusted(*(house.type for house in HOUSES)),
    )
    assert by_filter == [shop.is_due(one) for one in made]
    assert 0 < sum(by_filter) < len(made)
