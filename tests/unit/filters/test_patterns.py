"""Patterns as tokens, and text against them."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.errors import FilterError
from agvent.filters.patterns import LEVEL, MANY, ONE, Tokens, like_tokens, matches, topic_tokens


@pytest.mark.parametrize(
    ("pattern", "escape", "tokens"),
    [
        ("", None, ()),
        ("abc", None, ("abc",)),
        ("a_c%", None, ("a", ONE, "c", MANY)),
        ("%%a%%%", None, (MANY, "a", MANY)),
        ("a!%b!_!!c", "!", ("a%b_!c",)),
        ("%_", "%", ("_",)),
        ("!%%", "!", ("%", MANY)),
        ("a\\%", None, ("a\\", MANY)),
    ],
)
def test_like_tokens(pattern: str, escape: str | None, tokens: Tokens) -> None:
    """Adjacent text is one piece, adjacent MANYs are one, and an escaped wildcard is text."""
    assert like_tokens(pattern, escape) == tokens


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        ("ab!", 2, "the escape character '!' stands at the end of the pattern, expected _, % or ! after it"),
        ("a!b", 1, "the escape character '!' stands before 'b', expected _, % or ! after it"),
    ],
)
def test_an_escape_before_nothing_special_is_refused(pattern: str, position: int, message: str) -> None:
    """An escape character stands before _, % or itself."""
    with pytest.raises(FilterError) as caught:
        like_tokens(pattern, "!")
    assert (caught.value.message, caught.value.position) == (message, position)


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        ("Sports", (("Sports",),)),
        ("Sports/#", (("Sports",), ("Sports/", MANY))),
        ("a/+/b", (("a/", LEVEL, "/b"),)),
        ("#", ((MANY,),)),
        ("+", ((LEVEL,),)),
        ("+/#", ((LEVEL,), (LEVEL, "/", MANY))),
        ("/#", ((), ("/", MANY))),
        ("+//+", ((LEVEL, "//", LEVEL),)),
    ],
)
def test_topic_tokens(pattern: str, alternatives: tuple[Tokens, ...]) -> None:
    """A final # is two alternatives: the level above it, or anything below that."""
    assert topic_tokens(pattern) == alternatives


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        ("a+/b", 1, "+ stands beside other characters, expected a whole level"),
        ("a/b#", 3, "# stands beside other characters, expected a whole level"),
        ("a/#/b", 2, "# is not the last level"),
        ("#/", 0, "# is not the last level"),
        ("a" * 65_536, limits.TOPIC_CHARS_MAX, "the pattern has 65536 characters, at most 65535 are allowed"),
    ],
)
def test_a_misplaced_wildcard_is_refused(pattern: str, position: int, message: str) -> None:
    """+ and # are whole levels, # is the last, and a pattern is no longer than a topic."""
    with pytest.raises(FilterError) as caught:
        topic_tokens(pattern)
    assert (caught.value.message, caught.value.position) == (message, position)


@pytest.mark.parametrize(
    ("pattern", "under", "not_under"),
    [
        ("", [""], ["a"]),
        ("%", ["", "a", "日本"], []),
        ("_", ["a", "日", "😀"], ["", "ab"]),
        ("12%3", ["123", "12993"], ["1234", "12"]),
        ("l_se", ["lose"], ["loose", "lse"]),
        ("%ab%ab", ["abab", "xabyab", "ababab"], ["ab", "abxaby"]),
        ("%a_c%", ["abc", "xaacx", "abbabc"], ["ac", "abbc"]),
        ("%_", ["a", "ab"], [""]),
        ("_%_", ["ab", "abc"], ["a"]),
        ("a%_b", ["axb", "aaab"], ["ab"]),
        ("%aab", ["aaab"], ["aaba"]),
    ],
)
def test_text_under_a_like_pattern(pattern: str, under: list[str], not_under: list[str]) -> None:
    """_ is one character, % any number of them, and the whole text has to fit."""
    tokens = like_tokens(pattern)
    assert [text for text in under + not_under if matches(tokens, text)] == under


@pytest.mark.parametrize(
    ("pattern", "under", "not_under"),
    [
        ("Sports/#", ["Sports", "Sports/", "Sports/NBA", "Sports/NBA/Bulls"], ["Sport", "Sportsmen", "a/Sports"]),
        ("Sports/+", ["Sports/NBA", "Sports/"], ["Sports", "Sports/NBA/Bulls"]),
        ("+/NBA", ["Sports/NBA", "/NBA"], ["NBA", "a/b/NBA"]),
        ("a/+/c", ["a/b/c", "a//c"], ["a/c", "a/b/c/d"]),
        ("+/+", ["a/b", "/", "a/"], ["a", "a/b/c"]),
        ("#", ["", "a", "a/b"], []),
    ],
)
def test_topics_under_a_pattern(pattern: str, under: list[str], not_under: list[str]) -> None:
    """+ is one level, an empty one too; a final # is any number of levels, none included (ABDES §2.2)."""
    alternatives = topic_tokens(pattern)
    assert [topic for topic in under + not_under if any(matches(tokens, topic) for tokens in alternatives)] == under


def test_a_pattern_made_to_backtrack_is_matched_at_once() -> None:
    """Each part between %s is looked for once: a thousand of them over a long text that fails at the end is no work."""
    assert not matches(like_tokens("%a" * 1_000 + "b"), "a" * 50_000)
