"""What the workloads draw from: stock events, city lots, soft drinks, and the shapes of subscription over each.

Every draw is made for all rows at once; a row is then put together in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

Predicate = tuple[Any, ...]
"""(attribute, operator, value, ...); `(None, "any", p, q)` is p OR q."""

Predicates = tuple[Predicate, ...]
Draw = np.random.Generator

EXCHANGES: Final = ("NYSE", "NASDAQ", "LSE", "TSX", "HKEX", "XETRA", "BSE", "SIX", "ASX", "JPX")
STREET_TYPES: Final = ("ST", "AVE", "DR", "BLVD", "WAY", "CT", "TER", "LN")
LETTERS: Final = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
SYMBOLS: Final = 2_000
SYMBOL_SKEW: Final = 0.8
STREETS: Final = 2_200
BRANDS: Final = 500
VOLUME_MAX: Final = 1_000_000


def cents(values: Any) -> list[float]:
    """Numbers to two places, as people write prices."""
    return np.round(values, 2).tolist()  # type: ignore[no-any-return]


def pick(draw: Draw, pool: tuple[str, ...], n: int, p: Any = None) -> list[str]:
    """One of the pool for each row, evenly or with probabilities `p`."""
    at = draw.integers(len(pool), size=n) if p is None else draw.choice(len(pool), size=n, p=p)
    return [pool[i] for i in at.tolist()]


def pick_two(draw: Draw, pool: tuple[str, ...], n: int) -> list[tuple[str, str]]:
    """Two different ones of the pool for each row."""
    first = draw.integers(len(pool), size=n)
    second = (first + draw.integers(1, len(pool), size=n)) % len(pool)
    return [(pool[i], pool[j]) for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def words(draw: Draw, count: int, letters_min: int, letters_max: int) -> tuple[str, ...]:
    """Random words of capital letters."""
    lengths = draw.integers(letters_min, letters_max + 1, size=count).tolist()
    return tuple("".join(pick(draw, LETTERS, length)) for length in lengths)


class Stocks:
    """Stock events and the subscriptions of A1, A2 and M."""

    def __init__(self, draw: Draw) -> None:
        self.symbols = words(draw, SYMBOLS, 4, 4)
        weights = 1 / np.arange(1, SYMBOLS + 1) ** SYMBOL_SKEW
        self.popularity = weights / weights.sum()

    def symbol(self, draw: Draw, n: int) -> list[str]:
        return pick(draw, self.symbols, n, self.popularity)

    def columns(self, draw: Draw, n: int) -> dict[str, list[Any]]:
        return {
            "symbol": self.symbol(draw, n),
            "price": cents(draw.uniform(1, 1000, n)),
            "volume": draw.integers(1, VOLUME_MAX, n).tolist(),
            "exchange": pick(draw, EXCHANGES, n),
            "change": cents(draw.uniform(-10, 10, n)),
        }

    def a1(self, draw: Draw, n: int) -> list[Predicates]:
        low = np.round(draw.uniform(1, 900, n), 2)
        high = cents(low + draw.uniform(10, 150, n))
        volume = draw.integers(1, VOLUME_MAX, n).tolist()
        has_volume = (draw.random(n) < 0.5).tolist()
        exchange = pick(draw, EXCHANGES, n)
        has_exchange = (draw.random(n) < 0.3).tolist()
        made = []
        for i, (symbol, price) in enumerate(zip(self.symbol(draw, n), low.tolist(), strict=True)):
            predicates: Predicates = (("symbol", "=", symbol), ("price", "between", price, high[i]))
            if has_volume[i]:
                predicates += (("volume", ">", volume[i]),)
            if has_exchange[i]:
                predicates += (("exchange", "=", exchange[i]),)
            made.append(predicates)
        return made

    def a2(self, draw: Draw, n: int, *, width: float = 1.0) -> list[Predicates]:
        """Three ranges; `width` widens each, to vary how many subscriptions an event matches."""
        price = np.round(draw.uniform(1, 900, n), 2)
        price_high = cents(price + width * draw.uniform(20, 180, n))
        volume = draw.integers(1, 850_000, n)
        volume_high = (volume + (width * draw.integers(10_000, 290_000, n)).astype(np.int64)).tolist()
        change = np.round(draw.uniform(-10, 6, n), 2)
        change_high = cents(change + width * draw.uniform(0.5, 7, n))
        lows = zip(price.tolist(), volume.tolist(), change.tolist(), strict=True)
        return [
            (
                ("price", "between", p, price_high[i]),
                ("volume", "between", v, volume_high[i]),
                ("change", "between", c, change_high[i]),
            )
            for i, (p, v, c) in enumerate(lows)
        ]

    def m(self, draw: Draw, n: int) -> list[Predicates]:
        shapes = (self.a1, self.a2, self.either, self.begins, self.ends, self.no_halt, self.busy)
        return mixed(draw, n, shapes, (0.4, 0.3, 0.06, 0.06, 0.06, 0.06, 0.06))

    def either(self, draw: Draw, n: int) -> list[Predicates]:
        low = np.round(draw.uniform(-10, 9, n), 2)
        symbols = zip(self.symbol(draw, n), self.symbol(draw, n), strict=True)
        bounds = zip(low.tolist(), cents(low + 1), strict=True)
        return [
            ((None, "any", ("symbol", "=", a), ("symbol", "=", b)), ("change", "between", *pair))
            for (a, b), pair in zip(symbols, bounds, strict=True)
        ]

    def begins(self, draw: Draw, n: int) -> list[Predicates]:
        price = draw.integers(900, 1000, n).tolist()
        parts = zip(self.symbol(draw, n), pick(draw, EXCHANGES, n), price, strict=True)
        return [(("symbol", "prefix", s[:2]), ("exchange", "not", x), ("price", ">", p)) for s, x, p in parts]

    def ends(self, draw: Draw, n: int) -> list[Predicates]:
        volume = draw.integers(VOLUME_MAX // 2, VOLUME_MAX, n).tolist()
        parts = zip(self.symbol(draw, n), volume, strict=True)
        return [(("symbol", "suffix", s[2:]), ("volume", ">", v)) for s, v in parts]

    def no_halt(self, draw: Draw, n: int) -> list[Predicates]:
        high = cents(500 + np.abs(np.round(draw.uniform(-10, 9, n), 2)))
        parts = zip(pick_two(draw, EXCHANGES, n), high, strict=True)
        return [(("halted", "null"), ("exchange", "in", *two), ("price", "between", 500.0, h)) for two, h in parts]

    def busy(self, draw: Draw, n: int) -> list[Predicates]:
        moving = (None, "any", ("volume", ">", 990_000), ("change", "between", 9.5, 10))
        return [(moving, ("symbol", "=", s)) for s in self.symbol(draw, n)]


class Lots:
    """City-lot events and the subscriptions of B and C."""

    def __init__(self, draw: Draw) -> None:
        self.streets = words(draw, STREETS, 4, 11)

    def columns(self, draw: Draw, n: int) -> dict[str, list[Any]]:
        block = [f"{b:04d}" for b in draw.integers(8_000, size=n).tolist()]
        lot = [f"{k:03d}" for k in draw.integers(400, size=n).tolist()]
        return {
            "BLKLOT": [b + k for b, k in zip(block, lot, strict=True)],
            "BLOCK_NUM": block,
            "LOT_NUM": lot,
            "FROM_ST": [str(s) for s in draw.integers(1, 4_000, n).tolist()],
            "STREET": pick(draw, self.streets, n),
            "ST_TYPE": pick(draw, STREET_TYPES, n),
            "ODD_EVEN": pick(draw, ("O", "E"), n),
            "x": (-122.4 + draw.uniform(-0.1, 0.1, n)).tolist(),
            "y": (37.7 + draw.uniform(-0.05, 0.05, n)).tolist(),
        }

    def b(self, draw: Draw, n: int) -> list[Predicates]:
        block = draw.integers(8_000, size=n).tolist()
        parts = zip(block, pick(draw, ("O", "E"), n), pick_two(draw, STREET_TYPES, n), strict=True)
        return [
            (("BLOCK_NUM", "=", f"{number:04d}"), ("ODD_EVEN", "=", side), ("ST_TYPE", "in", *two))
            for number, side, two in parts
        ]

    def c(self, draw: Draw, n: int) -> list[Predicates]:
        return mixed(draw, n, (self.street_begins, self.street_type, self.odd_side, self.block), (0.25,) * 4)

    def street_begins(self, draw: Draw, n: int) -> list[Predicates]:
        parts = zip(pick(draw, self.streets, n), pick(draw, ("O", "E"), n), strict=True)
        return [(("STREET", "prefix", street[:3]), ("ODD_EVEN", "=", side)) for street, side in parts]

    def street_type(self, draw: Draw, n: int) -> list[Predicates]:
        parts = zip(pick(draw, self.streets, n), pick(draw, STREET_TYPES, n), strict=True)
        return [(("STREET", "=", street), ("ST_TYPE", "=", kind)) for street, kind in parts]

    def odd_side(self, draw: Draw, n: int) -> list[Predicates]:
        return [(("STREET", "=", street), ("ODD_EVEN", "not", "E")) for street in pick(draw, self.streets, n)]

    def block(self, draw: Draw, n: int) -> list[Predicates]:
        return [(("BLKLOT", "prefix", f"{number:05d}"),) for number in draw.integers(80_000, size=n).tolist()]


class Drinks:
    """The soft drinks of seed 003 fig. 10 as XML, and the subscriptions of X. An element is an attribute here."""

    def __init__(self, draw: Draw) -> None:
        self.brands = words(draw, BRANDS, 6, 6)

    def columns(self, draw: Draw, n: int) -> dict[str, list[Any]]:
        parts = zip(pick(draw, self.brands, n), self.prices(draw, n), self.years(draw, n), strict=True)
        documents = [
            f"<menu><softdrinks><brand>{brand}</brand><fruit>Apple</fruit><source>Brazil</source>"
            f"<price>{price:.2f}</price><year>{year}</year></softdrinks></menu>"
            for brand, price, year in parts
        ]
        return {"$xml": documents}

    def prices(self, draw: Draw, n: int) -> list[float]:
        return cents(draw.uniform(0.5, 10, n))

    def years(self, draw: Draw, n: int) -> list[int]:
        return draw.integers(1990, 2027, n).tolist()  # type: ignore[no-any-return]

    def x(self, draw: Draw, n: int) -> list[Predicates]:
        return mixed(draw, n, (self.dear, self.brand, self.dear_brand, self.cheap_year), (0.25,) * 4)

    def dear(self, draw: Draw, n: int) -> list[Predicates]:
        return [(("price", ">", price),) for price in self.prices(draw, n)]

    def brand(self, draw: Draw, n: int) -> list[Predicates]:
        return [(("brand", "=", brand),) for brand in pick(draw, self.brands, n)]

    def dear_brand(self, draw: Draw, n: int) -> list[Predicates]:
        parts = zip(pick(draw, self.brands, n), self.prices(draw, n), strict=True)
        return [(("brand", "=", brand), ("price", ">", price)) for brand, price in parts]

    def cheap_year(self, draw: Draw, n: int) -> list[Predicates]:
        parts = zip(self.years(draw, n), self.prices(draw, n), strict=True)
        return [(("year", "=", year), ("price", "<", price)) for year, price in parts]


def rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as one object per row."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def mixed(
    draw: Draw, n: int, shapes: tuple[Callable[[Draw, int], list[Predicates]], ...], shares: tuple[float, ...]
) -> list[Predicates]:
    """Subscriptions of several shapes in random order, each shape with its share."""
    kinds = draw.choice(len(shapes), size=n, p=shares)
    counts = np.bincount(kinds, minlength=len(shapes)).tolist()
    pools = [iter(shape(draw, count)) for shape, count in zip(shapes, counts, strict=True)]
    return [next(pools[kind]) for kind in kinds.tolist()]
