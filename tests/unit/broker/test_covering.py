"""Covering: roots, and what changes when one comes or goes."""

from __future__ import annotations

from random import Random

from agvent.broker.tables.covering import Covering, pins
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse


def test_a_coverer_takes_the_place_of_what_it_covers() -> None:
    """A wider filter makes a narrower one no root; when it goes the narrower one is a root again, in one change."""
    covering = Covering()
    assert covering.add("narrow", None, parse("price > 20")) == {"narrow"}
    assert covering.add("wide", None, parse("price > 10")) == {"narrow", "wide"}
    assert covering.roots() == ["wide"]
    assert covering.add("middle", None, parse("price > 15")) == set()
    assert covering.remove("middle") == set()
    assert covering.remove("wide") == {"narrow", "wide"}
    assert covering.roots() == ["narrow"]


def test_what_calls_behaviours_is_a_root_and_covers_nobody() -> None:
    """Its calls must reach the entry, and its answer is not known here."""
    covering = Covering()
    covering.add("all", None, parse("price > 0"))
    covering.add("calls", None, parse("price > 10 AND is_dear(5)"))
    covering.add("same", None, parse("price > 10 AND is_dear(5)"))
    assert covering.roots() == ["all", "calls", "same"]


def test_filters_that_no_event_matches_both_of_are_not_compared() -> None:
    """One value for an attribute in each, and not the same: neither covers the other. Else they are."""
    covering = Covering()
    covering.add("ibm", None, parse("symbol = 'IBM'"))
    covering.add("dear", None, parse("symbol = 'SAP' AND price > 100"))
    assert covering.add("dearer", None, parse("symbol = 'IBM' AND price > 100")) == set()
    assert covering.roots() == ["ibm", "dear"]
    assert pins(parse("symbol = 'SAP' AND price > 100 AND n = 3")) == {("symbol",): "SAP", ("n",): 3}
    assert pins(parse("symbol = 'SAP' OR n = 3")) == {}


def test_types_are_apart() -> None:
    """A subscription covers only those of its own type: whether others overlap an advertisement is another question."""
    covering = Covering()
    covering.add("books", "Book", parse("price > 10"))
    covering.add("tapes", "Tape", parse("price > 20"))
    assert covering.roots() == ["books", "tapes"]


def test_roots_accept_whatever_any_subscription_accepts() -> None:
    """After any changes an event that matches a subscription matches a root, and the changes say what became of
    each."""
    random = Random(1)
    covering = Covering()
    present: dict[str, str] = {}
    roots: set[str] = set()
    for number in range(300):
        if present and random.random() < 0.4:
            key = random.choice(sorted(present))
            del present[key]
            changed = covering.remove(key)
        else:
            key = f"s{number}"
            present[key] = f"price BETWEEN {random.randrange(10)} AND {random.randrange(20)}"
            changed = covering.add(key, None, parse(present[key]))
        assert roots ^ set(covering.roots()) <= changed
        roots = set(covering.roots())
        covering.check()
        for price in range(20):
            accepted = {k for k, text in present.items() if evaluate(parse(text), {"price": price})}
            assert bool(accepted) == any(k in accepted for k in roots)
