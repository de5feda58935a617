"""Matching on Spark: the kernel against what Spark SQL alone does, in one run.

    python benchmarks/spark_match.py --workload M --subscriptions 10000 --events 1000000 --json
    python benchmarks/spark_match.py --table        A1, A2 and M at 1k, 10k, 100k and 1M, into docs/performance.md

Each engine runs in a process of its own on the same two cores over the same Parquet file, one after the other, and must
find the same matches. CPU-seconds are per million events, of the whole process tree, into a sink that drops the pairs;
`parquet_…` writes them. A join takes a prefix of the events, so that no run takes minutes. `two_cores` is the kernel's
events per second on two cores to those on one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from page import made_by, replace_block, short, table
from spark_engine import SparkReport
from workloads import workload

WORKLOADS: Final = ("A1", "A2", "M")
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
EVENTS: Final = 1_000_000
ROW_GROUP: Final = 131_072

PAIRS: Final = {"nested loop": 100_000_000, "union of joins": 200_000_000}
"""Events × subscriptions that a join may try: some 10 CPU-seconds."""

JOIN_EVENTS_MIN: Final = 200

MANY_MATCHES: Final = 10
"""With a million subscriptions a tenth of the events: of A2 each matches thousands."""

CPU_TARGETS: Final = {("A1", 10_000): 5.0, ("A1", 100_000): 15.0}
RATIO_TARGET: Final = 100
CORES_TARGET: Final = 1.5


def write_files(folder: Path, name: str, subscriptions: int, events: int, seed: int) -> None:
    """The workload's subscriptions as JSON Lines, its events as Parquet with their number as `event`."""
    made = workload(name, seed)
    wanted, _ = made.write(folder, subscriptions=subscriptions, events=0)
    wanted.rename(folder / "subscriptions.jsonl")
    columns = {"event": list(range(events)), **made.columns(events)}
    pq.write_table(pa.table(columns), folder / "events.parquet", row_group_size=ROW_GROUP)


def run(engine: str, folder: Path, *, events: int, cores: int = 2) -> SparkReport:
    """An engine's report, from a fresh process."""
    program = str(Path(__file__).with_name("spark_engine.py"))
    command = [sys.executable, program, engine, str(folder), "--events", str(events), "--cores", str(cores)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(ran.stdout, type=SparkReport)


def measure(name: str, subscriptions: int, *, events: int, seed: int, cores: bool) -> dict[str, Any]:
    """One row: every engine over one workload."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_files(folder, name, subscriptions, events, seed)
        kernel = run("kernel", folder, events=events)
        frame = run("kernel on a DataFrame", folder, events=events)
        one_core = run("kernel", folder, events=events, cores=1) if cores else None
        joins = {
            join: run(join, folder, events=max(JOIN_EVENTS_MIN, min(events, limit // subscriptions)))
            for join, limit in PAIRS.items()
        }
    for other in (frame, *joins.values()):
        check(kernel, other)
    assert kernel.parquet is not None
    cost = kernel.noop.cpu_s_per_million
    return {
        "workload": name,
        "subscriptions": subscriptions,
        "events": events,
        "seed": seed,
        "matches_per_event": rounded(kernel.matches_per_event),
        "cpu_s_per_million": rounded(cost),
        "events_per_s": rounded(kernel.noop.events_per_s),
        "parquet_cpu_s_per_million": rounded(kernel.parquet.cpu_s_per_million),
        "parquet_events_per_s": rounded(kernel.parquet.events_per_s),
        "dataframe_cpu_s_per_million": rounded(frame.noop.cpu_s_per_million),
        "nested_loop_cpu_s_per_million": rounded(joins["nested loop"].noop.cpu_s_per_million),
        "nested_loop_ratio": rounded(joins["nested loop"].noop.cpu_s_per_million / cost),
        "union_of_joins_cpu_s_per_million": rounded(joins["union of joins"].noop.cpu_s_per_million),
        "union_of_joins_ratio": rounded(joins["union of joins"].noop.cpu_s_per_million / cost),
        "one_core_events_per_s": rounded(one_core.noop.events_per_s) if one_core else None,
        "two_cores": rounded(kernel.noop.events_per_s / one_core.noop.events_per_s) if one_core else None,
    }


def check(kernel: SparkReport, other: SparkReport) -> None:
    """Engines that find different matches may not be compared."""
    differ = [e for e, count in enumerate(kernel.counts) if count != other.counts[e]]
    if differ:
        e = differ[0]
        sys.exit(f"error: event {e} matches {kernel.counts[e]} by the kernel, {other.counts[e]} by the {other.engine}")


def rounded(number: float) -> float:
    """Three figures: more would be noise."""
    return float(f"{number:.3g}")


HEADINGS: Final = (
    "", "matches/event", "kernel", "target", "events/s", "into Parquet", "on a DataFrame", "nested loop", "ratio",
    "union of joins", "ratio", "two cores",
)  # fmt: skip


def cells(row: dict[str, Any]) -> list[str]:
    target = CPU_TARGETS.get((row["workload"], row["subscriptions"]))
    return [
        f"{row['workload']} {short(row['subscriptions'])}",
        short(row["matches_per_event"]),
        f"**{short(row['cpu_s_per_million'])}**",
        f"≤ {target:.0f}" if target else "",
        short(row["events_per_s"]),
        short(row["parquet_cpu_s_per_million"]),
        short(row["dataframe_cpu_s_per_million"]),
        short(row["nested_loop_cpu_s_per_million"]),
        short(row["nested_loop_ratio"]),
        short(row["union_of_joins_cpu_s_per_million"]),
        short(row["union_of_joins_ratio"]),
        short(row["two_cores"]),
    ]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--workload", choices=WORKLOADS, default="M")
    ask.add_argument("--subscriptions", type=int, default=10_000)
    ask.add_argument("--events", type=int, default=EVENTS)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument("--cores", action=argparse.BooleanOptionalAction, default=True, help="also one core against two")
    ask.add_argument("--table", action="store_true", help="all workloads and sizes, into docs/performance.md")
    ask.add_argument("--rows", type=Path, help="JSON Lines of rows measured before; new ones are added")
    given = ask.parse_args()
    options = {"events": given.events, "seed": given.seed}
    if not given.table:
        row = measure(given.workload, given.subscriptions, cores=given.cores, **options)
        print(json.dumps(row) if given.json else "\n".join(f"{key:34} {value}" for key, value in row.items()))
        return
    measured = rows_in(given.rows)
    for name in WORKLOADS:
        for size in SIZES:
            if (name, size) not in measured:
                events = given.events // MANY_MATCHES if size == SIZES[-1] else given.events
                cores = given.cores and size == 10_000
                measured[name, size] = measure(name, size, events=events, seed=given.seed, cores=cores)
                add_row(measured[name, size], given.rows)
    rows = [cells(measured[name, size]) for name in WORKLOADS for size in SIZES]
    replace_block("spark", f"{table(HEADINGS, rows)}\n\n{made_by('python benchmarks/spark_match.py --table')}")


def rows_in(path: Path | None) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows that were measured before."""
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    return {(row["workload"], row["subscriptions"]): row for row in map(json.loads, lines)}


def add_row(row: dict[str, Any], path: Path | None) -> None:
    print(json.dumps(row), flush=True)
    if path is not None:
        with path.open("a") as rows:
            rows.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
