"""Containment and overlap of patterns, decided on their symbols.

Both walk the pairs of places in the two patterns, so they cost the product of the lengths; pairs of patterns beyond
STEPS_MAX are not compared, and the answer is the one that proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agvent.filters.patterns import LEVEL, MANY, ONE, Token, Tokens, Wild

STEPS_MAX: Final = 1 << 16
"""Pairs of places: 256 characters against 256, about 30 ms."""

Symbols = tuple[Token, ...]
"""A pattern character by character."""


def contains(general: Tokens, special: Tokens) -> bool:
    """True is a proof that every text under `special` is under `general`."""
    wide, narrow = _symbols(general), _symbols(special)
    if len(wide) * len(narrow) > STEPS_MAX:
        return general == special
    places = _closed({0}, wide)
    for symbol in narrow:
        places = _closed({after for at in places for after in _follow(wide, at, symbol)}, wide)
    return len(wide) in places


def _symbols(tokens: Tokens) -> Symbols:
    """In a run of wildcards each ONE comes before the MANY, so that `%_` and `_%` are one pattern."""
    symbols: list[Token] = []
    for token in tokens:
        if token is ONE and symbols and symbols[-1] is MANY:
            symbols.insert(-1, ONE)
        elif not (token is MANY and symbols and symbols[-1] is MANY):
            symbols.extend(token if isinstance(token, str) else (token,))
    return tuple(symbols)


def _closed(places: set[int], symbols: Symbols) -> set[int]:
    """The places, and those after wildcards that may stand for nothing."""
    closed = set(places)
    for at in sorted(places):
        while at < len(symbols) and symbols[at] in (MANY, LEVEL):
            at += 1
            closed.add(at)
    return closed


def _follow(wide: Symbols, at: int, symbol: Token) -> Iterable[int]:
    """Where the wide pattern can stand whatever text the symbol stands for."""
    if at == len(wide):
        return
    here = wide[at]
    if here is MANY or (here is LEVEL and (symbol is LEVEL or (isinstance(symbol, str) and symbol != "/"))):
        yield at
    if (here is ONE and (symbol is ONE or isinstance(symbol, str))) or (isinstance(here, str) and here == symbol):
        yield at + 1


def intersect(a: Tokens, b: Tokens) -> bool:
    """False is a proof that no text is under both."""
    left, right = _symbols(a), _symbols(b)
    if len(left) * len(right) > STEPS_MAX:
        return True
    seen = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        pair = waiting.pop()
        if pair == (len(left), len(right)):
            return True
        found = set(_after(left, right, *pair)) - seen
        seen |= found
        waiting += found
    return False


def _after(left: Symbols, right: Symbols, i: int, j: int) -> Iterable[tuple[int, int]]:
    """The pairs of places one step on: past a wildcard that stands for nothing, or past one shared character."""
    here = left[i] if i < len(left) else None
    there = right[j] if j < len(right) else None
    if here in (MANY, LEVEL):
        yield i + 1, j
    if there in (MANY, LEVEL):
        yield i, j + 1
    if here is not None and there is not None and _share_a_character(here, there):
        yield i + (here not in (MANY, LEVEL)), j + (there not in (MANY, LEVEL))


def _share_a_character(a: Token, b: Token) -> bool:
    if isinstance(a, Wild) and isinstance(b, Wild):
        return True
    if isinstance(a, Wild) or isinstance(b, Wild):
        return not (LEVEL in (a, b) and "/" in (a, b))
    return a == b
