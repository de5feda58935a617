"""The workloads the benchmarks measure, made from a seed.

    python benchmarks/workloads.py OUT --workload A1 --subscriptions 10000 --events 20000

writes OUT/A1.events.jsonl and OUT/A1.10000.subscriptions.jsonl, the files `agvent match` reads.

    A1  stock events; a symbol and a price range, half also a volume, three in ten also an exchange
    A2  stock events; three ranges: price, volume, change
    B   city lots; two equalities and an IN
    C   city lots; prefixes, equalities, anything but
    M   stock events; 40 % A1, 30 % A2, 30 % others: OR, NOT, NULL, prefix, suffix
    X   soft drinks as XML; XPath: a price, a brand, both, or a price in a year

Equal arguments give equal output; a million subscriptions take seconds. Beside its filter each subscription carries
`predicates`, the same condition as (attribute, operator, value, ...) for engines that do not read its language.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from worlds import Draw, Drinks, Lots, Predicate, Predicates, Stocks, rows


class Interest(NamedTuple):
    """One subscription, as a filter and as predicates."""

    id: str
    filter: str
    predicates: Predicates


def quote(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def selector(predicates: Predicates) -> str:
    """Predicates as a SQL-92 selector."""
    return " AND ".join([_condition(predicate) for predicate in predicates])


def _condition(predicate: Predicate) -> str:
    name, operator, *values = predicate
    match operator:
        case "=" | ">":
            return f"{name} {operator} {quote(values[0])}"
        case "between":
            return f"{name} BETWEEN {quote(values[0])} AND {quote(values[1])}"
        case "in":
            return f"{name} IN ({', '.join(map(quote, values))})"
        case "not":
            return f"{name} <> {quote(values[0])}"
        case "prefix":
            return f"{name} LIKE {quote(values[0] + '%')}"
        case "suffix":
            return f"{name} LIKE {quote('%' + values[0])}"
        case "null":
            return f"{name} IS NULL"
        case _:
            assert operator == "any", operator
            return "(" + " OR ".join([_condition(part) for part in values]) + ")"


def xpath(predicates: Predicates) -> str:
    """Predicates of X as an XPath: two of one year are two steps, others one predicate."""
    conditions = [f"{name}{operator}{quote(value)}" for name, operator, value in predicates]
    if predicates[0][0] == "year":
        name, operator, value = predicates[1]
        return f"//softdrinks[{conditions[0]}]/{name}[.{operator}{quote(value)}]"
    return f"/menu/softdrinks[{' and '.join(conditions)}]"


class Workload:
    """One workload: `subscriptions` and `events` draw from separate streams, so neither changes the other."""

    def __init__(
        self, name: str, seed: int, world: Stocks | Lots | Drinks, shape: Callable[[Draw, int], list[Predicates]]
    ) -> None:
        self.name = name
        self.language = "xpath" if isinstance(world, Drinks) else "sql"
        self.seed = seed
        self._world = world
        self._shape = shape

    def subscriptions(self, n: int) -> list[Interest]:
        made = self._shape(_draw(self.seed, self.name, "subscriptions"), n)
        text = xpath if self.language == "xpath" else selector
        return [Interest(f"s{i}", text(predicates), predicates) for i, predicates in enumerate(made)]

    def events(self, n: int) -> list[dict[str, Any]]:
        return rows(self.columns(n))

    def columns(self, n: int, *, piece: int = 0) -> dict[str, list[Any]]:
        """The events of one of many pieces, column by column; `events` are those of the first."""
        return self._world.columns(_draw(self.seed, self.name, f"events {piece}" if piece else "events"), n)

    def events_json(self, n: int) -> bytes:
        """Events as JSON Lines, with the blanks `json.dumps` writes."""
        return "".join([json.dumps(event) + "\n" for event in self.events(n)]).encode()

    def write(self, out: Path, *, subscriptions: int, events: int) -> tuple[Path, Path]:
        """The two files, subscriptions first."""
        out.mkdir(parents=True, exist_ok=True)
        wanted = out / f"{self.name}.{subscriptions}.subscriptions.jsonl"
        with wanted.open("wb") as file:
            file.writelines(_lines(self.language, self.subscriptions(subscriptions)))
        published = out / f"{self.name}.events.jsonl"
        published.write_bytes(self.events_json(events))
        return wanted, published


def _lines(language: str, interests: list[Interest]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for id, text, predicates in interests:
        yield encode({"id": id, "language": language, "filter": text, "predicates": predicates}) + b"\n"


def _draw(seed: int, name: str, purpose: str) -> Draw:
    return np.random.default_rng([seed, *name.encode(), *purpose.encode()])


SQL_NAMES: Final = ("A1", "A2", "B", "C", "M")
NAMES: Final = (*SQL_NAMES, "X")


def workload(name: str, seed: int, *, width: float = 1.0) -> Workload:
    """A workload by name; `width` widens A2's ranges."""
    if name in ("B", "C"):
        lots = Lots(_draw(seed, name, "world"))
        return Workload(name, seed, lots, lots.b if name == "B" else lots.c)
    if name == "X":
        drinks = Drinks(_draw(seed, name, "world"))
        return Workload(name, seed, drinks, drinks.x)
    stocks = Stocks(_draw(seed, name, "world"))
    shapes: dict[str, Callable[[Draw, int], list[Predicates]]] = {
        "A1": stocks.a1,
        "A2": lambda draw, n: stocks.a2(draw, n, width=width),
        "M": stocks.m,
    }
    return Workload(name, seed, stocks, shapes[name])


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("out", type=Path)
    ask.add_argument("--workload", choices=NAMES, default="A1")
    ask.add_argument("--subscriptions", type=int, default=10_000)
    ask.add_argument("--events", type=int, default=20_000)
    ask.add_argument("--seed", type=int, default=42)
    given = ask.parse_args()
    made = workload(given.workload, given.seed)
    for path in made.write(given.out, subscriptions=given.subscriptions, events=given.events):
        print(path)


if __name__ == "__main__":
    main()
