"""The seed's figures: what is measured is what the page says of it."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest

import narada
from agvent.event import event_of
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.matching.subscriptions import Subscriptions


def texts(name: str, block: int = 0) -> list[str]:
    return [one.filter for one in narada.subscriptions(name, 42, block)]


@pytest.mark.parametrize("name", ["integer", "string of 16", "string of 32", "5 tags", "15 tags", "25 tags"])
def test_ten_subscriptions_match_an_event(name: str) -> None:
    """Ten of each topic or set of tags, and every event has one of them."""
    made = Counter(texts(name))
    assert (len(made), set(made.values())) == (narada.STEP // narada.SHARING, {narada.SHARING})
    [event] = narada.events(name, 42, 1, 1)
    language = narada.ENGINES[name].language
    assert [evaluate(parse(text, language), event) for text in made].count(True) == 1


def test_about_ten_selectors_match_an_event() -> None:
    """Twenty for each brand; the price decides."""
    index = Subscriptions(narada.subscriptions("SQL", 42, 0))
    counts = [len(index.match(event)) for event in narada.events("SQL", 42, 1, 100)]
    assert max(counts) <= 20
    assert 8 < sum(counts) / len(counts) < 12


@pytest.mark.parametrize("name", narada.ENGINES)
def test_equal_seeds_give_equal_input(name: str) -> None:
    """And another block has other subscriptions under other ids."""
    first = list(narada.subscriptions(name, 42, 0))
    assert first == list(narada.subscriptions(name, 42, 0))
    assert not {one.id for one in first} & {one.id for one in narada.subscriptions(name, 42, 1)}
    assert narada.events(name, 42, 2, 5) == narada.events(name, 42, 2, 5)
    assert [event_of(source) for source in narada.events(name, 7, 2, 5)]


@pytest.mark.parametrize("characters", [16, 32])
def test_topics_have_their_length(characters: int) -> None:
    made = {narada.topic(characters, profile) for profile in range(100)}
    assert {len(one) for one in made} == {characters}
    assert len(made) == 100


def test_xpath_asks_the_document_what_sql_asks_the_attributes() -> None:
    """Brand and price stand in the document of fig. 10 and in the query."""
    drink = narada.Drink(7, 2.9)
    found = ElementTree.fromstring(narada.document(drink)["$xml"]).find("softdrinks")
    assert found is not None
    assert {member.tag: member.text for member in found} == {
        name: str(value) for name, value in narada.attributes(drink).items()
    }
    assert re.findall(r"\[(\w+)(.)'?([^]']+)'?\]", narada.xpath(drink)) == [
        ("brand", "=", "Brand 7"),
        ("price", ">", "2.9"),
    ]


@pytest.mark.parametrize("name", narada.SPREADS)
def test_half_of_the_spread_profiles_match(name: str) -> None:
    """A price in the middle."""
    spread = narada.SPREADS[name]
    texts = narada.thresholds(name, 42, 0)[:1000]
    made = [evaluate(parse(text, spread.language), spread.event) for text in texts]
    assert 400 < made.count(True) < 600


def test_the_page_has_its_block() -> None:
    text = narada.PAGE.read_text()
    assert [text.count(f"<!-- narada:{mark} -->") for mark in ("begin", "end")] == [1, 1]
