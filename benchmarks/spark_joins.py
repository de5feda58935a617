"""What a user of Spark SQL writes without an index: the subscriptions of A1, A2 and M as a table to join with.

Every subscription is a row of bounds: a range for each number, and sets, a prefix or a suffix for the strings. A bound
that a subscription does not have is one that every event meets.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from workloads import Interest
from worlds import Predicate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NUMBERS: Final = ("price", "volume", "change")
STRINGS: Final = ("symbol", "exchange")
SCHEMA: Final = (
    "id string, symbol array<string>, exchange array<string>, not_exchange string, prefix string, suffix string, "
    "busy boolean, " + ", ".join(f"{name}_low double, {name}_high double" for name in NUMBERS)
)


def bounds(interest: Interest) -> dict[str, Any]:
    """A subscription as a row of the table."""
    row: dict[str, Any] = {"id": interest.id, "symbol": None, "exchange": None, "not_exchange": "", "busy": False}
    row |= {"prefix": "", "suffix": ""}
    row |= {f"{name}_{end}": sign * math.inf for name in NUMBERS for end, sign in (("low", -1), ("high", 1))}
    for predicate in interest.predicates:
        _bound(row, predicate)
    return row


def _bound(row: dict[str, Any], predicate: Predicate) -> None:
    name, operator, *values = predicate
    match operator:
        case "=" | "in":
            row[name] = list(values)
        case "between":
            row[f"{name}_low"], row[f"{name}_high"] = map(float, values)
        case ">":
            row[f"{name}_low"] = math.nextafter(values[0], math.inf)
        case "not":
            row[f"not_{name}"] = values[0]
        case "prefix" | "suffix":
            row[operator] = values[0]
        case "null":
            assert name == "halted", "no stock event has it"
        case _:
            assert operator == "any", operator
            if all(part[1] == "=" for part in values):
                row[values[0][0]] = [part[2] for part in values]
            else:
                row["busy"] = True


def subscription_table(spark: SparkSession, interests: list[Interest]) -> DataFrame:
    return spark.createDataFrame([bounds(one) for one in interests], SCHEMA)


def condition(*, without: tuple[str, ...] = ()) -> Column:
    """Does event e meet subscription s? Without the sets of some strings, which a join's keys have answered already."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - pyspark is imported in the measured process alone

    met = [F.col(f"e.{name}").between(F.col(f"s.{name}_low"), F.col(f"s.{name}_high")) for name in NUMBERS]
    met += [
        F.col(f"s.{name}").isNull() | F.array_contains(f"s.{name}", F.col(f"e.{name}"))
        for name in STRINGS
        if name not in without
    ]
    met.append(F.col("e.exchange") != F.col("s.not_exchange"))
    met.append(F.col("e.symbol").startswith(F.col("s.prefix")) & F.col("e.symbol").endswith(F.col("s.suffix")))
    moving = (F.col("e.volume") > 990_000) | F.col("e.change").between(9.5, 10.0)
    met.append(~F.col("s.busy") | moving)
    whole = met[0]
    for part in met[1:]:
        whole = whole & part
    return whole


def nested_loop(events: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Every event with every subscription: what one writes first."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    joined = events.alias("e").join(F.broadcast(subscriptions).alias("s"), condition())
    return joined.select("e.event", F.col("s.id").alias("subscription"))


def union_of_joins(events: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """A hash join for subscriptions with a symbol, one for those with an exchange, and a nested loop for the rest."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    symbol, exchange = F.col("symbol"), F.col("exchange")
    by_symbol = _keyed(events, subscriptions.where(symbol.isNotNull()), "symbol")
    by_exchange = _keyed(events, subscriptions.where(symbol.isNull() & exchange.isNotNull()), "exchange")
    rest = nested_loop(events, subscriptions.where(symbol.isNull() & exchange.isNull()))
    return by_symbol.unionAll(by_exchange).unionAll(rest)


def _keyed(events: DataFrame, subscriptions: DataFrame, name: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    exploded = F.broadcast(subscriptions.withColumn("key", F.explode(F.array_distinct(name)))).alias("s")
    on = (F.col(f"e.{name}") == F.col("s.key")) & condition(without=(name,))
    return events.alias("e").join(exploded, on).select("e.event", F.col("s.id").alias("subscription"))
