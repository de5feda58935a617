"""The in-force table: epochs at which each version is in force at each entry broker."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.errors import LogFileError
from agvent.filters.subscription import Subscription
from agvent.store.catalogue import compiled, in_force, subscription_in, subscription_row, versions_in_force
from agvent.store.log_schema import shaped
from tests.logs import NOON, change, epoch, version


def derived(changes: list[dict[str, Any]], epochs: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    table = in_force(shaped("changes", changes), shaped("epochs", epochs))
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_version_is_in_force_from_its_opening_to_its_close() -> None:
    """At each entry broker by that broker's own epochs; a version that was never applied there is not in force."""
    changes = [change(1, "open", 1), change(2, "close", 1), change(3, "open", 2)]
    epochs = [epoch(1, 1), epoch(2, 3), epoch(1, 2, entry="b2"), epoch(1, 1, entry="b3")]
    assert derived(changes, epochs) == [
        ("b1", "s", 1, 1, 2),
        ("b1", "s", 2, 2, None),
        ("b3", "s", 1, 1, None),
    ]


def test_epochs_of_several_homes_are_one_count() -> None:
    """An entry broker's epoch counts what it applied of all home brokers."""
    changes = [change(1, "open", 1), change(1, "open", 1, home="b2", subscription="t"), change(2, "close", 1)]
    epochs = [epoch(1, 1, home="b2"), epoch(2, 1), epoch(3, 2)]
    assert derived(changes, epochs) == [("b1", "s", 1, 2, 3), ("b1", "t", 1, 1, None)]


def test_changes_of_one_epoch_come_together() -> None:
    """What was opened and closed within one epoch was never in force."""
    assert derived([change(1, "open", 1), change(2, "close", 1)], [epoch(1, 2)]) == []


def test_nothing_gives_an_empty_table() -> None:
    """No changes and no epochs are a table without rows."""
    assert derived([], []) == derived([change(1, "open", 1)], []) == derived([], [epoch(1, 1)]) == []


@pytest.mark.parametrize(
    "subscription",
    [
        Subscription(id="s", filter="price < 10", type="Quote", context={"floor": 3}),
        Subscription(id="s", topic=42),
        Subscription(id="s", topic="42", language="elvin"),
        Subscription(id="s", pattern="a/#"),
        Subscription(id="s", channel=7),
        Subscription(id="s", channel="7"),
    ],
)
def test_a_subscription_comes_back_from_its_row(subscription: Subscription) -> None:
    """Every field, and a number as a number."""
    row = subscription_row(subscription, version=3, subscriber="ann", home_broker="b1", created_at=NOON)
    [back] = shaped("subscriptions", [row]).to_pylist()
    assert subscription_in(back) == subscription
    assert (back["version"], back["subscriber"], back["home_broker"]) == (3, "ann", "b1")


def test_versions_are_compiled_side_by_side() -> None:
    """The index has each version under its own id, and matches by its own filter."""
    intervals = in_force(
        shaped("changes", [change(1, "open", 1), change(2, "open", 2)]), shaped("epochs", [epoch(1, 2)])
    )
    rows = versions_in_force(shaped("subscriptions", [version(1, "price < 10"), version(2, "price > 5")]), intervals)
    assert rows["id"].to_pylist() == ["s@1", "s@2"]
    index = compiled(rows.to_pylist())
    assert index.match({"$type": "Quote", "price": 3}) == ["s@1"]
    assert index.match({"$type": "Quote", "price": 7}) == ["s@1", "s@2"]


def test_a_version_without_a_row_is_named() -> None:
    """A change that opens what nobody described is a broken log."""
    intervals = in_force(shaped("changes", [change(1, "open", 1)]), shaped("epochs", [epoch(1, 1)]))
    with pytest.raises(LogFileError, match="version 1 of 's' came into force without a row"):
        versions_in_force(shaped("subscriptions", []), intervals)
