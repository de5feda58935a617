"""LIKE in the kernel: what the oracle says, at a cost that grows with pattern and text and not with their product."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agvent import limits
from agvent.errors import CallerError
from agvent.filters.patterns import Tokens, Wild, like_tokens, matches
from agvent.matching.rows.like import like
from agvent.matching.rows.referents import WILDCARD_BYTES


def says(tokens: Tokens, text: str) -> bool:
    pieces = [one.encode() if isinstance(one, str) else bytes((WILDCARD_BYTES[one],)) for one in tokens]
    pattern, data = (np.frombuffer(b"<" + one + b">", np.uint8) for one in (b"".join(pieces), text.encode()))
    return bool(like(pattern, 1, len(pattern) - 1, data, 1, len(data) - 1))


@given(st.text("ab%_", max_size=12), st.text("ab", max_size=40))
@example("%abaab%", "abaabaaabaab")
@example("a%a", "a")
def test_the_kernel_agrees_with_the_oracle(pattern: str, text: str) -> None:
    """Two letters make texts that nearly fit in many places."""
    tokens = like_tokens(pattern)
    assert says(tokens, text) is matches(tokens, text)


@given(st.text("é日a", min_size=1, max_size=9), st.integers(1, 60), st.text("é日a", max_size=90), st.booleans())
def test_long_parts_that_repeat_themselves(period: str, times: int, text: str, ends: bool) -> None:
    """What is looked for place by place is given up for the two-way search, which finds the same."""
    tokens = like_tokens(f"%{period * times}{text[:3]}%{'_' if ends else ''}")
    for whole in (text + period * (times - 1) + text[:3], period * (times + 2) + text, text * 3 + period * 300 + text):
        assert says(tokens, whole) is matches(tokens, whole)


@pytest.mark.parametrize("part", ["a" * 2_999 + "b", "b" + "a" * 2_999, "a" * 1_500 + "b" + "a" * 1_499, "ab" * 1_500])
@pytest.mark.parametrize("text", ["a" * 300_000, "ab" * 100 + "a" * 299_800, ("a" * 2_998 + "b") * 100])
def test_a_part_is_found_or_not_in_time_that_grows_with_the_text(part: str, text: str) -> None:
    """3,000 characters in 300,000: the product took seconds."""
    for tokens in ((Wild.MANY, part, Wild.MANY), (Wild.MANY, part)):
        start = time.thread_time()
        found = says(tokens, text)
        assert time.thread_time() - start < 0.1
        assert found is matches(tokens, text)


def test_a_part_that_is_tried_at_each_place_is_bounded() -> None:
    """One with `_` in it may be so long and no longer; at the ends of a pattern it is compared once."""
    longest = "_" + "a" * (limits.PATTERN_PART_CHARS_MAX - 1)
    assert says(like_tokens(f"%{longest}%"), "b" * 300_000 + "a" * 999)
    assert says(like_tokens(f"{longest}aa%{longest}aa"), "a" * 999)
    with pytest.raises(CallerError) as caught:
        like_tokens(f"%{longest}a%")
    assert caught.value.message == (
        "a part of the pattern has 257 characters and a wildcard for one character, at most 256 are allowed"
    )
