"""The laws of filters: languages round trip, relations are sound, and only a FilterError ever comes out of a parser."""

from __future__ import annotations

import math
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agvent.errors import FilterError, TranslationError
from agvent.event import Event, Int32, event_of
from agvent.filters.evaluate import evaluate, value
from agvent.filters.explain import explain
from agvent.filters.languages import LANGUAGES, format_filter, parse
from agvent.filters.normal import Opaque, Primitive, Rows, normal
from agvent.filters.pattern_relations import contains, intersect
from agvent.filters.patterns import like_tokens, matches, topic_tokens
from agvent.filters.primitive_relations import accepts, term_of
from agvent.filters.primitives import AnyOf
from agvent.filters.relations import covers, overlaps
from agvent.filters.translate import translate
from agvent.filters.tree import And, Condition, Not, Or
from tests.strategies import (
    LIKES,
    PATTERNS,
    TOPICS,
    XPATHS,
    behaviours,
    conditions,
    elvin_conditions,
    elvin_tests,
    elvin_texts,
    events,
    sql_conditions,
    sql_tests,
    sql_texts,
    tag_texts,
)


def is_true(condition: Condition, event: Event) -> bool:
    return evaluate(condition, event, behaviours) is True


@given(sql_conditions())
def test_sql_round_trips(tree: Condition) -> None:
    """What SQL writes, SQL reads as the same tree."""
    assert parse(format_filter(tree)) == tree


@given(conditions(), events())
def test_sql_keeps_the_meaning_of_any_tree_it_can_write(tree: Condition, event: Event) -> None:
    """A tree of any origin that SQL has words for means the same when it is read back."""
    try:
        text = format_filter(tree)
        back = parse(text)
    except (TranslationError, FilterError):  # a string under <, which SQL writes and JMS forbids
        return
    assert evaluate(back, event, behaviours) is evaluate(tree, event, behaviours)


@given(elvin_conditions())
@settings(max_examples=300)
def test_elvin_round_trips(tree: Condition) -> None:
    """What Elvin writes, Elvin reads as the same tree."""
    assert parse(format_filter(tree, "elvin"), "elvin") == tree


@pytest.mark.parametrize("language", ["sql", "elvin"])
@given(st.one_of(conditions(), elvin_conditions(), sql_conditions()), st.lists(events(), min_size=4, max_size=4))
def test_a_translation_accepts_the_same_events(language: str, tree: Condition, sample: list[Event]) -> None:
    """A filter written in another language is true of the same events, or is refused."""
    try:
        back = parse(translate(tree, language), language) if translate(tree, language) else And(())
    except (TranslationError, FilterError):  # a string under <, a constant of another kind: written and not read
        return
    assert [is_true(back, event) for event in sample] == [is_true(tree, event) for event in sample]


TEXTS = {
    "sql": sql_texts(),
    "tags": tag_texts(),
    "elvin": elvin_texts(),
    "topic": st.one_of(st.sampled_from(TOPICS), st.text(max_size=5)),
    "pattern": st.one_of(st.sampled_from(PATTERNS), st.text("a+#/", max_size=6)),
    "integer": st.one_of(st.integers(-(2**64), 2**64).map(str), st.text("+-019x ", max_size=4)),
    "channel": st.one_of(st.integers(-(2**64), 2**64).map(str), st.text("-01a", max_size=4)),
    "xpath": st.one_of(st.sampled_from(XPATHS), st.text("ab/*[]@.='1 ", max_size=8)),
}


def test_every_language_has_texts_to_try() -> None:
    """A new language is put under the laws below."""
    assert TEXTS.keys() == LANGUAGES.keys()


def outcome(text: str, language: str) -> Condition | FilterError:
    try:
        return parse(text, language)
    except FilterError as error:
        return error


@pytest.mark.parametrize("language", LANGUAGES)
@given(st.data())
@settings(max_examples=400)
def test_a_text_is_refused_or_round_trips(language: str, data: st.DataObject) -> None:
    """Any text gives a FilterError inside the text or a tree whose own text gives that tree again."""
    text = data.draw(st.one_of(TEXTS[language], TEXTS[language], st.text(max_size=20)))
    parsed = outcome(text, language)
    if isinstance(parsed, FilterError):
        assert 0 <= parsed.position <= len(text)
        assert str(parsed).encode().startswith(b"line ")
    else:
        assert parse(format_filter(parsed, language), language) == parsed


def row_accepts(primitive: Primitive, event: Event) -> bool:
    if isinstance(primitive, Opaque):
        return evaluate(primitive.condition, event, behaviours) is primitive.want
    if isinstance(primitive, AnyOf):
        return any(row_accepts(part, event) for part in primitive.parts)
    return accepts(primitive, value(term_of(primitive), event, behaviours))


def rows_accept(rows: Rows, event: Event) -> bool:
    return any(all(row_accepts(primitive, event) for primitive in row) for row in rows)


@given(st.one_of(conditions(), conditions(), elvin_conditions()), events())
@settings(max_examples=500)
def test_the_normal_form_accepts_what_the_oracle_finds_true(condition: Condition, event: Event) -> None:
    """Some row accepts an event exactly if the condition is true of it."""
    assert rows_accept(normal(condition), event) is is_true(condition, event)


@given(conditions(), events())
def test_the_logic_is_kleenes(condition: Condition, event: Event) -> None:
    """NOT twice changes nothing; a filter is never true together with its negation; x OR NOT x is never false."""
    outcome = evaluate(condition, event, behaviours)
    assert evaluate(Not(Not(condition)), event, behaviours) is outcome
    assert evaluate(And((condition, Not(condition))), event, behaviours) is (None if outcome is None else False)
    assert evaluate(Or((condition, Not(condition))), event, behaviours) is (None if outcome is None else True)


def related() -> st.SearchStrategy[tuple[Condition, Condition]]:
    """Two filters that often have parts in common: covering is rare between strangers."""

    def relatives(one: Condition) -> st.SearchStrategy[tuple[Condition, Condition]]:
        another = st.one_of(sql_tests(), elvin_tests(), conditions())
        narrower = another.map(lambda other: And((one, other)))
        wider = another.map(lambda other: Or((one, other)))
        return st.one_of(another, another, narrower, wider, another.map(Not), st.just(Not(one))).map(
            lambda other: (one, other)
        )

    return st.one_of(sql_tests(), elvin_tests(), conditions()).flatmap(relatives)


@given(related(), st.lists(events(), min_size=8, max_size=8))
@settings(max_examples=200)
def test_covers_is_sound(pair: tuple[Condition, Condition], sample: list[Event]) -> None:
    """If a covers b, every event that b accepts a accepts."""
    for a, b in (pair, pair[::-1]):
        if covers(a, b):
            assert [event for event in sample if is_true(b, event) and not is_true(a, event)] == []


@given(related(), st.lists(events(), min_size=8, max_size=8))
@settings(max_examples=200)
def test_overlaps_is_sound(pair: tuple[Condition, Condition], sample: list[Event]) -> None:
    """If a and b do not overlap, no event is accepted by both; and both orders agree."""
    a, b = pair
    possible = overlaps(a, b)
    assert overlaps(b, a) is possible
    if not possible:
        assert [event for event in sample if is_true(a, event) and is_true(b, event)] == []


SMALL_SQL = (
    "x = 1", "x <> 1", "x > 1", "x <= 2", "x BETWEEN 1 AND 2", "x IN (1, 'k')", "x NOT IN (2, 'kl')", "x LIKE 'k%'",
    "x LIKE '%l'", "x NOT LIKE 'k%'", "x IS NULL", "x IS NOT NULL", "x = 'k'", "size(x) = 1", "x", "contains(x, 1)",
)  # fmt: skip
SMALL_ELVIN = (
    "x == 1", "x != 1L", "x > 1", "x <= 2.5", "x == 'k'", "x != 'k'", "equals(x, 1, 'k')", "require(x)", "int32(x)",
    "int64(x)", "real64(x)", "string(x)", "opaque(x)", "nan(x)", "begins-with(x, 'k', 'l')", "ends-with(x, 'l')",
    "contains(x, 'k', '')", "wildcard(x, 'k?', 'l')", "regex(x, '^k')", "fold-case(x) == 'k'", "x + 1 == 2", "-x < -1",
    "x & 1 == 1", "x % 2 == 0", "~x >>> 1 > 0", "x == x", "size(x) * 2 == 2", "x == 1 ^^ require(x)",
    "x > 1 ^^ string(x) ^^ nan(x)", "a == 1 ^^ b == 'k'", "a < b",
)  # fmt: skip
SMALL_TESTS = [
    parse(re.sub(r"\bx\b", name, text), language)
    for name in ("a", "b")
    for language, texts in (("sql", SMALL_SQL), ("elvin", SMALL_ELVIN))
    for text in texts
]
SMALL_VALUES = (None, 1, Int32(1), 2, 2.5, math.nan, "k", "kl", "l", True, [1], b"k")
SMALL_WORLD = [event_of({"a": a, "b": b}) for a, b in product(SMALL_VALUES, SMALL_VALUES)]


def small_conditions() -> st.SearchStrategy[Condition]:
    """Ands of ors and ors of ands of a few tests and their negations, over two attributes."""
    tests = st.sampled_from([*SMALL_TESTS, *map(Not, SMALL_TESTS)])
    few = st.lists(tests, min_size=1, max_size=3).map(tuple)
    anded, ored = st.builds(And, few), st.builds(Or, few)
    return st.one_of(
        st.lists(st.one_of(ored, tests), min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(st.one_of(anded, tests), min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    )


@pytest.mark.parametrize("test", SMALL_TESTS, ids=str)
def test_the_normal_form_holds_in_a_whole_small_world(test: Condition) -> None:
    """Every test and its negation, against every pair of values."""
    for condition in (test, Not(test)):
        rows = normal(condition)
        assert [e for e in SMALL_WORLD if rows_accept(rows, e) is not is_true(condition, e)] == []


@pytest.mark.parametrize("test", SMALL_TESTS, ids=str)
@pytest.mark.parametrize("language", ["sql", "elvin"])
def test_translations_hold_in_a_whole_small_world(test: Condition, language: str) -> None:
    """What is translated is true of the same events, negated or not."""
    for condition in (test, Not(test)):
        try:
            back = parse(translate(condition, language), language)
        except TranslationError:
            continue
        assert [e for e in SMALL_WORLD if is_true(back, e) is not is_true(condition, e)] == []


@given(small_conditions(), small_conditions())
@settings(max_examples=300)
def test_relations_hold_in_a_whole_small_world(a: Condition, b: Condition) -> None:
    """With two attributes and twelve values each, every claim is checked against every event."""
    under_a, under_b = ({n for n, event in enumerate(SMALL_WORLD) if is_true(one, event)} for one in (a, b))
    assert not covers(a, b) or under_b <= under_a
    assert not covers(b, a) or under_a <= under_b
    assert overlaps(a, b) or not under_a & under_b


@given(conditions())
def test_a_filter_covers_itself(condition: Condition) -> None:
    """Covering is reflexive, and everything covers every filter."""
    assert covers(condition, condition)
    assert covers(And(()), condition)


SHORT_TEXTS = ["".join(letters) for length in range(5) for letters in product("ab/", repeat=length)]


def pattern_tokens() -> st.SearchStrategy[tuple[object, ...]]:
    topics = st.sampled_from([tokens for pattern in PATTERNS for tokens in topic_tokens(pattern)])
    likes = st.one_of(st.sampled_from(LIKES).map(like_tokens), st.text("ab_%/", max_size=5).map(like_tokens))
    return st.one_of(topics, likes)


@given(pattern_tokens(), pattern_tokens())
@settings(max_examples=400)
def test_pattern_relations_are_sound(a: tuple[str, ...], b: tuple[str, ...]) -> None:
    """Containment and overlap of patterns agree with trying every short text; overlap is exact both ways."""
    under_a = {text for text in SHORT_TEXTS if matches(a, text)}
    under_b = {text for text in SHORT_TEXTS if matches(b, text)}
    if contains(a, b):
        assert under_b <= under_a
    if under_a & under_b:
        assert intersect(a, b)


@given(conditions(), events())
def test_an_explanation_tells_the_outcome(condition: Condition, event: Event) -> None:
    """The explanation ends where the oracle ends, and can be printed."""
    explanation = explain(condition, event, behaviours)
    assert explanation.outcome is evaluate(condition, event, behaviours)
    assert str(explanation).startswith("matches" if explanation.outcome else "does not match because ")


def test_an_event_may_be_a_mapping() -> None:
    """The oracle takes what `event_of` takes."""
    tree = parse("a = 1 AND $topic = 'x'")
    source = {"a": 1, "$topic": "x"}
    assert evaluate(tree, source) is evaluate(tree, event_of(source)) is True
