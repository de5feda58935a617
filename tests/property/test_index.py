"""The index gives what the oracle gives, whatever the filters, the events, the changes and the batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import format_filter
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.matching.index import cell_bitsets as cells
from agvent.matching.subscriptions import Subscriptions
from tests.strategies import behaviours, conditions, elvin_conditions, events, sql_conditions

CHECKED = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Given(Subscription, frozen=True, kw_only=True):
    """A subscription to a tree, also to one that no single language can write."""

    tree: Any

    def condition(self, *, known: object = None) -> Condition:  # noqa: ARG002 - the parsers' names are not needed
        return self.tree  # type: ignore[no-any-return]


changes = st.lists(
    st.tuples(
        st.sampled_from(("add", "add", "add", "replace", "remove", "compact")),
        st.integers(0, 11),
        st.one_of(conditions(), conditions(), elvin_conditions()),
    ),
    min_size=1,
    max_size=24,
)


def changed(steps: list[tuple[str, int, Condition]]) -> tuple[Subscriptions, dict[str, Condition]]:
    """An index after some changes, and the conditions that are in force then."""
    index, model = Subscriptions(), dict[str, Condition]()
    for verb, number, tree in steps:
        id = f"s{number}"
        if verb == "compact":
            index.compact()
        elif verb == "remove" and id in model:
            index.remove(id)
            del model[id]
        elif verb in ("add", "replace"):
            given_one = Given(id=id, tree=tree)
            (index.replace if id in model else index.add)(given_one, destination=number)
            model[id] = tree
    return index, model


def expected(model: dict[str, Condition], event: Event) -> list[str]:
    return sorted(id for id, tree in model.items() if evaluate(tree, event, behaviours) is True)


@pytest.fixture(params=(4, 1024), ids=("bitsets", "lists"))
def long_min(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without cell bitsets on lists as short as those drawn here."""
    monkeypatch.setattr(cells, "LONG_MIN", request.param)


@pytest.mark.usefixtures("long_min")
@CHECKED
@given(steps=changes, sample=st.lists(events(), min_size=7, max_size=7))
def test_index_equals_oracle_one_event_at_a_time_and_in_batches_of_7(
    steps: list[tuple[str, int, Condition]], sample: list[Event]
) -> None:
    """Every event matches exactly the subscriptions whose condition the oracle finds true."""
    index, model = changed(steps)
    wanted = [expected(model, event) for event in sample]
    assert [index.match(event, behaviours) for event in sample] == wanted
    assert dict(index.match_batch(sample, behaviours).by_event()) == {n: ids for n, ids in enumerate(wanted) if ids}
    index.compact()
    assert [index.match(event, behaviours) for event in sample] == wanted


@settings(CHECKED, max_examples=20)
@given(steps=changes, sample=st.lists(events(), min_size=1, max_size=32))
def test_index_equals_oracle_in_batches_of_4096(steps: list[tuple[str, int, Condition]], sample: list[Event]) -> None:
    """A full batch gives for each of its events what the event alone gives."""
    index, model = changed(steps)
    batch = [sample[n % len(sample)] for n in range(4096)]
    wanted = [expected(model, event) for event in sample]
    found = dict(index.match_batch(batch, behaviours).by_event())
    assert [found.get(n, []) for n in range(4096)] == [wanted[n % len(sample)] for n in range(4096)]


@CHECKED
@given(steps=changes, sample=st.lists(events(), min_size=1, max_size=7))
def test_destinations_are_those_of_the_matching_subscriptions(
    steps: list[tuple[str, int, Condition]], sample: list[Event]
) -> None:
    """Skipping subscriptions whose destination is already set loses no destination and adds none."""
    index, model = changed(steps)
    wanted = [sum(1 << int(id[1:]) for id in expected(model, event)) for event in sample]
    assert [int(bits[0]) for bits in index.destinations(sample, behaviours)] == wanted


@CHECKED
@given(trees=st.lists(sql_conditions(), min_size=1, max_size=8), sample=st.lists(events(), min_size=3, max_size=7))
def test_filters_taken_by_their_shape_equal_the_oracle(trees: list[Condition], sample: list[Event]) -> None:
    """A filter whose shape is known matches as if it had been parsed."""
    model = {f"s{number}": tree for number, tree in enumerate(trees)}
    index = Subscriptions(Subscription(id=id, filter=format_filter(tree)) for id, tree in model.items())
    index.compact()
    assert [index.match(event, behaviours) for event in sample] == [expected(model, event) for event in sample]
