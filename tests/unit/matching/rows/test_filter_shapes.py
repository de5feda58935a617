"""Shapes: which filters have a template, and that it says what parsing says."""

from __future__ import annotations

import pytest

from agvent.filters.subscription import Subscription
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.rows import filter_shapes
from agvent.matching.rows.filter_shapes import Shapes
from agvent.matching.rows.row_store import RowStore
from agvent.matching.subscriptions import Subscriptions

BY_SHAPE = [
    "symbol = 'IBM' AND price BETWEEN 10.5 AND 99",
    "symbol = 'it''s' AND volume > -5",
    "price > 3 AND price <= 7 AND NOT volume < 2",
    "(symbol = 'a' OR symbol = 'b') AND change BETWEEN -1 AND 1.5",
    "symbol IN ('a', 'b', 'a') AND exchange NOT IN ('x', 'y')",
    "halted IS NULL AND price <> 4",
    "(volume > 990000 OR change BETWEEN 9.5 AND 10) AND symbol = 'a'",
    '"two words" > 5',
    "1 < price",
    "name = 'né'",
]
PARSED = [
    "symbol LIKE 'a%'",
    "price > 9007199254740993",
    "price > 1e3",
    "price > 017",
    "price > 5 AND price > 6",
    "price BETWEEN 2 AND 1 + 1",
    "dims[0] > 5",
    '"word 2" > 5',
    "open AND price > 0",
    "price -5 > 3",
    "price = - 5",
    "t > TIMESTAMP '2002-01-01'",
    "f('x') AND price > 5",
    "contains(tags, 'x')",
    "x1 IN (1, 'a')",
    "open = TRUE",
    "price >",
]


def rows_of(text: str, *, by_shape: bool) -> list[object]:
    """Rows and predicates of a filter in a store of its own, whichever way they came there."""
    store = RowStore(Slots(), Strings())
    subscription = Subscription(id="s", filter=text)
    store.append(0, store.prepare(subscription) if by_shape else subscription.condition())
    store.flush()
    predicates = store.predicates[: store.predicate_count].tolist()
    fields = [(field.path, field.values) for field in store.slots.fields.values()]
    return [
        store.rows[: store.row_count].tolist(),
        predicates,
        fields,
        store.tests.sets.tolist()[:8],
        len(store.strings),
    ]


@pytest.mark.parametrize("text", BY_SHAPE)
def test_a_filter_by_its_shape_gives_the_rows_that_parsing_gives(text: str) -> None:
    """Same rows, predicates, slots and strings."""
    assert Shapes().read(text) is not None
    assert rows_of(text, by_shape=True) == rows_of(text, by_shape=False)


@pytest.mark.parametrize("text", PARSED)
def test_a_filter_whose_rows_depend_on_its_literals_is_parsed(text: str) -> None:
    """Patterns, large or unusual numbers, bounds that must be compared, and whatever is no filter have no template."""
    assert Shapes().read(text) is None


def test_a_shape_is_read_once() -> None:
    """Filters of one shape share the template; the literals are their own."""
    seen = Shapes()
    first, second = seen.read("price > 5 AND s = 'a'"), seen.read("price > -7 AND s = ''''")
    assert first is not None
    assert second is not None
    assert second.template is first.template
    assert (first.literals, second.literals) == ([5.0, "a"], [-7.0, "'"])


def test_shapes_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters that never repeat do not fill the memory."""
    monkeypatch.setattr(filter_shapes, "SHAPES_MAX", 10)
    seen = Shapes()
    for n in range(100):
        assert seen.read(f"price{n} > 5") is not None
    assert len(seen._templates) <= 10


def test_a_lone_surrogate_is_left_to_the_parser() -> None:
    """Which refuses it."""
    assert Shapes().read("name = '\ud800'") is None


def test_an_over_long_filter_is_left_to_the_parser() -> None:
    """A filter at the bound of length is taken as before, one beyond it is the parser's to refuse."""
    text = "price > 5" + " " * 70_000
    assert Shapes().read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "(x > 10 OR y = 1) AND (x > 5 OR z = 1)",
        "(x < 10 OR y = 1) AND (x > 5 OR z = 1)",
        "x < 10 AND x > 5",
    ],
)
def test_ranges_that_would_be_joined_by_their_literals_are_parsed(text: str) -> None:
    """Which of two bounds holds, and whether a range is empty, depends on the literals: there is no template."""
    assert Shapes().read(text) is None


def test_an_and_of_ors_of_ranges_on_one_attribute() -> None:
    """Two ranges on one attribute in different branches keep their own bounds."""
    made = Subscriptions()
    made.add("above", "(x > 10 OR y = 1) AND (x > 5 OR z = 1)")
    made.add("between", "(x < 10 OR y = 1) AND (x > 5 OR z = 1)")
    assert [made.match({"x": n}) for n in (4, 7, 11)] == [[], ["between"], ["above"]]
    made.compact()
    assert [made.match({"x": n}) for n in (4, 7, 11)] == [[], ["between"], ["above"]]
