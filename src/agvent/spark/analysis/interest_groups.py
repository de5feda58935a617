"""Subscriptions as interests: how many events each was exposed to, and which of them ask for the same.

Equal filters are found by their normal form's text; different texts that accept the same events by proof, `covers` both
ways. Proofs are tried only between filters that name the same attributes and texts, and only so many.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from agvent import limits
from agvent.filters.relations import covers
from agvent.filters.tree import Attribute, Condition, IsA, Literal, XPath, walk
from agvent.spark.log.frames import arrow_frame
from agvent.store.catalogue import subscription_in
from agvent.store.log_reader import LogReader

ADDRESS = ("type", "topic", "topic_number", "pattern", "channel", "channel_number")


def exposure(reader: LogReader, counts: pa.Table) -> pa.Table:
    """The versions that were in force, with `exposed`: events that entered while and where each of them was.

    `counts` has the number of events for each entry broker and epoch.
    """
    versions = reader.versions()
    names = ["subscription", "version"]
    intervals = reader.in_force()
    exposed = _exposed(intervals, counts)
    summed = (
        intervals.select(names)
        .append_column("exposed", pa.array(exposed))
        .group_by(names)
        .aggregate([("exposed", "sum")])
    )
    kept = versions.select([*names, "subscriber", "home_broker", "filter"])
    kept = kept.add_column(4, "address", pa.array(map(_address, versions.to_pylist()), pa.string()))
    exposed_to = kept.join(summed.rename_columns([*names, "exposed"]), names)
    return exposed_to.sort_by([(name, "ascending") for name in names])


def _address(row: dict[str, Any]) -> str:
    """The address of a subscription, beside its filter: `type Quote`, `topic sensors/7`."""
    given = {name.removesuffix("_number"): row[name] for name in ADDRESS if row[name] is not None}
    return ", ".join(f"{name} {value}" for name, value in given.items())


def _exposed(intervals: pa.Table, counts: pa.Table) -> Any:
    """For each interval the events of its broker with an epoch inside it."""
    entry = np.asarray(intervals["entry_broker"].to_pylist(), object)
    begin = intervals["from_epoch"].to_numpy()
    end = intervals["to_epoch"].fill_null(np.iinfo(np.int64).max).to_numpy()
    found = np.zeros(len(entry), np.int64)
    brokers = np.asarray(counts["entry_broker"].to_pylist(), object)
    for broker in np.unique(entry):
        own = np.flatnonzero(brokers == broker)
        epochs, events = (counts[name].to_numpy()[own] for name in ("epoch", "events"))
        order = np.argsort(epochs)
        before = np.concatenate(([0], np.cumsum(events[order])))
        here = np.flatnonzero(entry == broker)
        first, last = (np.searchsorted(epochs[order], edge[here]) for edge in (begin, end))
        found[here] = before[last] - before[first]
    return found


def interest_groups(spark: SparkSession, reader: LogReader, subscriptions: DataFrame) -> DataFrame:
    """The groups, largest saving first.

    For a group of n subscriptions at one home broker, one filter would serve the index and the forwarding. That saves
    n - 1 index rows, and n - 1 forwarded filters at each entry broker. If the group has one subscriber, all deliveries
    but those of the busiest member repeat the same events.
    """
    table = pa.Table.from_pylist(list(alike(reader)), GROUPED)
    rows = arrow_frame(spark, table).join(subscriptions, ["subscription", "version"])
    brokers = max(1, len({*reader.in_force()["entry_broker"].to_pylist()}))
    grouped = rows.groupBy("group", "home_broker").agg(
        sf.count("*").alias("members"),
        sf.array_sort(sf.collect_list(sf.concat("subscription", sf.lit("@"), "version"))).alias("subscriptions"),
        sf.min("filter").alias("filter"),
        sf.countDistinct("subscriber").alias("subscribers"),
        sf.sum("deliveries").alias("deliveries"),
        sf.max("deliveries").alias("most"),
        (sf.count("*") - 1).alias("saved_index_rows"),
    )
    one = sf.col("subscribers") == 1
    return (
        grouped.withColumn("saved_forwarded_filters", sf.col("saved_index_rows") * (brokers - 1))
        .withColumn("saved_deliveries", sf.when(one, sf.col("deliveries") - sf.col("most")).otherwise(sf.lit(0)))
        .drop("most", "group")
        .orderBy(sf.desc("saved_deliveries"), sf.desc("members"), "home_broker", "filter")
    )


GROUPED = pa.schema([("group", pa.int64()), ("subscription", pa.string()), ("version", pa.int64())])


def alike(reader: LogReader) -> Iterator[dict[str, Any]]:
    """The versions still in force that ask for the same as another one at their home broker, by number of group."""
    in_force = reader.in_force()
    still = {(row["subscription"], row["version"]) for row in in_force.to_pylist() if row["to_epoch"] is None}
    by_home: dict[str, dict[Condition, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
    for row in reader.versions().to_pylist():
        name = (row["subscription"], row["version"])
        if name in still:
            by_home[row["home_broker"]][subscription_in(row).condition()].append(name)
    number = 0
    for _, equal in sorted(by_home.items()):
        for together in _joined(equal):
            if len(together) > 1:
                for subscription, version in together:
                    yield {"group": number, "subscription": subscription, "version": version}
                number += 1


def _joined(equal: dict[Condition, list[tuple[str, int]]]) -> Iterator[list[tuple[str, int]]]:
    """The groups of equal conditions, those joined that cover each other."""
    alike: dict[Any, list[Condition]] = defaultdict(list)
    for condition in equal:
        alike[_signature(condition)].append(condition)
    proofs = limits.COVER_PROOFS_MAX
    for conditions in alike.values():
        classes: list[list[Condition]] = []
        for condition in conditions:
            tried = classes[:proofs]
            proofs -= len(tried)
            home = next((one for one in tried if _same(one[0], condition)), None)
            (home.append(condition) if home is not None else classes.append([condition]))
        yield from ([name for condition in one for name in equal[condition]] for one in classes)


def _same(some: Condition, other: Condition) -> bool:
    return covers(some, other) and covers(other, some)


def _signature(condition: Condition) -> frozenset[Any]:
    """The attributes and texts it names: conditions that accept the same events nearly always name the same."""
    return frozenset(_read(condition))


def _read(condition: Condition) -> Iterable[Any]:
    for node in walk(condition):
        match node:
            case Attribute(path):
                yield path
            case Literal(str() as text):
                yield text
            case IsA() | XPath():
                yield node
            case _:
                pass
