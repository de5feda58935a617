"""XML events in every way into the index: the same answers, the same refusals."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from agvent.errors import EventError
from agvent.filters.subscription import Subscription
from agvent.matching.encoders.slot_paths import SlotPaths
from agvent.matching.encoders.xml_values import TRANSITIONS_MAX
from agvent.matching.subscriptions import Subscriptions
from agvent.xml import document

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


def rows(text: str) -> tuple[int, int]:
    """How many rows an XPath has in the index, and how many of them the oracle must confirm."""
    found = Subscriptions([Subscription(id="s", language="xpath", filter=text)]).statistics()
    return found.rows, found.residual_rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/menu", (2, 1)),  # the second is for large documents
        ("/menu/drink[price > 1.80]", (2, 1)),
        ("/menu/drink/price > 1.80", (2, 1)),
        ("drink/@id = '7'", (2, 1)),
        ("//drink[year = 2003]/price[. < 3]", (2, 1)),  # the second is for documents with several drinks
        ("/menu/drink[brand = 'X' or @id = '1']", (4, 2)),
        ("/menu/drink[brand = 'X'] | /menu/food", (4, 2)),
        ("/menu/drink[brand = 'X' and price > 1] and /menu/food", (2, 2)),  # two contexts: confirmed
        ("/menu/drink[brand = 'X' and contains(fruit, 'A')]", (2, 2)),  # narrowed, and then confirmed
        ("/menu/drink[not(price)]", (2, 2)),
        ("/menu/drink/preceding::food", (1, 1)),
        ("/menu/drink[price > 1]/size[. = 1][. = 2]", (2, 2)),
        ("count(//drink) > 2", (1, 1)),
    ],
)
def test_the_common_form_is_decided_by_the_index(text: str, expected: tuple[int, int]) -> None:
    """What has no values, and several things asked of one element where there are several, goes to libxml2."""
    assert rows(text) == expected


SEVERAL = "<menu><drink><brand>X</brand><price>1</price></drink><drink><brand>Y</brand><price>3</price></drink></menu>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/menu/drink[price > 2]", True),
        ("/menu/drink[price > 3]", False),
        ("/menu/drink[price < 2]", True),
        ("/menu/drink[price = 3]", True),
        ("/menu/drink[brand = 'Y']", True),
        ("/menu/drink[brand = 'X' and price > 2]", False),
        ("/menu/drink[brand = 'Y' and price > 2]", True),
        ("//drink[brand = 'X']/price[. < 2]", True),
        ("//drink[brand = 'X']/price[. > 2]", False),
    ],
)
def test_comparisons_hold_at_one_element_of_several(text: str, expected: bool) -> None:
    """One comparison may hold anywhere; what stands in one predicate must hold at one element."""
    index = Subscriptions([Subscription(id="s", language="xpath", filter=text)])
    assert index.match({"$xml": SEVERAL}) == (["s"] if expected else [])


def test_a_large_document_is_put_to_each_xpath_that_its_values_fit() -> None:
    """The bound of work holds there as without the index, and what exceeds it is reported."""
    index = subscriptions()
    index.add("pairs", "/menu//drink//price", language="xpath")
    index.add("none", "/menu//drink//tea", language="xpath")
    large = f"<menu>{'<drink><price>2</price></drink>' * 3_000}</menu>"
    found = index.match_batch([{"$xml": large}])
    assert dict(found.by_event()) == {0: ["all", "dear", "menu"]}
    assert [one.subscription for one in found.unanswered] == ["pairs"]


def test_names_without_end_are_forgotten() -> None:
    """Documents whose element names never repeat do not make the automaton grow without bound."""
    documents = subscriptions()._state.store.slots.derived(SlotPaths).documents
    assert documents is not None
    for start in range(0, 2 * TRANSITIONS_MAX, 1_000):
        documents.found(document("<menu>" + "".join(f"<n{n}/>" for n in range(start, start + 1_000)) + "</menu>"))
    assert documents.transitions <= TRANSITIONS_MAX


@pytest.mark.parametrize("path", ["b/c", "b/@c", "b/c/d", "c or b/c"])
def test_a_path_that_ends_halfway_is_not_there(path: str) -> None:
    """An element on the way to a value is not the value."""
    index = Subscriptions([Subscription(id="s", language="xpath", filter=f"/a[{path}]")])
    assert index.match({"$xml": "<a><b/></a>"}) == []
    assert index.match({"$xml": "<a><b c=''><c><d/></c></b><b/></a>"}) == ["s"]
