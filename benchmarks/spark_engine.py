"""One way to match on Spark, measured in a process of its own.

    python benchmarks/spark_engine.py kernel FOLDER --events 1000000 --cores 2

FOLDER has events.parquet and subscriptions.jsonl. Prints one JSON object. CPU time is that of the whole tree: driver,
JVM and Python workers. Starting Spark, building the index and a first run that compiles are outside; reading the
events is inside. `counts` says how many subscriptions each of the first events matches: engines must agree on it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from process_tree import cpu_seconds
from spark_joins import nested_loop, subscription_table, union_of_joins
from workloads import Interest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINES: Final = ("kernel", "kernel on a DataFrame", "nested loop", "union of joins")
REPETITIONS: Final = 3
CPU_S_MAX: Final = 15.0
"""CPU-seconds after which a measurement is not repeated any more."""

COUNTED: Final = 200


class Cost(msgspec.Struct, frozen=True):
    """Of one run over `events` events."""

    events: int
    cpu_s: float
    wall_s: float

    @property
    def cpu_s_per_million(self) -> float:
        return self.cpu_s / self.events * 1e6

    @property
    def events_per_s(self) -> float:
        return self.events / self.wall_s


class SparkReport(msgspec.Struct, frozen=True):
    """What an engine's program prints."""

    engine: str
    cores: int
    noop: Cost
    parquet: Cost | None
    matches_per_event: float  # counted by the kernel only
    counts: list[int]


def pairs(engine: str, spark: SparkSession, folder: Path) -> Callable[[int], DataFrame]:
    """The matches of the first so many events, by one engine."""
    from agvent.spark import match  # noqa: PLC0415 - only the measured process imports pyspark
    from agvent.spark.rosters.subscription_source import roster_of  # noqa: PLC0415

    path = str(folder / "events.parquet")
    if engine.startswith("kernel"):
        roster = roster_of(folder / "subscriptions.jsonl")
        if engine == "kernel":
            return lambda events: match(_prefix(folder, events), roster)
        return lambda events: match(_first(spark, path, events), roster)
    interests = _interests(folder)
    table = subscription_table(spark, interests).cache()
    table.count()
    join = nested_loop if engine == "nested loop" else union_of_joins
    return lambda events: join(_first(spark, path, events), table)


def _first(spark: SparkSession, path: str, events: int) -> DataFrame:
    frame = spark.read.parquet(path)
    return frame.where(frame.event < events)


def _prefix(folder: Path, events: int) -> str:
    """The file with the first so many events, written once: the kernel reads files."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    whole = folder / "events.parquet"
    if pq.ParquetFile(whole).metadata.num_rows == events:
        return str(whole)
    path = folder / f"events.{events}.parquet"
    if not path.exists():
        pq.write_table(pq.read_table(whole).slice(0, events), path, row_group_size=131_072)
    return str(path)


def _interests(folder: Path) -> list[Interest]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    lines = (folder / "subscriptions.jsonl").read_bytes().splitlines()
    return [Interest(one["id"], one["filter"], one["predicates"]) for one in map(decode, lines)]


def measure(run: Callable[[], None], events: int) -> Cost:
    """The median of some runs, by CPU time; of one, if that took long."""
    costs: list[Cost] = []
    while len(costs) < REPETITIONS and sum(cost.cpu_s for cost in costs) < CPU_S_MAX:
        cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
        run()
        costs.append(Cost(events, cpu_seconds(os.getpid()) - cpu, time.perf_counter() - wall))
    middle = statistics.median_low(cost.cpu_s for cost in costs)
    return next(cost for cost in costs if cost.cpu_s == middle)


def report(engine: str, folder: Path, events: int, cores: int) -> SparkReport:
    from agvent.spark import session  # noqa: PLC0415

    with session(f"local[{cores}]", config={"spark.driver.memory": "2g"}) as spark:
        made = pairs(engine, spark, folder)
        few = made(COUNTED).collect()
        made(max(COUNTED, events // 10)).write.format("noop").mode("overwrite").save()  # compiles
        noop = measure(lambda: made(events).write.format("noop").mode("overwrite").save(), events)
        out = folder / "matches"
        written, matched = None, 0
        if engine == "kernel":
            written = measure(lambda: made(events).write.mode("overwrite").parquet(str(out)), events)
            shutil.rmtree(out)
            matched = made(events).count()
    counts = Counter(row.event for row in few)
    return SparkReport(engine, cores, noop, written, matched / events, [counts[e] for e in range(COUNTED)])


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("engine", choices=ENGINES)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--events", type=int, required=True)
    ask.add_argument("--cores", type=int, default=2)
    given = ask.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])  # what Spark starts inherits it
    found = report(given.engine, given.folder, given.events, given.cores)
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


if __name__ == "__main__":
    main()
