"""Containment and overlap of patterns."""

from __future__ import annotations

import pytest

from agvent.filters.pattern_relations import contains, intersect
from agvent.filters.patterns import Tokens, like_tokens, topic_tokens


@pytest.mark.parametrize(
    ("general", "special", "contained"),
    [
        ("a%", "ab%", True),
        ("ab%", "a%", False),
        ("%b", "%ab", True),
        ("%a%", "xay", True),
        ("%a%", "%ab%", True),
        ("%ab%", "%a%b%", False),
        ("_", "a", True),
        ("_", "%", False),
        ("_%", "%_", True),
        ("_%_", "%__", True),
        ("%", "", True),
        ("", "%", False),
        ("a_c", "abc", True),
        ("a%c", "a_c", True),
        ("a_c", "a%c", False),
    ],
)
def test_like_patterns_contain_each_other(general: str, special: str, contained: bool) -> None:
    """A pattern contains another if each of its wildcards can take what stands there."""
    assert contains(like_tokens(general), like_tokens(special)) is contained


@pytest.mark.parametrize(
    ("general", "special", "contained"),
    [
        ("a/+", "a/b", True),
        ("+/+", "a/+", True),
        ("a/+", "a/+/c", False),
        ("+", "a/b", False),
        ("a/+/c", "a/b/c", True),
        ("+/b", "+/+", False),
    ],
)
def test_a_level_takes_no_slash(general: str, special: str, contained: bool) -> None:
    """+ contains one level only."""
    assert contains(*topic_tokens(general), *topic_tokens(special)) is contained


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        (like_tokens("a%"), like_tokens("b%"), False),
        (like_tokens("a%"), like_tokens("%b"), True),
        (like_tokens("%x"), like_tokens("%y"), False),
        (like_tokens("%x%"), like_tokens("%y%"), True),
        (like_tokens("a_"), like_tokens("a__"), False),
        (like_tokens("_b"), like_tokens("a_"), True),
        (like_tokens(""), like_tokens("%"), True),
        (topic_tokens("a/+")[0], topic_tokens("+/b")[0], True),
        (topic_tokens("a/+")[0], topic_tokens("+/b/c")[0], False),
        (topic_tokens("+")[0], like_tokens("%/%"), False),
    ],
)
def test_patterns_share_a_text_or_none(a: Tokens, b: Tokens, shared: bool) -> None:
    """Overlap of patterns is exact, and the same both ways."""
    assert intersect(a, b) is intersect(b, a) is shared


def test_long_patterns_are_not_compared() -> None:
    """Beyond the bound the answer proves nothing, but for a pattern and itself."""
    long, other = like_tokens("a" * 500 + "%"), like_tokens("b" * 500 + "%")
    assert contains(long, long) is True
    assert contains(long, like_tokens("a" * 501 + "%")) is False
    assert intersect(long, other) is True
