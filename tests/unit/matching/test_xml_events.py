"""XML events in every way into the index: the same answers, the same refusals."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from agvent.errors import EventError
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions

GOOD = ["<menu><drink><price>2.90</price></drink></menu>", "<menu/>", "<other/>"]
WANTED = {0: ["all", "dear", "menu"], 1: ["all", "menu"], 2: ["all"], 3: ["all"]}


def subscriptions() -> Subscriptions:
    return Subscriptions(
        [
            Subscription(id="all"),
            Subscription(id="menu", language="xpath", filter="/menu"),
            Subscription(id="dear", language="xpath", filter="/menu/drink[price > 1.80]"),
        ]
    )


def test_python_events_json_lines_and_arrow_agree() -> None:
    """`$xml` is a key, a member or a column."""
    index = subscriptions()
    events: list[dict[str, Any]] = [*({"$xml": text} for text in GOOD), {"a": 1}]
    lines = "\n".join(map(json.dumps, events)).encode()
    batch = pa.record_batch({"$xml": [*GOOD, None]})
    assert dict(index.match_batch(events).by_event()) == WANTED
    assert dict(index.match_json(lines).by_event()) == WANTED
    assert dict(index.match_batch(batch).by_event()) == WANTED
    assert {n: index.match(event) for n, event in enumerate(events)} == WANTED


@pytest.mark.parametrize("index", [subscriptions(), Subscriptions([Subscription(id="all")])], ids=["asked", "unasked"])
def test_bad_xml_is_refused_whoever_subscribes(index: Subscriptions) -> None:
    """Whether a line is an event does not depend on the subscriptions there are."""
    message = "$xml is not well-formed, line 1, column 4: Premature end of data in tag a line 1"
    found = index.match_json(b'{"$xml": "<menu/>"}\n{"$xml": "<a>"}\n{"b": 1}')
    assert [(bad.event, bad.message) for bad in found.rejected] == [(1, message)]
    assert [event for event, _ in found.by_event()] == [0, 2]
    with pytest.raises(EventError, match="not well-formed"):
        index.match({"$xml": "<a>"})
    with pytest.raises(EventError) as caught:
        index.match_batch(pa.record_batch({"$xml": ["<a/>", "<a>"]}))
    assert caught.value.message == f"row 1: {message}"


def test_an_xpath_beside_other_conditions_is_asked_last() -> None:
    """Type and topic are indexed; only their events are put to the XPath."""
    index = Subscriptions([Subscription(id="s", language="xpath", topic="menus", filter="/menu")])
    events = [{"$topic": "menus", "$xml": "<menu/>"}, {"$topic": "x", "$xml": "<menu/>"}, {"$topic": "menus"}]
    assert [index.match(event) for event in events] == [["s"], [], []]
